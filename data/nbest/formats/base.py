"""The interface of file formats for N-best lists, and the source that they read."""

import contextlib
import copy
import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TextIO

from tta.data.nbest.fields import ANY_FIELDS, NamedFields
from tta.data.nbest.formats.documents.table import layout_format_of
from tta.data.nbest.formats.documents.times import TimedWord
from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList
from tta.data.text.json_text import JsonDocuments
from tta.data.text.lines import file_of
from tta.errors import InputError, shown

HEAD_ROWS = 20  # the number of rows from which a format is detected


@dataclass(frozen=True)
class Source:
    """What a format reads from: the lines of a file, or a folder, and options of some formats.

    Attributes:
        lines: the lines of the file; none for a folder. For detection, only the first ones, unless
            the file may be one JSON document on several lines.
        starts: of several files, how many lines come before each.
        score_file: a file, or several, with the scores, for formats with separate score files.
        beam_size: hypotheses per list, for formats that do not separate lists.
        fields: the names of the fields of texts and scores, for formats of JSON.
        folder: the folder, for formats of several files.
        stem: the name of the file without folder and suffixes; "" for standard input.
    """

    lines: Sequence[str]
    starts: Sequence[int] = (0,)
    score_file: Path | str | Sequence[str] | None = None
    beam_size: int | None = None
    fields: NamedFields = ANY_FIELDS
    folder: Path | None = None
    stem: str = ""

    @functools.cached_property
    def rows(self) -> list[tuple[int, str]]:
        """The lines that are not blank, each with its number: [(number, line)]."""
        return [(n, line) for n, line in enumerate(self.lines, 1) if line.strip(" ")]

    @functools.cached_property
    def head(self) -> list[str]:
        """The first lines that are not blank, enough to detect the format."""
        filled = (line for line in self.lines if line.strip(" "))
        return list(itertools.islice(filled, HEAD_ROWS))

    @functools.cached_property
    def start(self) -> str:
        """The first characters from the first row on, enough for a regular expression."""
        return "\n".join(line[:100_000] for line in self.head)[:100_000]

    @functools.cached_property
    def documents(self) -> JsonDocuments:
        """The JSON documents of the lines. Reading takes those that detection has parsed."""
        return JsonDocuments(self.text)

    @functools.cached_property
    def values(self) -> list[Any]:
        """The first JSON values of the lines; those of an array, if that is the first one.

        There are at most `HEAD_ROWS`, and none after malformed JSON.
        """
        values: list[Any] = []
        with contextlib.suppress(InputError):
            for document in itertools.islice(self.documents, HEAD_ROWS):
                if isinstance(document.value, list) and not values:
                    return document.value[:HEAD_ROWS]
                values.append(document.value)
        return values

    @functools.cached_property
    def layouts(self) -> set[str]:
        """The names of the formats with lists anywhere in a record whose lists the values have."""
        names = {layout_format_of(value, self.fields) for value in self.values}
        return {name for name in names if name is not None}

    @functools.cached_property
    def text(self) -> str:
        """The whole file."""
        return "\n".join(self.lines)

    def file_of(self, line: int) -> int:
        """Which of several files has a line, from 0."""
        return file_of(self.starts, line)

    def check_whole_beams(self, lines: Iterable[int]) -> None:
        """Checks that each file has `beam_size` of these lines, given by number, for every list.

        Raises InputError if a list would begin in one file and end in the next, or not end.
        """
        assert self.beam_size is not None
        in_file = Counter(map(self.file_of, lines))
        for number, rows in in_file.items():
            if rows % self.beam_size:
                rule = f"expected a multiple of the beam size {self.beam_size}, got {rows} rows"
                raise InputError(
                    rule, line=self.starts[number] + 1 if len(self.starts) > 1 else None
                )

    def line_of(self, pattern: str, index: int = 0) -> Callable[[], int | None]:
        """A function that finds the line of match `index` of a pattern, or None without a match."""

        def find():
            match = next(itertools.islice(re.finditer(pattern, self.text), index, None), None)
            return match and self.text.count("\n", 0, match.start()) + 1

        return find


class Format:
    """A file format of N-best lists; `tta.data.nbest.formats.FORMATS` lists the subclasses.

    Formats raise `InputError` with a line and without a path; the caller adds the path.

    Attributes:
        layout: one phrase that shows the format, for error messages.
        takes: the optional fields of `Source` that the format uses. A format that takes a
            `score_file` implements `write_scores`.
        has_long_lines: whether a line may hold a whole list or file. If not, each line is one
            hypothesis, and the format cannot hold an empty list.
        is_folder: whether the lists are a folder of files. Such a format reads `Source.folder`, and
            implements `write_folder` instead of `write`. A format is only compared with sources of
            its kind, but `missing` is asked about files, too.
        reads_folders: whether a folder of files in this format is read as one. The ids of such
            lists come from `Source.stem`, unless the files have ids.
        score_kind: what the scores in the file are, one of `tta.choices.SCORE_KINDS`. The format
            converts them.
        fields: the fields of texts and scores, see `naming`.
        has_known_scores: whether scores of any sign are right, so that none looks wrong.
        name: the name in `FORMATS`.
    """

    layout: ClassVar[str]
    takes: ClassVar[tuple[str, ...]] = ()
    has_long_lines: ClassVar[bool] = False
    is_folder: ClassVar[bool] = False
    reads_folders: ClassVar[bool] = False
    score_kind: ClassVar[str] = "log_probability"
    has_known_scores: ClassVar[bool] = False

    fields: NamedFields = ANY_FIELDS

    def __init__(self, name: str):
        self.name = name

    def naming(self, fields: NamedFields) -> "Format":
        """The format that reads texts and scores from these fields, if it takes "fields"."""
        chosen = copy.copy(self)
        chosen.fields = fields
        return chosen

    def matches(self, source: Source) -> bool:
        """Whether a file that starts with `source.head`, or a folder, looks like this format."""
        raise NotImplementedError

    def doubt(self, source: Source) -> str | None:
        """Says why a whole file that `matches` may be something else, or None.

        It is asked for files whose format was detected. The text follows "the file may be in the
        format X, but" in the error.
        """
        return None

    def missing(self, source: Source) -> str | None:
        """Says what a file or folder lacks to be in this format, or None if it is not similar.

        The text follows "missing:" in the error that names the nearest format.
        """
        return None

    def is_streamed(self, source: Source) -> bool:
        """Whether every row of a file that starts with `source.head` is a list.

        Such a format implements `read_row`, and large files are read row by row.
        """
        return False

    def read(self, source: Source, collector: ListCollector) -> None:
        """Adds every list of a `Source` to a `ListCollector`."""
        for number, row in source.rows:
            self.read_row(number, row, collector)

    def read_row(self, number: int, row: str, collector: ListCollector) -> None:
        """Adds the list in line `number` to a `ListCollector`."""
        raise NotImplementedError

    def write(self, lists: Sequence[NBestList], stream: TextIO) -> None:
        """Writes the lists, hypotheses in the order given, to a text stream."""
        raise NotImplementedError

    def write_folder(self, lists: Sequence[NBestList], folder: Path) -> None:
        """Writes the lists, hypotheses in the order given, into an empty folder."""
        raise NotImplementedError

    def write_scores(self, lists: Sequence[NBestList], stream: TextIO) -> None:
        """Writes the score file that belongs to the file of `write`."""
        raise NotImplementedError

    def word_times(self, hypothesis: Hypothesis) -> list[TimedWord] | None:
        """The words that were timed in a hypothesis that was read, or None.

        Raises InputError if a time is not a finite number.
        """
        return None

    def recording(self, nbest: NBestList) -> tuple[str, str, int]:
        """The recording of a list that was read, its channel, and the number of its record."""
        return nbest.utterance_id, "1", 0

    def row_of(self, nbest: NBestList, hypothesis: Hypothesis | None) -> dict[str, Any] | None:
        """The row of a file that holds a list, or one of its hypotheses; None if there is none."""
        extra = {} if hypothesis is None else self.extra_of(hypothesis)
        if "header" in extra:
            return dict(zip(extra["header"], extra["cells"], strict=True))
        return extra.get("fields")

    def extra_of(self, item: Hypothesis | NBestList) -> dict[str, Any]:
        """The `extra` that this format stored when it read the item, or {}."""
        return (item.extra or {}).get(self.name) or {}

    def score_of(self, hypothesis: Hypothesis, nbest: NBestList) -> float:
        """The score of a hypothesis of a list. Raises `InputError` if it has none."""
        if hypothesis.score is None:
            rule = f"{self.name} rows need a score, list {shown(nbest.utterance_id)} has none"
            raise InputError(rule)
        return float(hypothesis.score)
