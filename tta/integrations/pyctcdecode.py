"""pyctcdecode: beams of `decode_beams` or `decode_beams_batch`."""

from collections.abc import Iterable, Sequence
from typing import Any

from tta.integrations import NBest, collect


def nbest(results: Iterable[Sequence[Sequence[Any]]]) -> NBest:
    """The lists of results: one `decode_beams` returns, or all of `decode_beams_batch`.

    A beam is (text, state, frames, logit score, score with the decoder's language model), the last
    two in natural logs. With a language model in the decoder, the last one is the score.
    """
    return collect([[(beam[0], beam[-1]) for beam in beams] for beams in results])
