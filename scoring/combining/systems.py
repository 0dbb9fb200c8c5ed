"""The ways of reranking that are compared: without a model, with each model, with all together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from tta.scoring.combining.guess import guess
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights, RerankWeights, only, split_lm_weights

WITHOUT_MODEL, WITH_PHRASES = "no model", "with phrases"
FIRST_LEVEL = "first level"
MODEL_ALONE = "LM alone"  # the one model; several have their names: "small alone"


@dataclass(frozen=True)
class Systems:
    """Ways of reranking, by the name of their row.

    Attributes:
        alone: the first pass without a model, each model without the first pass, and the first of
            two levels, whose scores are those of its model.
        reranked: each model with the first pass and, if there are several, all together as the
            last. Without a model, the first pass alone.
        variants: the last of `reranked` with one feature left out and the other weights tuned
            again.
    """

    alone: Mapping[str, RerankWeights]
    reranked: Mapping[str, RerankWeights]
    variants: Mapping[str, RerankWeights] = field(default_factory=dict)

    @property
    def final(self) -> RerankWeights:
        """The weights to rerank with: those of the one model, or of all together."""
        return list(self.reranked.values())[-1]


@dataclass(frozen=True)
class WeightChoice:
    """Chooses the weights of every way of reranking: some are fixed, the others tuned or guessed.

    Attributes:
        names: the names of the models, which all differ.
        lists: the lists to tune on; without dev lists, those to rerank.
        statistics: the metric on them, by which weights are tuned; None to guess them.
        fixed: the weights that are fixed.
    """

    names: Sequence[str]
    lists: ScoredLists
    statistics: ListStatistics | None
    fixed: FixedWeights

    def systems(self) -> Systems:
        """All ways of reranking."""
        return Systems(self.alone(), self.reranked, self.variants())

    @property
    def final(self) -> RerankWeights:
        """The weights to rerank with."""
        return list(self.reranked.values())[-1]

    @cached_property
    def reranked(self) -> dict[str, RerankWeights]:
        """The rows `Systems.reranked`."""
        return self._with_first_pass(self.fixed)

    @cached_property
    def without_model(self) -> RerankWeights:
        """The weights without the models.

        Scores without a model have another scale, so a fixed bonus or scale is not for them.
        """
        return self._choose(
            replace(self.fixed, length_bonus=None, scale=None, lm_weight=None, shares=())
        )

    def alone(self) -> dict[str, RerankWeights]:
        """The rows `Systems.alone`. Those of models have their own scale, too."""
        count = len(self.names)
        rows = {WITHOUT_MODEL: self.without_model} if count else {}
        free = replace(self.fixed, length_bonus=None, scale=None, lm_weight=1.0)
        for k, name in enumerate(self.names):
            title = MODEL_ALONE if count == 1 else f"{name} alone"
            rows[title] = self._choose(replace(free, shares=only(k, count)))
        if self.lists.rescored is not None:
            rows[FIRST_LEVEL] = self.lists.rescored.weights
        return rows

    def variants(self) -> dict[str, RerankWeights]:
        """The rows `Systems.variants`; none if the weights are guessed."""
        rows = {}
        for left_out in self.final.features if self.statistics is not None else ():
            features = {name: w for name, w in self.fixed.features.items() if name != left_out}
            reranked = self._with_first_pass(replace(self.fixed, features=features))
            rows[f"without {left_out}"] = list(reranked.values())[-1]
        return rows

    def _with_first_pass(self, fixed: FixedWeights) -> dict[str, RerankWeights]:
        """Each model with the first pass, and several models together."""
        count = len(self.names)
        if not count:
            return {WITHOUT_MODEL: self._choose(replace(fixed, shares=(), lm_weight=None))}
        rows = {}
        lm_weights = fixed.lm_weights or [None] * count
        for k, (name, lm_weight) in enumerate(zip(self.names, lm_weights, strict=True)):
            title = "reranked" if count == 1 else f"{name} reranked"
            of_model = replace(fixed, shares=only(k, count), lm_weight=lm_weight)
            rows[title] = self._choose(of_model)
        if count > 1:
            lm_weight, shares = split_lm_weights(fixed.lm_weights, count)
            together = replace(fixed, lm_weight=lm_weight, shares=shares)
            rows["together"] = self._choose(together)
        return rows

    def _choose(self, fixed: FixedWeights) -> RerankWeights:
        """Tunes the weights that are not fixed, or guesses them without statistics."""
        if self.statistics is None:
            chosen = guess(self.lists, fixed)
        else:
            chosen = tune(self.lists, self.statistics, fixed)
        rescored = self.lists.rescored
        first_level = None if rescored is None else rescored.weights
        return replace(chosen.rounded(fixed), first_level=first_level)
