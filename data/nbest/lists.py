"""N-best lists in memory, and the rules for them in every file format."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from tta.data.text.lines import MAX_LINE_BYTES
from tta.errors import InputError, shown

MAX_NUMBER = 1e100  # so that sums, products and squares of scores stay finite


@dataclass(frozen=True)
class Hypothesis:
    """One candidate of an N-best list.

    Attributes:
        score: natural log, higher is better; None if the file has no scores.
        extra: other contents of the file about the hypothesis, by format name, to be written
            back. Ignored in comparisons; kept by `dataclasses.replace(h, score=...)`.
        features: further scores of the first system by name: finite numbers, in the unit of the
            file, where higher need not be better. Hypotheses may have different names.
    """

    text: str
    score: float | None
    extra: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    features: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class NBestList:
    """The candidates for one utterance or source sentence, in the order of the file.

    Attributes:
        utterance_id: unique in its file.
        hypotheses: none if the first system found none.
        reference: the correct text, or None.
        extra: as in `Hypothesis`.
        more_references: further correct texts, which BLEU takes.
    """

    utterance_id: str
    hypotheses: tuple[Hypothesis, ...]
    reference: str | None = None
    extra: dict[str, Any] | None = field(default=None, compare=False, repr=False)
    more_references: tuple[str, ...] = ()


class ListCollector:
    """Collects the lists of one file and checks the rules that all formats share.

    Attributes:
        lists: the lists that were collected and not yet taken.
        count: the number of lists collected in all.
        has_scores: whether the hypotheses have scores; None while there are no hypotheses.

    Args:
        partial_references: whether some lists may have a reference and others none.
    """

    def __init__(self, partial_references: bool = False):
        self._partial = partial_references
        self.lists: list[NBestList] = []
        self.count = 0
        self.has_scores: bool | None = None
        self._has_references: bool | None = None
        self._score_parts: tuple[str, ...] | None = None
        self._ids: set[str] = set()

    def take(self) -> list[NBestList]:
        """Returns the lists collected so far and keeps only their ids in memory."""
        lists, self.lists = self.lists, []
        return lists

    def has(self, utterance_id: str) -> bool:
        """Whether a list has this id."""
        return utterance_id in self._ids

    def add(
        self,
        utterance_id: Any,
        hypotheses: Sequence[Hypothesis],
        reference: Any = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Adds one list, which may be empty. Types are checked here: files may hold anything.

        A reference may be several, an array of texts (see `distinct_references`). Raises InputError
        if the id is empty or a duplicate, a text is not a string, a reference has alternatives, or
        only some hypotheses have a score or only some lists a reference.
        """
        if type(utterance_id) is int:
            utterance_id = str(utterance_id)
        _check_text(utterance_id, "the id")
        if not utterance_id:
            raise InputError("expected an id, got an empty one")
        if utterance_id in self._ids:
            rule = "the rows of one id must be adjacent, in one file"
            raise InputError(f"duplicate id {shown(utterance_id)}: {rule}")
        for hypothesis in hypotheses:
            _check_text(hypothesis.text, "a hypothesis")
        texts: list[Any] = [] if reference is None else [reference]
        if isinstance(reference, list) and all(isinstance(text, str) for text in reference):
            texts = distinct_references(reference)
        for text in texts:
            _check_text(text, "the reference")
            check_readings(text)
        first, *more_references = texts or [None]
        self._check_agreement(hypotheses, first)
        if self._score_parts and len(self._score_parts) == 1:
            self._score_parts = None  # The next list may have another name for the score.
        self._ids.add(utterance_id)
        nbest = NBestList(utterance_id, tuple(hypotheses), first, extra, tuple(more_references))
        self.lists.append(nbest)
        self.count += 1

    def check_parts(self, parts: tuple[str, ...]) -> None:
        """Checks that scores come from the same fields in a list, and sums in the whole file.

        `parts` are the names of the fields whose sum is the score of a hypothesis. Raises
        InputError if the fields differ from those of the hypothesis before it.
        """
        if self._score_parts not in (None, parts):
            now, before = map(" + ".join, (parts, self._score_parts))
            raise InputError(f"the score is {now}, but {before} in the hypothesis before it")
        self._score_parts = parts

    def _check_agreement(self, hypotheses, reference):
        scored = sum(h.score is not None for h in hypotheses)
        if scored not in (0, len(hypotheses)):
            got = f"{scored} scores for {len(hypotheses)} hypotheses"
            raise InputError(f"expected a score for every hypothesis or for none, got {got}")
        if self.has_scores is None and hypotheses:
            self.has_scores = bool(scored)
        if hypotheses and bool(scored) != self.has_scores:
            have, before = ("scores", "none") if scored else ("no scores", "some")
            raise InputError(f"has {have}, but the lists before it have {before}")
        if self._has_references is None:
            self._has_references = reference is not None
        if (reference is not None) != self._has_references and not self._partial:
            have, before = ("no", "one") if reference is None else ("a", "none")
            raise InputError(f"has {have} reference, but the lists before it have {before}")


def distinct_references(texts: Iterable[str]) -> list[str]:
    """The references of one list, each once. A blank one counts only if all are blank."""
    distinct = list(dict.fromkeys(texts))
    return [text for text in distinct if text.strip()] or distinct[:1]


def holds_references(value: Any, nbest: NBestList) -> bool:
    """Whether the field of a list that was read has its references: a text, or an array.

    The array may have several references, or the words of one.
    """
    if value and nbest.more_references:
        return True
    if isinstance(value, list) and " ".join(map(str, value)) == nbest.reference:
        return True
    texts = distinct_references(value) if isinstance(value, list) else [value]
    return texts == [nbest.reference]


def check_readings(reference: str, optional: bool = False) -> None:
    """Checks that a reference has no alternatives for sclite, such as `{ um / uh / @ }`.

    Raises InputError if it has alternatives; or optional words, `(um)`, if `optional`: the file is
    one for sclite, where brackets have this meaning.
    """
    if match := _ALTERNATIVES.search(reference) or (optional and _OPTIONAL.search(reference)):
        rule = f"several readings in {shown(match[0])}, as for sclite: expected one"
        raise InputError(rule)


def parse_score(value: Any) -> float | None:
    """Turns a number, or its text, into a finite float; None stays None.

    Raises InputError if `value` is not a finite number.
    """
    return None if value is None else parse_number(value, "score")


def parse_number(value: Any, what: str) -> float:
    """Turns a number, or its text, into a finite float; `what` names it in the error.

    Raises InputError if `value` is not a finite number, or larger than `MAX_NUMBER`.
    """
    number = math.nan
    # Python reads 1_5 as 15.
    if not (isinstance(value, bool) or (isinstance(value, str) and "_" in value)):
        try:  # contextlib.suppress takes as long as all other lines
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise InputError(f"expected a finite number as {what}, got {shown(value)}")
    if abs(number) > MAX_NUMBER:
        rule = f"expected a number of at most {MAX_NUMBER:g} in size as {what}"
        raise InputError(f"{rule}, got {number}")
    return number


def stem(path: str) -> str:
    """The name of a file without its folders, of Windows too, and without its suffix."""
    return PurePosixPath(path.replace("\\", "/")).stem


def _check_text(value, what):
    if not isinstance(value, str):
        raise InputError(f"expected {what} as a string, got {shown(value)}")
    if len(value) > MAX_LINE_BYTES:
        raise InputError(f"{what} is longer than {MAX_LINE_BYTES:,} characters: {shown(value)}")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a surrogate pair: {shown(value)}") from None


# Alternatives and optional words in references for sclite.
_ALTERNATIVES = re.compile(r"\{[^{}/]*/[^{}]*\}")
_OPTIONAL = re.compile(r"(?<!\S)\([^\s()]+\)(?!\S)")
