"""Reads and writes N-best lists: files to lists of `NBestList` and back.

A score in memory is always a natural log, higher is better, whatever the file says. A list is
written in the format it came in:

>>> file = read_nbest("dev.json")
>>> reranked = [dataclasses.replace(l, hypotheses=best_first(l)) for l in file.lists]
>>> write_nbest("dev.reranked.json", reranked, file.format)
"""

import contextlib
import itertools
import math
import re
from dataclasses import dataclass, replace

from tta.data.nbest.formats_json import DictFormat, Espnet1Format, HyporadiseFormat, JsonLinesFormat
from tta.data.nbest.formats_lines import KaldiFormat, MosesFormat, TsvFormat
from tta.data.nbest.lists import (
    HEAD_ROWS,
    Hypothesis,
    ListCollector,
    NBestList,
    Source,
    shown,
)
from tta.data.text.files import (
    MAX_LINE_BYTES,
    iter_lines,
    open_output,
    read_lines,
    shown_path,
    withdrawn,
)
from tta.errors import InputError

__all__ = [
    "FORMATS",
    "Hypothesis",
    "NBestFile",
    "NBestList",
    "detect_format",
    "iter_nbest",
    "read_nbest",
    "write_nbest",
]

FORMATS = {
    format.name: format
    for format in (
        DictFormat(),
        JsonLinesFormat(),
        MosesFormat(),
        KaldiFormat(),
        HyporadiseFormat(),
        TsvFormat(),
        Espnet1Format(),
    )
}

# The longest line of a format that may have a whole list or file on one, as JSON has.
MAX_DOCUMENT_BYTES = 1 << 28


@dataclass(frozen=True)
class NBestFile:
    """The lists of one file, in the file's order, and the name of its format."""

    lists: list[NBestList]
    format: str


def read_nbest(path, format=None, reference_file=None, score_file=None, beam_size=None):
    """Reads a file of N-best lists.

    Args:
        path: the file, `-` for standard input, plain or compressed.
        format: a key of `FORMATS`; None tells it by the content.
        reference_file: references, used instead of the file's own. Lines `id words`, or lines of
            words alone: line i (from 0) belongs to the list called i where the lists are called by
            such numbers, else to the list in that place.
        score_file: the costs of a Kaldi list (`utt-N cost`, negative natural log).
        beam_size: hypotheses per list, where the format (NeMo's TSV) does not say it.

    Returns:
        An `NBestFile`. Within it either every hypothesis has a score or none, and either every
        list has a reference or none.

    Raises:
        InputError: a file is missing, empty or malformed, or breaks a rule above; the message
            names file, line (where there is one) and rule.
    """
    _check_beam_size(beam_size)
    source = Source(read_lines(path, MAX_DOCUMENT_BYTES), score_file, beam_size)
    collector = ListCollector()
    with _in_file(path):
        chosen = _choose(format, source)
        if not chosen.has_long_lines:
            _check_line_lengths(source)
        if source.rows:
            chosen.read(source, collector)
        if not collector.lists:
            raise InputError("the file holds no list")
    lists = collector.lists
    if reference_file is not None:
        references = _read_references(reference_file, [nbest.utterance_id for nbest in lists])
        lists = [replace(nbest, reference=r) for nbest, r in zip(lists, references, strict=True)]
    return NBestFile(lists, chosen.name)


def iter_nbest(path, format=None, beam_size=None, opener=open):
    """Reads a file of N-best lists one by one, for those too large for memory.

    A JSONL file is never in memory but for a list and all ids; one in another format is, whole.

    Args:
        path, format, beam_size: as in `read_nbest`.
        opener: called as `open(path, "rb")`, for files that `open` does not reach.

    Yields:
        `NBestList`s, as `read_nbest` gives them.

    Raises:
        InputError: as `read_nbest`; while iterating.
    """
    _check_beam_size(beam_size)
    collector = ListCollector()
    with _in_file(path):
        lines = iter_lines(path, opener, MAX_DOCUMENT_BYTES)
        head = _head(lines)
        chosen = _choose(format, Source(head, None, beam_size))
        lines = itertools.chain(head, lines)
        if isinstance(chosen, JsonLinesFormat):
            for number, line in enumerate(lines, 1):
                if line.strip(" "):
                    chosen.read_row(number, line, collector)
                    yield from collector.take()
        else:
            chosen.read(Source(list(lines), None, beam_size), collector)
            yield from collector.take()
        if not collector.count:
            raise InputError("the file holds no list")


def write_nbest(target, lists, format, score_path=None, overwrite=False):
    """Writes N-best lists, hypotheses in the order given (best first, if they were sorted).

    What a format's own file said beyond text, score and reference is written back where the
    lists still carry it (`extra`).

    Args:
        target: a path (`-` for standard output) or a text stream. A file appears only when
            complete.
        lists: `NBestList`s.
        format: a key of `FORMATS`.
        score_path: for Kaldi, where the costs go. Default for a file with scores: the target's
            name with `.scores` added; for a stream or standard output: nowhere.
        overwrite: whether files may be replaced.

    Raises:
        InputError: a file exists already or cannot be written, a score is not finite, or the
            format cannot hold a text (a line break) or needs scores that are not there.
    """
    chosen = _find(format)
    for nbest in lists:
        for hypothesis in nbest.hypotheses:
            if hypothesis.score is not None and not math.isfinite(hypothesis.score):
                rule = f"list {shown(nbest.utterance_id)}: score {hypothesis.score} is not finite"
                raise InputError(rule)
    is_stream = hasattr(target, "write")
    scores_apart = "score_file" in chosen.takes
    if scores_apart and score_path is None and not is_stream and str(target) != "-":
        scored = any(h.score is not None for nbest in lists for h in nbest.hypotheses)
        score_path = f"{target}.scores" if scored else None
    with contextlib.ExitStack() as stack:
        stream = target if is_stream else stack.enter_context(open_output(target, overwrite))
        chosen.write(lists, stream)
        if scores_apart and score_path is not None:
            costs = stack.enter_context(open_output(score_path, overwrite))
            if not is_stream:
                stack.enter_context(withdrawn(target))
            chosen.write_scores(lists, costs)


def detect_format(path):
    """Tells the format of a file by its content.

    Returns:
        A key of `FORMATS`.

    Raises:
        InputError: the file is missing or empty, or looks like no format or like several.
    """
    try:
        return _detect(Source(read_lines(path, MAX_DOCUMENT_BYTES))).name
    except InputError as error:
        raise InputError(error.rule, error.path or shown_path(path), error.line) from None


def _check_beam_size(beam_size):
    if beam_size is not None and beam_size < 1:
        raise InputError(f"the beam size must be at least 1, got {beam_size}")


@contextlib.contextmanager
def _in_file(path):
    """Names the file in an `InputError` of the block that names none."""
    try:
        yield
    except InputError as error:
        if error.path is not None:
            raise
        raise InputError(error.rule, shown_path(path), error.line) from None


def _head(lines):
    """Takes as many lines from an iterator as `Source.head` looks at."""
    head, rows = [], 0
    for line in lines:
        head.append(line)
        rows += bool(line.strip(" "))
        if rows == HEAD_ROWS:
            break
    return head


def _choose(name, source):
    """The format of that name, or the one that the source looks like; it takes what is given."""
    chosen = _find(name) if name else _detect(source)
    for option in ("score_file", "beam_size"):
        if getattr(source, option) is not None and option not in chosen.takes:
            raise InputError(f"the format {chosen.name} takes no {option.replace('_', ' ')}")
    return chosen


def _check_line_lengths(source):
    for number, line in source.rows:
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", line=number)


def _detect(source):
    if not source.rows:
        raise InputError("the file is empty")
    found = [format for format in FORMATS.values() if format.matches(source)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(format.name for format in found)
        raise InputError(f"could be {names}: say which format it is")
    layouts = "; ".join(f"{format.name}: {format.layout}" for format in FORMATS.values())
    raise InputError(f"looks like no known format of N-best lists ({layouts})")


def _find(name):
    if name not in FORMATS:
        raise InputError(f"unknown format {shown(name)}: expected one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _read_references(path, ids):
    """The reference of each list, in the order of the ids."""
    lines = read_lines(path)
    keyed = [line.split(maxsplit=1) or [""] for line in lines]
    first_words = {words[0] for words in keyed}
    # Few sentences start with an id; a file of ids has most of them, or belongs to other lists.
    has_ids = 2 * sum(i in first_words for i in ids) > len(ids) or (
        len(first_words) == len(lines) and all(re.search("[0-9]", word) for word in first_words)
    )
    if has_ids:
        numbers, references = {}, {}
        for number, (utterance_id, *words) in enumerate(keyed, 1):
            if utterance_id in references:
                rule = f"duplicate id {shown(utterance_id)}, first on line {numbers[utterance_id]}"
                raise InputError(rule, path, number)
            if utterance_id:  # else a blank line
                numbers[utterance_id] = number
                references[utterance_id] = words[0].strip() if words else ""
    elif all(re.fullmatch("[0-9]{1,9}", i) and int(i) < len(lines) for i in ids):
        references = {str(number): line.strip() for number, line in enumerate(lines)}
        numbers = {str(number): number + 1 for number in range(len(lines))}
        ids = [str(int(i)) for i in ids]
    elif len(lines) != len(ids):
        raise InputError(f"expected one reference a list, got {len(lines)} for {len(ids)}", path)
    else:
        return [line.strip() for line in lines]

    for utterance_id in ids:
        if utterance_id not in references:
            raise InputError(f"list {shown(utterance_id)} has no reference", path)
    known = set(ids)
    for utterance_id in references:
        if utterance_id not in known:
            rule = f"{shown(utterance_id)} has a reference but no list"
            raise InputError(rule, path, numbers[utterance_id])
    return [references[i] for i in ids]
