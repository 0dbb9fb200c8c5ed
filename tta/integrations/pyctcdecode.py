"""pyctcdecode: beams of `decode_beams` or `decode_beams_batch`."""

from collections.abc import Iterable, Sequence
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[Sequence[Sequence[Any]]]) -> NBest:
    """The lists of results: one `decode_beams` returns, or all of `decode_beams_batch`.

    A beam is (text, state, frames, logit score, score with the decoder's language model), the last
    two in natural logs. With a language model in the decoder, the last one is the score. Raises
    InputError if a result is no list of beams, such as a beam of the only utterance.
    """
    lists = list(results)
    for number, beams in enumerate(lists, 1):
        if isinstance(beams, str) or any(isinstance(beam, str) or len(beam) < 2 for beam in beams):
            raise InputError(f"result {number} is no list of beams: put those of one in a list")
    return collect([[(beam[0], beam[-1]) for beam in beams] for beams in lists])
