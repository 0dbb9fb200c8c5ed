"""Reads the references of N-best lists from a separate file."""

import re
from collections.abc import Sequence
from pathlib import Path

from tta.data.nbest.reference_files import Kind, Reference, parse_references
from tta.data.text.lines import iter_lines
from tta.errors import InputError, located, shown

# The longest line. A JSON document may be one line.
MAX_LINE_BYTES = 1 << 24


def read_references(path: Path | str, ids: Sequence[str]) -> list[str]:
    """Reads the references of the lists with these utterance ids, and returns them in that order.

    The file is plain or compressed. `tta.data.nbest.reference_files` lists the layouts, which are
    detected from the content. References with ids may have any order. Others belong to the lists
    in their order; if all ids are line numbers, line i (from 0) belongs to the list with id i.

    Raises:
        InputError: the file cannot be read or is in a layout that holds no references, an id is a
            duplicate, or references and lists do not match.
    """
    lines = list(iter_lines(path, max_bytes=MAX_LINE_BYTES))
    with located(path=path):
        kind, references = parse_references(lines, ids)
        if kind is Kind.FILES:  # names of audio files, which may be the ids
            keys = {reference.key for reference in references}
            by_id = not _are_numbered(ids, "") and keys.issuperset(ids)
            kind = Kind.ORDERED if not by_id and _are_numbered(ids) else Kind.KEYED
        if kind is Kind.ORDERED:
            return _in_order(references, ids)
        return _by_id(references, ids)


def _in_order(references, ids):
    if all(re.fullmatch("[0-9]{1,9}", i) and int(i) < len(references) for i in ids):
        keyed = [Reference(one.text, str(i), one.line) for i, one in enumerate(references)]
        return _by_id(keyed, [str(int(i)) for i in ids])
    if len(references) != len(ids):
        got = f"{len(references)} for {len(ids)}"
        raise InputError(f"expected one reference per list, got {got}")
    return [reference.text for reference in references]


def _by_id(references, ids):
    found: dict[str, Reference] = {}
    for reference in references:
        first = found.setdefault(reference.key, reference)
        if first is not reference:
            where = "" if first.line is None else f", first on line {first.line}"
            raise InputError(f"duplicate id {shown(reference.key)}{where}", line=reference.line)
    for utterance_id in ids:
        if utterance_id not in found:
            raise InputError(f"list {shown(utterance_id)} has no reference")
    known = set(ids)
    for key, reference in found.items():
        if key not in known:
            raise InputError(f"{shown(key)} has a reference but no list", line=reference.line)
    return [found[i].text for i in ids]


def _are_numbered(ids, start=None):
    """Whether ids are a text and the numbers 0, 1 ... or 1, 2 ..., as ids made from an index are.

    `start` is the text before the numbers; None allows any.
    """
    matches = [re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", i) for i in ids]
    starts = {match and match[1] for match in matches}
    numbers = [int(match[2]) for match in matches if match]
    return (
        len(starts) == 1
        and None not in starts
        and start in (None, *starts)
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )
