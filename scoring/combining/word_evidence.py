"""What speaks for and against each word of the picks: the list, and the model's token scores.

L lists, W words of all their picks, F features.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.data.text.spelling import WITHOUT_BLANKS
from tta.scoring.combining.decision import Decision
from tta.scoring.combining.guess import first_pass_unit, guess
from tta.scoring.combining.weights import FixedWeights
from tta.scoring.metrics.error_rate import DELETION, SUBSTITUTION
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.normalization import parts_of
from tta.scoring.metrics.risk import posteriors
from tta.scoring.scorers.scorer import Scorer

# The features, and the size of a difference in each that is neither small nor large. The first six
# are logits of shares of the list.
LIST_UNITS = {
    "uniform": 3.0,  # the share of the hypotheses in which the word stands at this position
    "first_0.1": 3.0,  # the same, weighted by softmax(0.1 * first pass), in units of its spread
    "first_0.3": 3.0,
    "first_1": 3.0,
    "posterior": 3.0,  # weighted by the posteriors of reranking
    "rival": 3.0,  # the posterior of the best rival
    "hypotheses": 1.0,  # log of the number of hypotheses
}
MODEL_UNITS = {
    "lm_sum": 4.0,  # the sum of the token scores of the word, natural log
    "lm_min": 4.0,  # the lowest of them
    "lm_neighbours": 4.0,  # the mean `lm_sum` of the words beside it
    "pieces": 1.0,  # the number of its tokens
}
TEXT_UNITS = {"letters": 2.0}  # the number of its characters
UNITS = LIST_UNITS | MODEL_UNITS | TEXT_UNITS

_SHARPNESS = (0.0, 0.1, 0.3, 1.0)
_TYPICAL_SPREAD = 8.0  # of first-pass scores; they are brought to it before the softmax
_FLOOR = 1e-3  # keeps logits of shares finite
_LOWEST = -30.0  # of a token score: a lower one says no more

UNIT = re.compile(rf"{WITHOUT_BLANKS.pattern}|(?:(?!{WITHOUT_BLANKS.pattern})\S)+")
_SEGMENTED = re.compile(rf"{WITHOUT_BLANKS.pattern}\s+{WITHOUT_BLANKS.pattern}")


@dataclass(frozen=True)
class WordEvidence:
    """The words of the picks of L lists, and what is known of them without references.

    Attributes:
        words: for each list, the words of its pick, as they are written. In scripts without blanks
            each character is a word.
        parts: for each list and word, what the metric compares: no part (a dash), or several.
        by_character: whether there are characters that are words.
        values: [W, F] float64, the features in the order of `UNITS`; those of a model that is not
            there are 0.
        has_model: whether the features of `MODEL_UNITS` are known.
        rivals: W str, the best of what other hypotheses have in place of the word, "" for nothing;
            None if there is no rival.
        rival_masses: [W] float64, the posterior of the hypotheses that have the rival, 0 to 1.
        is_single: [W] bool, whether the list has no other hypothesis.
        missing: [L] float64, the expected number of words that other hypotheses have and the pick
            has not.
        lengths: [L] float64, the expected number of words.
    """

    words: list[list[str]]
    parts: list[list[list[str]]]
    by_character: bool
    values: np.ndarray
    has_model: bool
    rivals: list[str | None]
    rival_masses: np.ndarray
    is_single: np.ndarray
    missing: np.ndarray
    lengths: np.ndarray

    @cached_property
    def owners(self) -> np.ndarray:
        """The index of the list of each word: [W] int64."""
        return np.repeat(np.arange(len(self.words)), [len(one) for one in self.words])

    def judge(self, references: Sequence[str], metric: Metric) -> tuple[np.ndarray, np.ndarray]:
        """Compares the picks with L references: (is the word correct [W] bool; deletions [L] int).

        A word without a part, which the metric does not compare, is correct.
        """
        correct, deletions = [], np.zeros(len(self.words), int)
        for i, (parts, reference) in enumerate(zip(self.parts, references, strict=True)):
            joined = [part for one in parts for part in one]
            expected = [p for one in _split(reference, metric, self.by_character)[1] for p in one]
            right = np.ones(len(joined), bool)
            for edit in Levenshtein.editops(expected, joined):
                if edit.tag == DELETION:
                    deletions[i] += 1
                else:
                    right[edit.dest_pos] = False
            ends = np.cumsum([len(one) for one in parts], dtype=int)
            correct += [bool(one.all()) for one in np.split(right, ends)[:-1]]
        return np.array(correct, bool), deletions


def find_evidence(
    decision: Decision,
    metric: Metric,
    lm: Scorer | None,
    picks: np.ndarray | None = None,
    progress: bool = False,
) -> WordEvidence:
    """Finds what speaks for the words of the picks of a decision.

    Args:
        metric: its `normalize` says how words are compared.
        lm: a model whose token scores are used, if it has some; None for the list alone.
        picks: [L] int64, other picks than the decision's.
    """
    lists = decision.lists
    picks = decision.picks if picks is None else picks
    weights = [posteriors_of(decision)]
    scores = lists.first_pass * (_TYPICAL_SPREAD / first_pass_unit(lists))
    weights += [posteriors(lists.present, sharpness * scores) for sharpness in _SHARPNESS]
    weights = np.stack(weights, axis=-1)  # [L, N, posterior and the four of the first pass]
    texts = [h.text for one in lists.nbest for h in one.hypotheses]
    by_character = any(map(WITHOUT_BLANKS.search, texts)) and (
        metric.by_character or not any(map(_SEGMENTED.search, texts))
    )
    found, picked = [], []
    for one, pick, shares in zip(lists.nbest, picks, weights, strict=True):
        others: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(weights.shape[-1]))
        for hypothesis, share in zip(one.hypotheses, shares, strict=False):
            others[hypothesis.text] += share
        text = one.hypotheses[pick].text if one.hypotheses else ""
        picked.append(text)
        found.append(_compare(text, others, metric, by_character))
    sizes = np.array([len(one.hypotheses) for one in lists.nbest])
    words, parts, list_shares, rivals, missing, lengths = map(list, zip(*found, strict=True))
    masses = np.clip(np.concatenate(list_shares), 0.0, 1.0)
    logits = np.log((masses + _FLOOR) / (1 - masses + _FLOOR))
    own = np.repeat(sizes, [len(one) for one in words])
    flat = [word for one in words for word in one]
    has_model = lm is not None and lm.gives_log_probabilities
    of_model = np.zeros([len(flat), len(MODEL_UNITS)])
    if has_model and lm is not None:
        of_model = _model_values(lm, picked, words, progress)
    letters = np.array([len(word) for word in flat], float)
    columns = [logits, np.log(np.maximum(own, 1))[:, None], of_model, letters[:, None]]
    return WordEvidence(
        words,
        parts,
        by_character,
        np.concatenate(columns, axis=1),
        has_model,
        [rival for one in rivals for rival in one],
        masses[:, -1],
        own == 1,
        np.array(missing),
        np.array(lengths),
    )


def posteriors_of(decision: Decision) -> np.ndarray:
    """The posteriors of a decision, [L, N] float64; those of `max` with a scale that is guessed."""
    weights, lists = decision.weights, decision.lists
    if weights.decision == "mbr":
        return decision.posteriors
    given = FixedWeights(weights.lm_weight, 0.0, weights.reduction, weights.shares)
    given = replace(given, decision="mbr", features=dict(weights.features))
    return posteriors(lists.present, guess(lists, given).scale * decision.combined)


def _split(text, metric, by_character):
    """The words of a text, and the parts of each that the metric compares."""
    words = UNIT.findall(text) if by_character else text.split()
    return words, parts_of(words, metric.normalize)


def _compare(text, others, metric, by_character):
    """What the list says of the W words of a text.

    `others` maps each text of the list to its K shares, [K] float64: the posterior comes first.

    Returns (words, parts, shares, rivals, missing, length), as `WordEvidence` has them of all
    lists. The shares, [W, K + 1] float64, are those of the hypotheses that have the word, in the
    order of `LIST_UNITS`, and the posterior of its rival.
    """
    words, parts = _split(text, metric, by_character)
    joined = [part for one in parts for part in one]
    ends = np.cumsum([len(one) for one in parts], dtype=int).tolist()
    spans = list(zip([0, *ends], ends, strict=False))
    shares = np.zeros([len(words), 5])
    rivals = [defaultdict(float) for _ in words]
    missing = length = 0.0
    for other, share in others.items():
        theirs = [part for one in _split(other, metric, by_character)[1] for part in one]
        there = list(joined)
        for edit in Levenshtein.editops(theirs, joined):
            if edit.tag == DELETION:
                missing += share[0]
            else:
                is_word = edit.tag == SUBSTITUTION
                there[edit.dest_pos] = theirs[edit.src_pos] if is_word else ""
        length += len(theirs) * share[0]
        for k, (start, end) in enumerate(spans):
            if there[start:end] == joined[start:end]:
                shares[k] += share
            else:
                rivals[k][" ".join(filter(None, there[start:end]))] += share[0]
    best = [max(one, key=lambda name: one[name], default=None) for one in rivals]
    mass = [0.0 if name is None else one[name] for one, name in zip(rivals, best, strict=True)]
    with_rival = np.column_stack([shares[:, 1:], shares[:, 0], mass]).reshape(-1, 6)
    return words, parts, with_rival, best, missing, length


def _model_values(lm, texts, words, progress):
    """The features of `MODEL_UNITS` of the words of L texts: [W, 4] float64."""
    distinct = list(dict.fromkeys(text for text, one in zip(texts, words, strict=True) if one))
    scored = dict(zip(distinct, lm.score_tokens(distinct, progress), strict=True))
    kept = [(one, scored[text], text) for one, text in zip(words, texts, strict=True) if one]
    groups = lm.group_tokens(*zip(*kept, strict=True)) if kept else []
    rows = [np.zeros([0, len(MODEL_UNITS)])]
    for one in groups:
        tokens = [np.maximum(values, _LOWEST) for values in one]
        sums = np.array([values.sum() for values in tokens])
        lowest = np.array([values.min(initial=0.0) for values in tokens])
        beside = np.convolve(sums, [1, 0, 1])[1:-1]
        beside /= np.maximum(np.convolve(np.ones(len(sums)), [1, 0, 1])[1:-1], 1)
        rows.append(np.column_stack([sums, lowest, beside, [len(values) for values in tokens]]))
    return np.concatenate(rows)
