"""JSONL: one list per line."""

import re
from dataclasses import replace
from typing import Any

from tta.data.nbest.fields import IDS, LISTS, PARTS, REFERENCES, SCORES, id_of, named
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import format_of
from tta.data.nbest.formats.json_text import (
    as_object,
    as_value,
    check_arrays,
    columns,
    first_key,
    hypothesis_object,
    list_id,
    parse_hypothesis,
)
from tta.data.nbest.formats.json_values import dump_json, expect, load_json
from tta.data.nbest.lists import shown
from tta.errors import InputError, located

_ARRAYS = ("scores", *SCORES, "sequences_scores")
HAS_HYPOTHESES = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\[')
# Scores of Hugging Face's `generate`, whose texts have no name of their own.
_GENERATED = "sequences_scores"


class JsonLinesFormat(Format):
    """One list per line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    Hypotheses may be plain strings or arrays of tokens; their scores are in an array `scores`
    beside them, or missing. They may be arrays of text and score, or beams of pyctcdecode. Other
    names of the keys are also read, and written back; see `tta.data.nbest.fields`. Further scores
    are features; see `read_scores`. Lists without an id get their index, from 0; in a folder, the
    name of their file.

    Beside Hugging Face's `sequences_scores`, which are scores, the texts are the only array of as
    many strings. Keys that repeat those of the first hypothesis, as in results of sherpa-onnx, are
    written for the new first one.
    """

    has_long_lines = True
    is_streamed = True
    reads_folders = True
    layout = 'one list per line: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}'

    def matches(self, source):
        line = source.head[0].lstrip()
        if not line.startswith("{") or any(map(format_of, source.values)):
            return False
        return bool(HAS_HYPOTHESES.search(line)) or '"sequences_scores"' in line

    def missing(self, source):
        if not source.start.lstrip().startswith(("{", "[")):
            return None
        if HAS_HYPOTHESES.search(source.start):
            return "each list as one object on its own line"
        one_object_per_line = len(source.head) > 1 and source.head[0].rstrip().endswith("}")
        has_id = any(isinstance(v, dict) and named(v, IDS) is not None for v in source.values[:1])
        return 'the key "hypotheses"' if one_object_per_line or has_id else None

    def read(self, source, collector):
        for index, (number, row) in enumerate(source.rows):
            name = source.stem if len(source.rows) == 1 else f"{source.stem}-{index}"
            self._read(number, row, collector, name)

    def read_row(self, number, row, collector):
        self._read(number, row, collector, collector.count)

    def _read(self, number, row, collector, name):
        """Adds the list of a row. Its id is `name`, unless it has an id."""
        item = expect(load_json(row, number), dict, "a list", number)
        utterance_id = list_id(item, name, collector)
        with located(f"list {shown(utterance_id)}", number):
            values = expect(item.get(_hypotheses_key(item)), list, '"hypotheses"')
            beside = _arrays(item, values)
            names = _ARRAYS if beside else SCORES
            hypotheses = []
            for i, value in enumerate(values):
                fields = as_object(value)
                if beside:
                    fields |= {key: array[i] for key, array in beside.items()}
                hypothesis = parse_hypothesis(fields, self.name, collector, names)
                extra = {**(hypothesis.extra or {}), "value": value}
                hypotheses.append(replace(hypothesis, extra=extra))
            reference = item.get(named(item, REFERENCES))
            collector.add(utterance_id, hypotheses, reference, {self.name: item})

    def write(self, lists, stream):
        for nbest in lists:
            item = dict(self.extra_of(nbest))
            if id_of(item)[0] is None:
                item["id"] = nbest.utterance_id
            hypotheses_key = _hypotheses_key(item)
            beside = _arrays(item, item.get(hypotheses_key, []))
            names = _ARRAYS if beside else SCORES
            hypotheses = [hypothesis_object(h, self.extra_of(h), names) for h in nbest.hypotheses]
            values = [(h.extra or {}).get("value", {}) for h in nbest.hypotheses]
            if beside:
                texts = [{"text": one.pop("text")} for one in hypotheses]
                for key in dict.fromkeys(key for one in hypotheses for key in one):
                    item[key] = [one.get(key) for one in hypotheses]
                hypotheses = texts
            hypotheses = list(map(as_value, hypotheses, values))
            old = item.get(hypotheses_key)
            if old and hypotheses:
                item |= _repeated(item, old[0], hypotheses[0])
            item[hypotheses_key] = hypotheses
            if nbest.reference is not None:
                item[named(item, REFERENCES) or REFERENCES[0]] = nbest.reference
            dump_json(item, stream)


def _hypotheses_key(item: dict[str, Any]) -> str:
    """The key of the array of hypotheses."""
    key = first_key(item, LISTS)
    if key in item or not isinstance(item.get(_GENERATED), list):
        return key
    arrays = columns(item, len(item[_GENERATED]), ())
    texts = [name for name, array in arrays.items() if all(isinstance(x, str) for x in array)]
    if len(texts) > 1:
        raise InputError(f"the hypotheses may be {' or '.join(texts)}: call them hypotheses")
    return texts[0] if texts and item[_GENERATED] else key


def _repeated(item, old, new):
    """The keys of a list that repeat those of its old first hypothesis, with the new values."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return {}
    return {key: new[key] for key in old.keys() & item.keys() & new.keys() if item[key] == old[key]}


def _arrays(item, values):
    """The arrays beside plain strings or arrays of tokens that have an entry for each of them."""
    objects = [as_object(value) for value in values if not isinstance(value, dict)]
    are_texts = [isinstance(one, dict) and one.keys() == {"text"} for one in objects]
    if any(are_texts) and item.get("scores") is not None:
        expect(item["scores"], list, '"scores"')
    scores = [key for key in (*_ARRAYS, *PARTS) if isinstance(item.get(key), list)]
    check_arrays(item, scores, len(values))
    for value in values if scores and not any(are_texts) else ():
        expect(value, str, f'a hypothesis beside "{scores[0]}"')
    others = (_hypotheses_key(item), "text")
    is_plain = len(are_texts) == len(values) and all(are_texts)
    return columns(item, len(values), others) if values and is_plain else {}
