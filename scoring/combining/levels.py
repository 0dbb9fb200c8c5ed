"""Two levels of models: the second one scores the probable hypotheses, the others get an estimate.

The first model scores all hypotheses. Its weights are guessed or tuned as always, and posteriors
follow. The second model scores the hypotheses whose posterior is high enough. The score of every
other one is estimated: its first score plus the mean difference of the two models' scores in its
list. So the column is whole, and all that follows works as with one model.

L lists, N hypotheses in the longest list.
"""

import itertools
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import (
    ModelScores,
    Rescored,
    ScoredLists,
    TokenScores,
    lowest_unless,
    score_texts,
)
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.combining.word_evidence import posteriors_of
from tta.scoring.scorers.options import NO_MODEL
from tta.scoring.scorers.scorer import Scorer

SHARE, BEST = 0.02, 12
LEAST = 3  # hypotheses of a list that are rescored in any case


class Levels(Scorer):
    """A model that scores lists on two levels, wherever lists are reranked, in place of one model.

    The second model scores the hypotheses whose posterior by the first one is at least `share` of
    the highest in their list: at least 3, or `best` if this is fewer, and at most `best`; and
    hypotheses with the same text.

    Args:
        first, second: models from `tta.load`, or arguments of `tta.load`, which are loaded when
            lists are scored.
        share: 0 to 1.
        best: 1 or more.

    Raises:
        InputError: `share` or `best` is out of its range, the models are the same, or one of them
            is no single model. So does every method that scores texts without lists.
    """

    no_scores = no_vectors = "levels score lists (tta.rerank); take one of the models for texts"

    def __init__(self, first: Any, second: Any, *, share: float = SHARE, best: int = BEST):
        if not (isinstance(share, (int, float)) and 0 <= share <= 1):
            raise InputError(f"share must be a number from 0 to 1, not {share!r}")
        if isinstance(best, bool) or not (isinstance(best, (int, np.integer)) and best >= 1):
            raise InputError(f"best must be a whole number from 1, not {best!r}")
        names = [_name(first), _name(second)]
        if first is second or (names[0] == names[1] and not isinstance(first, Scorer)):
            raise InputError(f"both levels are the same model, {names[0]!r}")
        self.first, self.second, self.share, self.best = first, second, share, best
        self.name = ", ".join(names)

    @property
    def signature(self) -> str:
        """Those of the two models, which must be loaded."""
        return f"{self.first.signature}|{self.rule}|{self.second.signature}"

    @property
    def rule(self) -> str:
        """What is rescored, as signatures say it."""
        return f"rescored:share={self.share:g},best={self.best}"

    def chosen(self, posteriors: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Which hypotheses are rescored: [L, N] bool. Of equally probable ones, earlier ones.

        Args:
            posteriors: [L, N] float64, those of the first level.
            present: [L, N] bool, False at padding.
        """
        known = np.where(present, posteriors, -1.0)
        rank = np.argsort(np.argsort(-known, axis=1, kind="stable"), axis=1, kind="stable")
        probable = known >= self.share * known.max(axis=1, keepdims=True)
        return present & (probable | (rank < LEAST)) & (rank < self.best)


def _name(model: Any) -> str:
    """The name of one of two models that may not be loaded. InputError if it is no single model."""
    if isinstance(model, (list, tuple, Levels)) or model == NO_MODEL:
        raise InputError(f"levels are two single models, not {getattr(model, 'name', model)!r}")
    return model.name if isinstance(model, Scorer) else os.fspath(model or "small")


def rescore(
    parts: Sequence[ScoredLists],
    levels: Levels,
    weights: RerankWeights,
    lm: Scorer,
    progress: bool = False,
) -> list[ScoredLists]:
    """Puts the scores of the second level in place of those of the first one.

    Args:
        parts: lists with the scores of the first model alone.
        weights: those of the first level.
        lm: the second model.
    """
    masks = []
    for lists in parts:
        mask = levels.chosen(posteriors_of(decide(lists, weights)), lists.present)
        for row, one in zip(mask, lists.nbest, strict=True):
            texts = [h.text for h in one.hypotheses]
            same = set(itertools.compress(texts, row))
            row[: len(texts)] = [text in same for text in texts]
        masks.append(mask)
    pairs = list(zip(parts, masks, strict=True))
    wanted = [
        lists.nbest[i].hypotheses[j].text for lists, mask in pairs for i, j in np.argwhere(mask)
    ]
    scores = score_texts(lm, wanted, progress)
    return [
        replace(lists, models=(estimated(lists, mask, scores, weights),)) for lists, mask in pairs
    ]


def estimated(
    lists: ScoredLists, scored: np.ndarray, token_scores: TokenScores, weights: RerankWeights
) -> ModelScores:
    """The column of the second model: its scores where `scored`, [L, N] bool, else estimates.

    An estimate has no tokens. A text without tokens gets the lowest score of its list.

    Raises InputError if a score is not finite.
    """
    first, width = lists.models[0], scored.shape[1]
    few = [
        replace(one, hypotheses=tuple(itertools.compress(one.hypotheses, row)))
        for one, row in zip(lists.nbest, scored, strict=True)
    ]
    own = ModelScores.build(few, token_scores)
    there = np.arange(own.num_tokens.shape[1]) < scored.sum(axis=1, keepdims=True)

    def spread_out(values: np.ndarray) -> np.ndarray:
        whole = np.zeros([len(values), width], values.dtype)
        whole[scored] = values[there]
        return whole

    counts = spread_out(own.num_tokens)
    has_tokens = np.where(scored, counts, first.num_tokens) > 0
    both = (counts > 0) & (first.num_tokens > 0)
    reduced = {}
    for name, before in first.reduced.items():
        after = spread_out(own.reduced[name])
        sums = np.where(both, after - before, 0.0).sum(axis=1, keepdims=True)
        estimate = before + sums / np.maximum(both.sum(axis=1, keepdims=True), 1)
        reduced[name] = lowest_unless(has_tokens, np.where(counts > 0, after, estimate))
    return ModelScores(reduced, counts, Rescored(first, weights, scored))
