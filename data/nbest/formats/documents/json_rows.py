"""One hypothesis per JSON object, as the rows of a table."""

from tta.data.nbest.fields import check_origin, id_of, read_scores, row_keys
from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.json_values import Place, dump_records, iter_records
from tta.data.nbest.lists import Hypothesis, shown
from tta.data.nbest.rows import collect_groups, doubt_of_rows
from tta.errors import InputError


class JsonRowsFormat(Format):
    """Lines `{"id", "text", "score", "reference"}`, or an array of such objects.

    Those of one id are together. `tta.data.nbest.fields` has the other names of the keys, which are
    those of columns (see `CsvFormat`). Further scores are features; see `read_scores`.
    """

    has_long_lines = True
    layout = 'one hypothesis per line, {"id", "text", "score"}'

    def matches(self, source):
        ids = [_id(one) for one in source.values]
        return None not in ids and len(set(ids)) < len(ids)

    def doubt(self, source):
        return doubt_of_rows(self, source)

    def read(self, source, collector):
        seen = {}

        def parse(found):
            row, place = found
            if (utterance_id := _id(row)) is None:
                raise InputError(f"expected {self.layout}, got {shown(row)}")
            if id_of(row)[1]:
                check_origin(row, utterance_id, seen)
            score, features = read_scores(row, collector)
            extra = {self.name: {"row": row, "place": place}}
            return utterance_id, Hypothesis(row[row_keys(row)["text"]], score, extra, features)

        def reference_of(hypothesis):
            row = self.extra_of(hypothesis)["row"]
            return row.get(row_keys(row).get("reference"))

        rows = ((line, (row, place)) for row, line, place in iter_records(source.text))
        collect_groups(rows, parse, collector, reference_of)

    def write(self, lists, stream):
        rows = []
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis)
                row = dict(extra.get("row", ())) or {"id": nbest.utterance_id}
                keys = row_keys(row)
                row[keys.get("text", "text")] = hypothesis.text
                if hypothesis.score is not None:
                    row[keys.get("score", "score")] = float(hypothesis.score)
                if nbest.reference is not None:
                    row[keys.get("reference", "reference")] = nbest.reference
                rows.append((row, extra.get("place", Place(0, None, False))))
        dump_records(rows, stream)


def _id(row):
    """The id of a row; None if it is no hypothesis with an id."""
    if not isinstance(row, dict) or not isinstance(row.get(row_keys(row).get("text")), str):
        return None
    found, _ = id_of(row)
    return str(found) if type(found) in (str, int) else None
