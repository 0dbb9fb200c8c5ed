"""The alignment of two texts, word by word: what is substituted, inserted and deleted.

Error rates, the marks of reports and the confidences of words all follow this one alignment.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rapidfuzz.distance import Levenshtein

SUBSTITUTION, INSERTION, DELETION = "substitution", "insertion", "deletion"
_KINDS = {"replace": SUBSTITUTION, "insert": INSERTION, "delete": DELETION}


class Edit(NamedTuple):
    """One difference of a hypothesis from its reference.

    Attributes:
        kind: `SUBSTITUTION`, `INSERTION` (the hypothesis has a word too many) or `DELETION` (it
            lacks a word of the reference).
        reference: the index of the word in the reference; for an insertion, of the next word.
        hypothesis: the index of the word in the hypothesis; for a deletion, of the next word.
    """

    kind: str
    reference: int
    hypothesis: int


def align(reference: Sequence[str], hypothesis: Sequence[str]) -> list[Edit]:
    """The fewest edits that turn a reference into a hypothesis, in their order.

    Words that are equal and stand at the same position of the alignment have no edit.
    """
    edits = Levenshtein.editops(reference, hypothesis)
    return [Edit(_KINDS[edit.tag], edit.src_pos, edit.dest_pos) for edit in edits]
