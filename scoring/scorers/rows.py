"""What `tta score` writes of a sentence, after it was scored: in bits, with its file, by words."""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.text.lines import iter_lines
from tta.data.text.parquet import SUFFIX, is_parquet
from tta.data.text.tables import delimiter_of, is_number, table_rows
from tta.data.text.words import is_punctuation, split_punctuation
from tta.doors import option_named
from tta.errors import shown
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.scorer import Scorer, TokenScores

Row = Mapping[str, Any]
_LOGS = "score", "log_probabilities", "word_log_probabilities"
_BITS: dict[str, str] = dict(
    zip(_LOGS, ("surprisal", "surprisals", "word_surprisals"), strict=True)
)
# The columns of a table of words, and of one of sentences.
_OF_WORDS = {
    "file",
    "sentence_number",
    "text",
    "word_number",
    "word",
    "log_probability",
    "surprisal",
}
_OF_SENTENCES = {
    "file",
    *_BITS,
    *_BITS.values(),
    "num_tokens",
    "num_unknown",
    "perplexity",
    "tokens",
}
_SEEN_ROWS = 20  # of a table, to tell whether it has a header


def row_maker(
    write: Callable[[Row], object], config: ScoreConfig, path: str, files: Sequence[str]
) -> Callable[[Row], object]:
    """A function that writes the rows of sentences, in their order, as the config asks for.

    A table (`path`) keeps the other columns of a table that is scored. With words, it has a row per
    word; without, also the column that is scored.
    """
    is_table = delimiter_of(path) is not None
    by_word = config.words and is_table
    in_folder = is_folder_of_texts(config, files)
    names: dict[str, str] = _BITS if config.unit == "bits" else {}
    has_columns = keeps_columns(config, path, files)
    read_columns = _Columns(config, by_word) if has_columns else None
    beside = _beside(read_columns, files, by_word, in_folder)

    def write_row(given: Row) -> None:
        first, row = next(beside), in_unit(given, config.unit)
        if not by_word:
            write(first | row)
            return
        kind, values = ("surprisal", _BITS[_LOGS[2]]) if names else ("log_probability", _LOGS[2])
        first |= {"text": row["text"]} if "text" in row else {}
        for number, (word, value) in enumerate(zip(row["words"], row[values], strict=True), 1):
            write(first | {"word_number": number, "word": word, kind: value})

    return write_row if by_word or in_folder or names or has_columns else write


def keeps_columns(config: ScoreConfig, path: str, files: Sequence[str]) -> bool:
    """Whether the rows of the output have the columns of the input, a table in files (no pipe).

    Of Parquet in Parquet, `ParquetWriter.put_beside` writes them, with their types.
    """
    if not (config.column and files and all(map(os.path.isfile, files))):
        return False
    if path.endswith(SUFFIX):
        return not any(map(is_parquet, files))
    return delimiter_of(path) is not None


def columns_of(config: ScoreConfig, file: str) -> list[str]:
    """The names that the columns of a table without rows have in a table of sentences."""
    return _Columns(config, by_word=False).of_header(file)


def header_notes(config: ScoreConfig, files: Sequence[str]) -> list[str]:
    """A note if --column is a number, and the first row, which is then scored, may be a header.

    It may be one if a column has numbers in all rows but the first, or if the first sentence is the
    word "sentence" or "text".
    """
    column = config.column or ""
    if not column.isdecimal():
        return []
    for file in files:
        if not os.path.isfile(file) or is_parquet(file):
            continue
        rows = table_rows(iter_lines(file, may_be_empty=True), file)
        seen = list(itertools.islice(rows, _SEEN_ROWS))
        if not seen or seen[0][0] == 0:  # the keys of JSON lines, which are not scored
            continue
        first, *later = (cells for _, cells in seen)
        columns = zip(first, zip(*later, strict=True), strict=True) if later else ()
        has_names = any(
            not is_number(cell) and all(map(is_number, below)) for cell, below in columns
        )
        if has_names or first[int(column) - 1].strip().lower() in ("sentence", "text"):
            advice = f"{option_named('column')} with a name reads it as one"
            rule = f"the first row was scored, and may be a header: {advice}"
            return [f"{rule}, first {shown(', '.join(first))} in {file}"]
    return []


def is_folder_of_texts(config: ScoreConfig, files: Sequence[str]) -> bool:
    """Whether the input is a folder of `files`, whose names are in the rows."""
    return os.path.isdir(config.input_file or "") and not is_parquet(files[0])


def in_unit(row: Row, unit: str) -> dict[str, Any]:
    """A row in nats, or in bits, where values of surprisal have names of their own."""
    if unit != "bits":
        return dict(row)
    return {
        _BITS.get(name, name): _in_bits(value) if name in _BITS else value
        for name, value in row.items()
    }


def _in_bits(value):
    unit = -math.log(2)
    return [number / unit for number in value] if isinstance(value, list) else value / unit


@dataclass(frozen=True)
class _Columns:
    """Reads the columns that an output keeps: all; by word, without the one that is scored."""

    config: ScoreConfig
    by_word: bool

    def of_file(self, file: str) -> Iterator[dict[str, str]]:
        """Yields the cells of each row, by their name in the output."""
        header, rows = self._read(file)
        for cells in rows:
            names = header or [str(number) for number in range(1, len(cells) + 1)]
            yield {
                self._name(name): cell
                for name, cell in zip(names, cells, strict=True)
                if not (self.by_word and name == self.config.column)
            }

    def of_header(self, file: str) -> list[str]:
        """The names in the output, if the first row has names."""
        header, _ = self._read(file)
        return [self._name(name) for name in header]

    def _read(self, file: str) -> tuple[list[str], Iterator[list[str]]]:
        """The names of the columns, none if the column is chosen by its number; and all rows."""
        rows = (cells for _, cells in table_rows(iter_lines(file, may_be_empty=True), file))
        if (self.config.column or "").isdecimal():
            return [], rows
        return [name.strip() for name in next(rows, [])], rows

    def _name(self, name: str) -> str:
        """A name that a column of ours has, too, ends in `_`."""
        ours = _OF_WORDS if self.by_word else _OF_SENTENCES
        return f"{name}_" if name in ours or (self.config.text and name == "text") else name


def _beside(
    columns: _Columns | None, files: Sequence[str], by_word: bool, in_folder: bool
) -> Iterator[dict[str, Any]]:
    """What stands beside each sentence: its file, if the input is a folder; its columns."""
    if not (in_folder or columns):
        yield from ({"sentence_number": number} if by_word else {} for number in itertools.count(1))
    count = itertools.count(1)
    for file in files:
        lines = iter_lines(file, may_be_empty=True)
        for cells in columns.of_file(file) if columns else ({} for _ in lines):
            numbered = {"sentence_number": next(count), **cells} if by_word else cells
            yield ({"file": file} if in_folder else {}) | numbered


def scored_words(
    lm: Scorer, texts: Sequence[str], scored: Sequence[TokenScores], split: bool
) -> list[tuple[list[str], list[float]]]:
    """The words of texts and the sums over their tokens; `split`: punctuation is apart."""
    if not split:
        return [(words, values.tolist()) for words, values in lm.by_words(texts, scored)]
    words = [[part for word in text.split() for part in split_punctuation(word)] for text in texts]
    groups = lm.group_tokens(words, scored, texts)
    return [(w, [float(x.sum()) for x in group]) for w, group in zip(words, groups, strict=True)]


def punctuation_notes(lm: Scorer, texts: Sequence[str], scored: Sequence[TokenScores]) -> list[str]:
    """A note on words of which the punctuation carries more than the rest, if there are any."""
    words = []
    apart = scored_words(lm, texts, scored, True)
    for text, (parts, values) in zip(texts, apart, strict=True):
        pairs = zip(parts, values, strict=True)
        for word in text.split():
            pieces = list(itertools.islice(pairs, len(split_punctuation(word))))
            marks = [value for part, value in pieces if is_punctuation(part)]
            if len(marks) < len(pieces) and 2 * sum(marks) < sum(value for _, value in pieces):
                words.append(word)
    if not words:
        return []
    rule = f"words whose punctuation carries more than the rest: {len(words):,}, first"
    advice = f"{option_named('split_punctuation', True)} sets it apart"
    return [f"{rule} {shown(words[0])}; {advice}"]
