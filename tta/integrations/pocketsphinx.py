"""PocketSphinx: the N-best list of a decoder after an utterance."""

import itertools
import math
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(decoder: Any, size: int = 50) -> NBest:
    """The list of the utterance that a `Decoder` has just ended, as one list of up to `size` texts.

    Call it between `end_utt()` and the next `start_utt()`, for each utterance, and join the lists.
    The decoder repeats texts; they do not count. PocketSphinx gives a score as a probability, so
    its natural log is taken. Raises InputError if the decoder has no hypothesis, or gives scores of
    versions before 5.
    """
    pairs: dict[str, float] = {}
    for hypothesis in itertools.islice(decoder.nbest() or (), 20 * size):
        if hypothesis.score < 0:
            raise InputError("scores are below 0: this needs pocketsphinx 5 or later")
        if hypothesis.hypstr and hypothesis.score:
            pairs.setdefault(hypothesis.hypstr, math.log(hypothesis.score))
        if len(pairs) == size:
            break
    if not pairs:
        raise InputError("the decoder has no hypothesis: call it after end_utt()")
    return collect([pairs.items()])
