"""Reads and writes the JSON of every tool of the table."""

import itertools
import re
from collections import Counter
from typing import Any

from tta.data.nbest.fields import IDS, id_of, named, ranked, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import Row, text_key
from tta.data.nbest.formats.documents.table import MAX_DEPTH, TOOLS, Tool, find_lists, value_at
from tta.data.nbest.formats.documents.times import channel_of, word_times
from tta.data.nbest.lists import Hypothesis, ListCollector, holds_references, stem
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
        self.tool = tool = tool or TOOLS[name]
        is_cost = tool.layouts[0].sign < 0
        vars(self).update(
            layout=tool.shown or f"JSON records with arrays {tool.arrays}",
            is_streamed=tool.file == "lines",
            reads_folders=tool.file == "lines" or tool.anywhere,
            score_kind="cost" if is_cost else "log_probability",
            # The scores of NeMo and Vosk have any sign.
            has_known_scores=tool.anywhere and not is_cost,
        )

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
        tool, rows = self.tool, source.rows
        if tool.anywhere:
            self._read_results(source, collector)
        elif tool.file == "lines":
            for index, (number, row) in enumerate(rows):
                name = source.stem if len(rows) == 1 else f"{source.stem}-{index}"
                self._read_line(number, row, name, collector)
        elif tool.file == "objects":
            document = expect(load_json(source.text), dict, "the document")
            if tool.inside:
                document = expect(document.get(tool.inside), dict, f'"{tool.inside}"')
            for name, record in document.items():
                line = source.line_of(re.escape(quoted(name)) + r"\s*:\s*\{")
                with located(f"list {shown(name)}", line):
                    self._add(collector, name, expect(record, dict, "a list"), (), tool.layouts[0])
        else:
            keys = "|".join(layout.array for layout in tool.layouts)
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
        found: list[tuple[Any, ...]] = []
        for record, line, place in iter_records(source.text):
            lists = self.tool.find(expect(record, dict, "a record", line))
            for path, layout in lists or self._silence(record, line):
                kept = {"recording": _result_id(record, path, source.stem), "place": place}
                found.append((kept, line, record, path, layout))
        counts, seen = Counter(kept["recording"] for kept, *_ in found), Counter()
        lists = [kind.entries(value_at(one, path)) for *_, one, path, kind in found if kind]
        entries = [one for entries in lists for one in entries if isinstance(one, dict)]
        shares = [one["confidence"] for one in entries if "confidence" in one]
        has_shares = all(isinstance(x, (int, float)) and 0 <= x <= 1 for x in shares)
        for kept, line, record, path, layout in found:
            name = recording = kept["recording"]
            if counts[name] > 1 or not name:
                name = f"{name}-{seen[name]}" if name else str(seen[name])
                seen[recording] += 1
            with located(f"list {shown(name)}", line):
                self._add(collector, name, record, path, layout, has_shares, **kept)

    def _silence(self, record, line):
        """An empty list for a record without lists; nothing for one between results.

        Raises InputError if it is something else.
        """
        if _MESSAGES & record.keys() or any(find_lists(record, self.tool.layouts, False)):
            return []
        has_text = any(str(record.get(key) or "").strip() for key in _BEST)
        others = record.keys() - _SILENT
        if has_text or any(named([key], IDS) is None for key in others):
            raise InputError(f"no array {self.tool.arrays} in {shown(record)}", line=line)
        return [((), None)]

    def _add(self, collector, name, record, path, layout, has_shares=False, **kept):
        """Adds the list at a path of a record; without a layout, an empty one.

        With `has_shares`, confidences are between 0 and 1, and no scores.
        """
        item, hypotheses, others = value_at(record, path), [], []
        if layout:
            entries = expect(layout.entries(item), list, f'"{layout.array}"')
            layout.check(item, entries)
            rows = layout.rows(item)
            text, scores = layout.names(rows, entries)
            scores = [one for one in scores if not (has_shares and one == "confidence")]
            for label, row, entry in zip(layout.labels(item), rows, entries, strict=False):
                with located(label):
                    key = text or text_key(row)
                    fields = {k: v for k, v in row.items() if k != key}
                    score, features = read_scores(fields, collector, scores)
                names = {"text": key, "score": score_key(fields, scores)}
                extra = {"row": row, "entry": entry} | names
                one = layout.text(row, key), layout.signed(score), {self.name: extra}, features
                hypotheses.append(Hypothesis(*one))
                others.append(fields)
            if not rows:
                extra = {"entry": "" if text == layout.array else {}, "text": text or "text"}
                extra["score"] = score_key({}, scores)
            kept["new"] = extra | {"row": {}}  # what a new hypothesis of this list has
        holders, key = (layout or self.tool.layouts[0]).holders(item, record)
        kept |= {"record": record, "path": path, "layout": layout}
        found = ranked(hypotheses, others)
        collector.add(name, found, holders[0].get(key), {self.name: kept})

    def write(self, lists, stream):
        pairs = ((one, self.extra_of(one) or self._new(one)) for one in lists)
        groups: Any = ([pair] for pair in pairs)
        if self.tool.anywhere:
            by_record = itertools.groupby(pairs, lambda pair: id(pair[1]["record"]))
            groups = (list(group) for _, group in by_record)
        made = ((self._record(group), *group[0]) for group in groups)
        if self.tool.file == "objects":
            document = {one.utterance_id: record for record, one, _ in made}
            dump_json({self.tool.inside: document} if self.tool.inside else document, stream, 1)
        else:
            dump_records(_folded((record, kept["place"]) for record, _, kept in made), stream)

    def _new(self, nbest):
        """What is kept of a list that was read from the record of a new one."""
        record, collector = _copied(self.tool.new, MAX_DEPTH), ListCollector()
        ((path, layout),) = self.tool.find(record)
        place = Place(f"new {nbest.utterance_id}", None, False)
        place = Place(0, 0, True) if self.tool.file == "array" else place
        self._add(collector, "new", record, path, layout, place=place, is_new=True)
        (one,) = collector.lists
        return self.extra_of(one) | {"new": self.extra_of(one.hypotheses[0])}

    def _record(self, group):
        """The record of lists, [(list, what is kept of it)], without its others."""
        first = group[0][1]
        record, is_new = _copied(first["record"], MAX_DEPTH), "is_new" in first
        found = self.tool.find(record) if first["layout"] else []
        before = {path: layout.rows(value_at(record, path)) for path, layout in found}
        after = {}
        for nbest, kept in group:
            item, layout = value_at(record, kept["path"]), kept["layout"]
            if layout:
                after[kept["path"]] = self._put(item, before[kept["path"]], nbest, kept)
            layout, reference = layout or self.tool.layouts[0], nbest.reference
            holders, key = layout.holders(item, record)
            old = [one.get(key) for one in holders]
            is_same = all(holds_references(value, nbest) for value in old)
            if not is_same and (reference is not None or isinstance(old[0], str)):
                several = [reference, *nbest.more_references]
                is_array = len(several) > 1 or isinstance(old[0], list)
                for one in holders if len(group) == 1 else [item]:
                    one[key or layout.references[0]] = several if is_array else reference
        if [*map(_best, before.values())] != [*map(_best, after.values())]:
            _join(record, {path: rows[0] for path, rows in after.items() if rows})
        for path in sorted(before.keys() - after.keys(), reverse=True):
            del value_at(record, path[:-1])[path[-1]]
        lacks_id = id_of(record)[0] is None and id_of(item)[0] is None
        if lacks_id and (self.tool.file == "lines" or (is_new and "id" in record)):
            record["id"] = group[0][0].utterance_id
        return _copied(record, MAX_DEPTH, without_none=True) if is_new else record

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
                row[one["score"]] = layout.signed(float(hypothesis.score))
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


def _result_id(record, path, of_file):
    """The id that a record gives its lists, or `of_file`, that of the file that holds it."""
    for key in path:
        if isinstance(key, str) and "://" in key:  # a file in the results of Google's batches
            return stem(key)
    found, _ = id_of(record, of_file)
    return str(found) if type(found) in (str, int) and found != "" else of_file


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
        if is_whole:
            lists, (place, *_) = zip(*group, strict=True)
            columns = {name: [one[name] for one in lists] for name in _PAIR}
            yield place.index[1] | columns, place._replace(index=None)
        else:
            yield from group


def _copied(value: Any, depth: int, without_none: bool = False) -> Any:
    """A copy of a JSON value; what lies deeper than `depth`, where no lists are, is shared.

    `without_none` leaves out keys whose value is None.
    """
    if depth < 0 or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_copied(one, depth - 1, without_none) for one in value]
    kept = {k: v for k, v in value.items() if not (without_none and v is None)}
    return {key: _copied(one, depth - 1, without_none) for key, one in kept.items()}


def _best(rows):
    """The texts of the best hypothesis."""
    return [{k: v for k, v in row.items() if isinstance(v, str)} for row in (rows or ())[:1]]


def _join(record: Row, best: dict[Any, Row]) -> None:
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
