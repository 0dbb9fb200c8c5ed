"""Records of JSON whose N-best lists have one of the layouts of a table, such as responses."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.fields import IDS, id_of, named, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import (
    LAYOUTS,
    Found,
    Path,
    find_lists,
    format_of,
    value_at,
)
from tta.data.nbest.formats.documents.rewriting import rewrite
from tta.data.nbest.formats.json_values import dump_json, expect, iter_json
from tta.data.nbest.lists import Hypothesis, NBestList, shown, stem
from tta.errors import InputError, located

# The keys of a response for audio without speech, and of one that is not final.
_SILENT = {
    *("results", "result", "text", "status", "segment", "metadata", "translation", "score"),
    *("totalBilledTime", "total_billed_time", "requestId", "request_id", "usingLegacyModels"),
    *(
        "final",
        "result_index",
        "speechAdaptationInfo",
        "RecognitionStatus",
        "Offset",
        "Duration",
        "DisplayText",
    ),
}
# The best text, which a response without alternatives has alone.
_BEST = ("text", "translation", "DisplayText")
_INTERIM = {"partial", "partial_result", "speechEventType", "speech_event_type"}

# What a response with one text has.
_ONE_BEST = re.compile(r'"(transcripts?|alternatives?|NBest|recognizedPhrases|DisplayText)"\s*:')


@dataclass(frozen=True)
class Place:
    """Where a list is in a file.

    Attributes:
        record: the record of the list.
        of_record: all lists of the record.
        found: the list; None if the record has none.
        position: the index of the JSON document in the file, and that of the record in the
            document, or None if the document is the record.
        is_indented: whether the document takes several lines.
    """

    record: dict[str, Any]
    of_record: tuple[Found, ...]
    found: Found | None
    position: tuple[int | str, int | None]
    is_indented: bool


class ResponseFormat(Format):
    """JSON with the layouts that `LAYOUTS` has for the name of the format.

    A file is one record, several one after another, such as one per line, or an array of records.
    Each result in a record is a list. Its id is that of the record, else of its file; if it is the
    id of several lists, an index follows, from 0, as in `utt-0`. A key `score` comes before the
    score of the layout; other numbers are features by their names (see `read_scores`). Results that
    are not final are skipped. Everything else in a record is written back.
    """

    has_long_lines = True
    reads_folders = True

    def __init__(self, name):
        super().__init__(name)
        self.layouts = LAYOUTS[name]
        self.what = " or ".join(dict.fromkeys(f'"{one.array}"' for one in self.layouts))
        self.layout = f"JSON records with arrays {self.what}"  # type: ignore[misc]
        if self.layouts[0].sign < 0:
            self.score_kind = "cost"  # type: ignore[misc]
        # The scores of NeMo and Vosk have any sign.
        self.has_known_scores = name != "sockeye"  # type: ignore[misc]

    def matches(self, source):
        return any(format_of(value) == self.name for value in source.values)

    def missing(self, source):
        if self.name != "responses" or not _ONE_BEST.search(source.start):
            return None
        return f"{self.what} with several texts; ask the service for alternatives"

    def read(self, source, collector):
        rows = list(self._places(source))
        counts = Counter(key for _, key, _ in rows)
        seen: Counter[str] = Counter()
        has_shares = _confidences_are_shares([place.found for place, _, _ in rows if place.found])
        for place, key, line in rows:
            utterance_id = key
            if counts[key] > 1 or not key:
                utterance_id = f"{key}-{seen[key]}" if key else str(seen[key])
                seen[key] += 1
            with located(f"list {shown(utterance_id)}", line):
                if place.found:
                    place.found.layout.check(value_at(place.record, place.found.path))
                hypotheses = self._hypotheses(place.found, has_shares, collector)
                reference = self._reference(place)
                extra = {"place": place, "reference": reference}
                collector.add(utterance_id, hypotheses, reference, {self.name: extra})

    def _places(self, source) -> Iterator[tuple[Place, Any, int]]:
        """Yields the place, the id without index, and the line of each list."""
        for number, (document, line, is_indented) in enumerate(iter_json(source.text)):
            is_array = isinstance(document, list)
            for index, record in enumerate(document if is_array else [document]):
                expect(record, dict, "a record", line)
                lists = tuple(find_lists(record, self.layouts))
                if not lists:
                    if _INTERIM & record.keys() or any(find_lists(record, self.layouts, False)):
                        continue
                    has_text = any(str(record.get(key) or "").strip() for key in _BEST)
                    others = record.keys() - _SILENT
                    if has_text or any(named([key], IDS) is None for key in others):
                        raise InputError(f"no array {self.what} in {shown(record)}", line=line)
                position = number, index if is_array else None
                for found in lists or [None]:
                    key = _id(record, found.path if found else (), source.stem)
                    yield Place(record, lists, found, position, is_indented), key, line

    def _hypotheses(self, found, has_shares, collector):
        if found is None:
            return []
        # A confidence between 0 and 1 is a feature, also beside texts as those of Vosk.
        is_share = has_shares and found.layout.score == "confidence"
        names = ("score",) if is_share else ("score", found.layout.score or "score")
        text_key = found.layout.text_key(found.rows)
        hypotheses = []
        for row in _without_unset(found.rows):
            score, features = read_scores(row, collector, names)
            text = row.get(text_key, "")
            extra = {"row": row, "score_key": score_key(row, names)}
            hypotheses.append(
                Hypothesis(
                    text.strip() if isinstance(text, str) else text,
                    None if score is None else found.layout.sign * score + 0.0,
                    {self.name: extra},
                    features,
                )
            )
        return hypotheses

    def _reference(self, place):
        keys = (place.found.layout if place.found else self.layouts[0]).references
        item = value_at(place.record, place.found.path) if place.found else {}
        values = [holder.get(key) for holder in (item, place.record) for key in keys]
        return next((value for value in values if value is not None), None)

    def write(self, lists, stream):
        records = []
        for position, group in itertools.groupby(lists, self._position):
            records.append((position, *self._record(list(group))))
        for (_, is_array), group in itertools.groupby(
            records, lambda row: (row[0][0], row[0][1] is not None)
        ):
            found = [(record, is_indented) for _, record, is_indented in group]
            made = [record for record, _ in found]
            dump_json(made if is_array else made[0], stream, 1 if found[0][1] else None)

    def _position(self, nbest):
        place = self.extra_of(nbest).get("place")
        return (f"new {nbest.utterance_id}", None) if place is None else place.position

    def _record(self, lists: list[NBestList]) -> tuple[dict[str, Any], bool]:
        """The record of some lists, and whether it is indented. Lists without one get a new one."""
        place = self.extra_of(lists[0]).get("place")
        if place is None:
            return self._new_record(lists[0]), False
        written = []
        for nbest in lists:
            if found := self.extra_of(nbest)["place"].found:
                written.append((found, self._rows(nbest, found)))
        record = rewrite(place.record, place.of_record, written)
        for nbest in lists:
            if nbest.reference != self.extra_of(nbest)["reference"]:
                found = self.extra_of(nbest)["place"].found
                item = value_at(record, found.path) if found and len(lists) > 1 else record
                item[(found.layout if found else self.layouts[0]).references[0]] = nbest.reference
        return record, place.is_indented

    def _new_record(self, nbest):
        layout = self.layouts[0]
        item: Any = {}
        if layout.best and nbest.hypotheses:
            item[layout.best] = nbest.hypotheses[0].text
        layout.put(item, self._rows(nbest, Found((), layout, [])))
        for key in reversed(layout.new):
            item = [item] if isinstance(key, int) else {key: item}
        reference = {} if nbest.reference is None else {layout.references[0]: nbest.reference}
        return {"id": nbest.utterance_id, **reference, **item}

    def _rows(self, nbest, found):
        layout, rows = found.layout, []
        text_key = layout.text_key(found.rows)
        for hypothesis in nbest.hypotheses:
            extra = self.extra_of(hypothesis)
            row = dict(extra.get("row", {}))
            if row.get(text_key, "").strip() != hypothesis.text or text_key not in row:
                row[text_key] = hypothesis.text
            if hypothesis.score is not None:
                key = extra.get("score_key", layout.score or "score")
                row[key] = layout.sign * float(hypothesis.score) + 0.0
            rows.append(row)
        return rows


def _id(record: dict[str, Any], path: Path, of_file: str) -> Any:
    """The id that a record gives its lists, or `of_file`, that of the file that holds it."""
    for key in path:
        if isinstance(key, str) and "://" in key:  # a file in the results of Google's batches
            return stem(key)
    found, _ = id_of(record, of_file)
    return str(found) if type(found) in (str, int) and found != "" else of_file


def _confidences_are_shares(lists: list[Found]) -> bool:
    """Whether all confidences are between 0 and 1."""
    values = [row["confidence"] for found in lists for row in found.rows if "confidence" in row]
    return all(isinstance(x, (int, float)) and 0 <= x <= 1 for x in values)


def _without_unset(rows):
    """Rows without confidences of 0, if only the first one has another: then they are not set."""
    values = [row.get("confidence") for row in rows]
    if len(rows) > 1 and values[0] and not any(values[1:]):
        rows = [rows[0], *({k: v for k, v in r.items() if k != "confidence"} for r in rows[1:])]
    return rows
