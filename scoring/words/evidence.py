"""What speaks for and against each word of the picks: the list, and the model's token scores.

L lists, W words of all their picks, F features.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.data.text.spelling import WITHOUT_BLANKS
from tta.data.text.words import MARK
from tta.scoring.combining.decision import Decision, posteriors_of
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.metrics.error_rate import DELETION, SUBSTITUTION
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.normalization import ComparedText
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

UNIT = re.compile(rf"{WITHOUT_BLANKS.pattern}{MARK}*|(?:(?!{WITHOUT_BLANKS.pattern})\S)+")
_SEGMENTED = re.compile(rf"{WITHOUT_BLANKS.pattern}\s+{WITHOUT_BLANKS.pattern}")


@dataclass(frozen=True)
class WordEvidence:
    """The words of the picks of L lists, and what is known of them without references.

    Attributes:
        words: for each list, the words of its pick, as they are written. In scripts without blanks
            each character is a word.
        parts: for each list and word, what the metric compares: no part (a dash), or several.
        by_character: whether there are characters that are words.
        rate: the name of the error rate that counts these words.
        values: [W, F] float64, the features in the order of `UNITS`; those of a model that is not
            there are 0.
        has_model: whether the features of `MODEL_UNITS` are known.
        rivals: W str, the best of what other hypotheses have in place of the word, as the first of
            them is written, "" for nothing; None if there is no rival.
        rival_masses: [W] float64, the posterior of the hypotheses that have the rival, 0 to 1.
        is_single: [W] bool, whether the list has no other hypothesis.
        missing: [L] float64, the expected number of words that other hypotheses have and the pick
            has not.
        lengths: [L] float64, the expected number of words.
    """

    words: list[list[str]]
    parts: list[list[list[str]]]
    by_character: bool
    rate: str
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
        return np.repeat(np.arange(len(self.words)), [len(of_pick) for of_pick in self.words])

    def judge(self, references: Sequence[str], metric: Metric) -> "Judgement":
        """Compares the picks with L references, as the metric reads words."""
        split = WordSplit(metric, self.by_character)
        correct: list[bool] = []
        deletions = np.zeros(len(self.words), int)
        for i, (parts_of_words, reference) in enumerate(zip(self.parts, references, strict=True)):
            parts = [part for of_word in parts_of_words for part in of_word]
            is_right = np.ones(len(parts), bool)
            for edit in Levenshtein.editops(split.compare(reference).parts, parts):
                if edit.tag == DELETION:
                    deletions[i] += 1
                else:
                    is_right[edit.dest_pos] = False
            correct += [bool(is_right[span].all()) for span in _spans(parts_of_words)]
        return Judgement(np.array(correct, bool), deletions)


@dataclass(frozen=True)
class Judgement:
    """What references say of the words of L picks.

    Attributes:
        correct: [W] bool; a word without a part, which the metric does not compare, is correct.
        deletions: [L] int64, the number of words that each pick lacks.
    """

    correct: np.ndarray
    deletions: np.ndarray


@dataclass(frozen=True)
class WordSplit:
    """How texts are split into words, and words into the parts that a metric compares."""

    metric: Metric
    by_character: bool

    @classmethod
    def of(cls, texts: Sequence[str], metric: Metric) -> "WordSplit":
        """That of texts: in scripts without blanks, each character is a word.

        Texts with blanks between such characters were split by a tool, and keep its words, unless
        the metric counts characters.
        """
        has_characters = any(map(WITHOUT_BLANKS.search, texts))
        is_segmented = any(map(_SEGMENTED.search, texts))
        return cls(metric, has_characters and (metric.by_character or not is_segmented))

    @property
    def rate(self) -> str:
        """The name of the error rate that counts these words: that of the metric's table, if any.

        The table of WER has the CER beside it.
        """
        if not self.metric.of_speech or (self.metric.by_character and not self.by_character):
            unit = "characters" if self.by_character else "words"
            return f"share of wrong or missing {unit}"
        return "CER" if self.by_character else "WER"

    def words(self, text: str) -> list[str]:
        """The words of a text, as they are written."""
        return UNIT.findall(text) if self.by_character else text.split()

    def compare(self, text: str) -> ComparedText:
        """The words of a text, and the parts of each that the metric compares."""
        return ComparedText.of(self.words(text), self.metric.normalize)


def find_evidence(
    decision: Decision,
    metric: Metric,
    lm: Scorer | None,
    picks: np.ndarray | None = None,
    progress: bool = False,
) -> WordEvidence:
    """Finds what speaks for the words of the picks of a decision.

    Args:
        decision: the lists, and their picks.
        metric: its `normalize` says how words are compared.
        lm: a model whose token scores are used, if it has some; None for the list alone.
        picks: [L] int64, other picks than the decision's.
        progress: whether to show a progress bar on standard error.
    """
    lists, picks = decision.lists, decision.picks if picks is None else picks
    split = WordSplit.of([h.text for nbest in lists.nbest for h in nbest.hypotheses], metric)
    lists_evidence, picked = [], []
    for nbest, pick, shares in zip(lists.nbest, picks, _shares(decision), strict=True):
        text = nbest.hypotheses[pick].text if nbest.hypotheses else ""
        texts = [hypothesis.text for hypothesis in nbest.hypotheses]
        picked.append(text)
        lists_evidence.append(_compare(text, _add_equal(texts, shares), split))
    words = [of_list.words for of_list in lists_evidence]
    sizes = np.repeat([len(nbest.hypotheses) for nbest in lists.nbest], list(map(len, words)))
    has_model = lm is not None and lm.gives_log_probabilities
    masses = np.clip(np.concatenate([of_list.masses for of_list in lists_evidence]), 0.0, 1.0)
    columns = [
        np.log((masses + _FLOOR) / (1 - masses + _FLOOR)),
        np.log(np.maximum(sizes, 1))[:, None],
        _model_values(lm if has_model else None, picked, words, progress),
        np.array([[len(word)] for of_list in words for word in of_list], float).reshape(-1, 1),
    ]
    return WordEvidence(
        words=words,
        parts=[of_list.parts for of_list in lists_evidence],
        by_character=split.by_character,
        rate=split.rate,
        values=np.concatenate(columns, axis=1),
        has_model=has_model,
        rivals=[rival for of_list in lists_evidence for rival in of_list.rivals],
        rival_masses=masses[:, -1],
        is_single=sizes == 1,
        missing=np.array([of_list.missing for of_list in lists_evidence]),
        lengths=np.array([of_list.length for of_list in lists_evidence]),
    )


def _shares(decision: Decision) -> np.ndarray:
    """The posterior of each hypothesis, and four shares of the first pass: [L, N, 5] float64."""
    lists = decision.lists
    scores = lists.first_pass * (_TYPICAL_SPREAD / first_pass_unit(lists))
    columns = [posteriors(lists.present, sharpness * scores) for sharpness in _SHARPNESS]
    return np.stack([posteriors_of(decision), *columns], axis=-1)


def _add_equal(texts: Sequence[str], shares: np.ndarray) -> dict[str, np.ndarray]:
    """The shares of each distinct text of a list, [5] float64; `shares` are of its hypotheses."""
    totals: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(shares.shape[-1]))
    for text, share in zip(texts, shares, strict=False):
        totals[text] += share
    return totals


@dataclass
class _ListEvidence:
    """What one list says of the W words of its pick.

    Attributes:
        words, parts: as in `WordEvidence`, of this list.
        masses: [W, 6] float64, the shares of the hypotheses that have the word, in the order of
            `LIST_UNITS`, and the posterior of its rival.
        rivals: as in `WordEvidence`, of this list.
        missing, length: the expected number of words that the pick lacks, and of all words.
    """

    words: Sequence[str]
    parts: Sequence[Sequence[str]]
    masses: np.ndarray = field(default_factory=lambda: np.zeros([0, 6]))
    rivals: list[str | None] = field(default_factory=list)
    missing: float = 0.0
    length: float = 0.0


def _compare(text: str, shares: Mapping[str, np.ndarray], split: WordSplit) -> _ListEvidence:
    """Compares a pick with each text of its list. `shares` are theirs, the posterior first."""
    pick = split.compare(text)
    evidence = _ListEvidence(pick.words, pick.parts_of_words)
    spans = _spans(pick.parts_of_words)
    agreeing = np.zeros([len(pick.words), 5])
    rivals: list[dict[str, _Rival]] = [{} for _ in pick.words]
    for other_text, share in shares.items():
        posterior = float(share[0])
        other = split.compare(other_text)
        places, num_missing = _align(other.parts, pick.parts)
        in_place = ["" if place is None else other.parts[place] for place in places]
        evidence.missing += posterior * num_missing
        evidence.length += posterior * len(other.parts)
        for k, span in enumerate(spans):
            if in_place[span] == pick.parts[span]:
                agreeing[k] += share
                continue
            compared = " ".join(filter(None, in_place[span]))
            rival = rivals[k].setdefault(compared, _Rival(other, places[span]))
            rival.posterior += posterior
    best = [
        max(of_word.values(), key=lambda rival: rival.posterior, default=None) for of_word in rivals
    ]
    evidence.rivals = [None if rival is None else rival.spelling for rival in best]
    rival_masses = [0.0 if rival is None else rival.posterior for rival in best]
    columns = [agreeing[:, 1:], agreeing[:, 0], rival_masses]
    evidence.masses = np.column_stack(columns).reshape(-1, 6)
    return evidence


@dataclass
class _Rival:
    """What other texts have in place of a word.

    Attributes:
        text: the first of them.
        places: which of its parts stand in place of the parts of the word; None for nothing.
        posterior: of all of them, 0 to 1.
    """

    text: ComparedText
    places: Sequence[int | None]
    posterior: float = 0.0

    @property
    def spelling(self) -> str:
        """The parts as the first text has them."""
        return " ".join(self.text.spellings([p for p in self.places if p is not None]))


def _align(other_parts: Sequence[str], parts: Sequence[str]) -> tuple[list[int | None], int]:
    """Which part of another text stands in place of each part, None for nothing.

    Returns it with the number of parts that the other text has beside them.
    """
    in_place: list[int | None] = [None] * len(parts)
    num_beside = 0
    for block in Levenshtein.opcodes(other_parts, parts):
        if block.tag == DELETION:
            num_beside += block.src_end - block.src_start
        elif block.tag in ("equal", SUBSTITUTION):
            places = range(block.src_start, block.src_end)
            in_place[block.dest_start : block.dest_end] = places
    return in_place, num_beside


def _spans(parts: Iterable[Sequence[str]]) -> list[slice]:
    """Where the parts of each word stand among all parts."""
    ends = np.cumsum([0, *map(len, parts)], dtype=int).tolist()
    return [slice(start, end) for start, end in itertools.pairwise(ends)]


def _model_values(
    lm: Scorer | None, texts: Sequence[str], words: Sequence[Sequence[str]], progress: bool
) -> np.ndarray:
    """The features of `MODEL_UNITS` of the words of L texts: [W, 4] float64; 0 without a model."""
    if lm is None:
        return np.zeros([sum(map(len, words)), len(MODEL_UNITS)])
    with_words = [(text, of_text) for text, of_text in zip(texts, words, strict=True) if of_text]
    distinct = list(dict.fromkeys(text for text, _ in with_words))
    scored = dict(zip(distinct, lm.score_tokens(distinct, progress), strict=True))
    rows = [np.zeros([0, len(MODEL_UNITS)])]
    if with_words:
        groups = lm.group_tokens(
            [of_text for _, of_text in with_words],
            [scored[text] for text, _ in with_words],
            [text for text, _ in with_words],
        )
        rows += map(_token_values, groups)
    return np.concatenate(rows)


def _token_values(groups: Sequence[np.ndarray]) -> np.ndarray:
    """The features of the words of a text, from the scores of the tokens of each: [W, 4]."""
    tokens = [np.maximum(scores, _LOWEST) for scores in groups]
    sums = np.array([scores.sum() for scores in tokens])
    lowest = np.array([scores.min(initial=0.0) for scores in tokens])
    num_neighbours = np.convolve(np.ones(len(sums)), [1, 0, 1])[1:-1]
    neighbours = np.convolve(sums, [1, 0, 1])[1:-1] / np.maximum(num_neighbours, 1)
    return np.column_stack([sums, lowest, neighbours, [len(scores) for scores in tokens]])
