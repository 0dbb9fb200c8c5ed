"""One hypothesis per JSON object, as the rows of a table."""

import itertools
from dataclasses import replace

from tta.data.nbest.fields import REFERENCES, id_of, named
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_text import hypothesis_object, parse_hypothesis, text_key
from tta.data.nbest.formats.json_values import dump_json, iter_json
from tta.data.nbest.lists import shown
from tta.data.nbest.rows import collect_groups, doubt_of_rows
from tta.errors import InputError


class JsonRowsFormat(Format):
    """Lines `{"id", "text", "score", "reference"}`, or an array of such objects.

    Those of one id are together. `tta.data.nbest.fields` has the other names of the keys. Further
    scores are features; see `read_scores`.
    """

    has_long_lines = True
    layout = 'one hypothesis per line, {"id", "text", "score"}'

    def matches(self, source):
        ids = [_id(one) for one in source.values]
        return None not in ids and any(one == other for one, other in itertools.pairwise(ids))

    def doubt(self, source):
        return doubt_of_rows(self, source)

    def read(self, source, collector):
        def parse(found):
            row, is_array = found
            if (utterance_id := _id(row)) is None:
                raise InputError(f"expected {self.layout}, got {shown(row)}")
            hypothesis = parse_hypothesis(row, self.name, collector)
            extra = {**(hypothesis.extra or {}), "is_array": is_array}
            return utterance_id, replace(hypothesis, extra=extra)

        def reference_of(hypothesis):
            row = self.extra_of(hypothesis)
            return row.get(named(row, REFERENCES) or REFERENCES[0])

        collect_groups(_rows(source), parse, collector, reference_of)

    def write(self, lists, stream):
        rows, is_array = [], False
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis) or {"id": nbest.utterance_id}
                row = hypothesis_object(hypothesis, extra)
                if nbest.reference is not None:
                    row[named(row, REFERENCES) or REFERENCES[0]] = nbest.reference
                is_array = (hypothesis.extra or {}).get("is_array", False)
                rows.append(row)
        for one in [rows] if is_array else rows:
            dump_json(one, stream, indent=1 if is_array else None)


def _rows(source):
    for document, line, _ in iter_json(source.text):
        is_array = isinstance(document, list)
        for row in document if is_array else [document]:
            yield line, (row, is_array)


def _id(row):
    """The id of a row; None if it is no hypothesis with an id."""
    if not isinstance(row, dict) or not isinstance(row.get(text_key(row)), str):
        return None
    found, _ = id_of(row)
    return str(found) if type(found) in (str, int) else None
