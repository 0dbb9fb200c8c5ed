"""Reads the references of N-best lists from a separate file."""

import re
from collections.abc import Sequence
from pathlib import Path

from tta.data.nbest.lists import shown
from tta.data.text.lines import iter_lines
from tta.errors import InputError


def read_references(path: Path | str, ids: Sequence[str]) -> list[str]:
    """Reads the references of the lists with these utterance ids, and returns them in that order.

    The file is plain or compressed. Its lines are either `id words`, in any order, or words alone.
    In the second case, line i (from 0) belongs to the list with id i if all ids are line numbers,
    else to the list at index i.

    Raises:
        InputError: the file cannot be read, an id is a duplicate, or references and lists do not
            match.
    """
    lines = list(iter_lines(path))
    keyed = [line.split(maxsplit=1) or [""] for line in lines]
    first_words = {words[0] for words in keyed}
    # Few sentences start with an id. A file with ids has most of ours, or is for other lists.
    has_ids = 2 * sum(i in first_words for i in ids) > len(ids) or (
        len(first_words) == len(lines) and all(re.search("[0-9]", word) for word in first_words)
    )
    if has_ids:
        found = {}  # {id: (line number, reference)}
        for number, (utterance_id, *words) in enumerate(keyed, 1):
            if utterance_id in found:
                first = found[utterance_id][0]
                rule = f"duplicate id {shown(utterance_id)}, first on line {first}"
                raise InputError(rule, path, number)
            if utterance_id:  # else a blank line
                found[utterance_id] = number, words[0].strip() if words else ""
    elif all(re.fullmatch("[0-9]{1,9}", i) and int(i) < len(lines) for i in ids):
        found = {str(index): (index + 1, line.strip()) for index, line in enumerate(lines)}
        ids = [str(int(i)) for i in ids]
    elif len(lines) != len(ids):
        raise InputError(f"expected one reference per list, got {len(lines)} for {len(ids)}", path)
    else:
        return [line.strip() for line in lines]

    for utterance_id in ids:
        if utterance_id not in found:
            raise InputError(f"list {shown(utterance_id)} has no reference", path)
    known = set(ids)
    for utterance_id, (number, _) in found.items():
        if utterance_id not in known:
            raise InputError(f"{shown(utterance_id)} has a reference but no list", path, number)
    return [found[i][1] for i in ids]
