"""Notes: what a reader of a result must know, as data that the result holds.

The code that finds something out makes the note. Commands print notes, functions of Python warn
with those that are warnings, and the service sends them.
"""

from dataclasses import dataclass
from enum import IntEnum


class NoteKind(IntEnum):
    """What a note is about. A report prints notes in this order."""

    PHRASES = 1
    RESULT = 2
    METRIC = 3
    FIRST_PASS = 4
    FILE = 5
    LISTS = 6
    WEIGHTS = 7
    PICKS = 8
    SCORES = 9
    LEVELS = 10
    CONFIDENCE = 11
    OUTPUT = 12
    MODEL = 13


@dataclass(frozen=True)
class Note:
    """A remark on a result, in one line.

    Attributes:
        kind: what it is about.
        text: what was found, and what to do about it.
        where: the file whose lists it is about; None if it is about all lists, or lists in memory.
        is_warning: whether something may be wrong. If not, the note says what was done.
    """

    kind: NoteKind
    text: str
    where: str | None = None
    is_warning: bool = True

    def __str__(self) -> str:
        return self.text if self.where is None else f"{self.where}: {self.text}"


def in_order(notes: "list[Note]") -> "list[Note]":
    """The notes by their kind, each once; those of a kind stay in their order."""
    return sorted(dict.fromkeys(notes), key=lambda note: note.kind)
