"""The best hypothesis of each list, in the layout that the name of the file asks for."""

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

# How a line with an id looks; other names have texts alone, or rows.
_LINES = {"trn": "{text} ({id})", "text": "{id} {text}"}


def layout_of(path: str) -> str:
    """trn, text (Kaldi), table, jsonl, or txt for every other name; endings of archives go."""
    name = re.sub(r"\.(gz|bz2|xz)$", "", Path(path).name)
    ending = name.rpartition(".")[2]
    known = ending if ending in (*_LINES, "jsonl") else "txt"
    return "table" if delimiter_of(path) else known


def check_ids(path: str, lists: Sequence[NBestList]) -> None:
    """Raises InputError if the layout has ids, and the id of a list would end early in it."""
    ends = {"trn": r"[\s()]", "text": r"\s"}.get(layout_of(path), r"(?!)")
    for one in lists:
        if re.search(ends, one.utterance_id):
            layout = _LINES[layout_of(path)].replace("{text}", "words").format(id="id")
            rule = f"the id {shown(one.utterance_id)} cannot stand in lines of `{layout}`"
            raise InputError(rule, path)


def write_best(stream: TextIO, path: str, format: str, decision: Decision) -> None:
    """Writes the texts of the picks as they were read; white space in them becomes a blank."""
    layout, rows = layout_of(path), []
    firsts = select(decision.lists, FIRST_PASS)
    for one, first, pick in zip(decision.lists.nbest, firsts, decision.picks, strict=True):
        text = " ".join(one.hypotheses[pick].text.split()) if one.hypotheses else ""
        if layout in ("table", "jsonl"):
            rows.append((_row(one, first, format), text))
        else:
            line = _LINES.get(layout, "{text}").format(id=one.utterance_id, text=text)
            stream.write(line.strip() + "\n")
    name = "best"
    while any(name in row for row, _ in rows):
        name += "_"
    names = dict.fromkeys([key for row, _ in rows for key in row])
    write = row_writer(stream, path)
    for row, text in rows:
        if layout == "jsonl":
            dump_json({**row, name: text}, stream)
            continue
        cells = (row.get(key) for key in names)
        cells = ("" if x is None else x if isinstance(x, str) else json.dumps(x) for x in cells)
        write({**dict(zip(names, cells, strict=True)), name: text})


def _row(one: NBestList, first: int, format: str) -> dict[str, Any]:
    """The row of a list in its file: of the list, or of the hypothesis that the first pass picks.

    Where the file has none, id, text and reference.
    """
    chosen, text = load_format(format), one.hypotheses[first].text if one.hypotheses else ""
    kept = chosen.extra_of(one.hypotheses[first]) if one.hypotheses else {}
    if "header" in kept:
        return dict(zip(kept["header"], kept["cells"], strict=True))
    row = chosen.extra_of(one).get("item") or kept.get("fields")
    named = {"id": one.utterance_id, "text": text, "reference": one.reference}
    return dict(row or {key: value for key, value in named.items() if value is not None})
