"""What `tta score` writes of a sentence, after it was scored: in bits, with its file, by words."""

import itertools
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tta.data.text.lines import iter_lines
from tta.data.text.parquet import is_parquet
from tta.data.text.tables import delimiter_of, table_rows
from tta.data.text.words import is_punctuation, split_punctuation
from tta.errors import shown
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.scorer import Scorer, TokenScores

Row = Mapping[str, Any]
_LOGS = "score", "log_probabilities", "word_log_probabilities"
_BITS: dict[str, str] = dict(
    zip(_LOGS, ("surprisal", "surprisals", "word_surprisals"), strict=True)
)
_OWN = {"file", "sentence", "text", "word_number", "word", "log_probability", "surprisal"}


def row_maker(
    write: Callable[[Row], object], config: ScoreConfig, path: str, files: Sequence[str]
) -> Callable[[Row], object]:
    """A function that writes the rows of sentences, in their order, as the config asks for.

    A table (`path`) of words has a row per word. It keeps the other columns of the input.
    """
    by_word = config.words and delimiter_of(path) is not None
    in_folder = is_folder_of_texts(config, files)
    names: dict[str, str] = _BITS if config.unit == "bits" else {}
    beside = _beside(config.column, files, by_word, in_folder)

    def write_row(given: Row) -> None:
        first, row = next(beside), in_unit(given, config.unit)
        if not by_word:
            write(first | row)
            return
        kind, values = ("surprisal", _BITS[_LOGS[2]]) if names else ("log_probability", _LOGS[2])
        first |= {"text": row["text"]} if "text" in row else {}
        for number, (word, value) in enumerate(zip(row["words"], row[values], strict=True), 1):
            write(first | {"word_number": number, "word": word, kind: value})

    return write_row if by_word or in_folder or names else write


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
    return [one / unit for one in value] if isinstance(value, list) else value / unit


def _beside(column, files, by_word, in_folder) -> Iterator[dict[str, Any]]:
    """What stands beside each sentence: its file, if the input is a folder; its other columns."""
    if not (in_folder or (by_word and column and all(map(os.path.isfile, files)))):
        yield from ({"sentence": number} if by_word else {} for number in itertools.count(1))
    count = itertools.count(1)
    for file in files:
        lines = iter_lines(file, may_be_empty=True)
        for cells in _columns(lines, file, column) if column else ({} for _ in lines):
            own = {"sentence": next(count), **cells} if by_word else {}
            yield ({"file": file} if in_folder else {}) | own


def _columns(lines, file, column) -> Iterator[dict[str, str]]:
    """The cells of each row but that of the sentence; names that we have, too, end in `_`."""
    rows = (cells for _, cells in table_rows(lines, file))
    names = None if column.isdecimal() else [cell.strip() for cell in next(rows, [])]
    for cells in rows:
        found = zip(names or map(str, range(1, len(cells) + 1)), cells, strict=True)
        yield {f"{k}_" if k in _OWN else k: v for k, v in found if k != column}


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
    found = []
    apart = scored_words(lm, texts, scored, True)
    for text, (parts, values) in zip(texts, apart, strict=True):
        pairs = zip(parts, values, strict=True)
        for word in text.split():
            pieces = list(itertools.islice(pairs, len(split_punctuation(word))))
            marks = [value for part, value in pieces if is_punctuation(part)]
            if len(marks) < len(pieces) and 2 * sum(marks) < sum(value for _, value in pieces):
                found.append(word)
    rule = f"words whose punctuation carries more than the rest: {len(found):,}, first"
    return [f"{rule} {shown(found[0])}; --split_punctuation sets it apart"] if found else []
