"""The N-best lists of Moses."""

from collections.abc import Iterable

from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, parse_number, parse_score, shown
from tta.data.nbest.rows import check_fields, collect_groups, mostly
from tta.errors import InputError


class MosesFormat(Format):
    """`id ||| text ||| features ||| score`, with the rows of one id together.

    Spaces around `|||` and the features are optional; there may be several columns of features. A
    word alignment may follow the score. Scores are natural logs, higher is better.

    `lm= -3.2 tm= -1.2 -0.3` are the features `lm`, `tm_1` and `tm_2`; `lm=-3.2` and `lm: -3.2` are
    also read. Numbers before the first name are `feature_1`, `feature_2` and so on.
    """

    layout = "id ||| text ||| features ||| score"

    def matches(self, source):
        return mostly(source.head, lambda line: line.count("|||") >= 2)

    def missing(self, source):
        return "a third field" if mostly(source.head, lambda line: "|||" in line) else None

    def read(self, source, collector):
        collect_groups(source.rows, self._parse, collector)

    def _parse(self, line):
        fields = [field.strip() for field in line.split("|||")]
        if len(fields) < 3:
            raise InputError(f"expected {self.layout}, got {len(fields)} fields")
        end = len(fields) - 1 if len(fields) > 4 and not _is_number(fields[-1]) else len(fields)
        utterance_id, text, *columns, score = fields[:end]
        score = parse_score(score)
        extra = {"features": columns, "alignment": fields[end:]}
        return utterance_id, Hypothesis(text, score, {self.name: extra}, _features(columns))

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis) or {"features": [""], "alignment": []}
                fields = [nbest.utterance_id, hypothesis.text, *extra["features"]]
                fields += [repr(self.score_of(hypothesis, nbest)), *extra["alignment"]]
                check_fields(fields, "|||", nbest, self.name)
                stream.write(" ||| ".join(fields) + "\n")


def _features(columns: Iterable[str]) -> dict[str, float]:
    """The numbers of all columns by name."""
    values: dict[str, list[float]] = {}
    for column in columns:
        name = "feature"
        for token in column.split():
            if token.endswith(":"):
                token = token[:-1] + "="
            before, sign, number = token.rpartition("=")
            if sign and not before:
                raise InputError(f"expected the name of a feature before =, got {shown(column)}")
            name = before or name
            if number:
                values.setdefault(name, []).append(parse_number(number, "feature"))
    features: dict[str, float] = {}
    for name, numbers in values.items():
        is_single = len(numbers) == 1 and name != "feature"
        names = [name] if is_single else [f"{name}_{i}" for i in range(1, len(numbers) + 1)]
        for key, number in zip(names, numbers, strict=True):
            if key in features:
                raise InputError(f"duplicate feature {shown(key)}")
            features[key] = number
    return features


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True
