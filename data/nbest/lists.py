"""N-best lists in memory, the rules that hold in every file format, and what a format is."""

import contextlib
import functools
import math
import reprlib
from dataclasses import dataclass, field
from typing import ClassVar

from tta.data.text.files import MAX_LINE_BYTES
from tta.errors import InputError

HEAD_ROWS = 20  # Rows, not blank, that tell a format.


@dataclass(frozen=True)
class Hypothesis:
    """One candidate of an N-best list.

    Attributes:
        text: the candidate's words.
        score: natural log, higher is better; None where the file gives none.
        extra: what else the file said of it, by format name, so that it can be written back.
            It plays no part in equality; keep it with `dataclasses.replace(h, score=...)`.
    """

    text: str
    score: float | None
    extra: dict | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class NBestList:
    """The candidates for one utterance or source sentence, in the order of the file.

    Attributes:
        utterance_id: unique in its file.
        hypotheses: at least one.
        reference: what was really said, or None.
        extra: as in `Hypothesis`; keep it with `dataclasses.replace(l, hypotheses=...)`.
    """

    utterance_id: str
    hypotheses: tuple[Hypothesis, ...]
    reference: str | None = None
    extra: dict | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Source:
    """What a format reads from.

    Attributes:
        lines: the file's lines.
        score_file: a second file with the scores, for formats that keep them apart.
        beam_size: hypotheses per list, for formats that do not say it.
    """

    lines: list[str]
    score_file: str | None = None
    beam_size: int | None = None

    @functools.cached_property
    def rows(self):
        """The lines that are not blank, each with its number: [(number, line)]."""
        return [(n, line) for n, line in enumerate(self.lines, 1) if line.strip(" ")]

    @functools.cached_property
    def head(self):
        """The first lines that are not blank: enough to tell a format by."""
        return [line for _, line in self.rows[:HEAD_ROWS]]

    @property
    def start(self):
        """The first characters, from the first row on: enough for a regular expression."""
        return "\n".join(line[:100_000] for line in self.head)[:100_000]

    @functools.cached_property
    def text(self):
        """The whole file."""
        return "\n".join(self.lines)


class Format:
    """A file format of N-best lists; subclasses are listed in `tta.data.nbest.files.FORMATS`.

    Formats raise `InputError` with the line alone; the caller adds the path.

    Attributes:
        name: as in `--format`.
        layout: one phrase that shows it, for error messages and help texts.
        takes: which of `Source`'s further fields mean something to it. One that takes a
            `score_file` keeps scores in a file of their own, and has a `write_scores`.
        has_long_lines: whether a line may hold a whole list or file.
    """

    name: ClassVar[str]
    layout: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    has_long_lines: ClassVar[bool] = False

    def matches(self, source):
        """Whether a file that starts with `source.head` looks like this format."""
        raise NotImplementedError

    def read(self, source, collector):
        """Adds each list of a `Source` to a `ListCollector`."""
        raise NotImplementedError

    def write(self, lists, stream):
        """Writes the lists, hypotheses in the order given, to a text stream."""
        raise NotImplementedError

    def extra_of(self, item):
        """What this format kept of a `Hypothesis` or `NBestList` when it read it, or {}."""
        return (item.extra or {}).get(self.name) or {}


class ListCollector:
    """Collects the lists of one file and refuses those that break a rule every format shares.

    Attributes:
        lists: those collected and not yet taken.
        count: how many were collected in all.
    """

    def __init__(self):
        self.lists = []
        self.count = 0
        self._first = None
        self._ids = set()

    def take(self):
        """Hands over the lists collected so far: only their ids stay in memory."""
        lists, self.lists = self.lists, []
        return lists

    def add(self, utterance_id, hypotheses, reference=None, extra=None):
        """Adds one list.

        Raises:
            InputError: an id that is empty or was there before, no hypotheses, a text that is no
                text, or scores or a reference for some and not for others.
        """
        if isinstance(utterance_id, int) and not isinstance(utterance_id, bool):
            utterance_id = str(utterance_id)
        check_text(utterance_id, "the id")
        if not utterance_id:
            raise InputError("expected an id, got an empty one")
        if utterance_id in self._ids:
            rule = f"duplicate id {shown(utterance_id)}: the hypotheses of one id stand together"
            raise InputError(rule)
        if not hypotheses:
            raise InputError("expected at least one hypothesis, got none")
        for hypothesis in hypotheses:
            check_text(hypothesis.text, "a hypothesis")
        if reference is not None:
            check_text(reference, "the reference")
        self._check_agreement(hypotheses, reference)
        self._ids.add(utterance_id)
        self.lists.append(NBestList(utterance_id, tuple(hypotheses), reference, extra))
        self.count += 1
        self._first = self._first or self.lists[0]

    def _check_agreement(self, hypotheses, reference):
        scored = sum(h.score is not None for h in hypotheses)
        if scored not in (0, len(hypotheses)):
            raise InputError(
                f"expected a score for every hypothesis or for none, got {scored} scores "
                f"for {len(hypotheses)} hypotheses"
            )
        first = self._first
        if first is None:
            return
        if bool(scored) != (first.hypotheses[0].score is not None):
            have, before = ("scores", "none") if scored else ("no scores", "some")
            raise InputError(f"has {have}, but the lists before it have {before}")
        if (reference is None) != (first.reference is None):
            have, before = ("no", "one") if reference is None else ("a", "none")
            raise InputError(f"has {have} reference, but the lists before it have {before}")


@contextlib.contextmanager
def located(what, line=None):
    """Says in which list, and on which line, an `InputError` of the block arose.

    Args:
        what: put before the error's rule.
        line: the line, or a function that finds it, called only on error.
    """
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        number = error.line or (line() if callable(line) else line)
        raise InputError(f"{what}: {error.rule}", line=number) from None


def check_text(value, what):
    """Refuses what is not a string, one that UTF-8 cannot hold, or one too long for a line."""
    if not isinstance(value, str):
        raise InputError(f"expected {what} as a string, got {shown(value)}")
    if len(value) > MAX_LINE_BYTES:
        raise InputError(f"{what} is longer than {MAX_LINE_BYTES:,} characters: {shown(value)}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what} holds half a surrogate pair: {shown(value)}") from None


def parse_score(value):
    """Turns a number, or the text of one, into a finite float; None stays None."""
    if value is None:
        return None
    try:
        score = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if not math.isfinite(score):
        raise InputError(f"expected a finite number as score, got {shown(value)}")
    return score


def shown(value):
    """A value as an error message shows it: its repr, cut short, on one line."""
    return _SHORT.repr(value)


_SHORT = reprlib.Repr()  # safe for values of any depth
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 60
