"""Tab-separated files: with a header, with ids, and NeMo's, which have neither."""

from tta.data.nbest.formats.fairseq import has_fairseq_lines
from tta.data.nbest.formats.named_rows import CsvFormat
from tta.data.nbest.rows import check_fields, doubt_of_size, mostly
from tta.data.text.tables import is_number
from tta.errors import InputError, shown


class TsvFormat(CsvFormat):
    """`id<TAB>text<TAB>score`, with the rows of one id together; or NeMo's `text<TAB>score`.

    In NeMo's files each utterance has `beam_size` rows, and lists get their index, from 0. Scores
    are natural logs, higher is better. A file with a header is read by the names of its columns, as
    `CsvFormat`. Quotes are part of the text.
    """

    layout = "id<TAB>text<TAB>score, or text<TAB>score with a beam size"
    takes = ("beam_size",)
    delimiter = "\t"

    def matches(self, source):
        if super().matches(source):
            return True
        return mostly(source.head, _is_tsv) and not has_fairseq_lines(source)

    def doubt(self, source):
        if super().matches(source) or source.beam_size is None:
            return super().doubt(source)
        texts = [line.split("\t")[0].strip() for _, line in source.rows]
        return doubt_of_size(texts, source.beam_size, self.name)

    def missing(self, source):
        missing = super().missing(source)
        return missing and f"a number as score in the last of 2 or 3 columns, or {missing}"

    def rows(self, source):
        if super().matches(source):
            yield from super().rows(source)
            return
        columns, beam_size = source.head[0].count("\t") + 1, source.beam_size
        if columns not in (2, 3):
            rule = f"expected {self.layout}, got {columns} columns"
            raise InputError(rule, line=source.rows[0][0])
        if columns == 2 and beam_size is None:
            raise InputError("text<TAB>score does not separate lists: give the beam size")
        rows = [(line, row.split("\t")) for line, row in source.rows]
        if columns == 2:
            source.check_whole_beams(line for line, _ in source.rows)
        _check_texts([fields for _, fields in rows])
        for index, (line, fields) in enumerate(rows):
            if len(fields) != columns:
                raise InputError(f"expected {columns} columns, got {len(fields)}", line=line)
            *given_id, text, score = fields
            utterance_id = given_id[0] if given_id else str(index // beam_size)
            cells = {"id": utterance_id, "text": text.strip(), "score": score}
            keys = {name: name for name in cells}
            yield line, {"fields": cells, "keys": keys, "columns": columns}

    def write(self, lists, stream):
        if any("header" in self.extra_of(h) for nbest in lists for h in nbest.hypotheses):
            super().write(lists, stream)
            return
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                fields = [hypothesis.text, repr(self.score_of(hypothesis, nbest))]
                if self.extra_of(hypothesis).get("columns") != 2:
                    fields.insert(0, nbest.utterance_id)
                check_fields(fields, "\t", nbest, self.name)
                stream.write("\t".join(fields) + "\n")


def _check_texts(rows):
    """Raises an error if the column of the text holds scores, or ids."""
    texts = [fields[-2] for fields in rows if len(fields) > 1]
    ids = [fields[0] for fields in rows if len(fields) == 3]
    have_words = 2 * sum(" " in text.strip() for text in ids) > len(ids) > 0
    if have_words and len(set(ids)) == len(ids) > len(set(texts)) and " " not in "".join(texts):
        raise InputError(
            f"the columns may be text, id and score, as {shown(ids[0])}, {shown(texts[0])}: "
            "expected id<TAB>text<TAB>score, or a header"
        )
    scores = [text for text in texts if is_number(text) and not text.strip().isdigit()]
    if texts and 2 * len(scores) >= len(texts):
        readings = "a text and two scores" if len(rows[0]) == 3 else "two scores"
        raise InputError(
            f"the last 2 columns are numbers: these rows may be {readings}; name the columns in a "
            "header, such as id<TAB>text<TAB>am_score<TAB>lm_score"
        )


def _is_tsv(line):
    return line.count("\t") in (1, 2) and "|||" not in line and is_number(line.rpartition("\t")[2])
