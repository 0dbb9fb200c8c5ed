"""A part of lists: N-best lists that are tuned on, reranked or trained on together.

Every way of reranking prepares its lists here, in the same steps: `Part.build` checks the lists and
lays them out, `compared` counts errors, and `scored` adds the scores of a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tta.data.nbest.lists import NBestList
from tta.errors import located
from tta.scoring.combining.scored_lists import (
    ListStatistics,
    ModelScores,
    ScoredLists,
    TokenScores,
    check_widths,
    score_by_rank,
)
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.risk import PairwiseLosses


@dataclass(frozen=True)
class Part:
    """N-best lists, and what was prepared of them.

    Attributes:
        lists: the arrays, with the losses and the models' scores that were added so far.
        path: of the file, as messages show it; None for lists in memory.
        statistics: the metric's, of every hypothesis; None if nothing is measured.
    """

    lists: ScoredLists
    path: str | None = None
    statistics: ListStatistics | None = None

    @classmethod
    def build(
        cls, nbest: Sequence[NBestList], path: str | None = None, rank_scores: bool = True
    ) -> "Part":
        """Lays out lists. With `rank_scores`, lists without first-pass scores get -ln(rank).

        Raises InputError if the padded lists do not fit into memory.
        """
        with located(path=path):
            check_widths(nbest)
        ranked = rank_scores and not _has_scores(nbest)
        if ranked:
            nbest = [score_by_rank(nbest_list) for nbest_list in nbest]
        return cls(ScoredLists.build(nbest, ranked=ranked), path)

    @property
    def name(self) -> str:
        """The path, or what messages call lists in memory."""
        return self.path or "the lists"

    @property
    def nbest(self) -> Sequence[NBestList]:
        """The lists, with their ranks as scores if `lists.ranked`."""
        return self.lists.nbest

    @property
    def has_scores(self) -> bool:
        """Whether the hypotheses have first-pass scores, or ranks in place of them."""
        return _has_scores(self.nbest)

    @property
    def has_references(self) -> bool:
        """Whether lists have references."""
        return any(nbest_list.reference is not None for nbest_list in self.nbest)

    @property
    def texts(self) -> list[str]:
        """The texts of all hypotheses."""
        return [h.text for nbest_list in self.nbest for h in nbest_list.hypotheses]

    def compared(self, metric: Metric, measured: bool = True, losses: bool = True) -> "Part":
        """Compares hypotheses as a metric does: `measured` with the reference, if there is one;
        `losses` with each other, for the decision `mbr`. Adds the features of the whole list.

        Raises InputError if the metric is not defined on the references, or the pairs of hypotheses
        do not fit into memory.
        """
        statistics = pairs = None
        with located(path=self.path):
            if measured and self.has_references:
                statistics = ListStatistics.build(self.nbest, metric)
                statistics.value(np.zeros(len(self.nbest), int))  # fails before the scoring
            if losses:
                pairs = PairwiseLosses.build(self.nbest, metric)
        lists = replace(self.lists, losses=pairs).with_list_features(metric)
        return replace(self, statistics=statistics, lists=lists)

    def scored(self, token_scores: TokenScores) -> "Part":
        """Adds a model's scores, before those added earlier; see `ModelScores.build` for errors."""
        models = ModelScores.build(self.nbest, token_scores), *self.lists.models
        return replace(self, lists=replace(self.lists, models=models))


def _has_scores(nbest: Sequence[NBestList]) -> bool:
    """Whether the hypotheses have scores: all of a file have one, or none."""
    return any(
        nbest_list.hypotheses[0].score is not None for nbest_list in nbest if nbest_list.hypotheses
    )
