"""Reranks N-best lists in memory: one `Reranker` behind Python and HTTP.

What a reader must know of the lists is data of the result (`Reranked.notes`). So it belongs to one
call, whatever other threads do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import tta
from tta.data.nbest.conversion import as_read, plain_lists
from tta.data.nbest.files import NBestFile
from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList, parse_number, parse_score
from tta.data.nbest.notes import score_notes
from tta.errors import InputError, located
from tta.scoring.combining.confidence import (
    ConfidenceWeights,
    WordConfidence,
    confidence_notes,
    confidences_of,
)
from tta.scoring.combining.decision import Decision, decide
from tta.scoring.combining.levels import Levels
from tta.scoring.combining.part import Part, score_by_each
from tta.scoring.combining.phrases import MAX_FACTOR, Phrases, weigh
from tta.scoring.combining.systems import choose_reranked
from tta.scoring.combining.weights import FIRST_PASS, GivenWeights, RerankWeights
from tta.scoring.combining.word_evidence import find_evidence
from tta.scoring.metrics.metric import Metric, load_metric
from tta.scoring.metrics.risk import needs_losses
from tta.scoring.scorers.arguments import as_list, as_texts
from tta.scoring.scorers.inference.reading import unread_notes
from tta.scoring.scorers.options import NO_MODEL, RerankOptions
from tta.scoring.scorers.scorer import Scorer

# What a note says to do about scores of each kind.
_USE = {
    "cost": "pass their negatives",
    "probability": "pass their logarithms",
    "log_probability": "ignore this",
}

Model: TypeAlias = Scorer | os.PathLike[str] | str | None
Models: TypeAlias = Model | Sequence[Model]
Features: TypeAlias = Mapping[str, Sequence[float]] | Iterable[Mapping[str, Sequence[float]]] | None


@dataclass(frozen=True)
class RerankedList:
    """An N-best list in its new order, best first.

    Attributes:
        texts: n str.
        scores: n float, the combined scores, natural log. Highest first for the decision `max`.
        indices: n int, the position of each text in the original list, from 0.
        weights: the weights of the combined scores.
        posteriors: n float, the probability of each text, 0 to 1; None for the decision `max`.
        expected_losses: n float, lowest first: word errors, or 1 - chrF; None for `max`.
        lm_scores: n float, the model's scores; of several, the mixture's; None without a model.
        rescored: n bool, whether the second model of `tta.Levels` scored the text; None for others.
    """

    texts: list[str]
    scores: list[float]
    indices: list[int]
    weights: RerankWeights = field(repr=False)
    posteriors: list[float] | None = field(default=None, repr=False)
    expected_losses: list[float] | None = field(default=None, repr=False)
    lm_scores: list[float] | None = field(default=None, repr=False)
    rescored: list[bool] | None = field(default=None, repr=False)


@dataclass
class Reranked:
    """What a `Reranker` found in L lists.

    Attributes:
        size: L.
        metric: how texts were compared.
        weights: of the combined scores.
        notes: what a reader must know of these lists.
        decision: None if no list has a text.
        lm: the first model; None without one.
        progress: whether confidences show a progress bar.
    """

    size: int
    metric: Metric
    weights: RerankWeights
    notes: list[str]
    decision: Decision | None = None
    lm: Scorer | None = None
    progress: bool = False

    def in_order(self) -> list[RerankedList]:
        """The L lists, each best first."""
        if self.decision is None:
            return [RerankedList([], [], [], self.weights) for _ in range(self.size)]
        return [_in_order(self.decision, row) for row in range(self.size)]

    def confidences(self, weights: ConfidenceWeights | None = None) -> list[list[WordConfidence]]:
        """How sure each word of the L picks is; adds to the notes."""
        if self.decision is None:
            return [[] for _ in range(self.size)]
        evidence = find_evidence(self.decision, self.metric, self.lm, progress=self.progress)
        self.notes.extend(confidence_notes(self.decision, evidence.has_model, False))
        return confidences_of(evidence, weights).words


class Reranker:
    """Reranks lists in memory. The arguments are those of `tta.rerank`; they are checked here.

    Raises:
        InputError: the weights are for another number of models, a weight is out of range, or a
            metric is unknown.
        TypeError: `weights` are no `RerankWeights`, or `phrases` no ordered iterable of str.
    """

    def __init__(
        self,
        model: Models = None,
        *,
        weights: RerankWeights | None = None,
        metric: str | Metric = "wer",
        rank_scores: bool = True,
        keep_non_words: bool = False,
        phrases: Iterable[str] | None = None,
        phrases_weight: float | None = None,
        progress: bool = False,
    ):
        self.metric = load_metric(metric) if isinstance(metric, str) else metric
        self.models = _as_models(model)
        _check_weights(weights, self.models)
        self.weights = weights
        self.rank_scores = rank_scores
        self.keep_non_words = keep_non_words or self.metric.name in ("BLEU", "chrF", "TER")
        self.phrases = None if phrases is None else as_texts(phrases, "phrases")
        self.phrases_weight = _check_phrases_weight(phrases_weight, phrases is not None)
        self.progress = progress

    def rerank(
        self,
        lists: Sequence[Any],
        scores: Iterable[Any] | None = None,
        *,
        features: Iterable[Any] | None = None,
        references: Iterable[str] | None = None,
    ) -> Reranked:
        """Reranks L lists; see `tta.rerank`. The references are kept for `fit_on`."""
        nbest, notes = self._read(lists, scores, features=features, references=references)
        phrases = self._read_phrases()
        weights = self.weights
        reranked = Reranked(len(lists), self.metric, weights or FIRST_PASS, notes)
        if not any(nbest_list.hypotheses for nbest_list in nbest):
            return reranked

        def load(model: Model) -> Scorer:
            lm = load_for_reranking(model)
            texts_of_lists = [[h.text for h in nbest_list.hypotheses] for nbest_list in nbest]
            texts = [*dict.fromkeys(text for texts in texts_of_lists for text in texts)]
            notes.extend(unread_notes(lm, texts_of_lists, texts, lm.count_unknown(texts)))
            return lm

        losses = weights is None or weights.decision == "mbr"
        part = Part.build(nbest, None, self.rank_scores).compared(self.metric, False, losses)
        first_level = weights and weights.first_level
        given = GivenWeights(features=dict.fromkeys(part.lists.features), first_level=first_level)
        (part,), lm = score_by_each([part], self.models, load, given, False, self.progress)
        scored, weights = part.lists, weights or _choose(part, given)
        if phrases is not None:
            phrases.leave_out((lm or Scorer()).is_common)
            notes.extend(phrases.notes())
            weighed = weigh(scored, phrases, weights, self.phrases_weight)
            scored, weights = weighed.lists, weighed.weights
        reranked.decision = decide(scored, weights)
        reranked.lm, reranked.progress = lm, self.progress
        return reranked

    def tune(
        self,
        lists: Sequence[Any],
        references: Iterable[str],
        scores: Iterable[Any] | None = None,
        *,
        decision: str | None = None,
        features: Iterable[str] | None = None,
    ) -> tuple[RerankWeights, list[str]]:
        """Chooses weights on lists with references; see `tta.tune`. Returns notes, too."""
        nbest, notes = self._read(lists, scores, references=references)
        self._read_phrases()
        if not any(nbest_list.hypotheses for nbest_list in nbest):
            raise InputError("tuning needs a list with a text, and there is none")
        part = Part.build(nbest, None, self.rank_scores)
        part = part.compared(self.metric, losses=needs_losses(decision, nbest))
        names = part.lists.features if features is None else features
        for name in names:
            part.lists.feature(name)  # fails if there is no such feature
        given = GivenWeights(decision=decision, features=dict.fromkeys(names))
        parts, _ = score_by_each(
            [part], self.models, load_for_reranking, given, True, self.progress
        )
        return _choose(parts[0], given), notes

    def _read(self, lists, scores, features=None, references=None):
        return read_lists(lists, scores, features, references, self.keep_non_words)

    def _read_phrases(self) -> Phrases | None:
        """The phrases, new ones for each call: `leave_out` changes them."""
        if self.phrases is None:
            return None
        with located("phrases"):
            return Phrases(self.phrases, self.metric, None, self.keep_non_words)


def load_for_reranking(model: Model) -> Scorer:
    """A model that is loaded, or the model of a name with the options of run_rerank.py."""
    return model if isinstance(model, Scorer) else tta.load(model, **RerankOptions().for_load())


def read_lists(
    lists: Sequence[Any],
    scores: Iterable[Any] | None = None,
    features: Iterable[Any] | None = None,
    references: Iterable[str] | None = None,
    keep_non_words: bool = False,
) -> tuple[list[NBestList], list[str]]:
    """The lists with their index as id, by the rules for lists in files; and notes on them."""
    names = "scores", "references", "features"
    columns: dict[str, list[Any]] = dict.fromkeys(names, [None] * len(lists))
    if features is not None:
        columns["features"] = as_list(features, "features", "dicts")
    if scores is not None:
        columns["scores"] = as_list(scores, "scores", "lists of numbers")
    if references is not None:
        columns["references"] = as_texts(references, "references")
    for name, column in columns.items():
        _check_length(name, column, "lists", lists)
    collector = ListCollector()
    for i, (texts, numbers, reference, of_list) in enumerate(
        zip(lists, *columns.values(), strict=True)
    ):
        texts = as_texts(texts, f"lists[{i}]")
        if numbers is None:
            numbers = [None] * len(texts)
        numbers = as_list(numbers, f"scores[{i}]", "numbers")
        _check_length(f"scores[{i}]", numbers, f"lists[{i}]", texts)
        of_list = {name: list(values) for name, values in (of_list or {}).items()}
        for name, values in of_list.items():
            _check_length(f"features[{i}][{name!r}]", values, f"lists[{i}]", texts)
        with located(f"lists[{i}]"):
            named = [
                {name: parse_number(values[j], name) for name, values in of_list.items()}
                for j in range(len(texts))
            ]
            hypotheses = [
                Hypothesis(text, parse_score(number), features=own)
                for text, number, own in zip(texts, numbers, named, strict=True)
            ]
            collector.add(str(i), hypotheses, reference)
    nbest, notes = plain_lists(collector.take(), keep_non_words)
    file = NBestFile(nbest, "jsonl", notes=tuple(notes))
    return nbest, [*notes, *score_notes(file, _USE, min_lists=10)]


def _in_order(decision: Decision, row: int) -> RerankedList:
    hypotheses, order = as_read(decision.lists.nbest[row]).hypotheses, decision.ranking(row)
    texts = [hypotheses[j].text for j in order]
    columns = [
        None if decision.expected_losses is None else decision.posteriors,
        decision.expected_losses,
        decision.lm_scores if decision.lists.models else None,
        decision.lists.rescored and decision.lists.rescored.scored,
    ]
    of_row = [None if column is None else column[row, order].tolist() for column in columns]
    scores = decision.combined[row, order].tolist()
    return RerankedList(texts, scores, order, decision.weights, *of_row)


def _as_models(model: Any) -> list[Model]:
    if isinstance(model, str) and model == NO_MODEL:
        return []
    if not isinstance(model, (list, tuple)):
        return [model]
    if not model:
        raise InputError('model is an empty list; None is the built-in model, "none" no model')
    return list(model)


def _check_length(name, values, other_name, others):
    if len(values) != len(others):
        lengths = f"{name} has length {len(values)}, but {other_name} has length {len(others)}"
        raise InputError(lengths)


def _check_weights(weights: RerankWeights | None, models: Sequence[Model]) -> None:
    if not isinstance(weights, RerankWeights | None):
        raise TypeError(f"weights must be a tta.RerankWeights, not {type(weights).__name__}")
    if weights is not None and len(weights.shares) != len(models):
        count = len(weights.shares)
        raise InputError(f"the weights have {count} shares, one per model, not {len(models)}")
    if weights is not None and weights.first_level and not isinstance(models[0], Levels):
        raise InputError("the weights are those of two levels: they need a tta.Levels")


def _check_phrases_weight(weight: Any, has_phrases: bool) -> float | None:
    if weight is None:
        return None
    number = parse_number(weight, "phrases_weight")
    if not (has_phrases and 0 <= number <= MAX_FACTOR):
        rule = f"phrases_weight needs phrases, and must be between 0 and {MAX_FACTOR:g}"
        raise InputError(f"{rule}, not {number:g}")
    return number


def _choose(part: Part, given: GivenWeights) -> RerankWeights:
    """Tunes the weights, or guesses them if nothing is measured."""
    names = list(map(str, range(len(part.lists.models))))
    return list(choose_reranked(names, part.lists, part.statistics, given).values())[-1]
