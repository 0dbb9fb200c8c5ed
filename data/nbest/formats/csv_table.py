"""Comma-separated rows with a header that names the columns."""

import csv
from collections.abc import Sequence
from typing import Any, ClassVar

from tta.data.nbest.fields import (
    HYPOTHESES,
    IDS,
    RECORDINGS,
    REFERENCES,
    TRANSCRIPTS,
    id_of,
    named,
    read_scores,
    score_key,
)
from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, shown
from tta.data.nbest.rows import check_fields, collect_groups, doubt_of_rows
from tta.data.text.tables import is_number
from tta.errors import InputError

_NEEDED = {"id", "text"}


class CsvFormat(Format):
    """A header such as `id,text,score,reference`, then a row for each hypothesis.

    The columns may have any order; `tta.data.nbest.fields` has their other names. `text` or
    `transcript` beside `hypothesis` or `pred_text` is the reference, unless there is a `reference`.
    A file whose `text` may be the reference of a column of another name is refused. Score and
    reference may be missing. Other columns are kept, and written back; further scores are features,
    with names in lower case (see `read_scores`). The rows of one id are together. They have one
    reference; it may be in the first row only. Scores are natural logs, higher is better. Fields
    may be quoted, and have no line breaks.

    Attributes:
        options: keyword arguments of `csv.reader` and `csv.writer`.
        forbidden: what a field cannot hold, besides line breaks; "" for nothing.
    """

    layout = "id,text,score in a header, and rows"
    options: ClassVar[dict[str, Any]] = {"delimiter": ","}
    forbidden: ClassVar[str] = ""

    def matches(self, source):
        return _places(self._header(source)).keys() >= _NEEDED

    def doubt(self, source):
        return doubt_of_rows(self, source)

    def missing(self, source):
        header = self._header(source)
        delimiter = self.options["delimiter"]
        counts = {line.count(delimiter) for line in source.head}
        is_table = len(source.head) > 1 and len(counts) == 1 and 0 not in counts
        if is_table or (len(header) > 1 and _places(header)):
            return f"a header with the columns id and text, not {shown(source.head[0])}"
        return None

    def read(self, source, collector):
        header = self._header(source)
        places = _places(header)
        if not places.keys() >= _NEEDED:
            rule = f"expected a header with the columns id and text, got {shown(source.head[0])}"
            raise InputError(rule, line=source.rows[0][0])
        names = [name.strip().lower() for name in header]
        for name in {names[place] for place in places.values()}:
            if names.count(name) > 1:
                raise InputError(f"two columns are called {name}", line=source.rows[0][0])
        score_names = [names[places["score"]]] if "score" in places else ["score"]
        not_scores = {places.get(key) for key in ("id", "text", "reference")}

        def parse(line):
            fields = self._split(line)
            if len(fields) != len(header):
                raise InputError(f"expected {len(header)} columns, got {len(fields)}")
            values = {name: fields[place].strip() for name, place in places.items()}
            cells: dict[str, str | None] = {}
            for place, (name, field) in enumerate(zip(names, fields, strict=True)):
                if place not in not_scores and name not in cells:
                    cells[name] = field.strip() or ("" if place == places.get("score") else None)
            score, features = read_scores(cells, collector, score_names)
            extra = {"header": header, "fields": fields}
            utterance_id = _id(names, places, values["id"])
            return utterance_id, Hypothesis(values["text"], score, {self.name: extra}, features)

        def reference_of(hypothesis):
            if "reference" in places:
                return self.extra_of(hypothesis)["fields"][places["reference"]].strip()
            return None

        collect_groups(source.rows[1:], parse, collector, reference_of)
        self._check_text(names, places, collector)

    def _check_text(self, names, places, collector):
        """Refuses a column such as `text` that may be the reference."""
        text = names[places["text"]]
        if text not in TRANSCRIPTS or "reference" in places:
            return
        others = [name for name in TRANSCRIPTS if name != text and name in names]
        lists = [one.hypotheses for one in collector.lists if len(one.hypotheses) > 1]
        if lists and all(len({h.text for h in one}) == 1 for one in lists):
            cells = [[self.extra_of(h)["fields"] for h in one] for one in lists]
            others += [
                names[place]
                for place in set(range(len(names))) - set(places.values())
                if any(len({row[place] for row in rows}) > 1 for rows in cells)
                and not all(is_number(row[place]) for rows in cells for row in rows)
            ]
        if others:
            raise InputError(
                f"{text} may be the hypothesis, or the reference of {shown(others[0])}: name them "
                "hypothesis and reference"
            )

    def _header(self, source):
        try:
            return self._split(source.head[0])
        except InputError:
            return []

    def _split(self, line):
        try:
            return next(csv.reader([line], strict=True, **self.options), [])
        except csv.Error as error:
            raise InputError(f"malformed csv: {error}") from None

    def write(self, lists, stream):
        rows = [(nbest, h, self.extra_of(h)) for nbest in lists for h in nbest.hypotheses]
        header = list(next((extra["header"] for *_, extra in rows if extra), ()))
        needed = {
            "id": True,
            "text": True,
            "score": any(h.score is not None for _, h, _ in rows),
            "reference": any(nbest.reference is not None for nbest, *_ in rows),
        }
        header += [name for name in needed if needed[name] and name not in _places(header)]
        places = _places(header)
        writer = csv.writer(stream, lineterminator="\n", **self.options)
        writer.writerow(header)
        for nbest, hypothesis, extra in rows:
            fields = [*extra.get("fields", ())]
            fields += [""] * (len(header) - len(fields))
            if _id(header, places, fields[places["id"]]) != nbest.utterance_id:
                fields[places["id"]] = nbest.utterance_id
            fields[places["text"]] = hypothesis.text
            if "score" in places:
                fields[places["score"]] = repr(self.score_of(hypothesis, nbest))
            if "reference" in places:
                fields[places["reference"]] = nbest.reference or ""
            check_fields(fields, self.forbidden, nbest, self.name)
            writer.writerow(fields)


def _id(names, places, field):
    """The id in a field; the stem of the name of a file."""
    return id_of({names[places["id"]]: field.strip()}, field)[0]


def _places(header: Sequence[str]) -> dict[str, int]:
    """The index of each column that the header names."""
    columns = [name.strip().lower() for name in header]
    found = {
        "id": named(columns, (*IDS, *RECORDINGS)),
        "text": named(columns, (*HYPOTHESES, *TRANSCRIPTS)),
        "score": score_key(dict.fromkeys(columns, "")),
        "reference": named(columns, REFERENCES),
    }
    if found["text"] not in TRANSCRIPTS and not found["reference"]:
        found["reference"] = named(columns, TRANSCRIPTS)
    return {key: columns.index(name) for key, name in found.items() if name in columns}
