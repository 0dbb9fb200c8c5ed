"""The N-best lists of Moses and Marian."""

import re
from collections.abc import Iterable

from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, parse_number, parse_score
from tta.data.nbest.rows import check_fields, collect_groups, mostly
from tta.data.text.tables import is_number
from tta.errors import InputError, shown

# Which words of the source a phrase translates, at its end (-report-segmentation).
_SEGMENT = re.compile(r"(?<!\s)\s*\|[0-9]+-[0-9]+(,[^|]*)?\|(?=\s|$)")
# A column without features: `0-0 1-1` aligns words, `0-1=0-1 2=2` phrases, `0.9,0.1 0.2,0.8`
# gives the probabilities of an alignment, Marian's `WordScores=` those of words, `[S [NP ...` is a
# tree.
_ALIGNED, _NUMBERS = r"[0-9]+(-[0-9]+)?[=-][0-9]+(-[0-9]+)?", r"[0-9.e-]+(,[0-9.e-]+)+"
_ALIGNMENT = re.compile(
    rf"WordScores=.*|\s*[\[(<|].*|\s*|\s*{_ALIGNED}(\s+{_ALIGNED})*\s*|\s*{_NUMBERS}(\s+{_NUMBERS})*\s*"
)


class MosesFormat(Format):
    """`id ||| text ||| features ||| score`, with the rows of one id together.

    Spaces around `|||` and the features are optional; there may be several columns of features.
    Alignments of words or phrases, trees, and Marian's `WordScores=`, may be before the features or
    after the score; they are no features. Scores are natural logs, higher is better.

    `lm= -3.2 tm= -1.2 -0.3` are the features `lm`, `tm_1` and `tm_2`; `lm=-3.2` and `lm: -3.2` are
    also read. Numbers before the first name are `feature_1`, `feature_2` and so on.

    Marks of segments, `the light |2-3|`, are not part of the text. Neither are the factors of
    words, `light|NN`, if every word of the file has some.
    """

    layout = "id ||| text ||| features ||| score"

    def matches(self, source):
        return mostly(source.head, lambda line: line.count("|||") >= 2)

    def missing(self, source):
        return "a third field" if mostly(source.head, lambda line: "|||" in line) else None

    def read(self, source, collector):
        texts = [line.split("|||")[1] for _, line in source.rows if line.count("|||") >= 2]
        words = [word for text in texts for word in _SEGMENT.sub("", text).split()]
        has_factors = bool(words) and all(_without_factors(word) != word for word in words)
        collect_groups(
            source.rows,
            lambda line: self._parse(line, not has_factors),
            collector,
            file_of=source.file_of,
        )

    def _parse(self, line, only_unknown):
        fields = [field.strip() for field in line.split("|||")]
        if len(fields) < 3:
            raise InputError(f"expected {self.layout}, got {len(fields)} fields")
        utterance_id, surface, *features = fields
        end = len(features)
        least = 1 if is_number(features[0]) else 2
        while end > least and _ALIGNMENT.fullmatch(features[end - 1]):
            end -= 1
        if end > 2 and not is_number(features[end - 1]) and is_number(features[end - 2]):
            end -= 1  # the words of the source, which may follow
        *columns, score = features[:end]
        text = _SEGMENT.sub("", surface).strip()
        text = re.sub(r"\S+", lambda word: _without_factors(word[0], only_unknown), text)
        extra = {"text": text, "surface": surface, "features": columns, "alignment": features[end:]}
        numbers = [column for column in columns if not _ALIGNMENT.fullmatch(column)]
        hypothesis = Hypothesis(text, parse_score(score), {self.name: extra}, _features(numbers))
        return utterance_id, hypothesis

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                extra = self.extra_of(hypothesis) or {"features": [""], "alignment": []}
                is_same = hypothesis.text == extra.get("text")
                text = extra["surface"] if is_same else hypothesis.text
                fields = [nbest.utterance_id, text, *extra["features"]]
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


def _without_factors(word, only_unknown=False):
    """A word without the factors after the first one; or without those that are UNK, at its end.

    Moses escapes other bars of a text: after two bars in a row, the word begins anew.
    """
    parts = word.split("|")
    first = max((n for n, part in enumerate(parts, 1) if not part), default=0)
    end = first + 1
    if only_unknown:
        end = len(parts)
        while end > first + 1 and parts[end - 1] == "UNK":
            end -= 1
    return "|".join(parts[:end])
