"""Two levels of models: the second one scores the probable hypotheses, the others get an estimate.

The first model scores all hypotheses. Its weights are guessed or tuned as always, and posteriors
follow. Those that are high enough choose what the second model scores. Every other score is
estimated: the first one plus the mean difference of the two models' scores in the list. So the
column is whole, and all that follows works as with one model.

L lists, N hypotheses in the longest list.
"""

import itertools
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.errors import InputError
from tta.scoring.combining.decision import decide, posteriors_of
from tta.scoring.combining.scored_lists import (
    ModelScores,
    Rescored,
    ScoredLists,
    TokenScores,
    lowest_unless,
    score_texts,
)
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.scorers.scorer import Scorer

LEAST = 3  # hypotheses of a list that are rescored in any case, unless `best` is lower


class Levels(Scorer):
    """Two models in place of one, wherever lists are reranked.

    The second one scores the hypotheses whose posterior by the first one is at least `share` of the
    highest in their list, at least `LEAST` and at most `best`; and those with the same text.

    Args:
        first, second: models from `tta.load`, or arguments of `tta.load`.
        share: 0 to 1.
        best: 1 or more.

    Raises:
        InputError: `share` or `best` is out of its range, or both models are the same. Every method
            that scores texts without lists raises it, too.
    """

    no_scores = no_vectors = "levels score lists (tta.rerank); take one of the models for texts"

    def __init__(self, first: Any, second: Any, *, share: float = 0.02, best: int = 12):
        self.models, self.share, self.best = (first, second), share, best
        names = [m.name if isinstance(m, Scorer) else os.fspath(m or "small") for m in self.models]
        self.name = ", ".join(names)
        for model in self.models:
            if isinstance(model, Levels):
                raise InputError(self.no_scores, model.name)
        if not 0 <= share <= 1:
            raise InputError(f"share must be between 0 and 1, not {share!r}")
        if best < 1 or best != int(best):
            raise InputError(f"best must be a whole number from 1, not {best!r}")
        if first is second or (names[0] == names[1] and not isinstance(first, Scorer)):
            raise InputError(f"both levels are the same model, {names[0]!r}")

    @property
    def signature(self) -> str:
        """Those of the models, which are loaded, and what is rescored."""
        return f"{self.models[0].signature}|{self.rule}|{self.models[1].signature}"

    @property
    def rule(self) -> str:
        """What is rescored, as signatures say it."""
        return f"rescored:share={self.share:g},best={self.best}"

    def chosen(self, posteriors: np.ndarray, present: np.ndarray) -> np.ndarray:
        """Which hypotheses are rescored, the earlier ones of equally probable ones: [L, N] bool.

        `posteriors`, [L, N] float64, are those of the first level, where `present`, [L, N] bool.
        """
        probabilities = np.where(present, posteriors, -1.0)
        rank = np.argsort(np.argsort(-probabilities, axis=1, kind="stable"), axis=1, kind="stable")
        probable = probabilities >= self.share * probabilities.max(axis=1, keepdims=True)
        return present & (probable | (rank < LEAST)) & (rank < self.best)


def rescore(
    lists: ScoredLists, levels: Levels, weights: RerankWeights, lm: Scorer, progress: bool = False
) -> ScoredLists:
    """Puts the scores of `lm`, the second model, in place of those of the first one.

    `weights` are those of the first level.
    """
    scored = levels.chosen(posteriors_of(decide(lists, weights)), lists.present)
    texts_to_score = with_equal_texts(lists.nbest, scored)
    rescored = Rescored(lists.models[0], weights, scored, levels.rule)
    column = estimated(lists, rescored, score_texts(lm, texts_to_score, progress))
    return replace(lists, models=(column,))


def with_equal_texts(nbest: Sequence[NBestList], chosen: np.ndarray) -> list[str]:
    """The distinct texts of chosen hypotheses, list by list. Hypotheses with these texts join them.

    `chosen` is [L, N] bool, and is changed.
    """
    texts_to_score: list[str] = []
    for row, nbest_list in zip(chosen, nbest, strict=True):
        texts = [h.text for h in nbest_list.hypotheses]
        same = dict.fromkeys(itertools.compress(texts, row))
        row[: len(texts)] = [text in same for text in texts]
        texts_to_score += same
    return texts_to_score


def estimated(lists: ScoredLists, rescored: Rescored, token_scores: TokenScores) -> ModelScores:
    """The scores of the second model, or estimates; a text without tokens gets the lowest of all.

    An estimate has no tokens. Raises InputError if a score is not finite.
    """
    first, scored = rescored.first, rescored.scored
    second = ModelScores.build(lists.nbest, defaultdict(lambda: (0.0, 0), token_scores))
    counts = np.where(scored, second.num_tokens, 0)
    has_tokens = np.where(scored, counts, first.num_tokens) > 0
    both, reduced = (counts > 0) & (first.num_tokens > 0), {}
    for name, before in first.reduced.items():
        sums = np.where(both, second.reduced[name] - before, 0.0).sum(axis=1, keepdims=True)
        estimate = before + sums / np.maximum(both.sum(axis=1, keepdims=True), 1)
        values = np.where(counts > 0, second.reduced[name], estimate)
        reduced[name] = lowest_unless(has_tokens, values)
    return ModelScores(reduced, counts, rescored)
