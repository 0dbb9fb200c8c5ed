"""Phrases that a user knows, such as names and terms, and where they stand in hypotheses.

A unit is what a metric compares: a word, or a character. `phrase_weight` has what phrases count.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cached_property
from typing import Any

from tta.data.nbest.lists import Hypothesis
from tta.data.text.spelling import WITHOUT_BLANKS, plain_texts
from tta.data.text.words import MARK
from tta.errors import InputError, located, shown
from tta.scoring.metrics.error_rate import characters
from tta.scoring.metrics.metric import Metric
from tta.scoring.phrases.lines import parse_phrases
from tta.scoring.words.evidence import UNIT

Phrase = tuple[str, ...]  # its units

_LETTERS, _CHARACTERS = 5, 2  # that count as a word, by character and in scripts without blanks
# What sacrebleu's tokenizers split at, too: signs stand alone.
_BLEU_UNIT = re.compile(
    rf"{WITHOUT_BLANKS.pattern}{MARK}*|(?:(?!{WITHOUT_BLANKS.pattern})(?:\w|{MARK}))+|[^\w\s]{MARK}*"
)


CANDIDATE = "candidate"  # the key in `Hypothesis.extra`, with the phrase that was put in


def candidate_of(hypothesis: Hypothesis) -> str | None:
    """The phrase that was put into a hypothesis; None if the user gave it."""
    return (hypothesis.extra or {}).get(CANDIDATE)


class Phrases:
    """Phrases, split into units. They do not change.

    Args:
        lines: `phrase` or `phrase<tab>factor`, read as hypotheses are; a factor is 0 to 100. Blank
            ones are skipped.
        metric: says how texts are read.
        path: of the file that they are from, for errors.
        keep_non_words: as in `tta.data.nbest.files.read_nbest`.

    Attributes:
        factors: {phrase: its factor, or None}.
        names: {phrase: as it is written}.
        common: phrases of one common word that were left out.

    Raises:
        InputError: there is no phrase, one has nothing that the metric compares or two factors, or
            a factor is out of range. It names the line.
    """

    def __init__(
        self,
        lines: Iterable[str],
        metric: Metric,
        path: Any = None,
        keep_non_words: bool | None = None,
    ):
        self.metric = metric
        self.factors: dict[Phrase, float | None] = {}
        self.names: dict[Phrase, str] = {}
        self.common: tuple[str, ...] = ()
        parsed = parse_phrases(lines, path)
        texts, _ = plain_texts([line.text for line in parsed], bool(keep_non_words))
        for line, text in zip(parsed, texts, strict=True):
            with located(path=path, line=line.number):
                self._add(text, line.line, line.factor)
        if not self.factors:
            raise InputError("expected phrases, one per line, got none", path)

    def _add(self, text: str, written: str, factor: float | None) -> None:
        """Adds a phrase while the lines are read."""
        units = tuple(self.units(text))
        if not units:
            raise InputError(f"expected a phrase of words, got {shown(written)}")
        self.names.setdefault(units, text)
        if self.factors.setdefault(units, factor) != factor:
            raise InputError(f"the phrase {shown(text)} has two factors")

    def without_common(self, is_common: Callable[[str], bool]) -> "Phrases":
        """The phrases without those of one common word, unless these have a factor."""
        common = {
            phrase: self.names[phrase]
            for phrase, factor in self.factors.items()
            if factor is None
            and len(self.names[phrase].split()) == 1
            and is_common(self.names[phrase])
        }
        phrases = copy(self)
        phrases.__dict__.pop("_tree", None)  # of all phrases
        phrases.factors = {p: factor for p, factor in self.factors.items() if p not in common}
        phrases.common = tuple(common.values())
        return phrases

    def units(self, text: str) -> list[str]:
        """The units of a text."""
        if not self.metric.of_speech:
            return _BLEU_UNIT.findall(text)
        words = self.metric.normalize(text).split()
        if self.metric.by_character:
            return [*characters(words)]
        return words if text.isascii() else UNIT.findall(" ".join(words))

    @cached_property
    def _tree(self) -> dict[str | None, Any]:
        """{first unit: {second unit: ...}}; where a phrase ends, None leads to it."""
        tree: dict[str | None, Any] = {}
        for phrase in self.factors:
            node = tree
            for unit in phrase:
                node = node.setdefault(unit, {})
            node[None] = phrase
        return tree

    def find(self, units: Sequence[str]) -> list[tuple[int, Phrase]]:
        """The phrases in a text of units, each with the place of its first unit, from 0.

        They are taken from left to right, the longest first, and do not overlap.
        """
        places, at = [], 0
        while at < len(units):
            longest = self._longest_at(units, at)
            if longest is not None:
                places.append((at, longest))
            at += len(longest or " ")
        return places

    def _longest_at(self, units: Sequence[str], at: int) -> Phrase | None:
        """The longest phrase that starts with the unit at a place."""
        node, end, longest = self._tree.get(units[at]), at + 1, None
        while node is not None:
            longest = node.get(None, longest)
            node = node.get(units[end]) if end < len(units) else None
            end += 1
        return longest

    def are_inside(self, units: Sequence[str]) -> list[bool]:
        """Whether each unit of a text stands in a phrase."""
        places = {at + i for at, phrase in self.find(units) for i in range(len(phrase))}
        return [place in places for place in range(len(units))]

    def size(self, phrase: Phrase) -> float:
        """What a phrase adds to the feature: the number of its words, times its factor."""
        letter = 1 / _LETTERS if self.metric.by_character else 1.0
        words = (1 / _CHARACTERS if WITHOUT_BLANKS.search(unit) else letter for unit in phrase)
        factor = self.factors[phrase]
        return sum(words) * (1.0 if factor is None else factor)

    def words_inside(self, text: str) -> list[bool]:
        """Whether each word of a text, between blanks, has a part in a phrase."""
        units, has_part, at = self.units(text), [], 0
        inside = self.are_inside(units)
        for word in text.split():
            at += units[at : at + 1] == [" "]
            end = at + len(self.units(word))
            has_part.append(any(inside[at:end]))
            at = end
        return has_part
