"""What the service computes with its models: functions of items, which a `Batcher` joins."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.data.text.spelling import plain_texts
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.mixed import SHORT
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reranking.reranked import RerankedList
from tta.scoring.reranking.reranker import Reranker
from tta.scoring.scorers.inference.cache import CachedScorer, MemoryStore
from tta.scoring.scorers.inference.mixed import MixedModel, in_float32
from tta.scoring.scorers.pooling import of_length_1
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.server.forms import ListRequest, OneList, Weights
from tta.scoring.server.models import ServedModels


@dataclass(frozen=True)
class ListsToRerank:
    """N-best lists of one request, and how they are reranked; see `tta.rerank`.

    Attributes:
        lists: the lists.
        token_scores: {hypothesis: the scores of its tokens}, of the model that scores all.
        weights, metric, rank_scores, keep_non_words, phrases, phrases_weight: as in `tta.rerank`.
    """

    lists: Sequence[OneList]
    token_scores: Mapping[str, TokenScores]
    weights: RerankWeights | None = None
    metric: str = "wer"
    rank_scores: bool = True
    keep_non_words: bool = False
    phrases: Sequence[str] | None = None
    phrases_weight: float | None = None

    @classmethod
    def of(cls, request: ListRequest, token_scores: Mapping[str, TokenScores]) -> "ListsToRerank":
        """Those of a request, whose hypotheses were scored."""
        return cls(
            lists=request.all_lists(),
            token_scores=token_scores,
            weights=None if request.weights is None else request.weights.to_weights(),
            metric=request.metric,
            rank_scores=request.rank_scores,
            keep_non_words=request.keep_non_words,
            phrases=request.phrases,
            phrases_weight=request.phrases_weight,
        )


class Service:
    """The work of the models. Every method takes n items and returns n results.

    The result of an item does not depend on the other items, up to rounding.

    Args:
        models: for texts and for lists.
        representation: of `encode` and `compare`; None is the model's first.

    Raises:
        InputError: a model has no scores, or not this representation.
    """

    def __init__(self, models: ServedModels, representation: str | None = None):
        for lm in {models.texts, models.hypotheses}:
            lm.score_tokens(["a"])  # raises, if it has no scores
        if representation is not None:
            models.texts.choose_comparison(representation)
        self._lm, self._models, self._representation = models.texts, models, representation

    def score(self, texts: list[str]) -> list[tuple[float, int, int]]:
        """The score (natural log), the number of tokens and of unknown words of each text."""
        sums, counts = self._lm.score_with_counts(texts)
        unknown = self._lm.count_unknown(texts)
        return list(zip(sums.tolist(), counts.tolist(), unknown.tolist(), strict=True))

    def score_tokens(self, texts: list[str]) -> list[TokenScores]:
        """The tokens of each text and their log-probabilities."""
        return self._lm.score_tokens(texts)

    def score_hypotheses(self, texts: list[str]) -> list[TokenScores]:
        """As `score_tokens`, by the model for lists."""
        return self._models.hypotheses.score_tokens(texts)

    def are_short(self, lists: Sequence[OneList]) -> bool:
        """Whether precision mixed scores all hypotheses of these lists in float32."""
        is_mixed = isinstance(self._models.lists, MixedModel)
        return is_mixed and all(len(nbest.hypotheses) <= SHORT for nbest in lists)

    def score_short_lists(self, texts: list[str]) -> list[TokenScores]:
        """As `score_hypotheses`, of lists that `are_short`."""
        return in_float32(self._models.lists).score_tokens(texts)

    def encode(self, texts: list[str]) -> list[tuple[np.ndarray, int]]:
        """The vector of each text, [D] float32 of length 1 or 0, and its number of tokens."""
        vectors = of_length_1(self._lm.encode(texts, self._representation))
        tokenizer = self._lm.tokenizer
        if tokenizer is None:
            return [(vector, 0) for vector in vectors]
        return list(zip(vectors, tokenizer.tokenize_flat(texts)[1].tolist(), strict=True))

    def compare(self, pairs: list[tuple[str, str]]) -> list[float]:
        """The similarity of each pair of texts, -1 to 1."""
        texts = list(dict.fromkeys(text for pair in pairs for text in pair))
        place = {text: number for number, text in enumerate(texts)}
        places = np.array([[place[text] for text in pair] for pair in pairs])  # [P, 2]
        comparison = self._lm.comparison(texts, self._representation)
        return comparison.similarities(places[:, 0], places[:, 1]).tolist()

    def rerank(self, requests: list[ListsToRerank]) -> list[dict[str, Any]]:
        """The lists of each request as `tta.rerank` orders them: `ListsAnswer`s, not signed."""
        return [self._rerank(request) for request in requests]

    def _rerank(self, request: ListsToRerank) -> dict[str, Any]:
        scores = [nbest.scores for nbest in request.lists if nbest.scores is not None]
        if len(scores) not in (0, len(request.lists)):
            raise InputError("some lists have scores, and others have none")
        features = [nbest.features for nbest in request.lists]
        reranker = Reranker(
            self._with_scores(request),
            weights=request.weights,
            metric=request.metric,
            rank_scores=request.rank_scores,
            keep_non_words=request.keep_non_words,
            phrases=request.phrases,
            phrases_weight=request.phrases_weight,
        )
        reranked = reranker.rerank(
            [nbest.hypotheses for nbest in request.lists],
            scores or None,
            features=features if any(features) else None,
        )
        of_picks = reranked.confidence()
        return {
            "lists": [
                {"hypotheses": _rows(nbest), "words": [word.to_dict() for word in words]}
                for nbest, words in zip(reranked.lists, of_picks.words, strict=True)
            ],
            "weights": _shown(reranked.weights),
            "notes": list(map(str, of_picks.notes)),
        }

    def _with_scores(self, request: ListsToRerank) -> Scorer:
        """The model for lists, which need not score hypotheses again."""
        lists = self._models.lists
        scored = CachedScorer(self._models.hypotheses, MemoryStore(), adds_up=True)
        if isinstance(lists, MixedModel):
            exact = CachedScorer(lists.exact, MemoryStore(), adds_up=True)
            (exact if self.are_short(request.lists) else scored).remember(request.token_scores)
            return MixedModel(scored, exact)
        scored.remember(request.token_scores)
        if isinstance(lists, Levels):
            second = CachedScorer(in_float32(lists.models[1]), MemoryStore(), adds_up=True)
            return Levels(scored, second, share=lists.share, best=lists.best)
        return scored


def distinct_hypotheses(lists: Iterable[OneList], keep_non_words: bool) -> list[str]:
    """The distinct hypotheses of lists, as `tta.rerank` reads them."""
    read = (plain_texts(nbest.hypotheses, keep_non_words)[0] for nbest in lists)
    return list(dict.fromkeys(text for texts in read for text in texts))


def _rows(nbest: RerankedList) -> list[dict[str, Any]]:
    """The `RankedHypothesis` of each place of a list."""
    without = [None] * len(nbest.texts)
    columns = {
        "text": nbest.texts,
        "index": nbest.indices,
        "score": nbest.scores,
        "lm_score": nbest.lm_scores or without,
        "posterior": nbest.posteriors or without,
        "expected_loss": nbest.expected_losses or without,
        "rescored": nbest.rescored or without,
        "features": _by_place(nbest.features, len(nbest.texts)),
        "terms": _by_place(nbest.terms, len(nbest.texts)),
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _by_place(columns: Mapping[str, Sequence[float]], count: int) -> list[dict[str, float]]:
    """The numbers of each of `count` hypotheses by the names of their columns."""
    return [{name: values[place] for name, values in columns.items()} for place in range(count)]


def _shown(weights: RerankWeights) -> dict[str, Any]:
    """Weights as `Weights` has them, without the decision, which follows from the scale."""
    values, first = weights.to_dict(), weights.first_level
    fields = {name: values[name] for name in Weights.model_fields if name != "decision"}
    return fields | {"first_level": None if first is None else _shown(first)}


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


def texts_of(texts: str | Sequence[Any]) -> list[str]:
    """The texts of OpenAI's `input`. Raises InputError for none, and for the ids of tokens."""
    listed = [texts] if isinstance(texts, str) else list(texts)
    if not listed:
        raise InputError("input: expected at least one text")
    if not all(isinstance(text, str) for text in listed):
        raise InputError(
            "input holds ids of tokens, of OpenAI's tokenizer: send texts "
            "(LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
        )
    return listed


def check_dimensions(dimensions: int | None, vector: np.ndarray) -> None:
    """Raises InputError unless a vector has the number of dimensions that is asked for, if any."""
    if dimensions not in (None, len(vector)):
        raise InputError(f"dimensions: the model's vectors have {len(vector)}, and are not cut")


# Comparing so many hypotheses with a word takes the time of scoring a word.
_COMPARISONS_OF_WORD = 200


def compared_size(lists: Sequence[OneList]) -> int:
    """What comparing the hypotheses of lists takes, as the size of texts: as words times n."""
    words = [sum(len(text.split()) + 1 for text in nbest.hypotheses) for nbest in lists]
    comparisons = sum(len(nbest.hypotheses) * n for nbest, n in zip(lists, words, strict=True))
    return comparisons // _COMPARISONS_OF_WORD


def check_texts(texts: Sequence[str], max_texts: int, max_characters: int) -> None:
    """Raises InputError for too many texts, or one of too many characters."""
    if len(texts) > max_texts:
        raise InputError(f"at most {max_texts:,} texts, got {len(texts):,}")
    for number, text in enumerate(texts, 1):
        if len(text) > max_characters:
            raise InputError(f"text {number}: at most {max_characters:,} characters")
