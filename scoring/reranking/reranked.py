"""What reranking finds: the products of its stages, and lists in their new order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tta.data.nbest.conversion import as_read
from tta.scoring.combining.decision import Decision
from tta.scoring.combining.score import ScoredProblem
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import Metric
from tta.scoring.notes import Note, in_order
from tta.scoring.reports.table import signatures
from tta.scoring.reranking.knowledge import Knowledge
from tta.scoring.reranking.weighing import ChosenWeights
from tta.scoring.scorers.inference.mixed import in_float32
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.words.confidence import ConfidenceWeights, WordConfidence, fit_on
from tta.scoring.words.judge import JudgedWords, judge_words


@dataclass(frozen=True)
class RerankedList:
    """An N-best list in its new order, best first.

    Attributes:
        texts: n str.
        scores: n float, the combined scores, natural log. Highest first for the decision `max`.
        indices: n int, the position of each text in the original list, from 0.
        weights: the weights of the combined scores.
        posteriors: n float, the probability of each text, 0 to 1; None for the decision `max`.
            Equal texts have one each, and the loss between them is 0, so that they add up.
        expected_losses: n float, lowest first: word errors, or 1 - chrF; None for `max`.
        lm_scores: n float, the model's scores; of several, the mixture's; None without a model.
        rescored: n bool, whether the second model of `tta.Levels` scored the text; None for others.
        features: the features that have a weight: {name: n float}.
        terms: what each column adds to the scores: {column: n float}, natural log. Those of a text
            sum to its score. The columns are `first_pass_score`, `lm_score` (of several models,
            `models.NAME.lm_score`), `num_words` and `features.NAME`. In lists where a guessed
            length bonus is left out, `num_words` adds 0.
    """

    texts: list[str]
    scores: list[float]
    indices: list[int]
    weights: RerankWeights = field(repr=False)
    posteriors: list[float] | None = field(default=None, repr=False)
    expected_losses: list[float] | None = field(default=None, repr=False)
    lm_scores: list[float] | None = field(default=None, repr=False)
    rescored: list[bool] | None = field(default=None, repr=False)
    features: dict[str, list[float]] = field(default_factory=dict, repr=False)
    terms: dict[str, list[float]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, decision: Decision, row: int, terms: Mapping[str, np.ndarray]) -> "RerankedList":
        """List `row` of a decision, whose `terms` are those of all lists."""
        lists, order = decision.lists, decision.ranking(row)
        hypotheses = as_read(lists.nbest[row]).hypotheses
        has_losses, rescored = decision.expected_losses is not None, lists.rescored
        return cls(
            texts=[hypotheses[j].text for j in order],
            scores=decision.combined[row, order].tolist(),
            indices=order,
            weights=decision.weights,
            posteriors=decision.posteriors[row, order].tolist() if has_losses else None,
            expected_losses=(
                None
                if decision.expected_losses is None
                else decision.expected_losses[row, order].tolist()
            ),
            lm_scores=decision.lm_scores[row, order].tolist() if lists.models else None,
            rescored=None if rescored is None else rescored.scored[row, order].tolist(),
            features={
                name: lists.feature(name)[row, order].tolist() for name in decision.weights.features
            },
            terms={name: values[row, order].tolist() for name, values in terms.items()},
        )


@dataclass(frozen=True)
class Outcome:
    """What each stage of reranking made of L lists.

    Attributes:
        scored: the lists with the scores of the models.
        chosen: the weights, before phrases.
        knowledge: the lists and weights that are decided on.
        decision: the order of each list.
        metric: how texts are compared.
        notes: what a reader must know.
    """

    scored: ScoredProblem
    chosen: ChosenWeights
    knowledge: Knowledge
    decision: Decision
    metric: Metric
    notes: tuple[Note, ...]

    @property
    def lm(self) -> Scorer | None:
        """The first model, or the second of two levels; None without a model.

        Of one in mixed precision, it is the model in float32.
        """
        return None if self.scored.lm is None else in_float32(self.scored.lm)

    @property
    def signatures(self) -> list[str]:
        """What the order depends on: a line for each model, and for the decision."""
        lines, rescored = [], self.scored.problem.test.lists.rescored
        if self.scored.first_level is not None and rescored is not None:
            first = [self.scored.first_level.signature]
            lines += [*signatures(first, rescored.weights, self.metric), rescored.rule]
        models = [model.signature for model in self.scored.models]
        lines += signatures(models, self.chosen.weights, self.metric)
        if self.knowledge.phrases is not None:
            lines.append(f"phrases_weight:{self.knowledge.phrases.weight:.6g}")
        return lines

    def judge_words(
        self, weights: ConfidenceWeights | None = None, progress: bool = False
    ) -> JudgedWords:
        """How sure each word of the picks is; see `judge_words` in `words`."""
        return judge_words(self.decision, self.metric, self.lm, weights, progress)

    def fit_confidence(self) -> ConfidenceWeights:
        """Fits the weights of confidences on the picks, by the references of the lists."""
        return fit_on(self.decision, self.metric, self.lm)


@dataclass(frozen=True)
class Reranked:
    """The answer to a call with L lists.

    Attributes:
        lists: L lists, each best first. An empty list stays empty.
        weights: the weights of the combined scores.
        notes: what a reader must know of these lists, those of a kind together.
        outcome: what each stage made; None if no list has a text.
    """

    lists: Sequence[RerankedList]
    weights: RerankWeights
    notes: tuple[Note, ...]
    outcome: Outcome | None = field(repr=False)

    @classmethod
    def of(cls, outcome: Outcome) -> "Reranked":
        """The answer of an outcome."""
        decision = outcome.decision
        terms = decision.terms(outcome.scored.names)
        rows = range(len(decision.lists.nbest))
        lists = [RerankedList.of(decision, row, terms) for row in rows]
        return cls(lists, decision.weights, outcome.notes, outcome)

    @property
    def signatures(self) -> list[str]:
        """What the order depends on: a line for each model, and for the decision."""
        return [] if self.outcome is None else self.outcome.signatures

    def confidence(self, weights: ConfidenceWeights | None = None) -> "WordsOfPicks":
        """How sure each word of the L picks is; see `tta.confidence`."""
        if self.outcome is None:
            return WordsOfPicks([[] for _ in self.lists], self.notes)
        words = self.outcome.judge_words(weights)
        notes = tuple(in_order([*self.notes, *words.notes]))
        return WordsOfPicks(words.confidences.words, notes)


@dataclass(frozen=True)
class WordsOfPicks:
    """The words of L picks with their confidences, and the notes on lists and confidences."""

    words: list[list[WordConfidence]]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Tuned:
    """Weights that were tuned, and what a reader must know of the lists."""

    weights: RerankWeights
    notes: tuple[Note, ...]
