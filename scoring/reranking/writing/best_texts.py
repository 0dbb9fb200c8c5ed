"""The best text of each list, in the layout that the name of the file asks for."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from tta.data.nbest.formats import load_format
from tta.data.nbest.lists import NBestList
from tta.data.text.json_text import dump_json
from tta.data.text.tables import delimiter_of, row_writer
from tta.errors import InputError, shown
from tta.scoring.combining.decision import Decision, select
from tta.scoring.combining.weights import FIRST_PASS

# By the ending: how a line looks, and what an id must not have. Other names have texts alone.
_LINES = {"trn": ("{text} ({id})", r"[\s()]"), "text": ("{id} {text}", r"\s")}


def _ending(path: str) -> str:
    return re.sub(r"\.(gz|bz2|xz)$", "", Path(path).name).rpartition(".")[2]


def check_ids(path: str, lists: Sequence[NBestList]) -> None:
    """Raises InputError if the layout has ids, and the id of a list would end early in it."""
    line, ends = _LINES.get(_ending(path), ("", r"(?!)"))
    for nbest_list in lists:
        if re.search(ends, nbest_list.utterance_id):
            layout = line.format(id="id", text="words")
            rule = f"the id {shown(nbest_list.utterance_id)} cannot stand in lines of `{layout}`"
            raise InputError(rule, path)


def write_best(stream: TextIO, path: str, format: str, decision: Decision) -> None:
    """Writes the texts of the picks as they were read; white space in them becomes a blank."""
    nbest, firsts = decision.lists.nbest, select(decision.lists, FIRST_PASS)
    picked = zip(nbest, decision.picks, strict=True)
    texts = [" ".join(x.hypotheses[i].text.split()) if x.hypotheses else "" for x, i in picked]
    is_json = _ending(path) == "jsonl"
    if not (is_json or delimiter_of(path)):
        line, _ = _LINES.get(_ending(path), ("{text}", ""))
        pairs = [
            (nbest_list.utterance_id, text) for nbest_list, text in zip(nbest, texts, strict=True)
        ]
        # Lines without ids stand where those of references do (`read_references`).
        if line == "{text}" and {i for i, _ in pairs} == {*map(str, range(len(pairs)))}:
            pairs.sort(key=lambda pair: int(pair[0]))
        stream.writelines(line.format(id=i, text=text).strip() + "\n" for i, text in pairs)
        return
    rows = [
        _row(nbest_list, first, format) for nbest_list, first in zip(nbest, firsts, strict=True)
    ]
    if not is_json:  # a table has no cells of JSON, such as all hypotheses of a list
        rows = [{k: v for k, v in row.items() if not isinstance(v, list | dict)} for row in rows]
    names = dict.fromkeys(key for row in rows for key in row)
    name = "best" + "_" * sum(key.strip("_") == "best" for key in names)
    write = row_writer(stream, path)
    for row, text in zip(rows, texts, strict=True):
        if is_json:
            dump_json({**row, name: text}, stream)
        else:
            cells = {key: row.get(key, "") for key in names}
            cells = {k: v if isinstance(v, str) else json.dumps(v) for k, v in cells.items()}
            write({**cells, name: text})


def _row(nbest_list: NBestList, first: int, format: str) -> dict[str, Any]:
    """The row of a list in its file: of the list, or of the hypothesis that the first pass picks.

    Where the file has none, id, text and reference.
    """
    hypothesis = nbest_list.hypotheses[first] if nbest_list.hypotheses else None
    row = load_format(format).row_of(nbest_list, hypothesis)
    named = {
        "id": nbest_list.utterance_id,
        "text": "" if hypothesis is None else hypothesis.text,
        "reference": nbest_list.reference,
    }
    return row or {key: value for key, value in named.items() if value is not None}
