"""Tab-separated files with ids, and NeMo's, which have none."""

import itertools

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.rows import check_fields, collect_groups, mostly
from tta.data.nbest.lists import Hypothesis, parse_score
from tta.errors import InputError


class TsvFormat(Format):
    """`id<TAB>text<TAB>score`, with the rows of one id together; or NeMo's `text<TAB>score`.

    In NeMo's files each utterance has `beam_size` rows, and lists get their index, from 0. Scores
    are natural logs, higher is better.
    """

    layout = "id<TAB>text<TAB>score, or text<TAB>score with a beam size"
    takes = ("beam_size",)

    def matches(self, source):
        return mostly(source.head, _is_tsv)

    def read(self, source, collector):
        columns = source.head[0].count("\t") + 1
        if columns not in (2, 3):
            rule = f"expected {self.layout}, got {columns} columns"
            raise InputError(rule, line=source.rows[0][0])
        beam_size = source.beam_size if columns == 2 else None
        if columns == 2 and beam_size is None:
            raise InputError("text<TAB>score does not separate lists: give the beam size")
        rows = len(source.rows)
        if beam_size and rows % beam_size:
            raise InputError(f"expected a multiple of the beam size {beam_size}, got {rows} rows")
        index = itertools.count()

        def parse(line):
            fields = line.split("\t")
            if len(fields) != columns:
                raise InputError(f"expected {columns} columns, got {len(fields)}")
            *utterance_id, text, score = fields
            if beam_size:
                utterance_id = [str(next(index) // beam_size)]
            extra = {self.name: {"columns": columns}}
            return utterance_id[0], Hypothesis(text.strip(), parse_score(score), extra)

        collect_groups(source.rows, parse, collector)

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                fields = [hypothesis.text, repr(self.score_of(hypothesis, nbest))]
                if self.extra_of(hypothesis).get("columns") != 2:
                    fields.insert(0, nbest.utterance_id)
                check_fields(fields, "\t", nbest, self.name)
                stream.write("\t".join(fields) + "\n")


def _is_tsv(line):
    if line.count("\t") not in (1, 2) or "|||" in line:
        return False
    try:
        float(line.rpartition("\t")[2])
    except ValueError:
        return False
    return True
