"""What the service computes with its model: functions of items, which a `Batcher` joins."""

import base64
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.data.text.spelling import plain_texts
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reranking.in_memory import confidence, rerank
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.server.forms import RankedHypothesis, Weights


class GivenList(NamedTuple):
    """An N-best list to rerank; see `tta.rerank`."""

    hypotheses: Sequence[str]
    scores: Sequence[float] | None
    weights: RerankWeights | None
    keep_non_words: bool = False
    phrases: Sequence[str] | None = None
    phrases_weight: float | None = None

    @property
    def words(self) -> list[str]:
        """The hypotheses as `tta.rerank` reads them."""
        return plain_texts(self.hypotheses, self.keep_non_words)[0]


class Service:
    """The work of a model. Every method takes n items and returns n results.

    The result of an item does not depend on the other items, up to rounding.

    Args:
        lm: a model.
        reranker: that of lists: the same, or `Levels` of it and another one.

    Raises:
        InputError: the model has no scores.
    """

    def __init__(self, lm: Scorer, reranker: Scorer):
        lm.score_tokens(["a"])
        self.lm, self.reranker = lm, reranker

    def score(self, texts: list[str]) -> list[tuple[float, int, int]]:
        """The score (natural log), the number of tokens and of unknown words of each text."""
        sums, counts = self.lm.score_with_counts(texts)
        unknown = self.lm.count_unknown(texts)
        return list(zip(sums.tolist(), counts.tolist(), unknown.tolist(), strict=True))

    def score_tokens(self, texts: list[str]) -> list[TokenScores]:
        """The tokens of each text and their log-probabilities."""
        return self.lm.score_tokens(texts)

    def encode(self, texts: list[str]) -> list[tuple[np.ndarray, int]]:
        """The vector of each text, [D] float32, and its number of tokens."""
        vectors, tokenizer = self.lm.encode(texts), self.lm.tokenizer
        if tokenizer is None:
            return [(vector, 0) for vector in vectors]
        return list(zip(vectors, tokenizer.tokenize_flat(texts)[1].tolist(), strict=True))

    def rerank(self, lists: list[GivenList]) -> list[dict[str, Any]]:
        """Each list as `tta.rerank` orders it: a `ListAnswer` without the signature."""
        texts = list(dict.fromkeys(text for one in lists for text in one.words))
        known = KnownScores(self.lm, dict(zip(texts, self.lm.score_tokens(texts), strict=True)))
        if isinstance(levels := self.reranker, Levels):
            second = KnownScores(levels.models[1], {})
            known = Levels(known, second, share=levels.share, best=levels.best)
        return [_reranked(one, known) for one in lists]


class KnownScores(Scorer):
    """A model whose token scores of some texts are known; it scores other texts once.

    Args:
        lm: the model.
        known: {text: its token scores}.
    """

    def __init__(self, lm: Scorer, known: dict[str, TokenScores]):
        self.name, self._lm, self._known = lm.name, lm, known

    @property
    def signature(self) -> str:
        """That of the model."""
        return self._lm.signature

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """The known token scores."""
        new = [text for text in texts if text not in self._known]
        self._known.update(zip(new, self._lm.score_tokens(new) if new else [], strict=True))
        return [self._known[text] for text in texts]

    def count_unknown(self, texts):
        return self._lm.count_unknown(texts)

    def is_common(self, word):
        return self._lm.is_common(word)

    def group_tokens(self, sentences, scored, texts=None):
        """As the model does."""
        return self._lm.group_tokens(sentences, scored, texts)


def _reranked(given, known):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        more = given._asdict()
        texts, scores = more.pop("hypotheses"), more.pop("scores")
        order = rerank(texts, scores, known, **more)
        sure = confidence(texts, scores, known, **more)
    without = [None] * len(order.texts)
    columns = order.texts, order.indices, order.scores, order.lm_scores
    columns += order.posteriors or without, order.expected_losses or without
    columns += (order.rescored or without,)
    names = tuple(RankedHypothesis.model_fields)
    return {
        "hypotheses": [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)],
        "words": [one.to_dict() for one in sure],
        "weights": _shown(order.weights),
        "notes": list(dict.fromkeys(str(one.message) for one in caught)),
    }


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


def check_texts(texts: Sequence[str], max_texts: int, max_characters: int) -> None:
    """Raises InputError for too many texts, or one of too many characters."""
    if len(texts) > max_texts:
        raise InputError(f"at most {max_texts:,} texts, got {len(texts):,}")
    for number, text in enumerate(texts, 1):
        if len(text) > max_characters:
            raise InputError(f"text {number}: at most {max_characters:,} characters")
