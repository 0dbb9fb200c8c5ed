"""The JSON of HyPoradise and of data sets made after it."""

import re

from tta.data.nbest.fields import REFERENCES, SCORES
from tta.data.nbest.formats.documents.json_lines import HAS_HYPOTHESES, JsonLinesFormat
from tta.data.text.json_text import Place, dump_records, expect, iter_records
from tta.errors import InputError, located, shown

_HYPOTHESES = ("input", "nhyps_base", "hypothesis", "input1")
_KEY = rf'"({"|".join(_HYPOTHESES)})"\s*:'
_HAS_KEY = re.compile(rf'"({"|".join(_HYPOTHESES)})"\s*:\s*\[|"input1"\s*:')


class HyporadiseFormat(JsonLinesFormat):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    Or such objects one after another, such as one per line. Other names of the keys are also read,
    and written back: `nhyps_base` and `hypothesis` for `input`; `Caption` and `transcription` for
    `output`; those of `tta.data.nbest.fields`. With `input1`, the best hypothesis, `input2` is an
    array of the others.

    The scores may be called `scores` or `am_score`, or be missing. Arrays beside the hypotheses are
    read as those of `JsonLinesFormat`. Lists without an id get their index, from 0.
    """

    is_streamed = False
    reads_folders = False
    layout = '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]'
    lists = _HYPOTHESES
    references = ("output", "caption", "transcription", *REFERENCES)
    arrays = (*SCORES, "scores")
    new = ""

    def matches(self, source):
        start = source.start.lstrip()
        if HAS_HYPOTHESES.search(start):
            return False
        if start.startswith("["):
            return bool(_HAS_KEY.search(start)) or '"input"' in start
        return start.startswith("{") and bool(_HAS_KEY.search(start))

    def missing(self, source):
        if HAS_HYPOTHESES.search(source.start):
            return None  # more like jsonl
        if source.start.lstrip().startswith("["):
            return 'the key "input" of an object, with an array of hypotheses'
        return None

    def read(self, source, collector):
        for i, (item, line, place) in enumerate(iter_records(source.text)):
            where = line if place.index is None else source.line_of(_KEY, i)
            with located(f"item {i}", where):
                self.add_item(i, expect(item, dict, "a list"), collector, place=place)

    def write(self, lists, stream):
        array = Place(0, 0, True)
        items = [(self.item(one), self.extra_of(one).get("place", array)) for one in lists]
        dump_records(items, stream)

    def values(self, item):
        return _best_and_others(item) if self._key(item) == "input1" else super().values(item)

    def put(self, item, values):
        if self._key(item) == "input1" and isinstance(item["input1"], str):
            item["input1"], *item["input2"] = values
        else:
            super().put(item, values)


def _best_and_others(item):
    """The hypotheses in `input1`, the best one, and `input2`, the others."""
    best, others = item["input1"], item.get("input2", [])
    if isinstance(best, list):
        return best
    if isinstance(others, str):
        raise InputError(
            f'expected "input2" as an array of hypotheses, got one text, which may be several: '
            f"{shown(others)}"
        )
    return [best, *expect(others, list, '"input2"')]
