"""N-best formats with one hypothesis a line: Moses, Kaldi, TSV."""

import itertools
import re

from tta.data.nbest.lists import Format, Hypothesis, located, parse_score, shown
from tta.data.text.files import iter_lines
from tta.errors import InputError


class MosesFormat(Format):
    """`id ||| text ||| features ||| score`, the rows of one id together.

    Spaces around `|||` are optional, so are the features; a word alignment may follow the score.
    Scores are natural log, higher is better.
    """

    name = "moses"
    layout = "id ||| text ||| features ||| score"

    def matches(self, source):
        return _mostly(source.head, lambda line: line.count("|||") >= 2)

    def read(self, source, collector):
        def parse(line):
            fields = [field.strip() for field in line.split("|||")]
            if not 3 <= len(fields) <= 5:
                raise InputError(f"expected {self.layout}, got {len(fields)} fields")
            utterance_id, text, *features, score = fields[:4]
            extra = {"features": features, "alignment": fields[4:]}
            return utterance_id, Hypothesis(text, parse_score(score), {self.name: extra})

        _collect_groups(source.rows, parse, collector)

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis) or {"features": [""], "alignment": []}
                fields = [nbest.utterance_id, hypothesis.text, *extra["features"]]
                fields += [_number(hypothesis, nbest, self.name), *extra["alignment"]]
                _check_fields(fields, "|||", nbest, self.name)
                stream.write(" ||| ".join(fields) + "\n")


class KaldiFormat(Format):
    """`utt-N words`, N the hypothesis's number; the scores lie apart as `utt-N cost`.

    The id is what stands left of the last hyphen; an empty hypothesis is `utt-N` alone.
    Hypotheses are ordered by number, and numbered anew from 1 when written. A cost is a negative
    natural log, lower is better: in memory it is negated.
    """

    name = "kaldi"
    layout = "utt-N words"
    takes = ("score_file",)

    def matches(self, source):
        def test(line):
            other = "|||" in line or line.count("\t") > 1
            return not other and re.match(r"\S+-[0-9]+(\s|$)", line)

        return _mostly(source.head, test)

    def read(self, source, collector):
        costs = None if source.score_file is None else self._read_costs(source.score_file)
        utterances = {}
        for line_number, line in source.rows:
            key, *text = line.split(maxsplit=1) or [""]
            utterance_id, number = self._split(key, line_number)
            hypotheses = utterances.setdefault(utterance_id, {})
            if number in hypotheses:
                rule = f"duplicate hypothesis number {number} of {shown(utterance_id)}"
                raise InputError(rule, line=line_number)
            score = None
            if costs is not None:
                if (utterance_id, number) not in costs:
                    rule = f"{shown(key)} has no cost in {source.score_file}"
                    raise InputError(rule, line=line_number)
                score = 0.0 - costs.pop((utterance_id, number))  # 0 - 0 is 0 where -0 is -0.0
            hypotheses[number] = Hypothesis(text[0].rstrip() if text else "", score)
        for utterance_id, number in costs or ():
            key = f"{utterance_id}-{number}"
            raise InputError(f"{shown(key)} has a cost but no hypothesis", source.score_file)
        for utterance_id, hypotheses in utterances.items():
            collector.add(utterance_id, [hypotheses[n] for n in sorted(hypotheses)])

    def _read_costs(self, path):
        costs = {}
        for line_number, line in enumerate(iter_lines(path), 1):
            if not line.strip():
                continue
            try:
                key, *values = line.split()
                if len(values) != 1:
                    raise InputError(f"expected utt-N cost, got {shown(line)}")
                key = self._split(key, line_number)
                if key in costs:
                    raise InputError(f"duplicate hypothesis number {key[1]} of {shown(key[0])}")
                costs[key] = parse_score(values[0])
            except InputError as error:
                raise InputError(error.rule, path, line_number) from None
        return costs

    def _split(self, key, line_number):
        match = re.fullmatch(r"(.+)-([0-9]{1,9})", key)
        if not match:
            raise InputError(f"expected {self.layout}, got {shown(key)}", line=line_number)
        return match.group(1), int(match.group(2))

    def write(self, lists, stream):
        for nbest, key, hypothesis in self._numbered(lists):
            _check_fields([hypothesis.text], None, nbest, self.name)
            stream.write(f"{key} {hypothesis.text}".rstrip(" ") + "\n")

    def write_scores(self, lists, stream):
        """Writes the costs, `utt-N cost` a line, that belong to `write`'s file."""
        for nbest, key, hypothesis in self._numbered(lists):
            _number(hypothesis, nbest, self.name)
            stream.write(f"{key} {0.0 - float(hypothesis.score)!r}\n")

    def _numbered(self, lists):
        for nbest in lists:
            if re.search(r"\s", nbest.utterance_id):
                raise InputError(f"{self.name} ids have no space, got {shown(nbest.utterance_id)}")
            for number, hypothesis in enumerate(nbest.hypotheses, 1):
                yield nbest, f"{nbest.utterance_id}-{number}", hypothesis


class TsvFormat(Format):
    """`id<TAB>text<TAB>score`, the rows of one id together; or NeMo's `text<TAB>score`.

    NeMo's has as many rows for each utterance as the beam is wide: `beam_size` says how many, and
    the lists are named by their index from 0. Scores are natural log, higher is better.
    """

    name = "tsv"
    layout = "id<TAB>text<TAB>score, or text<TAB>score with a beam size"
    takes = ("beam_size",)

    def matches(self, source):
        return _mostly(source.head, _is_tsv)

    def read(self, source, collector):
        columns = source.head[0].count("\t") + 1
        if columns not in (2, 3):
            rule = f"expected {self.layout}, got {columns} columns"
            raise InputError(rule, line=source.rows[0][0])
        beam_size = self._beam_size(source, columns)
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

        _collect_groups(source.rows, parse, collector)

    def _beam_size(self, source, columns):
        if columns == 3:
            return None
        if source.beam_size is None:
            raise InputError("text<TAB>score does not say where a list ends: give the beam size")
        if len(source.rows) % source.beam_size:
            raise InputError(
                f"expected a multiple of the beam size {source.beam_size}, "
                f"got {len(source.rows)} rows"
            )
        return source.beam_size

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                fields = [hypothesis.text, _number(hypothesis, nbest, self.name)]
                if self.extra_of(hypothesis).get("columns") != 2:
                    fields.insert(0, nbest.utterance_id)
                _check_fields(fields, "\t", nbest, self.name)
                stream.write("\t".join(fields) + "\n")


def _mostly(lines, test):
    """Whether half of the lines pass or more: one malformed line does not hide a format."""
    return 2 * sum(bool(test(line)) for line in lines) >= len(lines)


def _is_tsv(line):
    if line.count("\t") not in (1, 2) or "|||" in line:
        return False
    try:
        float(line.rpartition("\t")[2])
    except ValueError:
        return False
    return True


def _collect_groups(rows, parse, collector):
    """Adds a list for each run of rows with one id.

    Args:
        rows: [(line number, line)].
        parse: turns a line into an id and a `Hypothesis`.
        collector: a `ListCollector`.
    """

    def parsed():
        for number, line in rows:
            try:
                yield number, *parse(line)
            except InputError as error:
                raise InputError(error.rule, line=number) from None

    for utterance_id, group in itertools.groupby(parsed(), key=lambda row: row[1]):
        group = list(group)
        with located(f"list {shown(utterance_id)}", group[0][0]):
            collector.add(utterance_id, [hypothesis for _, _, hypothesis in group])


def _number(hypothesis, nbest, name):
    if hypothesis.score is None:
        rule = f"{name} rows need a score, list {shown(nbest.utterance_id)} has none"
        raise InputError(rule)
    return repr(float(hypothesis.score))


def _check_fields(fields, separator, nbest, name):
    for field in fields:
        if re.search(r"[\r\n]", field) or (separator and separator in field):
            raise InputError(
                f"list {shown(nbest.utterance_id)}: a {name} field cannot hold {shown(field)}"
            )
