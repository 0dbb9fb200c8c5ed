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
from tta.errors import InputError, located

_IDS = ("id", "utterance_id", "utt_id")
_HYPOTHESES = ("hypotheses", "nbest", "hyps")
_REFERENCES = ("reference", "ref")
HAS_HYPOTHESES = re.compile(r'"(hypotheses|nbest|hyps)"\s*:\s*\[')


class JsonLinesFormat(Format):
    """One list per line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    A hypothesis may be a plain string; the scores of such hypotheses may be in an array `scores`
    beside them. Other names of the keys are also read, and written back: `utterance_id` and
    `utt_id` for `id`; `nbest` and `hyps` for `hypotheses`; `ref` for `reference`; `score` and
    `am_score`, if they are arrays, for `scores`. Lists without an id get their index, from 0.
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
            scores = self._scores(item, values)
            hypotheses = [
                parse_hypothesis(
                    {"text": value, "score": score} if isinstance(value, str) else value, self.name
                )
                for value, score in zip(values, scores, strict=True)
            ]
            reference = item.get(first_key(item, _REFERENCES))
            collector.add(utterance_id, hypotheses, reference, {self.name: item})

    def _scores(self, item, values):
        key = _score_key(item)
        scores = item.get(key)
        has_strings = any(isinstance(value, str) for value in values)
        if scores is None or not (has_strings or isinstance(scores, list)):
            return [None] * len(values)
        expect(scores, list, f'"{key}"')
        if len(scores) != len(values):
            got = f"{len(scores)} for {len(values)}"
            raise InputError(f'expected one number in "{key}" per hypothesis, got {got}')
        for value in values:
            expect(value, str, f'a hypothesis beside "{key}"')
        return scores

    def write(self, lists, stream):
        for nbest in lists:
            item = dict(self.extra_of(nbest))
            item.setdefault(first_key(item, _IDS), nbest.utterance_id)
            key = _score_key(item)
            if isinstance(item.get(key), list):
                hypotheses = [h.text for h in nbest.hypotheses]
                item[key] = [h.score for h in nbest.hypotheses]
            else:
                hypotheses = [hypothesis_object(h, self.extra_of(h)) for h in nbest.hypotheses]
            item[first_key(item, _HYPOTHESES)] = hypotheses
            if nbest.reference is not None:
                item[first_key(item, _REFERENCES)] = nbest.reference
            dump_json(item, stream)


def _score_key(item):
    """The key of the array of scores beside plain hypotheses."""
    arrays = (key for key in ("score", "am_score") if isinstance(item.get(key), list))
    return next(arrays, "scores")
