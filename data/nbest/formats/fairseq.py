"""The output of fairseq-generate."""

import math
import re
from typing import Any

from tta.data.nbest.formats.base import Format, Source
from tta.data.nbest.lists import Hypothesis, parse_number
from tta.data.nbest.rows import check_fields
from tta.errors import InputError, located, shown

# A hypothesis, also with spaces for the tabs, or a line of the log.
_TYPICAL_LINE = re.compile(
    r"[HD]-[0-9]+(\t-?[0-9][-.0-9e]*(\t|$)|\s+-?[0-9]+\.[0-9]+\s)|.*\| fairseq"
)


def has_fairseq_lines(source: Source) -> bool:
    """Whether one of the first lines is typical of the output of fairseq."""
    return any(map(_TYPICAL_LINE.match, source.head))


class FairseqFormat(Format):
    """The output of fairseq-generate and fairseq-interactive, with the lines of sentence N:

        S-N<TAB>source
        T-N<TAB>reference
        H-N<TAB>score<TAB>tokens
        D-N<TAB>score<TAB>detokenized text
        P-N<TAB>score of each token

    D- and P- lines belong to the last H- line of their sentence. Either all hypotheses have them or
    none. The text is that of the D- line, or else of the H- line. A file may also have D- lines and
    no H- lines. Other lines are skipped. Lists are ordered by their first line.

    Scores in the file are logs of base 2, and those of H- and D- lines are divided by (number of
    tokens) ** lenpen, with lenpen = 1 by default. In memory, the score is the natural log, for the
    whole hypothesis if there are P- lines: ln(2) * (sum of the P- line). Then the score of the H-
    line is the feature `normalized_score`, in base 2. Without P- lines the score is
    ln(2) * (score of the H- line), which is per token.

    New scores of lists with P- lines are written to the D- lines, which then differ from the H-
    lines and count when the file is read again. Without P- lines they replace the old scores.
    """

    layout = "the output of fairseq-generate, H-0<TAB>score<TAB>text"

    def matches(self, source):
        return has_fairseq_lines(source)

    def read(self, source, collector):
        has_h_lines = any(line.startswith("H-") for _, line in source.rows)
        sentences: dict[tuple[int, str], dict[str, Any]] = {}  # by file and id
        for number, line in source.rows:
            if re.match("[STHDP]-", line):
                with located(line=number):
                    kind, utterance_id, value = _parse(line)
                    new = {"line": number, "hypotheses": []}
                    sentence = sentences.setdefault((source.file_of(number), utterance_id), new)
                    _add(sentence, kind, value, "H" if has_h_lines else "D")
        kinds = None
        for (_, utterance_id), sentence in sentences.items():
            with located(f"list {shown(utterance_id)}", sentence.pop("line")):
                hypotheses = sentence.pop("hypotheses")
                if not hypotheses:
                    raise InputError("has no hypothesis")
                for fields in hypotheses:
                    kinds = kinds or fields.keys()
                    if fields.keys() != kinds:
                        got, before = (
                            " ".join(f"{k}-" for k in sorted(x)) for x in (fields, kinds)
                        )
                        raise InputError(f"expected the lines {before} as before, got {got}")
                hypotheses = [self._hypothesis(fields) for fields in hypotheses]
                reference = sentence.pop("T", None)
                collector.add(utterance_id, hypotheses, reference, {self.name: sentence})

    def _hypothesis(self, lines):
        normalized, text = lines.get("D") or lines["H"]
        features = {}
        bits = float(normalized)
        if "P" in lines:
            features["normalized_score"] = float((lines.get("H") or lines["D"])[0])
            if bits == features["normalized_score"]:  # else D- has a new score
                bits = math.fsum(map(float, lines["P"].split()))
        score = bits * math.log(2)
        return Hypothesis(text, score, {self.name: lines | {"score": score}}, features)

    def write(self, lists, stream):
        has_new_scores = any(
            h.score != self.extra_of(h).get("score") for nbest in lists for h in nbest.hypotheses
        )
        for nbest in lists:
            if not re.fullmatch("[0-9]+", nbest.utterance_id):
                rule = f"{self.name} ids are numbers, got {shown(nbest.utterance_id)}"
                raise InputError(rule)
            check_fields([h.text for h in nbest.hypotheses], "", nbest, self.name)
            check_fields([nbest.reference or ""], "", nbest, self.name)
            rows = [("S", self.extra_of(nbest).get("S")), ("T", nbest.reference)]
            for hypothesis in nbest.hypotheses:
                rows += self._rows(hypothesis, self.score_of(hypothesis, nbest), has_new_scores)
            for kind, value in rows:
                if value is not None:
                    stream.write(f"{kind}-{nbest.utterance_id}\t{value}\n")

    def _rows(self, hypothesis, score, has_new_scores):
        """The H-, D- and P- lines of a hypothesis: [(kind, value)]."""
        lines = self.extra_of(hypothesis) or dict.fromkeys("HD", ("", hypothesis.text))
        if has_new_scores:
            is_new = score != lines.get("score")
            line = repr(score / math.log(2)), hypothesis.text
            if "P" in lines:
                old = lines.get("H", lines.get("D"))
                lines = lines | {"H": old, "D": line if is_new else lines.get("D", old)}
            elif is_new:
                lines = {kind: (line[0], lines[kind][1]) for kind in "HD" if kind in lines}
        return [
            (kind, lines[kind] if kind == "P" else "\t".join(lines[kind]))
            for kind in "HDP"
            if kind in lines
        ]


def _parse(line):
    """Splits a line into kind, sentence and value, (score, text) in H- and D- lines."""
    match = re.fullmatch(r"([STHDP])-([0-9]+)(?:\t(.*))?", line, re.DOTALL)
    if not match:
        raise InputError(f"expected a line as H-0<TAB>score<TAB>text, got {shown(line)}")
    kind, utterance_id, value = match.groups("")
    if kind in "HD":
        score, _, text = value.partition("\t")
        parse_number(score, "score")
        return kind, utterance_id, (score, text.strip())
    if kind == "P":
        if not value.split():
            raise InputError(f"expected the scores of tokens, got {shown(line)}")
        for score in value.split():
            parse_number(score, "the score of a token")
    return kind, utterance_id, value.strip()


def _add(sentence, kind, value, first_kind):
    """Adds a line to a sentence. A line of `first_kind` starts a hypothesis."""
    if kind == first_kind:
        sentence["hypotheses"].append({})
    hypotheses = sentence["hypotheses"]
    if kind in "ST":
        place = sentence
    elif hypotheses:
        place = hypotheses[-1]
    else:
        raise InputError(f"the {kind}- line is before the {first_kind}- line of its hypothesis")
    if kind in place:
        where = "sentence" if kind in "ST" else "hypothesis"
        raise InputError(f"a second {kind}- line for a {where}")
    place[kind] = value
