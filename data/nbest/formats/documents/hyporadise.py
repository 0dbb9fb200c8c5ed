"""The JSON of HyPoradise and of data sets made after it."""

import itertools
import re
from typing import Any

from tta.data.nbest.fields import REFERENCES, SCORES
from tta.data.nbest.formats.base import Source
from tta.data.nbest.formats.documents.json_lines import HAS_HYPOTHESES, JsonLinesFormat
from tta.data.text.json_text import Place, dump_records, expect, iter_records
from tta.errors import InputError, located, shown

_HYPOTHESES = ("input", "nhyps_base", "hypothesis", "input1")
_PAIR = ("texts", "scores")  # as `tta.integrations` returns them
_KEY = rf'"({"|".join(_HYPOTHESES)})"\s*:'
_HAS_KEY = re.compile(rf'"({"|".join(_HYPOTHESES)})"\s*:\s*\[|"input1"\s*:')


class HyporadiseFormat(JsonLinesFormat):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    Or such objects one after another, such as one per line. Other names of the keys are also read,
    and written back: `nhyps_base` and `hypothesis` for `input`; `Caption` and `transcription` for
    `output`; those of `tta.data.nbest.fields`. With `input1`, the best hypothesis, `input2` is an
    array of the others.

    `texts` with `scores` beside them are hypotheses, too; arrays of such arrays are several lists.

    The scores may be called `scores` or `am_score`, or be missing. Arrays beside the hypotheses are
    read as those of `JsonLinesFormat`. Lists without an id get their index, from 0.
    """

    is_streamed = False
    reads_folders = False
    layout = '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]'
    lists = (*_HYPOTHESES, _PAIR[0])
    references = ("output", "caption", "transcription", *REFERENCES)
    arrays = (*SCORES, "scores")
    new = ""

    def matches(self, source):
        start = source.start.lstrip()
        if HAS_HYPOTHESES.search(start):
            return False
        if is_pair(source):
            return True
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
        for i, (item, line, place) in enumerate(_records(source.text)):
            where = line if place.index is None else source.line_of(_KEY, i)
            with located(f"item {i}", where):
                self.add_item(i, expect(item, dict, "a list"), collector, place=place)

    def write(self, lists, stream):
        array = Place(0, 0, True)
        items = [(self.item(one), self.extra_of(one).get("place", array)) for one in lists]
        dump_records(_joined(items), stream)

    def values(self, item):
        return _best_and_others(item) if self._key(item) == "input1" else super().values(item)

    def put(self, item, values):
        if self._key(item) == "input1" and isinstance(item["input1"], str):
            item["input1"], *item["input2"] = values
        else:
            super().put(item, values)


def is_pair(source: Source) -> bool:
    """Whether the records of a file are texts and scores beside each other."""
    return bool(source.values) and not source.layouts and all(
        isinstance(one, dict)
        and all(isinstance(one.get(name), list) for name in _PAIR)
        and len(one["texts"]) == len(one["scores"])
        for one in source.values
    )  # fmt: skip


def _records(text):
    """The records, and each list of a record of all: `{"texts": [[...], ...], "scores": ...}`."""
    for item, line, place in iter_records(text):
        pair = item if isinstance(item, dict) else {}
        columns: list[Any] = [pair.get(name) for name in _PAIR]
        if all(isinstance(c, list) and c and all(isinstance(x, list) for x in c) for c in columns):
            if len(columns[0]) != len(columns[1]):
                raise InputError("expected as many lists of scores as of texts", line=line)
            for i, one in enumerate(zip(*columns, strict=True)):
                yield dict(zip(_PAIR, one, strict=True)), line, place._replace(index=(i, item))
        else:
            yield item, line, place


def _joined(items):
    """The inverse of `_records`."""
    for (_, whole), group in itertools.groupby(
        items, lambda one: (one[1].document, isinstance(one[1].index, tuple))
    ):
        group = list(group)
        if not whole:
            yield from group
            continue
        columns = {name: [item[name] for item, _ in group] for name in _PAIR}
        place = group[0][1]
        yield place.index[1] | columns, place._replace(index=None)


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
