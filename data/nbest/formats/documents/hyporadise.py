"""The JSON of HyPoradise and of data sets made after it."""

import itertools
import re

from tta.data.nbest.fields import REFERENCES, SCORES, named, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.json_lines import HAS_HYPOTHESES
from tta.data.nbest.formats.json_text import (
    check_arrays,
    columns,
    first_key,
    line_of_match,
    list_id,
)
from tta.data.nbest.formats.json_values import dump_json, expect, iter_json
from tta.data.nbest.lists import Hypothesis, shown
from tta.errors import InputError, located

_HYPOTHESES = ("input", "nhyps_base", "hypothesis", "input1")
_REFERENCES = ("output", "caption", "transcription", *REFERENCES)
_SCORES = (*SCORES, "scores")
_KEY = rf'"({"|".join(_HYPOTHESES)})"\s*:'
_HAS_KEY = re.compile(rf'"({"|".join(_HYPOTHESES)})"\s*:\s*\[|"input1"\s*:')


class HyporadiseFormat(Format):
    """`[{"input": ["...", ...], "output": "reference", "score": [...], "id": ...}, ...]`.

    Or such objects one after another, such as one per line. Other names of the keys are also read,
    and written back: `nhyps_base` and `hypothesis` for `input`; `Caption` and `transcription` for
    `output`; those of `tta.data.nbest.fields`. With `input1`, the best hypothesis, `input2` is an
    array of the others.

    The scores may be called `scores` or `am_score`, or be missing. Further arrays of scores are
    features; see `read_scores`. Lists without an id get their index, from 0. All arrays with one
    entry per hypothesis are reordered with the hypotheses.
    """

    has_long_lines = True
    layout = '[{"input": ["...", ...], "output": "reference", "score": [...]}, ...]'

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
        index = itertools.count()
        for number, (document, line, is_indented) in enumerate(iter_json(source.text)):
            is_array = isinstance(document, list)
            for item in document if is_array else [document]:
                i = next(index)
                where = line_of_match(source, _KEY, i) if is_array else line
                with located(f"item {i}", where):
                    expect(item, dict, "a list")
                    extra = {"document": number if is_array else None, "is_indented": is_indented}
                    self._add(i, item, extra, collector)

    def _add(self, index, item, extra, collector):
        key = first_key(item, _HYPOTHESES)
        texts = _best_and_others(item) if key == "input1" else item.get(key)
        expect(texts, list, f'"{key}"')
        scores = score_key(item, _SCORES)
        if item.get(scores) is not None:
            expect(item[scores], list, f'"{scores}"')
        check_arrays(item, [scores], len(texts))
        beside = columns(item, len(texts), [key, "input2"])
        hypotheses = []
        for i, text in enumerate(texts):
            fields = {name: column[i] for name, column in beside.items()}
            score, features = read_scores(fields, collector, _SCORES)
            hypotheses.append(Hypothesis(text, score, {self.name: fields}, features))
        reference = item.get(named(item, _REFERENCES))
        extra = {self.name: {"item": item, **extra}}
        collector.add(list_id(item, index, collector), hypotheses, reference, extra)

    def write(self, lists, stream):
        def document(nbest):
            return self.extra_of(nbest).get("document", 0)

        for number, group in itertools.groupby(lists, document):
            members = list(group)
            items = [self._item(nbest) for nbest in members]
            if number is not None:
                dump_json(items, stream, indent=1)
                continue
            for nbest, item in zip(members, items, strict=True):
                dump_json(item, stream, 1 if self.extra_of(nbest)["is_indented"] else None)

    def _item(self, nbest):
        item = dict(self.extra_of(nbest).get("item", ())) or {"id": nbest.utterance_id}
        for key in self.extra_of(nbest.hypotheses[0]) if nbest.hypotheses else ():
            item[key] = [self.extra_of(h).get(key) for h in nbest.hypotheses]
        texts = [h.text for h in nbest.hypotheses]
        key = first_key(item, _HYPOTHESES)
        if key == "input1" and isinstance(item[key], str):
            item["input1"], *item["input2"] = texts
        else:
            item[key] = texts
        if nbest.reference is not None:
            item[named(item, _REFERENCES) or _REFERENCES[0]] = nbest.reference
        if any(h.score is not None for h in nbest.hypotheses):
            key = score_key(item, _SCORES)
            item[key] = [self.score_of(h, nbest) for h in nbest.hypotheses]
        return item


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
