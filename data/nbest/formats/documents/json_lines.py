"""JSONL: one list per line."""

import copy
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from tta.data.nbest.fields import (
    IDS,
    LISTS,
    REFERENCES,
    SCORES,
    id_of,
    named,
    ranked,
    read_scores,
    score_key,
)
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import MAX_DEPTH, value_at
from tta.data.nbest.formats.json_hypotheses import (
    as_object,
    as_value,
    check_arrays,
    columns,
    hypothesis_object,
    is_text,
    parse_hypothesis,
)
from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList
from tta.data.text.json_text import dump_json, expect, load_json
from tta.errors import InputError, located, shown

HAS_HYPOTHESES = re.compile(rf'"({"|".join(LISTS)})"\s*:\s*\[')
# Scores of Hugging Face's `generate`, whose texts have no name of their own.
_GENERATED = "sequences_scores"


class JsonLinesFormat(Format):
    """One list per line: `{"id", "hypotheses": [{"text", "score"}, ...], "reference"}`.

    Hypotheses may also be arrays of text and score, beams of pyctcdecode, texts, or arrays of
    tokens. Arrays beside texts that have one entry per hypothesis, such as `scores`, belong to the
    hypotheses: they are read as their fields, and reordered with them.

    The list may be inside an object of the line, as in `{"id", "asr": {"n_best": [...]}}`.

    Keys may have other names, which are written back; see `tta.data.nbest.fields`. Further scores
    are features; see `read_scores`. Lists without an id get their index, from 0; in a folder, the
    name of their file.

    Beside Hugging Face's `sequences_scores`, the texts are the only array of as many strings. Keys
    that repeat the first hypothesis, as in results of sherpa-onnx, follow the new first one.

    Attributes:
        lists, references, arrays: names of the array of hypotheses, of the reference, and of arrays
            of scores; new lists get the first name of each.
        new: a new hypothesis before its text and score are filled in: an object {} or a text "".
    """

    has_long_lines = True
    is_streamed = True
    reads_folders = True
    layout = 'one list per line: {"id", "hypotheses": [{"text", "score"}, ...], "reference"}'
    lists: ClassVar[tuple[str, ...]] = LISTS
    references: ClassVar[tuple[str, ...]] = REFERENCES
    arrays: ClassVar[tuple[str, ...]] = ("scores", *SCORES, _GENERATED)
    new: ClassVar[Any] = {}

    def matches(self, source):
        line = source.head[0].lstrip()
        if not line.startswith("{") or source.layouts:
            return False
        return bool(HAS_HYPOTHESES.search(line)) or f'"{_GENERATED}"' in line

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
        item = expect(load_json(row, number), dict, "a list", number)
        with located(f"list {shown(_id(item, name, collector))}", number):
            self.add_item(name, item, collector)

    def add_item(self, name: Any, item: dict[str, Any], collector: ListCollector, **kept: Any):
        """Adds the list in an object, which may lack an id: `name`. `kept` goes to its `extra`."""
        paths = [] if self._key(item) in item else list(_paths(item, self.lists))
        if len(paths) > 1:
            raise InputError(f"lists inside {shown([*map('.'.join, paths)])}: expected one")
        record, path = item, paths[0] if paths else ()
        item = value_at(record, path)
        values = expect(self.values(item), list, f'"{self._key(item)}"')
        are_texts = all(map(is_text, values))
        beside = self._columns(item, values)
        hypotheses, rows = [], []
        for i, value in enumerate(values):
            fields = {key: column[i] for key, column in beside.items()}
            if are_texts:
                score, features = read_scores(fields, collector, self.arrays)
                one = Hypothesis(as_object(value)["text"], score, features=features)
            else:
                one = parse_hypothesis(as_object(value), self.name, collector)
            extra = {self.name: {"value": value, "columns": fields}}
            hypotheses.append(replace(one, extra=extra))
            rows.append(fields if are_texts else as_object(value))
        holder = item if named(item, self.references) else record
        reference = holder.get(named(holder, self.references) or "")
        extra = {self.name: {"item": record, "path": path, **kept}}
        found = ranked(hypotheses, rows)
        collector.add(_id(record, _id(item, name, collector), collector), found, reference, extra)

    def write(self, lists, stream):
        for nbest in lists:
            item = self.item(nbest)
            inner = value_at(item, self.extra_of(nbest).get("path", ()))
            if id_of(item)[0] is None and id_of(inner)[0] is None:
                item["id"] = nbest.utterance_id
            dump_json(item, stream)

    def item(self, nbest: NBestList) -> dict[str, Any]:
        """The object that is written for a list."""
        record = dict(self.extra_of(nbest).get("item", ())) or {"id": nbest.utterance_id}
        path = self.extra_of(nbest).get("path", ())
        record = copy.deepcopy(record) if path else record
        item = value_at(record, path)
        kept = [self.extra_of(h) or {"value": self.new, "columns": {}} for h in nbest.hypotheses]
        values = []
        are_texts = all(is_text(one["value"]) for one in kept)
        for h, value in zip(nbest.hypotheses, (one["value"] for one in kept), strict=True):
            fields = as_object(value)
            if are_texts:
                values.append(value if h.text == fields["text"] else h.text)
            else:
                values.append(as_value(hypothesis_object(h, fields), value))
        self.put(item, values)
        if are_texts and kept:
            for key in kept[0]["columns"]:
                item[key] = [one["columns"].get(key) for one in kept]
            if any(h.score is not None for h in nbest.hypotheses):
                key = score_key(kept[0]["columns"], self.arrays)
                item[key] = [self.score_of(h, nbest) for h in nbest.hypotheses]
        holder = item if named(item, self.references) else record
        key = named(holder, self.references)
        if nbest.reference is not None and not (nbest.more_references and key):
            several = [nbest.reference, *nbest.more_references]
            holder[key or self.references[0]] = several if several[1:] else several[0]
        return record

    def values(self, item: dict[str, Any]) -> Any:
        """The array of hypotheses in an object."""
        return item.get(self._key(item))

    def put(self, item: dict[str, Any], values: list[Any]) -> None:
        """Replaces the hypotheses of an object."""
        key = self._key(item)
        if item.get(key) and values:
            item |= _repeated(item, item[key][0], values[0])
        item[key] = values

    def _key(self, item):
        """The key of the array of hypotheses."""
        key = next((name for name in self.lists if name in item), self.lists[0])
        if key in item or not isinstance(item.get(_GENERATED), list):
            return key
        arrays = columns(item, len(item[_GENERATED]))
        texts = [name for name, array in arrays.items() if all(isinstance(x, str) for x in array)]
        if len(texts) > 1:
            raise InputError(f"the hypotheses may be {' or '.join(texts)}: call them hypotheses")
        return texts[0] if texts and item[_GENERATED] else key

    def _columns(self, item, values):
        """The arrays beside hypotheses with one entry for each, if all hypotheses are texts."""
        texts = list(map(is_text, values))
        if any(texts):
            key = score_key(item, self.arrays)
            if key in ("scores", self.arrays[0]) and item.get(key) is not None:
                expect(item[key], list, f'"{key}"')
        scores = check_arrays(item, self.arrays, len(values), all(texts))
        for value in values if scores and not any(texts) else ():
            expect(value, str, f'a hypothesis beside "{scores[0]}"')
        found = columns(item, len(values)) if all(texts) else {}
        return {key: column for key, column in found.items() if column is not values}


def _paths(item, names, path=()) -> Iterator[tuple[str, ...]]:
    """Where the objects with an array of one of these names are in an object."""
    if any(isinstance(item.get(name), list) for name in names):
        yield path
        return
    for key, value in item.items() if len(path) < MAX_DEPTH else ():
        if isinstance(value, dict):
            yield from _paths(value, names, (*path, key))


def _id(item, name, collector):
    """The id of a list; `name` if it has none. Later lists of one recording get their index."""
    found, is_recording = id_of(item, name)
    return f"{found}-{collector.count}" if is_recording and collector.has(found) else found


def _repeated(item, old, new):
    """The keys beside the hypotheses that repeat those of the old first one, with new values."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return {}
    return {key: new[key] for key in old.keys() & item.keys() & new.keys() if item[key] == old[key]}
