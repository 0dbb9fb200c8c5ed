"""Scores lists with language models, one after the other; each distinct text once per model."""

import gc
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tta.errors import InputError
from tta.scoring.combining.levels import Levels, rescore
from tta.scoring.combining.mixed import look_again, score_part
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.scored_lists import score_texts
from tta.scoring.combining.systems import WeightChoice
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.notes import Note, NoteKind
from tta.scoring.scorers.inference.mixed import MixedModel, in_float32, in_int8
from tta.scoring.scorers.inference.reading import language_notes, unread_notes
from tta.scoring.scorers.options import RERANK_DEFAULTS, RerankOptions
from tta.scoring.scorers.scorer import Scorer, unknown_note


@dataclass(frozen=True)
class Models:
    """The language models of reranking. Each is loaded when it is needed, and then released.

    Attributes:
        models: models that are loaded, first arguments of `tta.load` (None is the built-in model),
            or `Levels` of two of these.
        options: the other arguments of `tta.load`.

    Raises:
        InputError: there are `Levels` beside another model.
    """

    models: tuple[Any, ...]
    options: RerankOptions = RERANK_DEFAULTS

    def __post_init__(self):
        if len(self.models) > 1 and any(isinstance(model, Levels) for model in self.models):
            raise InputError("levels rerank alone, not beside another model")

    @property
    def levels(self) -> Levels | None:
        """The two levels; None for other models."""
        return next((model for model in self.models if isinstance(model, Levels)), None)

    def load(self, model: Any) -> Scorer:
        """Loads one of the models, or one of the two levels."""
        if isinstance(model, Scorer):
            return model
        both = self.levels.models if self.levels is not None else ()
        return self.options.among(model, both).load(model)


@dataclass(frozen=True)
class ModelRecord:
    """A model that scored lists: its name, its signature, and what it could not read."""

    name: str
    signature: str
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class ScoredProblem:
    """Lists with the scores of models.

    Attributes:
        problem: the lists.
        models: a record of each model, in the order of the scores' columns.
        first_level: of two levels, the record of the first one; else None.
        lm: the first model, which is still loaded, because its token scores colour pages and judge
            words. Of two levels, it is the second model. None without a model.
        mixed: {number of the column: model}, the models in mixed precision, still loaded.
    """

    problem: Problem
    models: tuple[ModelRecord, ...] = ()
    first_level: ModelRecord | None = None
    lm: Scorer | None = None
    mixed: Mapping[int, MixedModel] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the models, made distinct: the second `lm` becomes `lm (2)`."""
        distinct: list[str] = []
        for model in self.models:
            name, number = model.name, 1
            while name in distinct:
                number += 1
                name = f"{model.name} ({number})"
            distinct.append(name)
        return distinct

    def looked_again(self, weights: RerankWeights, progress: bool = False) -> "ScoredProblem":
        """The same, with scores in float32 of what can still win in the lists to rerank."""
        *before, test = self.problem.parts
        lists = look_again(test.lists, weights, self.mixed, progress)
        problem = replace(self.problem, parts=(*before, replace(test, lists=lists)))
        return replace(self, problem=problem)

    @property
    def records(self) -> list[ModelRecord]:
        """The records of all models; the first of two levels comes last."""
        return [*self.models, *filter(None, [self.first_level])]


def score(
    problem: Problem,
    models: Models,
    fixed: FixedWeights | None = None,
    progress: bool = False,
) -> ScoredProblem:
    """Adds the scores of all models to all lists.

    `fixed` is for two levels: its `first_level` are the weights by which the first level chooses
    what the second one scores. Without it, they are tuned or guessed, as the problem says.

    Raises InputError if a model cannot be loaded, or a score is not finite.
    """
    if models.levels is not None:
        return _score_in_levels(problem, models, models.levels, fixed or FixedWeights(), progress)
    records, lm, in_two_precisions = [], None, {}
    # The first model is loaded last, and stays.
    for number, model in reversed([*enumerate(models.models)]):
        if lm is not None:
            lm = None
            gc.collect()  # a compiled function and its model refer to each other
        lm = models.load(model)
        records.insert(0, record(lm, problem))
        if isinstance(lm, MixedModel):
            in_two_precisions[number] = lm
            problem = _score_mixed(problem, lm, progress)
        else:
            scores = score_texts(lm, problem.texts, progress)
            problem = problem.map(lambda part, scores=scores: part.scored(scores))
    return ScoredProblem(problem, tuple(records), lm=lm, mixed=in_two_precisions)


def _score_mixed(problem: Problem, lm: MixedModel, progress: bool) -> Problem:
    """Scores the lists that weights are tuned on in float32, and others in mixed precision."""

    def scored(part: Part) -> Part:
        if part is problem.dev:
            return part.scored(score_texts(lm.exact, part.texts, progress))
        return score_part(part, lm, progress)

    return problem.map(scored)


def _score_in_levels(
    problem: Problem, models: Models, levels: Levels, fixed: FixedWeights, progress: bool
) -> ScoredProblem:
    """Scores all texts with the first model, and the probable hypotheses with the second one.

    In mixed precision, the first one scores in int8, and the second one in float32.
    """
    lm = in_int8(models.load(levels.models[0]))
    first_record = record(lm, problem)
    scores = score_texts(lm, problem.texts, progress)
    problem = problem.map(lambda part: part.scored(scores))
    weights = fixed.first_level or choose_first_level(problem, fixed)
    if lm is not levels.models[0]:  # nobody else holds it
        del lm
        gc.collect()
    second = in_float32(models.load(levels.models[1]))
    second_record = record(second, problem)
    problem = problem.map(
        lambda part: replace(part, lists=rescore(part.lists, levels, weights, second, progress))
    )
    return ScoredProblem(problem, (second_record,), first_record, second)


def choose_first_level(problem: Problem, fixed: FixedWeights) -> RerankWeights:
    """The weights of the first of two levels, whose scores the lists have."""
    free = FixedWeights(reduction=fixed.reduction, features=fixed.features)
    return WeightChoice(["lm"], problem.chosen_on.lists, problem.evidence, free).final


def record(lm: Scorer, problem: Problem) -> ModelRecord:
    """What the result says of a model that scores the texts of a problem."""
    reader, texts = in_float32(lm), problem.texts
    counts = reader.count_unknown(texts)
    lists = [[h.text for h in nbest.hypotheses] for part in problem.parts for nbest in part.nbest]
    first_texts = [texts_of_list[0] for texts_of_list in lists if texts_of_list]
    notes = [Note(NoteKind.MODEL, text) for text in unread_notes(reader, lists, texts, counts)]
    notes += [Note(NoteKind.MODEL, text) for text in language_notes(reader, first_texts)]
    for text in unknown_note(reader, texts, counts):
        notes.append(Note(NoteKind.MODEL, text, is_warning=False))
    return ModelRecord(lm.name, lm.signature, tuple(notes))
