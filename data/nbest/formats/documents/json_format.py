"""Reads and writes the JSON of every tool of the table."""

import contextlib
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tta.data.nbest.fields import (
    ANY_FIELDS,
    IDS,
    NamedFields,
    id_of,
    kind_of,
    named,
    ranked,
    read_scores,
    score_fields,
    score_key,
)
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import Layout, Row, is_text, text_key
from tta.data.nbest.formats.documents.table import (
    MAX_DEPTH,
    TOOLS,
    KeyPath,
    Tool,
    find_lists,
    value_at,
)
from tta.data.nbest.formats.documents.times import channel_of, word_times
from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList, holds_references, stem
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
_FIRST = Place(0, None, False)  # in a file that is one record, or an object of lists
_PAIR = ("texts", "scores")  # as `tta.integrations` returns them


class HypothesisSource(NamedTuple):
    """How a hypothesis stands in its file, or how a new one of a list will.

    Attributes:
        row: its fields.
        entry: what the layout made the row from.
        text_key, score_key: the names of its text and of its score.
    """

    row: Row
    entry: Any
    text_key: str
    score_key: str


@dataclass(frozen=True)
class ListSource:
    """Where a list stands in its file. It is written back there.

    Attributes:
        record: the JSON object that holds the list.
        path: where the list is in the record; () if it is the record.
        layout: how it stands there; None if the record is that of audio without speech.
        place: where the record is in a file of records.
        recording: the id of the record, in formats with several lists in one; "" if it has none.
        new_hypothesis: what a hypothesis has that was not in the file.
        is_new: whether the list was not in a file of this format.
        fields: those of texts and scores that the caller named.
    """

    record: Row
    path: KeyPath
    layout: Layout | None
    place: Place = _FIRST
    recording: str = ""
    new_hypothesis: HypothesisSource | None = None
    is_new: bool = False
    fields: NamedFields = ANY_FIELDS

    @property
    def holder(self) -> Row:
        """The object that holds the array of hypotheses."""
        return value_at(self.record, self.path)


class JsonFormat(Format):
    """Lists in the JSON of a tool. What is beside them is written back.

    Args:
        name: the name of the format.
        tool: the row of the table; None is that of `name` in `TOOLS`.
    """

    has_long_lines = True
    takes = ("fields",)

    def __init__(self, name: str, tool: Tool | None = None):
        super().__init__(name)
        self.tool = tool = tool or TOOLS[name]
        is_cost = tool.layouts[0].sign < 0
        vars(self).update(
            layout=tool.shown or f"JSON records with arrays {tool.arrays}",
            reads_folders=tool.file == "lines" or tool.anywhere,
            score_kind="cost" if is_cost else "log_probability",
            # The scores of NeMo and Vosk have any sign.
            has_known_scores=tool.anywhere and not is_cost,
        )

    def naming(self, fields):
        chosen: Any = super().naming(fields)
        chosen.tool = self.tool.naming(fields)
        return chosen

    def matches(self, source):
        matches = self.tool.matches
        return matches(source) if matches else self.name in source.layouts

    def missing(self, source):
        return self.tool.missing(source)

    def word_times(self, hypothesis):
        source = self._hypothesis_source(hypothesis)
        return word_times(source.row if source else {}) if self.tool.anywhere else None

    def recording(self, nbest):
        source = self._list_source(nbest)
        if not self.tool.anywhere:
            return super().recording(nbest)
        if source is None:
            return nbest.utterance_id, "1", id(None)
        channel = channel_of(source.record, source.path) if source.layout else "1"
        return source.recording or nbest.utterance_id, channel, id(source.record)

    def row_of(self, nbest, hypothesis):
        source = self._list_source(nbest)
        return source.record if source is not None and self.name == "jsonl" else None

    def is_streamed(self, source):
        if self.tool.file != "lines":
            return False
        with contextlib.suppress(InputError):
            first = next(iter(source.documents))
            return isinstance(first.value, dict) and not first.is_indented
        return source.head[0].rstrip().endswith("}")  # malformed, and its reader names the line

    def read(self, source, collector):
        tool = self.tool
        if tool.anywhere:
            self._read_results(source, collector)
        elif self.is_streamed(source):
            for index, (number, row) in enumerate(source.rows):
                name = source.stem if len(source.rows) == 1 else f"{source.stem}-{index}"
                self._read_line(number, row, name, collector)
        elif tool.file == "objects":
            self._read_objects(source, collector)
        else:
            keys = "|".join(layout.array for layout in tool.layouts)
            records = _unfolded(iter_records(source.documents))
            for index, (record, line, place) in enumerate(records):
                where = line if place.index is None else source.line_of(rf'"({keys})"\s*:', index)
                with located(f"item {index}", where):
                    self._read_record(index, expect(record, dict, "a list"), place, collector)

    def read_row(self, number, row, collector):
        self._read_line(number, row, collector.count, collector)

    def _read_objects(self, source, collector):
        """Adds the lists of objects {id: list}: one in each file."""
        tool, records = self.tool, {}
        for document in source.documents:
            of_document = expect(document.value, dict, "the document", document.line)
            if tool.inside:
                of_document = expect(of_document.get(tool.inside), dict, f'"{tool.inside}"')
            for name in of_document.keys() & records.keys():
                raise InputError(f"duplicate id {shown(name)}")
            records |= of_document
        for name, record in records.items():
            line = source.line_of(re.escape(quoted(name)) + r"\s*:\s*\{")
            with located(f"list {shown(name)}", line):
                record = expect(record, dict, "a list")
                self._add(name, ListSource(record, (), tool.layouts[0]), collector)

    def _read_line(self, number, row, name, collector):
        record = expect(load_json(row, number), dict, "a list", number)
        with located(f"list {shown(_id(record, name, collector))}", number):
            self._read_record(name, record, Place(number, None, False), collector)

    def _read_record(self, name, record, place, collector):
        """Adds the only list of a record, which may lack an id: `name`."""
        ((path, layout),) = self.tool.find(record)
        name = _id(record, _id(value_at(record, path), name, collector), collector)
        self._add(name, ListSource(record, path, layout, place), collector)

    def _read_results(self, source, collector):
        """Adds the lists of all records. Those with the same id get an index: `utt-0`."""
        results = list(self._results(source))
        counts = Counter(result.recording for result, _ in results)
        numbers = Counter()
        are_shares = _are_shares(_confidences(result for result, _ in results))
        for result, line in results:
            recording = name = result.recording
            if counts[recording] > 1 or not recording:
                name = f"{recording}-{numbers[recording]}" if recording else str(numbers[recording])
                numbers[recording] += 1
            with located(f"list {shown(name)}", line):
                self._add(name, result, collector, are_shares)

    def _results(self, source) -> Iterator[tuple[ListSource, int]]:
        """Yields (list, line of its record) for the lists of all records."""
        for record, line, place in iter_records(source.documents):
            lists = self.tool.find(expect(record, dict, "a record", line))
            for path, layout in lists or self._silence(record, line):
                recording = _result_id(record, path, source.stem)
                yield ListSource(record, path, layout, place, recording), line

    def _silence(self, record, line) -> list[tuple[KeyPath, Layout | None]]:
        """An empty list for a record without lists; nothing for one between results.

        Raises InputError if it is something else.
        """
        if _MESSAGES & record.keys() or any(find_lists(record, self.tool.layouts, False)):
            return []
        has_text = any(str(record.get(key) or "").strip() for key in _BEST)
        unusual = record.keys() - _SILENT
        if has_text or any(named([key], IDS) is None for key in unusual):
            raise InputError(f"no array {self.tool.arrays} in {shown(record)}", line=line)
        return [((), None)]

    def _add(
        self,
        name: Any,
        source: ListSource,
        collector: ListCollector,
        confidences_are_shares: bool = False,
    ) -> None:
        """Adds a list; without a layout, an empty one. Shares are no scores."""
        hypotheses: Sequence[Hypothesis] = ()
        if source.layout is not None:
            hypotheses, new = self._hypotheses(source, collector, confidences_are_shares)
            source = replace(source, new_hypothesis=new, fields=self.fields)
        holders, key = (source.layout or self.tool.layouts[0]).holders(source.holder, source.record)
        reference: Any = holders[0].get(key)
        if _is_of_tokens(reference, hypotheses):
            reference = " ".join(reference)
        collector.add(name, hypotheses, reference, {self.name: source})

    def _hypotheses(
        self, source: ListSource, collector: ListCollector, confidences_are_shares: bool
    ) -> tuple[Sequence[Hypothesis], HypothesisSource]:
        """The hypotheses of a list that has a layout, and what a new one has."""
        layout, holder = source.layout, source.holder
        assert layout is not None
        entries = expect(layout.entries(holder), list, f'"{layout.array}"')
        layout.check(holder, entries)
        rows: Any = layout.rows_of(holder, entries)
        text_name, score_names = layout.names(rows, entries)
        score_names = tuple(
            name for name in score_names if not (confidences_are_shares and name == "confidence")
        )
        if self.fields.score is not None:
            score_names = (self.fields.score,)
        if not rows:
            entry = "" if text_name == layout.array else {}
            score_name = score_key({}, score_names)
            return (), HypothesisSource({}, entry, text_name or "text", score_name)
        hypotheses = []
        for index, (row, entry) in enumerate(zip(rows, entries, strict=False)):
            try:
                expect(row, dict, "a hypothesis")
                if self.fields:
                    row = self.fields.put_into(row)
                kind = kind_of(row)
                key = self.fields.text or text_name or text_key(row, kind)
                names = score_fields(kind, score_names, key)
                score, features = read_scores(row, names, collector)
            except InputError as error:
                # For each hypothesis, a context takes as long as reading it.
                with located(next(itertools.islice(layout.labels(holder), index, None))):
                    raise error
            extra = {self.name: HypothesisSource(row, entry, key, names.score)}
            text = layout.text(row, key)
            hypotheses.append(Hypothesis(text, layout.signed(score), extra, features))
        last = self._hypothesis_source(hypotheses[-1])
        return self._ranked(hypotheses), last._replace(row={})

    def _ranked(self, hypotheses):
        if any(hypothesis.score is not None for hypothesis in hypotheses):
            return hypotheses
        sources = map(self._hypothesis_source, hypotheses)
        fields = [
            {name: value for name, value in source.row.items() if name != source.text_key}
            for source in sources
        ]
        return ranked(hypotheses, fields)

    def _list_source(self, nbest: NBestList) -> ListSource | None:
        return (nbest.extra or {}).get(self.name)

    def _hypothesis_source(self, hypothesis: Hypothesis) -> Any:
        return (hypothesis.extra or {}).get(self.name)

    def write(self, lists, stream):
        pairs = ((nbest, self._list_source(nbest) or self._new_source(nbest)) for nbest in lists)
        groups: Iterable[list[tuple[NBestList, ListSource]]] = ([pair] for pair in pairs)
        if self.tool.anywhere:
            by_record = itertools.groupby(pairs, lambda pair: id(pair[1].record))
            groups = (list(group) for _, group in by_record)
        records = ((self._record(group), *group[0]) for group in groups)
        if self.tool.file == "objects":
            document = {nbest.utterance_id: record for record, nbest, _ in records}
            dump_json({self.tool.inside: document} if self.tool.inside else document, stream, 1)
        else:
            dump_records(_folded((record, source.place) for record, _, source in records), stream)

    def _new_source(self, nbest: NBestList) -> ListSource:
        """The place of a list that was not read in this format: in the record of a new one."""
        record, collector = _copied(self.tool.new, MAX_DEPTH), ListCollector()
        ((path, layout),) = self.tool.find(record)
        place = Place(f"new {nbest.utterance_id}", None, False)
        place = Place(0, 0, True) if self.tool.file == "array" else place
        self._add("new", ListSource(record, path, layout, place), collector)
        (new_list,) = collector.lists
        source: Any = self._list_source(new_list)
        hypothesis = self._hypothesis_source(new_list.hypotheses[0])
        return replace(source, new_hypothesis=hypothesis, is_new=True)

    def _record(self, group: list[tuple[NBestList, ListSource]]) -> Row:
        """The record of lists, without its other lists."""
        first, source = group[0]
        record = _copied(source.record, MAX_DEPTH)
        places = self.tool.naming(source.fields).find(record) if source.layout else []
        before = {path: layout.rows(value_at(record, path)) for path, layout in places}
        after = {}
        for nbest, source in group:
            holder = value_at(record, source.path)
            if source.layout:
                after[source.path] = self._put(holder, before[source.path], nbest, source)
            layout = source.layout or self.tool.layouts[0]
            self._put_references(layout, holder, record, nbest, is_alone=len(group) == 1)
        if [*map(_best, before.values())] != [*map(_best, after.values())]:
            _join(record, {path: rows[0] for path, rows in after.items() if rows})
        for path in sorted(before.keys() - after.keys(), reverse=True):
            del value_at(record, path[:-1])[path[-1]]
        lacks_id = id_of(record)[0] is None and id_of(holder)[0] is None
        if lacks_id and (self.tool.file == "lines" or (source.is_new and "id" in record)):
            record["id"] = first.utterance_id
        return _copied(record, MAX_DEPTH, without_none=True) if source.is_new else record

    def _put_references(self, layout, holder, record, nbest, is_alone):
        """Writes the references of a list into its record, unless that has them."""
        holders, key = layout.holders(holder, record)
        values = [fields.get(key) for fields in holders]
        if all(holds_references(value, nbest) for value in values):
            return
        if nbest.reference is None and not isinstance(values[0], str):
            return
        references = [nbest.reference, *nbest.more_references]
        is_array = len(references) > 1 or isinstance(values[0], list)
        for fields in holders if is_alone else [holder]:
            fields[key or layout.references[0]] = references if is_array else nbest.reference

    def _put(self, holder, before, nbest, source):
        """Replaces the hypotheses of an object, and the texts that repeat the best one."""
        layout, rows, entries = source.layout, [], []
        old_key, _ = layout.names(before, layout.entries(holder))
        for hypothesis in nbest.hypotheses:
            origin = self._hypothesis_source(hypothesis) or source.new_hypothesis
            row, key = dict(origin.row), origin.text_key
            is_same = key in row and layout.text(row, key) == hypothesis.text
            if not is_same or source.is_new:
                row[key] = hypothesis.text + layout.end
            if hypothesis.score is not None:
                row[origin.score_key] = layout.signed(float(hypothesis.score))
            rows.append(source.fields.put_back(row))
            entries.append(origin.entry)
        layout.put(holder, rows, entries)
        if layout.best and rows:
            key, _ = layout.names(rows, entries)
            old, new = before[0].get(old_key, "") if before else "", rows[0].get(key, "")
            for name in holder:
                # `pred_text_model` may be of another model, and is then another text.
                repeats_best = name.startswith(layout.best) and holder[name] == old
                if name == layout.best or repeats_best:
                    holder[name] = new
        return rows


def _is_of_tokens(reference: Any, hypotheses: Sequence[Hypothesis]) -> bool:
    """Whether an array is one reference, word by word, not several references of one word each.

    No word has blanks, and most of the hypotheses have several words.
    """
    if not (isinstance(reference, list) and is_text(reference)):
        return False
    if len(reference) < 2 or "" in reference:
        return False
    return 2 * sum(" " in h.text.strip() for h in hypotheses) > len(hypotheses)


def _id(fields, name, collector):
    """The id of a list; `name` if it has none. Later lists of one recording get their index."""
    utterance_id, is_recording = id_of(fields, name)
    if is_recording and collector.has(utterance_id):
        return f"{utterance_id}-{collector.count}"
    return utterance_id


def _result_id(record, path, of_file):
    """The id that a record gives its lists, or `of_file`, that of the file that holds it."""
    for key in path:
        if isinstance(key, str) and "://" in key:  # a file in the results of Google's batches
            return stem(key)
    record_id, _ = id_of(record, of_file)
    return str(record_id) if type(record_id) in (str, int) and record_id != "" else of_file


def _confidences(results: Iterable[ListSource]) -> Iterator[Any]:
    """Yields the confidences of the hypotheses of all lists."""
    for result in results:
        for entry in result.layout.entries(result.holder) if result.layout else ():
            if isinstance(entry, dict) and "confidence" in entry:
                yield entry["confidence"]


def _are_shares(confidences: Iterable[Any]) -> bool:
    """Whether confidences are all between 0 and 1, so that none is a score."""
    return all(isinstance(value, (int, float)) and 0 <= value <= 1 for value in confidences)


def _unfolded(records):
    """The records, and each list of a record of all: `{"texts": [[...], ...], "scores": ...}`."""
    for record, line, place in records:
        pair = record if isinstance(record, dict) else {}
        columns: list[Any] = [pair.get(name) for name in _PAIR]
        if all(isinstance(c, list) and c and all(isinstance(x, list) for x in c) for c in columns):
            if len(columns[0]) != len(columns[1]):
                raise InputError("expected as many lists of scores as of texts", line=line)
            for i, texts_and_scores in enumerate(zip(*columns, strict=True)):
                fields = dict(zip(_PAIR, texts_and_scores, strict=True))
                yield fields, line, place._replace(index=(i, record))
        else:
            yield record, line, place


def _folded(records):
    """The inverse of `_unfolded`."""
    for (_, is_whole), group in itertools.groupby(
        records, lambda pair: (pair[1].document, isinstance(pair[1].index, tuple))
    ):
        if is_whole:
            lists, (place, *_) = zip(*group, strict=True)
            columns = {name: [fields[name] for fields in lists] for name in _PAIR}
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
        return [_copied(entry, depth - 1, without_none) for entry in value]
    fields = {k: v for k, v in value.items() if not (without_none and v is None)}
    return {key: _copied(field, depth - 1, without_none) for key, field in fields.items()}


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
