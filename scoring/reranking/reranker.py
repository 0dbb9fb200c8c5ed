"""One reranker behind every door: `tta rerank`, `tta.rerank`, `/v1/rerank` and the demo.

A door reads its input, calls a `Reranker`, and shows what it found. `Reranker.run` is the list of
the stages; each stands in a file of its own, and takes what the stages before it made.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tta.choices import DECISIONS
from tta.data.nbest.lists import parse_number
from tta.errors import InputError, located
from tta.scoring.combining.decision import decide
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.score import Models, ScoredProblem, score
from tta.scoring.combining.weights import (
    EVERY_FEATURE,
    FIRST_PASS,
    PHRASES,
    FixedWeights,
    RerankWeights,
)
from tta.scoring.metrics.metric import Metric, load_metric
from tta.scoring.notes import Note, in_order
from tta.scoring.phrases.lines import MAX_FACTOR
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.reranking.comparing import (
    columns_tuned_on,
    compare,
    copied_features,
    fit_notes,
    lay_out,
    list_notes,
)
from tta.scoring.reranking.knowledge import PhraseOptions, add_knowledge, knowledge_notes
from tta.scoring.reranking.notes import pick_notes, scoring_notes
from tta.scoring.reranking.reading import RerankInput, read_lists
from tta.scoring.reranking.reranked import Outcome, Reranked, RerankedList, Tuned
from tta.scoring.reranking.weighing import ChosenWeights, weigh, weight_notes
from tta.scoring.scorers.arguments import as_texts
from tta.scoring.scorers.options import NO_MODEL
from tta.scoring.scorers.scorer import Scorer

Model: TypeAlias = Scorer | os.PathLike[str] | str | None
Features: TypeAlias = Mapping[str, Sequence[float]] | Iterable[Mapping[str, Sequence[float]]] | None

_ALL_TO_CHOOSE = FixedWeights(features={EVERY_FEATURE: None})


class Reranker:
    """Reranks N-best lists. It holds what does not change between them: models, metric, weights.

    It keeps nothing of the lists, so several threads may share it.

    Args:
        model, metric, rank_scores, keep_non_words, phrases, phrases_weight, progress: as in
            `tta.rerank`.
        weights: as in `tta.rerank`; or `FixedWeights`, where some are fixed and the others are
            chosen.
        phrases_candidates: whether words that are spelled like a phrase become the phrase, in new
            hypotheses of short lists. The index of such a hypothesis is above those of the others.
        measured: whether hypotheses are compared with references, where there are some.

    Raises:
        InputError: the weights are for another number of models, a weight is out of its range, the
            metric is unknown, or a phrase has no word.
        TypeError: `weights` are no weights, or `phrases` no ordered iterable of str.

    >>> weights = tta.Reranker(lm).tune(dev_lists, references, dev_scores).weights
    >>> reranked = tta.Reranker(lm, weights=weights).rerank(lists, scores)
    >>> reranked.lists[0].texts[0]
    """

    def __init__(
        self,
        model: Model | Sequence[Model] | Models = None,
        *,
        weights: RerankWeights | FixedWeights | None = None,
        metric: str | Metric = "wer",
        rank_scores: bool = True,
        keep_non_words: bool = False,
        phrases: Iterable[str] | Phrases | None = None,
        phrases_weight: float | None = None,
        phrases_candidates: bool = False,
        measured: bool = True,
        progress: bool = False,
    ):
        self.models = _as_models(model)
        self.metric = load_metric(metric) if isinstance(metric, str) else metric
        feature_weight = None
        if isinstance(weights, RerankWeights) and phrases is not None:
            features = dict(weights.features)
            feature_weight = features.pop(PHRASES, None)  # the feature is added after the others
            weights = replace(weights, features=features)
        self.weights = weights if isinstance(weights, RerankWeights) else None
        self.fixed = _as_fixed(weights, self.models)
        self.rank_scores = rank_scores
        self.keep_non_words = keep_non_words or not self.metric.of_speech
        self.phrases = _as_phrases(
            phrases,
            self.metric,
            keep_non_words=self.keep_non_words,
            weight=phrases_weight,
            feature_weight=feature_weight,
            candidates=phrases_candidates,
        )
        self.measured = measured
        self.progress = progress

    def run(self, lists: RerankInput, problem: Problem) -> Outcome:
        """The stages of reranking, for lists that were read and laid out.

        Stages keep the number and the order of hypotheses: index j is the j-th that was read.
        Candidates come after them.
        """
        weighed = self._weigh(lists, problem, self.weights)
        chosen = weighed.chosen
        scored = weighed.scored.looked_again(chosen.weights, self.progress)
        before_phrases = decide(scored.problem.test.lists, chosen.weights)
        knowledge = add_knowledge(scored, chosen.weights, self.phrases, self._score_candidates)
        knowledge = knowledge.looked_again(scored.mixed, self.progress)
        decision = before_phrases
        if knowledge.phrases is not None:
            decision = decide(knowledge.part.lists, knowledge.weights)
        notes = [
            *weighed.notes,
            *knowledge_notes(knowledge, before_phrases.picks),
            *pick_notes(scored, chosen, before_phrases.picks),
        ]
        return Outcome(
            scored=scored,
            chosen=chosen,
            knowledge=knowledge,
            decision=decision,
            metric=self.metric,
            notes=tuple(in_order(notes)),
        )

    def rerank(
        self,
        lists: Iterable[Iterable[str]],
        scores: Iterable[Iterable[float]] | None = None,
        *,
        features: Iterable[Mapping[str, Sequence[float]]] | None = None,
        references: Iterable[str] | None = None,
    ) -> Reranked:
        """Reranks L lists. Arguments and errors are those of `tta.rerank`.

        L references are not needed. With them, `Outcome.fit_confidence` works.
        """
        read = read_lists(
            lists,
            scores,
            features=features,
            references=references,
            keep_non_words=self.keep_non_words,
        )
        nbest = read.test.file.lists
        if not any(nbest_list.hypotheses for nbest_list in nbest):
            weights = self.weights or FIRST_PASS
            empty = [RerankedList([], [], [], weights) for _ in nbest]
            return Reranked(empty, weights, read.notes, None)
        return Reranked.of(self.run(read, lay_out(read, self.rank_scores)))

    def tune(
        self,
        lists: Iterable[Iterable[str]],
        references: Iterable[str],
        scores: Iterable[Iterable[float]] | None = None,
    ) -> Tuned:
        """Chooses the weights that are not fixed on lists with references; see `tta.tune`."""
        read = read_lists(
            lists,
            scores,
            references=references,
            keep_non_words=self.keep_non_words,
            is_tuned=True,
        )
        if not any(nbest.hypotheses for nbest in read.test.file.lists):
            raise InputError("tuning needs a list with a text, and there is none")
        weighed = self._weigh(read, lay_out(read, self.rank_scores))
        return Tuned(weighed.chosen.weights, tuple(in_order(weighed.notes)))

    def _weigh(
        self, lists: RerankInput, problem: Problem, weights: RerankWeights | None = None
    ) -> "_Weighed":
        """The stages from comparing to weighing, which reranking and tuning have in common.

        Without `weights`, those that are not fixed are chosen.
        """
        problem = self._compare(problem)
        copies = copied_features(problem)
        fixed = self._fix_features(problem, copies)
        tuned_on = columns_tuned_on(problem, fixed.features, weights)
        notes_of_fit = list(fit_notes(problem, fixed.features, tuned_on))  # before the scoring
        scored = score(problem, self.models, fixed, self.progress)
        chosen = weigh(scored, fixed, weights, tuned_on)
        notes = [
            *lists.notes,
            *list_notes(problem),
            *notes_of_fit,
            *scoring_notes(scored),
            *weight_notes(scored, chosen, copies),
        ]
        return _Weighed(scored, chosen, notes)

    def _compare(self, problem: Problem) -> Problem:
        return compare(
            problem, self.metric, measured=self.measured, decision=self.fixed.fixed_decision
        )

    def _fix_features(self, problem: Problem, copies: Mapping[str, str]) -> FixedWeights:
        """The fixed weights, with the names of the features of the lists, without copies.

        Raises InputError if not every hypothesis has a feature that is to be used.
        """
        names = problem.features - ({PHRASES} if self.phrases is not None else set())
        fixed = self.fixed.name_features(names)
        features = {
            name: weight
            for name, weight in fixed.features.items()
            if weight is not None or name not in copies
        }
        fixed = replace(fixed, features=features)
        for part in problem.parts:
            for name in fixed.features:
                part.lists.feature(name)  # raises, if a hypothesis lacks it
        return fixed

    def _score_candidates(self, part: Part, scored: ScoredProblem) -> Part:
        """Compares and scores lists with candidates. If there is one model, it is used again."""
        problem = self._compare(Problem((part,)))
        rescored = scored.problem.test.lists.rescored
        fixed = FixedWeights(first_level=None if rescored is None else rescored.weights)
        models = self.models
        if scored.lm is not None and len(scored.records) == 1:
            models = Models((scored.lm,))
        return score(problem, models, fixed).problem.test


@dataclass(frozen=True)
class _Weighed:
    """Lists with scores and weights, and notes on both."""

    scored: ScoredProblem
    chosen: ChosenWeights
    notes: list[Note]


def _as_models(model: Any) -> Models:
    if isinstance(model, Models):
        return model
    if isinstance(model, str) and model == NO_MODEL:
        return Models(())
    if not isinstance(model, (list, tuple)):
        return Models((model,))
    if not model:
        raise InputError('model is an empty list; None is the built-in model, "none" no model')
    return Models(tuple(model))


def _as_fixed(weights: RerankWeights | FixedWeights | None, models: Models) -> FixedWeights:
    """The weights that are fixed. Raises InputError if they do not fit the models."""
    if weights is None:
        return _ALL_TO_CHOOSE
    if isinstance(weights, FixedWeights):
        return weights
    if not isinstance(weights, RerankWeights):
        raise TypeError(f"weights must be a tta.RerankWeights, not {type(weights).__name__}")
    count = len(models.models)
    if len(weights.shares) != count:
        raise InputError(
            f"the weights have {len(weights.shares)} shares, one per model, not {count}"
        )
    if weights.first_level and not isinstance(models.models[0], Levels):
        raise InputError("the weights are those of two levels: they need a tta.Levels")
    return FixedWeights.of(weights)


def _as_phrases(
    phrases: Iterable[str] | Phrases | None,
    metric: Metric,
    *,
    keep_non_words: bool,
    weight: float | None,
    feature_weight: float | None,
    candidates: bool,
) -> PhraseOptions | None:
    number = None if weight is None else parse_number(weight, "phrases_weight")
    if number is not None and not (phrases is not None and 0 <= number <= MAX_FACTOR):
        rule = f"phrases_weight needs phrases, and must be between 0 and {MAX_FACTOR:g}"
        raise InputError(f"{rule}, not {number:g}")
    if phrases is None:
        return None
    if not isinstance(phrases, Phrases):
        with located("phrases"):
            phrases = Phrases(as_texts(phrases, "phrases"), metric, None, keep_non_words)
    return PhraseOptions(phrases, number, feature_weight, candidates)


def check_decision(decision: str | None) -> None:
    """Raises InputError unless a decision is one, or None."""
    if decision not in (None, *DECISIONS):
        raise InputError(f"decision must be max, mbr or None, not {decision!r}")
