"""The N-best lists of Moses."""

from tta.data.nbest.formats.base import Format
from tta.data.nbest.formats.rows import check_fields, collect_groups, mostly
from tta.data.nbest.lists import Hypothesis, parse_score
from tta.errors import InputError


class MosesFormat(Format):
    """`id ||| text ||| features ||| score`, with the rows of one id together.

    Spaces around `|||` and the features are optional. A word alignment may follow the score.
    Scores are natural logs, higher is better.
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
        if not 3 <= len(fields) <= 5:
            raise InputError(f"expected {self.layout}, got {len(fields)} fields")
        utterance_id, text, *features, score = fields[:4]
        extra = {"features": features, "alignment": fields[4:]}
        return utterance_id, Hypothesis(text, parse_score(score), {self.name: extra})

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis) or {"features": [""], "alignment": []}
                fields = [nbest.utterance_id, hypothesis.text, *extra["features"]]
                fields += [repr(self.score_of(hypothesis, nbest)), *extra["alignment"]]
                check_fields(fields, "|||", nbest, self.name)
                stream.write(" ||| ".join(fields) + "\n")
