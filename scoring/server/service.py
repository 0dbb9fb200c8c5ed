"""What the service computes with its model: functions of items, which a `Batcher` joins."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.data.text.spelling import plain_texts
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reranking.reranker import Reranker
from tta.scoring.scorers.inference.cache import CachedScorer, MemoryStore
from tta.scoring.scorers.pooling import of_length_1
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.server.forms import OneList, RankedHypothesis, Weights


class GivenLists(NamedTuple):
    """N-best lists to rerank together; see `tta.rerank`. `token_scores`: of their texts."""

    lists: Sequence[OneList]
    weights: RerankWeights | None
    keep_non_words: bool
    token_scores: Mapping[str, TokenScores]
    phrases: Sequence[str] | None = None
    phrases_weight: float | None = None


class Service:
    """The work of a model. Every method takes n items and returns n results.

    The result of an item does not depend on the other items, up to rounding.

    Args:
        lm: a model.
        reranker: that of lists: the same, or `Levels` of it and another one.
        representation: of `encode`; None is the model's first.

    Raises:
        InputError: the model has no scores, or not this representation.
    """

    def __init__(self, lm: Scorer, reranker: Scorer, representation: str | None = None):
        lm.score_tokens(["a"])
        if representation is not None:
            lm.choose_representation(representation)
        self.lm, self.reranker, self._representation = lm, reranker, representation

    def score(self, texts: list[str]) -> list[tuple[float, int, int]]:
        """The score (natural log), the number of tokens and of unknown words of each text."""
        sums, counts = self.lm.score_with_counts(texts)
        unknown = self.lm.count_unknown(texts)
        return list(zip(sums.tolist(), counts.tolist(), unknown.tolist(), strict=True))

    def score_tokens(self, texts: list[str]) -> list[TokenScores]:
        """The tokens of each text and their log-probabilities."""
        return self.lm.score_tokens(texts)

    def encode(self, texts: list[str]) -> list[tuple[np.ndarray, int]]:
        """The vector of each text, [D] float32 of length 1 or 0, and its number of tokens."""
        vectors = of_length_1(self.lm.encode(texts, self._representation))
        tokenizer = self.lm.tokenizer
        if tokenizer is None:
            return [(vector, 0) for vector in vectors]
        return list(zip(vectors, tokenizer.tokenize_flat(texts)[1].tolist(), strict=True))

    def rerank(self, given: list[GivenLists]) -> list[dict[str, Any]]:
        """The lists of each request as `tta.rerank` orders them: `ListsAnswer`s, not signed."""
        return [_reranked(one, self._with_scores(one.token_scores)) for one in given]

    def _with_scores(self, scores: Mapping[str, TokenScores]) -> Scorer:
        """What reranks lists, with the token scores of texts. Each level scores a text once."""
        first = CachedScorer(self.lm, MemoryStore(), adds_up=True)
        first.remember(scores)
        if not isinstance(levels := self.reranker, Levels):
            return first
        second = CachedScorer(levels.models[1], MemoryStore(), adds_up=True)
        return Levels(first, second, share=levels.share, best=levels.best)


def words_of(lists: Iterable[OneList], keep_non_words: bool) -> list[str]:
    """The distinct hypotheses of lists, as `tta.rerank` reads them."""
    read = (plain_texts(one.hypotheses, keep_non_words)[0] for one in lists)
    return list(dict.fromkeys(text for texts in read for text in texts))


def _reranked(given, lm):
    texts = [one.hypotheses for one in given.lists]
    scores = [one.scores for one in given.lists]
    if scores.count(None) not in (0, len(scores)):
        raise InputError("some lists have scores, and others have none")
    scores = None if None in scores else scores
    features = [one.features for one in given.lists]
    reranker = Reranker(
        lm,
        weights=given.weights,
        keep_non_words=given.keep_non_words,
        phrases=given.phrases,
        phrases_weight=given.phrases_weight,
    )
    reranked = reranker.rerank(texts, scores, features=features if any(features) else None)
    of_picks = reranked.confidence()
    return {
        "lists": [
            {"hypotheses": _rows(order), "words": [one.to_dict() for one in words]}
            for order, words in zip(reranked.lists, of_picks.words, strict=True)
        ],
        "weights": _shown(reranked.weights),
        "notes": list(map(str, of_picks.notes)),
    }


def _rows(order):
    """The `RankedHypothesis` of each place of a list."""
    without = [None] * len(order.texts)
    columns = order.texts, order.indices, order.scores, order.lm_scores
    columns += order.posteriors or without, order.expected_losses or without
    columns += (order.rescored or without,)
    names = tuple(RankedHypothesis.model_fields)
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _shown(weights: RerankWeights) -> dict[str, Any]:
    """Weights as `Weights` has them."""
    values, first = weights.to_dict(), weights.first_level
    shown = {name: values[name] for name in Weights.model_fields}
    return shown | {"first_level": None if first is None else _shown(first)}


def embeddings(vectors: Sequence[np.ndarray], encoding: str) -> list[dict[str, Any]]:
    """OpenAI's form of vectors [D]: numbers, or base64 of little-endian float32."""

    def shown(vector):
        if encoding == "float":
            return vector.tolist()
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()

    return [
        {"object": "embedding", "index": index, "embedding": shown(vector)}
        for index, vector in enumerate(vectors)
    ]


def given_texts(given: str | Sequence[Any]) -> list[str]:
    """The texts of OpenAI's `input`. Raises InputError for none, and for the ids of tokens."""
    texts = [given] if isinstance(given, str) else list(given)
    if not texts:
        raise InputError("input: expected at least one text")
    if not all(isinstance(one, str) for one in texts):
        raise InputError(
            "input holds ids of tokens, of OpenAI's tokenizer: send texts "
            "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
        )
    return texts


def check_dimensions(wanted: int | None, vector: np.ndarray) -> None:
    """Raises InputError unless a vector has the wanted number of dimensions."""
    if wanted not in (None, len(vector)):
        raise InputError(f"dimensions: the model's vectors have {len(vector)}, and are not cut")


def compared_size(lists: Sequence[OneList]) -> int:
    """What comparing the hypotheses of lists takes, as the size of texts: as words times n."""
    words = (sum(len(text.split()) + 1 for text in one.hypotheses) for one in lists)
    return sum(len(one.hypotheses) * n for one, n in zip(lists, words, strict=True)) // 200


def check_texts(texts: Sequence[str], max_texts: int, max_characters: int) -> None:
    """Raises InputError for too many texts, or one of too many characters."""
    if len(texts) > max_texts:
        raise InputError(f"at most {max_texts:,} texts, got {len(texts):,}")
    for number, text in enumerate(texts, 1):
        if len(text) > max_characters:
            raise InputError(f"text {number}: at most {max_characters:,} characters")
