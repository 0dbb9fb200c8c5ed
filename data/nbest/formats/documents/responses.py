"""Records of JSON whose N-best lists have one of the layouts of a table, such as responses."""

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from tta.data.nbest.fields import IDS, id_of, named, ranked, read_scores, score_key
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.documents.layouts import (
    LAYOUTS,
    MAX_DEPTH,
    Found,
    KeyPath,
    channel_of,
    find_lists,
    value_at,
    word_times,
)
from tta.data.nbest.lists import Hypothesis, NBestList, stem
from tta.data.text.json_text import Place, dump_records, expect, iter_records
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
_INTERIM = {"partial", "partial_result", "speechEventType", "speech_event_type"}

# What a response with one text has.
_ONE_BEST = re.compile(r'"(transcripts?|alternatives?|NBest|recognizedPhrases|DisplayText)"\s*:')


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
        return self.name in source.layouts

    def missing(self, source):
        if self.name != "responses" or not _ONE_BEST.search(source.start):
            return None
        return f"{self.what} with several texts; ask the service for alternatives"

    def read(self, source, collector):
        rows = list(self._lists(source))
        counts = Counter(key for _, key, _ in rows)
        seen: Counter[str] = Counter()
        has_shares = _confidences_are_shares([kept["found"] for kept, *_ in rows if kept["found"]])
        for kept, key, line in rows:
            utterance_id = key
            if counts[key] > 1 or not key:
                utterance_id = f"{key}-{seen[key]}" if key else str(seen[key])
                seen[key] += 1
            with located(f"list {shown(utterance_id)}", line):
                found, record = kept["found"], kept["record"]
                if found:
                    found.layout.check(value_at(record, found.path))
                hypotheses = self._hypotheses(found, has_shares, collector)
                kept["recording"] = key
                kept["reference"] = self._reference(found, record)
                collector.add(utterance_id, hypotheses, kept["reference"], {self.name: kept})

    def word_times(self, hypothesis):
        return word_times(self.extra_of(hypothesis).get("row", {}))

    def recording(self, nbest):
        kept = self.extra_of(nbest)
        channel = channel_of(kept["record"], kept["found"].path) if kept.get("found") else "1"
        return kept.get("recording") or nbest.utterance_id, channel, id(kept.get("record"))

    def _lists(self, source) -> Iterator[tuple[dict[str, Any], Any, int]]:
        """Yields what is kept of a list, its id without index, and its line, for each list.

        Kept are the record, all lists in it, the place of the record, and which list this one is:
        "found", or None if the record has none.
        """
        for record, line, place in iter_records(source.text):
            expect(record, dict, "a record", line)
            lists = tuple(find_lists(record, self.layouts))
            if not lists:
                if _INTERIM & record.keys() or any(find_lists(record, self.layouts, False)):
                    continue
                has_text = any(str(record.get(key) or "").strip() for key in _BEST)
                others = record.keys() - _SILENT
                if has_text or any(named([key], IDS) is None for key in others):
                    raise InputError(f"no array {self.what} in {shown(record)}", line=line)
            for found in lists or [None]:
                key = _id(record, found.path if found else (), source.stem)
                yield {"record": record, "lists": lists, "found": found, "place": place}, key, line

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
        return ranked(hypotheses, found.rows)

    def _reference(self, found, record):
        keys = (found.layout if found else self.layouts[0]).references
        item = value_at(record, found.path) if found else {}
        values = [holder.get(key) for holder in (item, record) for key in keys]
        return next((value for value in values if value is not None), None)

    def write(self, lists, stream):
        def place(nbest):
            new = Place(f"new {nbest.utterance_id}", None, False)
            return self.extra_of(nbest).get("place", new)

        groups = itertools.groupby(lists, place)
        dump_records(((self._record(list(group)), place) for place, group in groups), stream)

    def _record(self, lists: list[NBestList]) -> dict[str, Any]:
        """The record that was read with these lists, without its others; else a new one."""
        kept = [self.extra_of(nbest) for nbest in lists]
        if not kept[0]:
            return self._new_record(lists[0])
        pairs = [(nbest, one["found"]) for nbest, one in zip(lists, kept, strict=True)]
        written = [(found, self._rows(nbest, found)) for nbest, found in pairs if found]
        record = _rewritten(kept[0]["record"], kept[0]["lists"], written)
        for (nbest, found), one in zip(pairs, kept, strict=True):
            if nbest.reference != one["reference"] and not nbest.more_references:
                item = value_at(record, found.path) if found and len(lists) > 1 else record
                item[(found.layout if found else self.layouts[0]).references[0]] = nbest.reference
        return record

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


def _id(record: dict[str, Any], path: KeyPath, of_file: str) -> Any:
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


def _rewritten(
    record: dict[str, Any], lists: Sequence[Found], written: Sequence[tuple[Found, list]]
) -> dict[str, Any]:
    """Returns a copy of a record with other rows in its lists.

    Args:
        record: the record.
        lists: all lists of the record.
        written: lists with their new rows. The others are removed.
    """
    new = _copied(record, MAX_DEPTH)
    for found, rows in written:
        item = value_at(new, found.path)
        found.layout.put(item, rows)
        best = found.layout.best
        if best and rows:
            old, text = (_text(found, one) for one in (found.rows, rows))
            for key in item:
                # `pred_text_model` may be of another model, and is then another text.
                if key == best or (key.startswith(best) and item[key] == old):
                    item[key] = text
    if [_best(found.rows) for found in lists] != [_best(rows) for _, rows in written]:
        _join(new, [(found, rows) for found, rows in written if rows])
    kept = {found.path for found, _ in written}
    for path in sorted({found.path for found in lists} - kept, reverse=True):
        del value_at(new, path[:-1])[path[-1]]
    return new


def _copied(value: Any, depth: int) -> Any:
    """A copy of a JSON value; what lies deeper than `depth`, where no lists are, is shared."""
    if depth < 0 or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        return [_copied(one, depth - 1) for one in value]
    return {key: _copied(one, depth - 1) for key, one in value.items()}


def _text(found, rows):
    return rows[0].get(found.layout.text_key(rows), "") if rows else ""


def _best(rows):
    return [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows[:1]]


def _join(record, written):
    """Updates the texts of the whole audio, which are the best texts of its lists, joined."""
    results = record.get("results")
    if isinstance(results, dict) and isinstance(results.get("transcripts"), list):  # Amazon
        texts = [rows[0]["transcript"].strip() for _, rows in written if "transcript" in rows[0]]
        if len(results["transcripts"]) == 1 and isinstance(results["transcripts"][0], dict):
            results["transcripts"][0]["transcript"] = " ".join(texts)
    phrases = record.get("combinedRecognizedPhrases")  # Azure
    for combined in phrases if isinstance(phrases, list) else ():
        if not isinstance(combined, dict):
            continue
        rows = [
            rows[0]
            for found, rows in written
            if value_at(record, found.path).get("channel") == combined.get("channel")
        ]
        for key in ("lexical", "itn", "maskedITN", "display"):
            if key in combined:
                values = (row.get(key) for row in rows)
                combined[key] = " ".join(v for v in values if v and isinstance(v, str))
