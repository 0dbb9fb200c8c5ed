"""JSONL: one list per line."""

import re

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_text import (
    dump_json,
    expect,
    first_key,
    hypothesis_object,
    load_json,
    parse_hypothesis,
)
from tta.data.nbest.lists import shown
from tta.errors import located

_IDS = ("id", "utterance_id", "utt_id")
_HYPOTHESES = ("hypotheses", "nbest", "hyps")
_REFERENCES = ("reference", "ref")


class JsonLinesFormat(Format):
    """One list per line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    A hypothesis may be a plain string. Other names of the keys are also read, and written back:
    `utterance_id` and `utt_id` for `id`; `nbest` and `hyps` for `hypotheses`; `ref` for
    `reference`. Lists without an id get their index, from 0.
    """

    has_long_lines = True
    is_streamed = True
    layout = 'one list per line: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}'

    def matches(self, source):
        line = source.head[0].lstrip()
        return line.startswith("{") and bool(re.search(r'"(hypotheses|nbest|hyps)"\s*:\s*\[', line))

    def read_row(self, number, row, collector):
        item = expect(load_json(row, number), dict, "a list", number)
        utterance_id = item.get(first_key(item, _IDS), collector.count)
        with located(f"list {shown(utterance_id)}", number):
            values = item.get(first_key(item, _HYPOTHESES))
            hypotheses = [
                parse_hypothesis({"text": value} if isinstance(value, str) else value, self.name)
                for value in expect(values, list, '"hypotheses"')
            ]
            reference = item.get(first_key(item, _REFERENCES))
            collector.add(utterance_id, hypotheses, reference, {self.name: item})

    def write(self, lists, stream):
        for nbest in lists:
            item = dict(self.extra_of(nbest))
            item.setdefault(first_key(item, _IDS), nbest.utterance_id)
            item[first_key(item, _HYPOTHESES)] = [
                hypothesis_object(h, self.extra_of(h)) for h in nbest.hypotheses
            ]
            if nbest.reference is not None:
                item[first_key(item, _REFERENCES)] = nbest.reference
            dump_json(item, stream)
