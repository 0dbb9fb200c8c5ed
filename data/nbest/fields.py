"""Named fields of a hypothesis: which one is its score, and which ones are features."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tta.data.nbest.lists import ListCollector, parse_number, parse_score, shown
from tta.errors import InputError

# Parts of the score of a speech recogniser: natural logs, so their sum is a score.
PARTS = ("am_score", "att_score", "ctc_score", "lm_score")

# The last word of the name of a feature.
_LAST_WORD = re.compile(
    r"(\w*score|\w*prob|\w*likelihood|logp|logit|probability|posterior|confidence|nll|ppl|perplexity"
    r"|cost|loss|penalty|bonus|am|lm|tm|att|attention|ctc|decoder|ngram|rnnt|transducer)s?"
)
# Measures that compare with the reference. As features, they would give the reference away.
_MEASURES = {"wer", "cer", "mer", "wil", "ter", "bleu", "chrf", "meteor", "rouge", "oracle"}


def score_key(fields: Mapping[str, Any], names: Sequence[str] = ("score",)) -> str:
    """The name of the field that holds the score of a hypothesis.

    It is the first of `names` with a value. Without one, it is the only field of `PARTS` with a
    value, unless that is `lm_score`. Without that, it is a name of `names` for a score to write.
    """
    with_value = [name for name in names if fields.get(name) is not None]
    parts = [name for name in PARTS if fields.get(name) is not None]
    if len(parts) == 1 and parts != ["lm_score"]:
        with_value += parts
    return [*with_value, *(name for name in names if name in fields), names[0]][0]


def read_scores(
    fields: Mapping[str, Any], collector: ListCollector, names: Sequence[str] = ("score",)
) -> tuple[float | None, dict[str, float]]:
    """Finds the score and the features in the fields of a hypothesis.

    The score is the field `score_key(fields, names)`. If that has no value, the score is the sum of
    the fields of `PARTS`, or None if there are fewer than two.

    Features are numbers, or their text, in other fields whose last word is `score`, `logprob`,
    `lm` or similar, and in the objects `scores` and `features`, under any name. Booleans and nulls
    are none. Measures such as `wer_score` are none.

    Raises:
        InputError: the score, or text in a field whose name ends in `score`, is not a number; a
            number is not finite; a name is a duplicate; or `collector` has scores of other parts.
    """
    key = score_key(fields, names)
    features: dict[str, float] = {}
    for name, value in fields.items():
        if name in ("scores", "features") and isinstance(value, Mapping):
            found = value
        elif name not in (key, *names) and _names_feature(name):
            found = {name: value}
        else:
            continue
        for feature, number in found.items():
            if feature in features:
                raise InputError(f"duplicate feature {shown(feature)}")
            if _is_number(feature, number):
                features[feature] = parse_number(number, shown(feature))
    if fields.get(key) is not None:
        collector.check_parts((key,))
        return parse_score(fields[key]), features
    parts = tuple(name for name in PARTS if name in features)
    if len(parts) < 2:
        return None, features
    collector.check_parts(parts)
    return math.fsum(features[name] for name in parts), features


@functools.lru_cache(1000)
def _names_feature(name):
    words = re.findall("[a-z]+", name.lower())
    return bool(words and _LAST_WORD.fullmatch(words[-1])) and _MEASURES.isdisjoint(words)


def _is_number(name, value):
    if not isinstance(value, str):
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    try:
        float(value)
    except ValueError:
        if name.lower().endswith("score"):
            raise InputError(f"expected a number as {shown(name)}, got {shown(value)}") from None
        return False
    return True
