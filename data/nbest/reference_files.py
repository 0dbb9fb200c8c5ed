"""Reads the references of N-best lists from a file or a folder, and gives each list its own."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tta.data.nbest.lists import stem
from tta.data.nbest.reference_layouts import Reference, are_numbered, parse_references
from tta.data.text.lines import iter_lines
from tta.errors import InputError, located, shown

# The longest line. A JSON document may be one line.
MAX_LINE_BYTES = 1 << 24


def read_references(
    path: Path | str, ids: Sequence[str], partial: bool = False
) -> list[str | None]:
    """Reads the references of the lists with these utterance ids, and returns them in that order.

    The file is plain or compressed, in one of the layouts of `tta.data.nbest.reference_layouts`.
    References with ids may have any order. Others belong to the lists in their order; if all ids
    are line numbers, line i (from 0) belongs to the list with id i. Of a folder, each file is a
    reference, and its stem the id; if some are .txt, the others are left out.

    Args:
        partial: whether lists may lack a reference, which is then None, and references a list.

    Raises:
        InputError: the file cannot be read or is in a layout that holds no references, an id is a
            duplicate, or references and lists do not match.
    """
    if os.path.isdir(path):
        with located(path=path):
            return _by_id([*_of_folder(Path(path))], ids, partial)
    lines = list(iter_lines(path, max_bytes=MAX_LINE_BYTES))
    with located(path=path):
        if partial and not all(map(str.isdecimal, ids)):  # those that the file does not name
            named = set(re.split(r"[\s\"'(),;:|{}\[\]]+", "\n".join(lines)))
            named.update(map(stem, [*named]))
            every, ids = ids, [one for one in ids if one in named] or ids
            found = dict(zip(ids, _matched(lines, ids, partial), strict=True))
            return [found.get(one) for one in every]
        return _matched(lines, ids, partial)


def _of_folder(folder) -> Iterator[Reference]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    for file in [p for p in files if p.suffix == ".txt"] or files:
        yield Reference(" ".join(iter_lines(file, strip=True, may_be_empty=True)), file.stem)


def _matched(lines, ids, partial) -> list[str | None]:
    references = parse_references(lines, ids)
    keys = {reference.key for reference in references}
    is_ordered = not references or references[0].key is None
    if not is_ordered and references[0].is_file:  # names of audio files, which may be the ids
        by_id = not are_numbered(ids, "") and keys.issuperset(ids)
        is_ordered = not by_id and are_numbered(ids)
    return _in_order(references, ids) if is_ordered else _by_id(references, ids, partial)


def _in_order(references, ids) -> list[str | None]:
    if all(re.fullmatch("[0-9]{1,9}", i) and int(i) < len(references) for i in ids):
        keyed = [Reference(one.text, str(i), one.line) for i, one in enumerate(references)]
        return _by_id(keyed, [str(int(i)) for i in ids])
    if len(references) != len(ids):
        got = f"{len(references)} for {len(ids)}"
        raise InputError(f"expected one reference per list, got {got}")
    return [reference.text for reference in references]


def _by_id(references, ids, partial=False) -> list[str | None]:
    found: dict[str, Reference] = {}
    for reference in references:
        first = found.setdefault(reference.key, reference)
        if first is not reference:
            where = "" if first.line is None else f", first on line {first.line}"
            raise InputError(f"duplicate id {shown(reference.key)}{where}", line=reference.line)
    known, others = set(ids), "--partial_references measures the others"
    if partial and known.isdisjoint(found):
        raise InputError(f"no list has a reference; the first list is {shown(ids[0])}")
    for utterance_id in () if partial else ids:
        if utterance_id not in found:
            raise InputError(f"list {shown(utterance_id)} has no reference; {others}")
    for key, reference in () if partial else found.items():
        if key not in known:
            raise InputError(f"{shown(key)} has a reference but no list", line=reference.line)
    return [found[i].text if i in found else None for i in ids]
