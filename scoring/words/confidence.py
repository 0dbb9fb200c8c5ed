"""How sure each word of the picks is: a logistic regression on evidence, its fit and weights."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tta.errors import InputError, shown
from tta.scoring.combining.decision import Decision
from tta.scoring.combining.weights import rounded
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.significance import bootstrap, interval
from tta.scoring.notes import Note, NoteKind
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.words.evidence import (
    MODEL_UNITS,
    TEXT_UNITS,
    UNITS,
    WordEvidence,
    find_evidence,
)

BIAS, DELETIONS, SINGLE = "bias", "deletions", "single_"
_SINGLE = {**MODEL_UNITS, **TEXT_UNITS}  # the features of words in lists of one hypothesis
_PSEUDO_WORDS = 20.0  # missing words for which the default rate of deletions counts


@dataclass(frozen=True)
class ConfidenceWeights:
    """The weights of the features of words, by name.

    Attributes:
        several: of words in lists of several hypotheses: `bias` and names of `UNITS`. P(correct)
            is the logistic function of the bias plus the features times their weights.
        single: the same, of words in lists of one hypothesis, of which the list says nothing.
        deletions: the number of words that a pick lacks, per expected word that other hypotheses
            have and it has not.

    Raises:
        InputError: a name is unknown, or a weight is not a finite number.
    """

    several: Mapping[str, float]
    single: Mapping[str, float]
    deletions: float

    def __post_init__(self):
        for weights, names in (self.several, UNITS), (self.single, _SINGLE):
            for name in weights.keys() - {BIAS, *names}:
                raise InputError(f"confidence_weights has no {name!r}; it has {', '.join(names)}")
        for name, weight in self.items():
            if not math.isfinite(weight):
                raise InputError(f"the confidence weight {name} must be finite, not {weight}")
        if self.deletions < 0:
            raise InputError(f"the confidence weight deletions is negative: {self.deletions}")

    @classmethod
    def of(cls, items: Mapping[str, float]) -> "ConfidenceWeights":
        """The inverse of `items`; weights that are not there are 0."""
        several, single = {}, {}
        for name, weight in items.items():
            if name.startswith(SINGLE):
                single[name.removeprefix(SINGLE)] = weight
            elif name != DELETIONS:
                several[name] = weight
        return cls(several, single, items.get(DELETIONS, 0.0))

    def items(self) -> list[tuple[str, float]]:
        """All weights by name; those of `single` start with "single_"."""
        single = [(f"{SINGLE}{name}", weight) for name, weight in self.single.items()]
        return [*self.several.items(), *single, (DELETIONS, self.deletions)]

    @property
    def uses_model(self) -> bool:
        """Whether a model's token scores are needed."""
        return any({**self.several, **self.single}.get(name) for name in MODEL_UNITS)

    def probabilities(self, evidence: WordEvidence) -> np.ndarray:
        """P(correct) of every word: [W] float64, 0 to 1; 1 for words that are not compared.

        Raises InputError if the weights need a model's scores, and there are none.
        """
        if self.uses_model and not evidence.has_model:
            raise InputError("these confidence weights need a model with token scores")
        scores = np.where(
            evidence.is_single,
            _score(self.single, evidence.values),
            _score(self.several, evidence.values),
        )
        is_compared = np.array(
            [bool(parts) for parts_of_list in evidence.parts for parts in parts_of_list], bool
        )
        return np.where(is_compared, expit(scores), 1.0)


def fit_weights(
    evidence: WordEvidence,
    correct: np.ndarray,
    deletions: np.ndarray,
    prior: ConfidenceWeights | None = None,
) -> ConfidenceWeights:
    """Fits weights on words that are known to be `correct` or not, [W] bool, near a prior.

    Args:
        deletions: [L] int64, the number of words that each pick lacks.
        prior: the weights without any evidence; None for `default_weights`. So a few lists change
            little, and many find their own weights.
    """
    prior = prior or default_weights(evidence.has_model)
    names = [name for name in UNITS if evidence.has_model or name not in MODEL_UNITS]
    # What a list of one hypothesis would show is learned from all words.
    alone = [name for name in names if name in _SINGLE]
    several = evidence.is_single == 0
    mass = float(evidence.missing.sum())
    rate = (deletions.sum() + _PSEUDO_WORDS * prior.deletions) / (mass + _PSEUDO_WORDS)
    return ConfidenceWeights(
        fit_logistic(evidence.values[several], correct[several], names, prior.several),
        fit_logistic(evidence.values, correct, alone, prior.single),
        rounded(rate),
    )


def fit_logistic(
    values: np.ndarray, correct: np.ndarray, names: Sequence[str], prior: Mapping[str, float]
) -> dict[str, float]:
    """Minimizes the negative log-likelihood + |weights - prior|^2 / 2 by L-BFGS; {name: weight}.

    Distances count in the `UNITS` of the features; the bias is free. Values are [W, F] float64.
    """
    columns = [list(UNITS).index(name) for name in names]
    units = np.array([UNITS[name] for name in names])
    scaled = values[:, columns] / units
    start = np.array([prior.get(BIAS, 0.0), *(prior.get(n, 0.0) * UNITS[n] for n in names)])
    cost = np.array([1e-3, *[1.0] * len(names)])
    signs = np.where(correct, 1.0, -1.0)

    def loss(point):
        scores = signs * (point[0] + scaled @ point[1:])
        slope = -signs * expit(-scores)
        away = point - start
        gradient = np.concatenate([[slope.sum()], slope @ scaled]) + cost * away
        return np.logaddexp(0, -scores).sum() + cost @ away**2 / 2, gradient

    point = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000}).x
    weights = dict(zip(names, point[1:] / units, strict=True))
    return {name: rounded(weight) for name, weight in {BIAS: point[0], **weights}.items()}


def _score(weights, values):
    columns = np.array([weights.get(name, 0.0) for name in UNITS])
    return weights.get(BIAS, 0.0) + values @ columns


@dataclass(frozen=True)
class WordConfidence:
    """How sure a word is.

    Attributes:
        word: as it is written; in scripts without blanks, a character.
        probability: P(the word is correct), 0 to 1.
        rival: the best of what other hypotheses have in its place, "" for no word; None if all
            have the word.
        rival_probability: the posterior of the hypotheses that have the rival, 0 to 1.
    """

    word: str
    probability: float
    rival: str | None
    rival_probability: float

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold."""
        return asdict(self)


@dataclass(frozen=True)
class Confidences:
    """The confidences of the picks of L lists.

    Attributes:
        words: L lists of `WordConfidence`.
        errors: [L] float64, the expected number of word errors of each pick: of its words, and of
            words that it lacks.
        lengths: [L] float64, the expected number of words of each reference.
        name: of the error rate: "WER", or "CER" if characters are words; or, beside the table of
            another metric, what it is.
    """

    words: list[list[WordConfidence]]
    errors: np.ndarray
    lengths: np.ndarray
    name: str

    @property
    def expected(self) -> float:
        """The expected error rate in percent; NaN if no words are expected."""
        total = float(self.lengths.sum())
        return 100 * float(self.errors.sum()) / total if total else float("nan")

    def describe(self, fitted_on: str | None = None) -> str:
        """A line on the expected error rate; its interval is of lists drawn with replacement."""

        def on_resamples(index):
            return 100 * self.errors[index].sum(-1) / self.lengths[index].sum(-1)

        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = interval(bootstrap(len(self.errors), on_resamples))
        line = f"expected {self.name} of the picks, without references: {self.expected:.2f} %"
        line += f" [{low:.2f}, {high:.2f}]" if np.isfinite([low, high]).all() else ""
        return line + (f", fitted on other lists, {fitted_on}" if fitted_on else "")


def confidences_of(evidence: WordEvidence, weights: ConfidenceWeights | None = None) -> Confidences:
    """The confidences of words whose evidence was found; without weights, by the default ones."""
    weights = weights or default_weights(evidence.has_model)
    probabilities = weights.probabilities(evidence)
    rows = zip(probabilities, evidence.rivals, evidence.rival_masses, strict=True)
    words = [
        [WordConfidence(word, float(p), rival, float(mass)) for word, (p, rival, mass) in
         zip(words_of_list, rows, strict=False)]
        for words_of_list in evidence.words
    ]  # fmt: skip
    count = len(evidence.words)
    errors = weights.deletions * evidence.missing
    errors += np.bincount(evidence.owners, 1 - probabilities, count)
    return Confidences(words, errors, evidence.lengths, evidence.rate)


def fit_on(decision: Decision, metric: Metric, lm: Scorer | None) -> ConfidenceWeights:
    """Fits weights on the picks of lists with references; see `fit_weights`."""
    evidence = find_evidence(decision, metric, lm)
    references = [nbest_list.reference or "" for nbest_list in decision.lists.nbest]
    judgement = evidence.judge(references, metric)
    return fit_weights(evidence, judgement.correct, judgement.deletions)


def confidence_notes(decision: Decision, has_model: bool, is_default: bool) -> Iterator[Note]:
    """Yields what a reader of confidences must know."""
    if is_default:
        text = (
            f"confidences by default weights, fitted on {DEFAULT_SETS}; with dev lists they are "
            "fitted there"
        )
        yield Note(NoteKind.CONFIDENCE, text, is_warning=False)
    single = [nbest.utterance_id for nbest in decision.lists.nbest if len(nbest.hypotheses) == 1]
    if single:
        source = "the model's scores alone give" if has_model else "without a model nothing gives"
        text = (
            f"lists of one hypothesis: {len(single):,}, first {shown(single[0])}; {source} the "
            "confidences of their words"
        )
        yield Note(NoteKind.CONFIDENCE, text)


def default_weights(has_model: bool) -> ConfidenceWeights:
    """The weights without dev lists, with a model's token scores or without (`DEFAULT_SETS`)."""
    return ConfidenceWeights.of(_WITH_MODEL if has_model else _WITHOUT)


# What the default weights were fitted on, with the built-in model and guessed weights of reranking
# (`python -m benchmarks.confidence --defaults`).
DEFAULT_SETS = "dev lists of Arctic (clean and 5 dB, 50-best and 5-best) and of ATIS"
_WITH_MODEL = {
    "bias": 0.713679,
    "uniform": -0.0432787,
    "first_0.1": -0.0840322,
    "first_0.3": 0.379113,
    "first_1": -0.078119,
    "posterior": 0.616174,
    "rival": 0.299498,
    "hypotheses": 0.0439427,
    "lm_sum": 0.421292,
    "lm_min": -0.282968,
    "lm_neighbours": 0.0522925,
    "pieces": -0.477779,
    "letters": 0.118653,
    "single_bias": 3.67927,
    "single_lm_sum": 0.375688,
    "single_lm_min": -0.172883,
    "single_lm_neighbours": 0.0550285,
    "single_pieces": -1.13835,
    "single_letters": 0.214749,
    "deletions": 2.27,
}
_WITHOUT = {
    "bias": -0.501828,
    "uniform": -0.106098,
    "first_0.1": -0.0501125,
    "first_0.3": 0.385699,
    "first_1": -0.0976359,
    "posterior": 0.811949,
    "rival": 0.402727,
    "hypotheses": 0.120536,
    "letters": -0.0313236,
    "single_bias": 2.20266,
    "single_letters": -0.0114704,
    "deletions": 2.27,
}
