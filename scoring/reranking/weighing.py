"""Chooses the weights of reranking: they are fixed, tuned on dev lists, or guessed."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.score import ScoredProblem
from tta.scoring.combining.scored_lists import RANK
from tta.scoring.combining.systems import WITHOUT_MODEL, WeightChoice
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.fitting.misfits import Columns
from tta.scoring.notes import Note, NoteKind

# Fewer dev lists than this hardly move the weights (docs/reranking.md, the learning curve).
FEW_LISTS = 30


@dataclass(frozen=True)
class ChosenWeights:
    """The weights that rerank.

    Attributes:
        weights: those that rerank.
        choice: how they and those of other ways of reranking are chosen.
        is_given: whether the caller gave all weights, so that none was chosen.
    """

    weights: RerankWeights
    choice: WeightChoice
    is_given: bool = False

    @property
    def reranked(self) -> dict[str, RerankWeights]:
        """The weights of each model with the first pass, by the name of its row."""
        if not self.is_given:
            return self.choice.reranked
        return {"reranked" if self.choice.names else WITHOUT_MODEL: self.weights}


def weigh(
    scored: ScoredProblem,
    fixed: FixedWeights,
    weights: RerankWeights | None,
    tuned_on: Columns | None,
) -> ChosenWeights:
    """Chooses the weights that are not fixed; `weights` are given by a caller who has them all.

    The weights keep the columns that they are tuned on.
    """
    problem = scored.problem
    choice = WeightChoice(scored.names, problem.chosen_on.lists, problem.evidence, fixed)
    if weights is not None:
        return ChosenWeights(weights, choice, is_given=True)
    return ChosenWeights(replace(choice.final, tuned_on=tuned_on), choice)


def weight_notes(
    scored: ScoredProblem, chosen: ChosenWeights, copies: Mapping[str, str]
) -> Iterator[Note]:
    """Yields how the weights were found, if they were not given.

    `copies` are the features that say what another column says (`copied_features`).
    """
    if chosen.is_given:
        return
    dev, test = scored.problem.dev, scored.problem.test
    for name, other in copies.items():
        if name not in chosen.weights.features:
            yield _note(f"the feature {name} is left out: it is a copy of {other}, up to scale")
    weights, fixed, free = chosen.weights, chosen.choice.fixed, free_weights(scored, chosen)
    if weights.lm_weight == 1 and fixed.lm_weights is None and test.has_scores:
        yield _note(
            "first-pass scores differ so much that lm_weight rounds to 1: divide them to use them"
        )
    if dev is None and free:
        why = "as there are no dev lists (--dev_nbest_file, tta.tune)"
        yield _note(f"guessed, {why}: {', '.join(free)}", is_warning=False)
        if len(scored.models) > 1 and "lm_weight" in free:
            yield _note("the models have equal weights", is_warning=False)
    elif dev is not None and free:
        yield from _tuning_notes(scored, chosen, free)
    features = test.lists.features.keys() - weights.features.keys()
    unused = sorted(features - {RANK, *LIST_FEATURES})
    if dev is None and unused and set(fixed.features) >= set(unused):
        yield _note(f"features not used, because nothing is tuned: {', '.join(unused)}")
    if fixed.decision is None and test.lists.losses is None:
        yield _note(
            "the decision mbr was not tried: the pairs of hypotheses do not fit into memory",
            is_warning=False,
        )


def free_weights(scored: ScoredProblem, chosen: ChosenWeights) -> list[str]:
    """The names of the weights, other than those of features, that were chosen."""
    fixed = chosen.choice.fixed
    free = ["lm_weight"] if scored.models and fixed.lm_weights is None else []
    free += ["length_bonus"] if fixed.length_bonus is None else []
    free += ["scale"] if chosen.weights.decision == "mbr" and fixed.scale is None else []
    return free


def _tuning_notes(scored: ScoredProblem, chosen: ChosenWeights, free: list[str]) -> Iterator[Note]:
    dev, fixed = scored.problem.chosen_on, chosen.choice.fixed
    if len(dev.nbest) < FEW_LISTS:
        words = sum(len((nbest.reference or "").split()) for nbest in dev.nbest)
        tuned = [name for name in chosen.weights.features if fixed.features.get(name) is None]
        yield _note(
            f"few dev lists: {len(dev.nbest)}, with {words:,} words, for {len(free + tuned)} "
            "weights; so the weights stay near those that are guessed without dev lists",
            is_warning=False,
        )
    for name, weights in chosen.reranked.items():
        if weights.shares and not weights.lm_weight and fixed.lm_weights is None:
            text = f"{name}: on the dev lists the model does not help: its weight is 0"
            yield _note(text, is_warning=False)


def _note(text: str, is_warning: bool = True) -> Note:
    return Note(NoteKind.WEIGHTS, text, is_warning=is_warning)
