"""What `tta score` writes of a sentence, after it was scored: in bits, with its file, by words."""

import itertools
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tta.data.text.lines import iter_lines
from tta.data.text.tables import delimiter_of, table_rows
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.scorer import Scorer, TokenScores

Row = Mapping[str, Any]
# In bits, lower is more expected: what is written, by the name of the natural logarithm.
_SURPRISALS = {
    "score": "surprisal",
    "log_probabilities": "surprisals",
    "word_log_probabilities": "word_surprisals",
}

_OWN = {"file", "sentence", "text", "word_number", "word", "log_probability", "surprisal"}


def row_maker(
    write: Callable[[Row], object], config: ScoreConfig, path: str, files: Sequence[str]
) -> Callable[[Row], object]:
    """A function that writes the rows of sentences, in their order, as the config asks for.

    A table (`path`) of words has a row per word. It keeps the other columns of the input.
    """
    by_word = config.words and delimiter_of(path) is not None
    in_folder = os.path.isdir(config.input_file or "")
    if not (by_word or in_folder or config.unit == "bits"):
        return write
    names = _SURPRISALS if config.unit == "bits" else {}
    beside = _beside(config, files, by_word, in_folder)

    def write_row(row):
        first, row = next(beside), {names.get(k, k): _in(names, k, v) for k, v in row.items()}
        if not by_word:
            write(first | row)
            return
        kind = "surprisal" if names else "log_probability"
        values = row[names.get("word_log_probabilities", "word_log_probabilities")]
        first |= {name: row[name] for name in ("text",) if name in row}
        for number, (word, value) in enumerate(zip(row["words"], values, strict=True), 1):
            write(first | {"word_number": number, "word": word, kind: value})

    return write_row


def _in(names, key, value):
    """A value of a row in bits, if it has a name there."""
    if key not in names:
        return value
    return [-x / math.log(2) for x in value] if isinstance(value, list) else -value / math.log(2)


def _beside(config, files, by_word, in_folder) -> Iterator[dict[str, Any]]:
    """What stands beside each sentence: its file, if the input is a folder; its other columns."""
    keeps = by_word and config.column is not None and all(map(os.path.isfile, files))
    if not (in_folder or keeps):
        yield from ({"sentence": number} if by_word else {} for number in itertools.count(1))
    number = 0
    for file in files:
        lines = iter_lines(file, may_be_empty=True)
        for cells in _columns(lines, file, config.column) if config.column else ({} for _ in lines):
            number += 1
            own = {"sentence": number, **cells} if by_word else {}
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
    sums = [[float(values.sum()) for values in group] for group in groups]
    return list(zip(words, sums, strict=True))


def split_punctuation(word: str) -> list[str]:
    """A word without the punctuation before and after it, which are words of their own."""
    found = re.fullmatch(r"([^\w\s]*)(.*?)([^\w\s]*)", word, re.DOTALL)
    return [part for part in (found.groups() if found else [word]) if part]
