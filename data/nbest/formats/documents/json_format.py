"""Reads and writes the JSON of every tool of the table."""

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tta.data.nbest.fields import IDS, id_of, named, ranked, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import Layout, Row, text_key
from tta.data.nbest.formats.documents.table import (
    MAX_DEPTH,
    TOOLS,
    KeyPath,
    Tool,
    find_lists,
    value_at,
)
from tta.data.nbest.formats.documents.times import channel_of, word_times
from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList, stem
from tta.data.text.json_text import (
    Place,
    dump_json,
    dump_records,
    expect,
    iter_records,
    load_json,
    quoted,
)
from tta.errors import InputError, located, shown

# The keys of a response for audio without speech, and of one that is not final.
_SILENT = {
    *("results", "result", "text", "status", "segment", "metadata", "translation", "score"),
    *("totalBilledTime", "total_billed_time", "requestId", "request_id", "usingLegacyModels"),
    *("speechAdaptationInfo", "RecognitionStatus", "Offset", "Duration", "DisplayText"),
    *("final", "result_index"),
}
# The best text, which a response without alternatives has alone.
_BEST = ("text", "translation", "DisplayText")
# Keys of messages between results.
_MESSAGES = {"partial", "partial_result", "speechEventType", "speech_event_type"}
_PAIR = ("texts", "scores")  # as `tta.integrations` returns them


class JsonFormat(Format):
    """Lists in the JSON of a tool. What is beside them is written back.

    Args:
        name: the name of the format.
        tool: the row of the table; None is that of `name` in `TOOLS`.
    """

    has_long_lines = True

    def __init__(self, name: str, tool: Tool | None = None):
        super().__init__(name)
        self.tool = tool or TOOLS[name]
        for trait in ("layout", "is_streamed", "reads_folders", "score_kind", "has_known_scores"):
            setattr(self, trait, getattr(self.tool, trait))

    def matches(self, source):
        matches = self.tool.matches
        return matches(source) if matches else self.name in source.layouts

    def missing(self, source):
        return self.tool.missing(source)

    def word_times(self, hypothesis):
        return word_times(self.extra_of(hypothesis).get("row", {})) if self.tool.anywhere else None

    def recording(self, nbest):
        kept = self.extra_of(nbest)
        if not self.tool.anywhere:
            return super().recording(nbest)
        channel = channel_of(kept["record"], kept["path"]) if kept.get("layout") else "1"
        return kept.get("recording") or nbest.utterance_id, channel, id(kept.get("record"))

    def read(self, source, collector):
        if self.tool.anywhere:
            self._read_results(source, collector)
        elif self.tool.file == "objects":
            document = expect(load_json(source.text), dict, "the document")
            if inside := self.tool.inside:
                document = expect(document.get(inside), dict, f'"{inside}"')
            for name, record in document.items():
                line = source.line_of(re.escape(quoted(name)) + r"\s*:\s*\{")
                with located(f"list {shown(name)}", line):
                    record = expect(record, dict, "a list")
                    self._add(collector, name, record, (), self.tool.layouts[0])
        elif self.tool.file == "lines":
            for index, (number, row) in enumerate(source.rows):
                name = source.stem if len(source.rows) == 1 else f"{source.stem}-{index}"
                self._read_line(number, row, name, collector)
        else:
            keys = "|".join(layout.array for layout in self.tool.layouts)
            for index, (record, line, place) in enumerate(_unfolded(iter_records(source.text))):
                where = line if place.index is None else source.line_of(rf'"({keys})"\s*:', index)
                with located(f"item {index}", where):
                    self._read_record(index, expect(record, dict, "a list"), place, collector)

    def read_row(self, number, row, collector):
        self._read_line(number, row, collector.count, collector)

    def _read_line(self, number, row, name, collector):
        record = expect(load_json(row, number), dict, "a list", number)
        with located(f"list {shown(_id(record, name, collector))}", number):
            self._read_record(name, record, Place(number, None, False), collector)

    def _read_record(self, name, record, place, collector):
        """Adds the only list of a record, which may lack an id: `name`."""
        ((path, layout),) = self.tool.find(record)
        name = _id(record, _id(value_at(record, path), name, collector), collector)
        self._add(collector, name, record, path, layout, place=place)

    def _read_results(self, source, collector):
        """Adds the lists of all records. Those with the same id get an index: `utt-0`."""
        found = []
        for record, line, place in iter_records(source.text):
            lists = self.tool.find(expect(record, dict, "a record", line))
            if not lists and not self._is_silent(record, line):
                continue
            for path, layout in lists or [((), None)]:
                name = _result_id(record, path, source.stem)
                found.append((name, line, (record, path, layout), place))
        counts, seen = Counter(name for name, *_ in found), Counter()
        has_shares = _confidences_are_shares([one for _, _, one, _ in found])
        for name, line, one, place in found:
            utterance_id = name
            if counts[name] > 1 or not name:
                utterance_id = f"{name}-{seen[name]}" if name else str(seen[name])
                seen[name] += 1
            with located(f"list {shown(utterance_id)}", line):
                kept = {"place": place, "recording": name}
                self._add(collector, utterance_id, *one, has_shares, **kept)

    def _is_silent(self, record, line):
        """Whether a record without lists is for audio without speech, not between results.

        Raises InputError if it is something else.
        """
        if _MESSAGES & record.keys() or any(find_lists(record, self.tool.layouts, False)):
            return False
        has_text = any(str(record.get(key) or "").strip() for key in _BEST)
        others = record.keys() - _SILENT
        if has_text or any(named([key], IDS) is None for key in others):
            raise InputError(f"no array {self.tool.arrays} in {shown(record)}", line=line)
        return True

    def _add(
        self,
        collector: ListCollector,
        name: Any,
        record: Row,
        path: KeyPath,
        layout: Layout | None,
        has_shares: bool = False,
        **kept: Any,
    ) -> None:
        """Adds the list at a path of a record; without a layout, an empty one.

        With `has_shares`, confidences are between 0 and 1, and no scores.
        """
        item = value_at(record, path)
        hypotheses, others = [], []
        if layout:
            entries = expect(layout.entries(item), list, f'"{layout.array}"')
            layout.check(item, entries)
            rows = layout.rows(item) or []
            text, scores = layout.names(rows, entries)
            scores = [one for one in scores if not (has_shares and one == "confidence")]
            for label, row, entry in zip(layout.labels(item), rows, entries, strict=False):
                with located(label):
                    key = text or text_key(row)
                    fields = layout.fields(row, key)
                    score, features = read_scores(fields, collector, scores)
                extra = {
                    "row": row,
                    "entry": entry,
                    "text": key,
                    "score": score_key(fields, scores),
                }
                score = layout.signed(score)
                others.append(fields)
                hypotheses.append(
                    Hypothesis(layout.text(row, key), score, {self.name: extra}, features)
                )
            first = {"entry": "" if text == layout.array else {}, "text": text or "text"}
            first |= {"score": score_key({}, scores)} | (extra if rows else {})
            kept["new"] = first | {"row": {}}
        holders, key = (layout or self.tool.layouts[0]).holders(item, record)
        extra = {self.name: {"record": record, "path": path, "layout": layout, **kept}}
        collector.add(name, ranked(hypotheses, others), holders[0].get(key), extra)

    def write(self, lists, stream):
        pairs = ((one, self.extra_of(one) or self._new(one)) for one in lists)
        groups = ([pair] for pair in pairs)
        if self.tool.anywhere:
            by_record = itertools.groupby(pairs, lambda pair: id(pair[1]["record"]))
            groups = (list(group) for _, group in by_record)
        records = ((self._record(group), group[0][1].get("place")) for group in groups)
        if self.tool.file == "objects":
            document = {name.utterance_id: record for name, (record, _) in zip(lists, records)}
            dump_json({self.tool.inside: document} if self.tool.inside else document, stream, 1)
        else:
            dump_records(_folded(records), stream)

    def _new(self, nbest):
        """What is kept of a list that was read from the record of a new one."""
        collector = ListCollector()
        record = _copied(self.tool.new, MAX_DEPTH)
        ((path, layout),) = self.tool.find(record)
        self._add(collector, "new", record, path, layout)
        (one,) = collector.lists
        place = Place(f"new {nbest.utterance_id}", None, False)
        if self.tool.file == "array":
            place = Place(0, 0, True)
        first = self.extra_of(one.hypotheses[0])
        return self.extra_of(one) | {"new": first, "place": place, "is_new": True}

    def _record(self, group: Sequence[tuple[NBestList, Row]]) -> Row:
        """The record that was read with these lists, without its others; else a new one."""
        first = group[0][1]
        record = _copied(first["record"], MAX_DEPTH)
        found = self.tool.find(record) if first["layout"] else []
        before = {path: layout.rows(value_at(record, path)) for path, layout in found}
        after = {}
        for nbest, kept in group:
            path, layout = kept["path"], kept["layout"]
            item = value_at(record, path)
            if layout:
                after[path] = self._put(item, before[path], nbest, kept)
            layout = layout or self.tool.layouts[0]
            holders, key = layout.holders(item, record)
            reference, old = nbest.reference, [one.get(key) for one in holders]
            is_new = any(one != reference for one in old)
            if is_new and not (old[0] and nbest.more_references) and (
                reference is not None or isinstance(old[0], str)
            ):
                if layout.takes_several and nbest.more_references:
                    reference = [reference, *nbest.more_references]
                for one in holders if len(group) == 1 else [item]:
                    one[key or layout.references[0]] = reference
        if list(map(_best, before.values())) != list(map(_best, after.values())):
            _join(record, {path: rows[0] for path, rows in after.items() if rows})
        for path in sorted(before.keys() - after.keys(), reverse=True):
            del value_at(record, path[:-1])[path[-1]]
        needs_id = self.tool.file == "lines" and id_of(record)[0] is None and id_of(item)[0] is None
        if needs_id or ("is_new" in first and "id" in record):
            record["id"] = group[0][0].utterance_id
        return _without_none(record) if "is_new" in first else record

    def _put(self, item, before, nbest, kept):
        """Replaces the hypotheses of an object, and the texts that repeat the best one."""
        layout, rows, entries = kept["layout"], [], []
        old_key, _ = layout.names(before, layout.entries(item))
        for hypothesis in nbest.hypotheses:
            one = self.extra_of(hypothesis) or kept["new"]
            row, key = dict(one["row"]), one["text"]
            is_same = key in row and layout.text(row, key) == hypothesis.text
            if not is_same or "is_new" in kept:
                row[key] = hypothesis.text + layout.end
            if hypothesis.score is not None:
                old = row.get(one["score"])
                score = layout.signed(float(hypothesis.score))
                row[one["score"]] = [score, *old[1:]] if isinstance(old, list) and old else score
            rows.append(row)
            entries.append(one["entry"])
        layout.put(item, rows, entries)
        if layout.best and rows:
            key, _ = layout.names(rows, entries)
            old, new = before[0].get(old_key, "") if before else "", rows[0].get(key, "")
            for name in item:
                # `pred_text_model` may be of another model, and is then another text.
                if name == layout.best or (name.startswith(layout.best) and item[name] == old):
                    item[name] = new
        return rows


def _id(holder, name, collector):
    """The id of a list; `name` if it has none. Later lists of one recording get their index."""
    found, is_recording = id_of(holder, name)
    return f"{found}-{collector.count}" if is_recording and collector.has(found) else found


def _result_id(record: Row, path: KeyPath, of_file: str) -> Any:
    """The id that a record gives its lists, or `of_file`, that of the file that holds it."""
    for key in path:
        if isinstance(key, str) and "://" in key:  # a file in the results of Google's batches
            return stem(key)
    found, _ = id_of(record, of_file)
    return str(found) if type(found) in (str, int) and found != "" else of_file


def _confidences_are_shares(lists):
    """Whether all confidences of lists, [(record, path, layout)], are between 0 and 1."""
    entries = (
        entry
        for record, path, layout in lists
        for entry in (layout.entries(value_at(record, path)) if layout else ())
    )
    values = [one["confidence"] for one in entries if isinstance(one, dict) and "confidence" in one]
    return all(isinstance(x, (int, float)) and 0 <= x <= 1 for x in values)


def _unfolded(records):
    """The records, and each list of a record of all: `{"texts": [[...], ...], "scores": ...}`."""
    for record, line, place in records:
        pair = record if isinstance(record, dict) else {}
        columns: list[Any] = [pair.get(name) for name in _PAIR]
        if all(isinstance(c, list) and c and all(isinstance(x, list) for x in c) for c in columns):
            if len(columns[0]) != len(columns[1]):
                raise InputError("expected as many lists of scores as of texts", line=line)
            for i, one in enumerate(zip(*columns, strict=True)):
                yield dict(zip(_PAIR, one, strict=True)), line, place._replace(index=(i, record))
        else:
            yield record, line, place


def _folded(records):
    """The inverse of `_unfolded`."""
    for (_, is_whole), group in itertools.groupby(
        records, lambda one: (one[1].document, isinstance(one[1].index, tuple))
    ):
        if not is_whole:
            yield from group
            continue
        lists, (place, *_) = zip(*group, strict=True)
        columns = {name: [one[name] for one in lists] for name in _PAIR}
        yield place.index[1] | columns, place._replace(index=None)


def _copied(value: Any, depth: int) -> Any:
    """A copy of a JSON value; what lies deeper than `depth`, where no lists are, is shared."""
    if depth < 0 or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_copied(one, depth - 1) for one in value]
    return {key: _copied(one, depth - 1) for key, one in value.items()}


def _without_none(value: Any) -> Any:
    """A JSON value without the keys whose value is None."""
    if isinstance(value, list):
        return list(map(_without_none, value))
    if not isinstance(value, dict):
        return value
    return {key: _without_none(one) for key, one in value.items() if one is not None}


def _best(rows):
    """The texts of the best hypothesis."""
    return [{k: v for k, v in row.items() if isinstance(v, str)} for row in (rows or ())[:1]]


def _join(record, best):
    """Updates the texts of the whole audio, which are the best texts of its lists, joined.

    `best` are the best rows of the lists by their paths.
    """
    results = record.get("results")
    if isinstance(results, dict) and isinstance(results.get("transcripts"), list):  # Amazon
        texts = [row["transcript"].strip() for row in best.values() if "transcript" in row]
        if len(results["transcripts"]) == 1 and isinstance(results["transcripts"][0], dict):
            results["transcripts"][0]["transcript"] = " ".join(texts)
    phrases = record.get("combinedRecognizedPhrases")  # Azure
    for combined in phrases if isinstance(phrases, list) else ():
        if not isinstance(combined, dict):
            continue
        channel = combined.get("channel")
        rows = [r for path, r in best.items() if value_at(record, path).get("channel") == channel]
        for key in ("lexical", "itn", "maskedITN", "display"):
            if key in combined:
                values = (row.get(key) for row in rows)
                combined[key] = " ".join(v for v in values if v and isinstance(v, str))
