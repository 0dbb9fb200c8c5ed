"""What a layout says a file of references holds: the texts, and where their ids may be."""

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.fields import IDS, RECORDINGS, id_of, named
from tta.data.nbest.lists import stem

Rows = Sequence[tuple[int, str]]  # (number of the line from 1, its text without blanks around it)


class IdKind(enum.Enum):
    """What is known about the ids in a column.

    Attributes:
        ID: they are ids. If no list has one of them, the file belongs to other lists.
        RECORDING: they are names of recordings. Lists that are numbered have other ids.
        PLACE: a place where such files often have ids, such as the first word of a line.
        FIELD: a field that nobody called an id.
    """

    ID = enum.auto()
    RECORDING = enum.auto()
    PLACE = enum.auto()
    FIELD = enum.auto()


@dataclass(frozen=True)
class Reference:
    """A reference, and its line in the file; None if a layout has no lines."""

    text: str
    line: int | None = None


@dataclass(frozen=True)
class IdColumn:
    """The ids of all references of a file, read from one place.

    Attributes:
        kind: what is known about them.
        ids: for each reference, the ids that its list may have, the likeliest first; () if it has
            none.
        lacking: the rule that a reference without an id breaks.
    """

    kind: IdKind
    ids: Sequence[tuple[str, ...]]
    lacking: str = "expected an id as in other references"


@dataclass(frozen=True)
class Reading:
    """One way to read a file. A file may have several, and the ids of the lists decide.

    Attributes:
        references: in the order of the file.
        columns: the places of the ids; () if the references are in the order of their lists.
        is_for_sclite: whether brackets mark optional words.
        refusal: why a file that is to be read in this way is refused; "" if it is not.
    """

    references: Sequence[Reference]
    columns: Sequence[IdColumn] = ()
    is_for_sclite: bool = False
    refusal: str = ""

    @property
    def is_certain(self) -> bool:
        """Whether the layout fits without the ids of lists."""
        kinds = {column.kind for column in self.columns}
        return not kinds or bool(kinds & {IdKind.ID, IdKind.RECORDING})


def refused(rule: str, columns: Sequence[IdColumn] = ()) -> Reading:
    """A reading that is refused: if its columns have the ids of lists, or always if it has none."""
    return Reading((), columns, refusal=rule)


def named_columns(
    rows: Sequence[Mapping[str, object]], text_names: Sequence[str]
) -> list[IdColumn]:
    """The columns of ids in rows with named fields, the likeliest first.

    These are the ids that `id_of` finds, each field of `IDS` and `RECORDINGS` that all rows have,
    and then every other field, at any depth, whose values are distinct. A field may hold the name
    of a file whose stem is the id. `text_names` are the fields of the texts, one for each row.
    """
    return [*_known_columns(rows), *_other_columns(rows, text_names)]


def _known_columns(rows: Sequence[Mapping[str, Any]]) -> list[IdColumn]:
    columns = [_id_column(rows)]
    for name in (*IDS, *RECORDINGS):
        fields = [named(row, [name]) for row in rows]
        of_name = [
            {field: row[field]}
            for field, row in zip(fields, rows, strict=True)
            if field is not None
        ]
        if len(of_name) == len(rows):
            columns.append(_id_column(of_name))
    return [column for column in columns if any(column.ids)]


def _id_column(rows):
    """The column of the ids that `id_of` finds."""
    ids = [id_of(row) for row in rows]
    are_recordings = all(is_recording for key, is_recording in ids if key is not None)
    kind = IdKind.RECORDING if are_recordings else IdKind.ID
    return IdColumn(kind, [() if key is None else (str(key),) for key, _ in ids])


def _other_columns(rows, text_names) -> Iterator[IdColumn]:
    leaves = [dict(_leaves(row)) for row in rows]
    for path in leaves[0] if leaves else ():
        values = [of_row[path] for of_row in leaves if path in of_row]
        is_text = any(path == (name,) for name in text_names)
        if not is_text and len(set(values)) == len(rows):
            yield IdColumn(IdKind.FIELD, [(value, stem(value)) for value in values])


def _leaves(fields, path=()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields (path, value as a text) of each field that holds a text or a whole number."""
    for key, value in fields.items():
        if isinstance(value, dict) and len(path) < 9:
            yield from _leaves(value, (*path, key))
        elif type(value) in (str, int) and value != "":
            yield (*path, key), str(value)
