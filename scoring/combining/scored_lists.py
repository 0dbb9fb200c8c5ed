"""N-best lists with first-pass and language-model scores, and metrics over them, as padded arrays.

Shapes: L lists, N hypotheses in the longest list, K language models. All scores are natural logs;
higher is better.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.errors import InputError, located, shown
from tta.scoring.combining.list_features import LIST_FEATURES, list_features
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.risk import PairwiseLosses
from tta.scoring.scorers.scorer import Scorer

# The largest L * N, unless the lists are about equally long.
MAX_PADDED = 50_000_000

# The feature -ln(rank in the list), with ranks from 1. In a file, features of this name and of
# those of the whole list are ignored.
RANK = "rank"

# Maps a text to the sum of its token scores, natural log, and the number of its tokens.
TokenScores = Mapping[str, tuple[float, int]]


@dataclass(frozen=True)
class ModelScores:
    """The scores that one language model gives to the hypotheses.

    Attributes:
        reduced: {"sum": [L, N] float64, "mean": [L, N] float64}, the sum or mean of token scores.
        num_tokens: [L, N] int64, the number of tokens scored.
        rescored: of the second of two levels, what the first level was; else None.
        precisions: of a model in mixed precision, which scores are in float32; else None.
    """

    reduced: Mapping[str, np.ndarray]
    num_tokens: np.ndarray
    rescored: "Rescored | None" = None
    precisions: "InTwoPrecisions | None" = None

    @classmethod
    def build(cls, nbest: Sequence[NBestList], token_scores: TokenScores) -> "ModelScores":
        """Lays out a model's scores of L lists as arrays.

        A text without tokens, such as an empty one, gets the lowest score in its list. Its own sum,
        0, would be the best score of all. So only its first-pass score can make it win. Raises
        InputError if a score is not finite.
        """
        hypotheses = [nbest_list.hypotheses for nbest_list in nbest]
        sums = pad([np.array([token_scores[h.text][0] for h in hs], float) for hs in hypotheses])
        counts = pad([np.array([token_scores[h.text][1] for h in hs], int) for hs in hypotheses])
        for i, j in np.argwhere(~np.isfinite(sums)):
            raise InputError(
                f"list {nbest[i].utterance_id!r}: the language model's score of "
                f"{hypotheses[i][j].text!r} must be a finite number, not {sums[i, j]}"
            )
        has_tokens = counts > 0  # False at padding, too
        means = sums / np.maximum(counts, 1)
        reduced = {"sum": lowest_unless(has_tokens, sums), "mean": lowest_unless(has_tokens, means)}
        return cls(reduced, counts)


@dataclass(frozen=True)
class Rescored:
    """The first of two levels (`tta.scoring.combining.levels`): its scores, and its weights.

    `scored` is [L, N] bool, whether the second model scored a hypothesis; other scores are
    estimates. `rule` says what it scored.
    """

    first: ModelScores
    weights: RerankWeights
    scored: np.ndarray
    rule: str


@dataclass(frozen=True)
class InTwoPrecisions:
    """Where the scores of a model in mixed precision are from (`tta.scoring.combining.mixed`).

    Attributes:
        rounded: {"sum": [L, N] float64, "mean": [L, N] float64}, the scores in int8.
        exact: [L, N] bool, whether a score is in float32.
    """

    rounded: Mapping[str, np.ndarray]
    exact: np.ndarray


@dataclass(frozen=True)
class ScoredLists:
    """N-best lists with the scores of K language models: the input of every way of reranking.

    Attributes:
        nbest: L `NBestList`, which may be empty.
        present: [L, N] bool, False at padding.
        first_pass: [L, N] float64; zeros if there are no first-pass scores, which keeps the order.
        num_words: [L, N] int64, the number of words, separated by white space.
        has_scores: whether first-pass scores differ within a list. False if there are none.
        features: {name: [L, N] float64}, the first-pass features that every hypothesis has, `RANK`
            and those of `list_features`; zeros at padding.
        losses: the loss between all pairs of hypotheses of a list, for the decision `mbr`; None if
            only the decision `max` is possible.
        models: K `ModelScores`.
        ranked: whether the first-pass scores are -ln(rank), because the lists had none.
    """

    nbest: Sequence[NBestList]
    present: np.ndarray
    first_pass: np.ndarray
    num_words: np.ndarray
    has_scores: bool
    features: Mapping[str, np.ndarray]
    losses: PairwiseLosses | None
    models: tuple[ModelScores, ...]
    ranked: bool = False

    @classmethod
    def build(
        cls,
        nbest: Sequence[NBestList],
        *token_scores: TokenScores,
        losses: PairwiseLosses | None = None,
        ranked: bool = False,
    ) -> "ScoredLists":
        """Lays out L lists and the token scores of K models as arrays; see `ModelScores.build`.

        All hypotheses must have a first-pass score, or none.
        """
        hypotheses = [nbest_list.hypotheses for nbest_list in nbest]
        present = pad([np.ones(len(hs), bool) for hs in hypotheses])
        first_pass = np.zeros(present.shape)
        if all(h.score is not None for hs in hypotheses for h in hs):
            first_pass = pad([np.array([h.score for h in hs], float) for hs in hypotheses])
        words = pad([np.array([len(h.text.split()) for h in hs], int) for hs in hypotheses])
        features = {
            name: pad([np.array([h.features[name] for h in hs], float) for hs in hypotheses])
            for name in common_features(nbest) - {RANK, *LIST_FEATURES}
        }
        features[RANK] = pad([-np.log(np.arange(1, len(hs) + 1)) for hs in hypotheses])
        models = tuple(
            ModelScores.build(nbest, scores_of_model) for scores_of_model in token_scores
        )
        has_scores = bool(((first_pass != first_pass[:, :1]) & present).any())
        return cls(
            nbest=nbest,
            present=present,
            first_pass=first_pass,
            num_words=words,
            has_scores=has_scores,
            features=features,
            losses=losses,
            models=models,
            ranked=ranked,
        )

    def with_list_features(self, metric: Metric) -> "ScoredLists":
        """Adds `list_features` of the texts as a metric reads them, if they improve the metric.

        Lists whose pairs of hypotheses do not fit into memory get none.
        """
        if not (metric.of_speech and PairwiseLosses.fits_into_memory(self.nbest)):
            return self
        columns = [
            list_features(
                [metric.normalize(h.text) for h in nbest_list.hypotheses], scores[present]
            )
            for nbest_list, scores, present in zip(
                self.nbest, self.first_pass, self.present, strict=True
            )
        ]
        added = {name: pad([column[name] for column in columns]) for name in LIST_FEATURES}
        return replace(self, features={**self.features, **added})

    @property
    def rescored(self) -> "Rescored | None":
        """What a model of two levels left to the second one; None for other models."""
        return self.models[0].rescored if self.models else None

    def feature(self, name: str) -> np.ndarray:
        """A first-pass feature: [L, N] float64. Raises InputError if not all hypotheses have it."""
        if name not in self.features:
            names = ", ".join(self.features)
            raise InputError(
                f"not every hypothesis has a feature {name!r}; these all have: {names}"
            )
        return self.features[name]

    def mix(self, shares: Sequence[float], reduction: str) -> np.ndarray:
        """The sum of the K models' scores, each times its share: [L, N] float64.

        Without shares, it is 0.
        """
        if not shares:
            return np.zeros(self.present.shape)
        models = zip(self.models, shares, strict=True)
        parts = (share * model.reduced[reduction] for model, share in models if share)
        return sum(parts, start=np.zeros(self.present.shape))


def score_texts(lm: Scorer, texts: Iterable[str], progress: bool = False) -> TokenScores:
    """Scores every distinct text once."""
    distinct = list(dict.fromkeys(texts))
    sums, counts = lm.score_with_counts(distinct, progress=progress)
    pairs = zip(sums.tolist(), counts.tolist(), strict=True)
    return dict(zip(distinct, pairs, strict=True))


def common_features(nbest: Sequence[NBestList]) -> set[str]:
    """The names of the features that every hypothesis has, and `RANK`."""
    features = [h.features for nbest_list in nbest for h in nbest_list.hypotheses]
    return set(features[0]).intersection(*features[1:]) | {RANK} if features else {RANK}


def check_widths(nbest: Sequence[NBestList]) -> None:
    """Raises InputError if lists padded to the length of the longest do not fit into memory."""
    widths = [len(nbest_list.hypotheses) for nbest_list in nbest]
    longest = int(np.argmax(widths))
    if len(nbest) * widths[longest] > max(MAX_PADDED, 4 * sum(widths)):
        raise InputError(
            f"list {nbest[longest].utterance_id!r} has {widths[longest]:,} hypotheses, and "
            f"{len(nbest):,} lists padded to that length do not fit into memory: rerank it "
            "separately"
        )


def score_by_rank(one: NBestList) -> NBestList:
    """Gives the score -ln(rank) to every hypothesis of a list that is ordered best first.

    The hypothesis at rank r is thus assumed to be correct 1/r times as often as the first.
    """
    ranked = enumerate(one.hypotheses, start=1)
    return replace(one, hypotheses=tuple(replace(h, score=-math.log(r)) for r, h in ranked))


def pad(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Stacks arrays [n_i, ...] of different lengths into one [L, N, ...], padded with zeros.

    N is at least 1, so that a pick from an empty list has an index.
    """
    longest = max(rows, key=len)
    padded = np.zeros([len(rows), max(len(longest), 1), *longest.shape[1:]], longest.dtype)
    for i, row in enumerate(rows):
        padded[i, : len(row)] = row
    return padded


def lowest_unless(judged: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Where not `judged`, gives the lowest judged score of the list, or 0 if there is none."""
    lowest = np.where(judged, scores, np.inf).min(axis=1, keepdims=True)
    return np.where(judged, scores, np.where(np.isinf(lowest), 0.0, lowest))


@dataclass(frozen=True)
class ListStatistics:
    """A metric's statistics of every hypothesis. The value of any picks follows from a sum.

    `counts` is [L, N, S] int64, zeros at padding; `present` is [L, N] bool, False at padding.
    """

    metric: Metric
    counts: np.ndarray
    present: np.ndarray

    @classmethod
    def build(cls, nbest: Sequence[NBestList], metric: Metric) -> "ListStatistics":
        """Compares every hypothesis with the reference of its list. A list without one counts 0.

        A list without hypotheses counts as one with an empty hypothesis: all words are deleted.
        """
        counts = []
        for nbest_list in nbest:
            texts = [h.text for h in nbest_list.hypotheses] or [""]
            with located(f"list {shown(nbest_list.utterance_id)}"):
                statistics = metric.statistics(
                    texts, nbest_list.reference or "", *nbest_list.more_references
                )
                counts.append(
                    statistics if nbest_list.reference is not None else np.zeros_like(statistics)
                )
        return cls(
            metric, pad(counts), pad([np.ones(len(list_counts), bool) for list_counts in counts])
        )

    def of(self, picks: np.ndarray) -> np.ndarray:
        """The statistics of the picked hypotheses, list by list: [L] -> [L, S] int64."""
        return self.counts[np.arange(len(picks)), picks]

    def value(self, picks: np.ndarray) -> float:
        """The metric over all picks: [L] -> float."""
        return float(self.metric.corpus(self.of(picks).sum(axis=0)))

    @cached_property
    def errors(self) -> np.ndarray:
        """`Metric.errors` of every hypothesis: [L, N] float64; 0 at padding."""
        return np.where(self.present, self.metric.errors(self.counts), 0.0)

    def oracle(self) -> np.ndarray:
        """The index of the best hypothesis of each list, by the references: [L] int64."""
        return np.where(self.present, self.errors, np.inf).argmin(axis=1)
