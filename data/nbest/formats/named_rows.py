"""One hypothesis per row, in fields with names: tables with a header, and JSON objects."""

import csv
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from tta.data.nbest.fields import (
    ANY_FIELDS,
    TRANSCRIPTS,
    check_origin,
    id_of,
    kind_of,
    ranked,
    read_scores,
    row_keys,
    score_fields,
)
from tta.data.nbest.formats.base import Format, Source
from tta.data.nbest.lists import Hypothesis, ListCollector, holds_references
from tta.data.nbest.rows import check_fields, collect_groups, doubt_of_groups
from tta.data.text.json_text import Place, dump_records, iter_records
from tta.data.text.tables import is_number, split_row
from tta.errors import InputError, located, shown

_NEEDED = {"id", "text"}


class NamedRowsFormat(Format):
    """Rows with fields such as `id`, `text`, `score` and `reference`, which may have other names.

    `tta.data.nbest.fields` has these. `text` or `transcript` beside `hypothesis` or `pred_text` is
    the reference, unless there is a `reference`. A file whose `text` may be the reference of a
    field of another name is refused. Score and reference may be missing. Other fields are kept, and
    written back; further scores are features (see `read_scores`). The rows of one id are together.
    They have one reference; it may be in the first row only. Scores are natural logs, higher is
    better.
    """

    def rows(self, source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yields (line, row) of each row.

        A row has its "fields", {name: value}; the names of those for "id", "text", "score" and
        "reference" as its "keys" (see `row_keys`); and what `write` needs.
        """
        raise NotImplementedError

    def doubt(self, source):
        collector = ListCollector()
        self.read(source, collector)
        groups = {x.utterance_id: [h.text for h in x.hypotheses] for x in collector.lists}
        return None if collector.has_scores else doubt_of_groups(groups, self.name)

    def read(self, source, collector):
        seen = {}

        def parse(row):
            fields, keys = row["fields"], row["keys"]
            utterance_id, is_recording = id_of(fields, fields[keys["id"]])
            if is_recording:
                check_origin(fields, utterance_id, seen)
            names = score_fields(kind_of(fields), (keys.get("score", "score"),))
            score, features = read_scores(fields, names, collector)
            text = fields[keys["text"]]
            return str(utterance_id), Hypothesis(text, score, {self.name: row}, features)

        def reference_of(hypothesis):
            row = self.extra_of(hypothesis)
            return row["fields"].get(row["keys"].get("reference"))

        def order(hypotheses):
            rows = [self.extra_of(hypothesis) for hypothesis in hypotheses]
            keys = set(rows[0]["keys"].values())
            fields = [{k: v for k, v in row["fields"].items() if k not in keys} for row in rows]
            return ranked(hypotheses, fields)

        collect_groups(
            self.rows(source),
            parse,
            collector,
            reference_of=reference_of,
            order=order,
            file_of=source.file_of,
        )
        self._check_text(collector)

    def _check_text(self, collector):
        """Refuses a field such as `text` that may be the reference."""
        lists = [nbest.hypotheses for nbest in collector.lists]
        row = self.extra_of(lists[0][0]) if lists else {"keys": {"reference": ""}}
        keys, text = row["keys"], row["keys"].get("text")
        if text not in TRANSCRIPTS or "reference" in keys:
            return
        hypotheses = [name for name in TRANSCRIPTS if name != text and name in row["fields"]]
        lists = [of_list for of_list in lists if len(of_list) > 1]
        if lists and all(len({h.text for h in of_list}) == 1 for of_list in lists):
            for name in [n for n in row["fields"] if n not in keys.values()]:
                cells = [
                    [str(self.extra_of(h)["fields"].get(name)) for h in of_list]
                    for of_list in lists
                ]
                are_numbers = all(is_number(cell) for of_list in cells for cell in of_list)
                if not are_numbers and any(len(set(of_list)) > 1 for of_list in cells):
                    hypotheses.append(name)
        if hypotheses:
            raise InputError(
                f"{text} may be the hypothesis, or the reference of {shown(hypotheses[0])}: name "
                "them hypothesis and reference"
            )


class CsvFormat(NamedRowsFormat):
    """Comma-separated rows after a header such as `id,text,score,reference`.

    The columns may have any order. Features have names in lower case. Fields may be quoted, and
    have no line breaks.

    Attributes:
        delimiter: a comma; or a tab, and quotes are part of the text.
    """

    layout = "id,text,score in a header, and rows"
    delimiter: ClassVar[str] = ","

    def matches(self, source):
        return _keys(self._header(source)).keys() >= _NEEDED

    def missing(self, source):
        header = self._header(source)
        counts = {line.count(self.delimiter) for line in source.head}
        is_table = len(source.head) > 1 and len(counts) == 1 and 0 not in counts
        if is_table or (len(header) > 1 and _keys(header)):
            return f"a header with the columns id and text, not {shown(source.head[0])}"
        return None

    def rows(self, source):
        header = self._header(source)
        names, keys, first = _names(header), _keys(header), source.rows[0][0]
        if not keys.keys() >= _NEEDED:
            rule = f"expected a header with the columns id and text, got {shown(source.head[0])}"
            raise InputError(rule, line=first)
        for name in keys.values():
            if names.count(name) > 1:
                raise InputError(f"two columns are called {name}", line=first)
        for line, text in source.rows[1:]:
            cells = split_row(text, self.delimiter, line)
            if cells == header:  # of a later file
                continue
            if sorted(cells) == sorted(header):
                rule = f"expected the columns in the order of the first file, {shown(header)}"
                raise InputError(rule, line=line)
            if len(cells) != len(header):
                raise InputError(f"expected {len(header)} columns, got {len(cells)}", line=line)
            fields: dict[str, str | None] = {}
            for name, cell in zip(names, map(str.strip, cells), strict=True):
                fields.setdefault(name, cell or ("" if name in keys.values() else None))
            yield line, {"fields": fields, "keys": keys, "header": header, "cells": cells}

    def _header(self, source):
        try:
            return split_row(source.head[0], self.delimiter)
        except InputError:
            return []

    def write(self, lists, stream):
        rows = [(nbest, h, self.extra_of(h)) for nbest in lists for h in nbest.hypotheses]
        header = list(next((extra["header"] for *_, extra in rows if extra), ()))
        needed = {
            "id": True,
            "text": True,
            "score": any(h.score is not None for _, h, _ in rows),
            "reference": any(nbest.reference is not None for nbest, *_ in rows),
        }
        header += [name for name in needed if needed[name] and name not in _keys(header)]
        names = _names(header)
        places = {kind: names.index(name) for kind, name in _keys(header).items()}
        table = [header]
        for nbest, hypothesis, extra in rows:
            cells = [*extra.get("cells", ())]
            cells += [""] * (len(header) - len(cells))
            fields = dict(zip(names, map(str.strip, cells), strict=True))
            if id_of(fields, fields[names[places["id"]]])[0] != nbest.utterance_id:
                cells[places["id"]] = nbest.utterance_id
            cells[places["text"]] = hypothesis.text
            if "score" in places:
                cells[places["score"]] = repr(self.score_of(hypothesis, nbest))
            if "reference" in places:
                cells[places["reference"]] = nbest.reference or ""
            check_fields(cells, "" if self.delimiter == "," else self.delimiter, nbest, self.name)
            table.append(cells)
        if self.delimiter == ",":
            csv.writer(stream, lineterminator="\n").writerows(table)
        else:
            stream.writelines(self.delimiter.join(cells) + "\n" for cells in table)


class JsonRowsFormat(NamedRowsFormat):
    """Lines `{"id", "text", "score", "reference"}`, or an array of such objects."""

    has_long_lines = True
    takes = ("fields",)
    layout = 'one hypothesis per line, {"id", "text", "score"}'

    def matches(self, source):
        ids = [self._id(row) for row in source.values]
        return None not in ids and len(set(ids)) < len(ids)

    def rows(self, source):
        for row, line, place in iter_records(source.documents):
            if self._id(row) is None:
                raise InputError(f"expected {self.layout}, got {shown(row)}", line=line)
            with located(line=line):
                row = self.fields.put_into(row)
            yield (
                line,
                {
                    "fields": row,
                    "keys": row_keys(row, self.fields),
                    "place": place,
                    "named_fields": self.fields,
                },
            )

    def write(self, lists, stream):
        rows = []
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis)
                row = dict(extra.get("fields", ())) or {"id": nbest.utterance_id}
                keys = extra.get("keys") or row_keys(row)
                row[keys.get("text", "text")] = hypothesis.text
                if hypothesis.score is not None:
                    row[keys.get("score", "score")] = float(hypothesis.score)
                name = keys.get("reference", "reference")
                is_written = holds_references(row.get(name), nbest) or nbest.more_references
                if nbest.reference is not None and not is_written:
                    row[name] = nbest.reference
                row = extra.get("named_fields", ANY_FIELDS).put_back(row)
                rows.append((row, extra.get("place", Place(0, None, False))))
        dump_records(rows, stream)

    def _id(self, row):
        """The id of a row of JSON; None if it is no hypothesis with an id."""
        if not isinstance(row, dict):
            return None
        is_text = isinstance(row.get(row_keys(row).get("text")), str)
        if not (is_text if self.fields.text is None else self.fields.has_text(row)):
            return None
        utterance_id, _ = id_of(row)
        return str(utterance_id) if type(utterance_id) in (str, int) else None


def _names(header: Sequence[str]) -> list[str]:
    return [name.strip().lower() for name in header]


def _keys(header: Sequence[str]) -> dict[str, str]:
    return row_keys(dict.fromkeys(_names(header), ""))
