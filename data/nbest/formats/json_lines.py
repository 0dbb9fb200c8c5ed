"""JSONL: one list per line."""

import re
from collections.abc import Sequence
from typing import Any

from tta.data.nbest.fields import PARTS
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_text import (
    columns,
    dump_json,
    expect,
    first_key,
    hypothesis_object,
    load_json,
    parse_hypothesis,
)
from tta.data.nbest.lists import shown
from tta.errors import InputError, located

_IDS = ("id", "utterance_id", "utt_id")
_HYPOTHESES = ("hypotheses", "nbest", "hyps")
_REFERENCES = ("reference", "ref")
_ARRAYS = ("scores", "score")
HAS_HYPOTHESES = re.compile(r'"(hypotheses|nbest|hyps)"\s*:\s*\[')


class JsonLinesFormat(Format):
    """One list per line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    Hypotheses may be plain strings; their scores are in an array `scores` beside them, or missing.
    Other names of the keys are also read, and written back: `utterance_id` and `utt_id` for `id`;
    `nbest` and `hyps` for `hypotheses`; `ref` for `reference`; `score` and `am_score`, if they are
    arrays, for `scores`. Further scores are features; see `read_scores`. Lists without an id get
    their index, from 0.
    """

    has_long_lines = True
    is_streamed = True
    layout = 'one list per line: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}'

    def matches(self, source):
        line = source.head[0].lstrip()
        return line.startswith("{") and bool(HAS_HYPOTHESES.search(line))

    def missing(self, source):
        if not source.start.lstrip().startswith(("{", "[")):
            return None
        if HAS_HYPOTHESES.search(source.start):
            return "each list as one object on its own line"
        one_object_per_line = len(source.head) > 1 and source.head[0].rstrip().endswith("}")
        named = any(f'"{name}"' in source.head[0] for name in _IDS)
        return 'the key "hypotheses"' if one_object_per_line or named else None

    def read_row(self, number, row, collector):
        item = expect(load_json(row, number), dict, "a list", number)
        utterance_id = item.get(first_key(item, _IDS), collector.count)
        with located(f"list {shown(utterance_id)}", number):
            values = expect(item.get(first_key(item, _HYPOTHESES)), list, '"hypotheses"')
            beside = _arrays(item, values)
            names = _ARRAYS if beside else ("score",)
            hypotheses = []
            for i, value in enumerate(values):
                if isinstance(value, str):
                    value = {"text": value, **{key: array[i] for key, array in beside.items()}}
                hypotheses.append(parse_hypothesis(value, self.name, collector, names))
            reference = item.get(first_key(item, _REFERENCES))
            collector.add(utterance_id, hypotheses, reference, {self.name: item})

    def write(self, lists, stream):
        for nbest in lists:
            item = dict(self.extra_of(nbest))
            item.setdefault(first_key(item, _IDS), nbest.utterance_id)
            hypotheses_key = first_key(item, _HYPOTHESES)
            beside = _arrays(item, item.get(hypotheses_key, []))
            names = _ARRAYS if beside else ("score",)
            hypotheses = [hypothesis_object(h, self.extra_of(h), names) for h in nbest.hypotheses]
            if beside:
                texts = [one.pop("text") for one in hypotheses]
                for key in dict.fromkeys(key for one in hypotheses for key in one):
                    item[key] = [one.get(key) for one in hypotheses]
                hypotheses = texts
            item[hypotheses_key] = hypotheses
            if nbest.reference is not None:
                item[first_key(item, _REFERENCES)] = nbest.reference
            dump_json(item, stream)


def check_arrays(item: dict[str, Any], names: Sequence[str], count: int) -> None:
    """Checks that arrays of scores (`names` and `PARTS`) have one number for each hypothesis."""
    for key in (*names, *PARTS):
        if isinstance(item.get(key), list) and len(item[key]) != count:
            got = f"{len(item[key])} for {count}"
            raise InputError(f'expected one number in "{key}" per hypothesis, got {got}')


def _arrays(item, values):
    """The arrays beside plain strings that have an entry for each of them."""
    are_strings = [isinstance(value, str) for value in values]
    if any(are_strings) and item.get("scores") is not None:
        expect(item["scores"], list, '"scores"')
    scores = [key for key in (*_ARRAYS, *PARTS) if isinstance(item.get(key), list)]
    check_arrays(item, scores, len(values))
    for value in values if scores else ():
        expect(value, str, f'a hypothesis beside "{scores[0]}"')
    others = (first_key(item, _HYPOTHESES), "text")
    return columns(item, len(values), others) if values and all(are_strings) else {}
