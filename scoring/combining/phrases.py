"""Phrases that a user knows, such as names and terms: a feature of hypotheses, and its weight.

All other weights are guessed or tuned without the feature. Its own follows from the lists that are
reranked, without references: phrases that nobody says get 0. docs/phrases.md has what it gives.

L lists, N hypotheses in the longest list. A unit is what a metric compares: a word, or a character.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.data.nbest.lists import Hypothesis, parse_number
from tta.data.text.spelling import WITHOUT_BLANKS, plain_texts
from tta.data.text.words import MARK
from tta.errors import InputError, located, shown
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.combining.scored_lists import ScoredLists, pad
from tta.scoring.combining.weights import PHRASES, RerankWeights, rounded
from tta.scoring.combining.word_evidence import UNIT, posteriors_of
from tta.scoring.metrics.error_rate import INSERTION, characters
from tta.scoring.metrics.metric import Metric, load_metric

# A word of a phrase counts as much as LEVEL + SLOPE * logit(R) standard deviations of the first
# pass, from 0 to HIGHEST, where R is the believed share of the phrases in the lists. The priors are
# (believed, there) before any list, and where one list is alone. Chosen on dev lists (Arctic).
_LEVEL, _SLOPE, _HIGHEST = 3.5, 2.5, 4.0
_PRIOR, _PRIOR_OF_ONE = (1.0, 5.0), (0.7, 2.0)

MAX_FACTOR = 100.0  # of a phrase in a file
_LETTERS, _CHARACTERS = 5, 2  # that count as a word, for CER and in scripts without blanks
# What sacrebleu's tokenizers split at, too: signs stand alone.
_BLEU_UNIT = re.compile(
    rf"{WITHOUT_BLANKS.pattern}{MARK}*|(?:(?!{WITHOUT_BLANKS.pattern})(?:\w|{MARK}))+|[^\w\s]{MARK}*"
)


CANDIDATE = "candidate"  # the key in `Hypothesis.extra`, with the phrase that was put in


def candidate_of(hypothesis: Hypothesis) -> str | None:
    """The phrase that was put into a hypothesis; None if the user gave it."""
    return (hypothesis.extra or {}).get(CANDIDATE)


class Phrases:
    """Phrases, split into units: {phrase: its factor, or None}, and {phrase: as it is written}.

    Args:
        lines: `phrase` or `phrase<tab>factor`, read as hypotheses are; a factor is 0 to 100. Blank
            ones are skipped.
        metric: says how texts are read.
        path: of the file that they are from, for errors.
        keep: as `keep_non_words` of lists.

    Raises:
        InputError: there is no phrase, one has nothing that the metric compares or two factors, or
            a factor is out of range. It names the line.
    """

    def __init__(self, lines: Iterable[str], metric: Metric, path: Any = None, keep: Any = None):
        self.metric, self.common = metric, list[str]()
        self.factors: dict[tuple[str, ...], float | None] = {}
        self.names: dict[tuple[str, ...], str] = {}
        rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        cells = [line.partition("\t") for _, line in rows]
        texts, _ = plain_texts([phrase for phrase, _, _ in cells], bool(keep))
        for (number, line), (_, tab, cell), text in zip(rows, cells, texts, strict=True):
            with located(path=path, line=number):
                units = tuple(self.units(text))
                if not units:
                    raise InputError(f"expected a phrase of words, got {shown(line)}")
                factor = parse_number(cell, "factor of the phrase") if tab else None
                if not 0 <= (factor or 0) <= MAX_FACTOR:
                    rule = f"the factor of a phrase must be between 0 and {MAX_FACTOR:g}"
                    raise InputError(f"{rule}, not {factor:g}")
                self.names.setdefault(units, text)
                if self.factors.setdefault(units, factor) != factor:
                    raise InputError(f"the phrase {shown(text)} has two factors")
        if not self.factors:
            raise InputError("expected phrases, one per line, got none", path)

    def units(self, text: str) -> list[str]:
        """The units of a text."""
        if self.metric.name == "BLEU":
            return _BLEU_UNIT.findall(text)
        words = self.metric.normalize(text).split()
        if self.metric.name == "CER":
            return [*characters(words)]
        return words if text.isascii() else UNIT.findall(" ".join(words))

    def leave_out(self, is_common: Callable[[str], bool]) -> None:
        """Leaves out phrases of one common word, unless they have a factor; call it first."""
        for one, name in self.names.items():
            if self.factors[one] is None and len(name.split()) == 1 and is_common(name):
                self.common.append(name)
                del self.factors[one]

    @cached_property
    def _tree(self) -> dict[str | None, Any]:
        tree: dict[str | None, Any] = {}
        for phrase in self.factors:
            node = tree
            for unit in phrase:
                node = node.setdefault(unit, {})
            node[None] = phrase
        return tree

    def find(self, units: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
        """The phrases in a text of units, each with the place of its first unit, from 0.

        They are taken from left to right, the longest first, and do not overlap.
        """
        found, at = [], 0
        while at < len(units):
            node, stop, best = self._tree.get(units[at]), at + 1, None
            while node is not None:
                best = node.get(None, best)
                node = node.get(units[stop]) if stop < len(units) else None
                stop += 1
            if best is not None:
                found.append((at, best))
            at += len(best or " ")
        return found

    def are_inside(self, units: Sequence[str]) -> list[bool]:
        """Whether each unit of a text stands in a phrase."""
        places = {at + i for at, phrase in self.find(units) for i in range(len(phrase))}
        return [place in places for place in range(len(units))]

    def size(self, phrase: tuple[str, ...]) -> float:
        """What a phrase adds to the feature: the number of its words, times its factor."""
        letter = 1 / _LETTERS if self.metric.name == "CER" else 1.0
        words = (1 / _CHARACTERS if WITHOUT_BLANKS.search(one) else letter for one in phrase)
        factor = self.factors[phrase]
        return sum(words) * (1.0 if factor is None else factor)

    def words_inside(self, text: str) -> list[bool]:
        """Whether each word of a text, between blanks, has a part in a phrase."""
        units, found, at = self.units(text), [], 0
        inside = self.are_inside(units)
        for word in text.split():
            at += units[at : at + 1] == [" "]
            end = at + len(self.units(word))
            found.append(any(inside[at:end]))
            at = end
        return found

    def notes(self) -> Iterator[str]:
        """Yields a note if common words were left out."""
        if self.common:
            yield (
                f"common words among the phrases were left out: {len(self.common):,}, such as "
                f"{', '.join(map(shown, self.common[:5]))}; phrase<tab>1 keeps one"
            )


class Weighed(NamedTuple):
    """Lists with the feature `PHRASES`, and weights with its weight."""

    lists: ScoredLists
    weights: RerankWeights
    distinct: int  # phrases that stand in a list
    there: int  # in how many lists they do, in all
    share: float  # R, the share of them that is believed, 0 to 1, with its prior
    weight: float  # of a word of a phrase, in standard deviations of the first pass


def weigh(
    lists: ScoredLists, phrases: Phrases, weights: RerankWeights, given: float | None = None
) -> Weighed:
    """Adds the feature to lists, and its weight to weights that were found without it.

    A phrase is there in a list if some hypothesis has it, and believed with the posteriors of those
    that do: its mean over these lists, so that a frequent phrase says nothing of the others. For
    BLEU phrases get 0, because they made dev lists worse. A weight of the feature in `weights`
    stays; `given` is one in standard deviations.
    """
    found = [[phrases.find(phrases.units(h.text)) for h in one.hypotheses] for one in lists.nbest]
    sizes = {phrase: phrases.size(phrase) for phrase in phrases.factors}
    counts = [np.array([sum(sizes[p] for _, p in one) for one in row], float) for row in found]
    lists = replace(lists, features={**lists.features, PHRASES: pad(counts)})
    plain = dict(weights.features)
    known, unit = plain.pop(PHRASES, None), first_pass_unit(lists)
    weights = replace(weights, features=plain)
    masses: dict[tuple[str, ...], list[float]] = {}
    for row, shares in zip(found, posteriors_of(decide(lists, weights)), strict=True):
        here: dict[tuple[str, ...], float] = {}
        for one, share in zip(row, shares.tolist(), strict=False):
            for phrase in {phrase for _, phrase in one}:
                here[phrase] = here.get(phrase, 0.0) + share
        for phrase, mass in here.items():
            masses.setdefault(phrase, []).append(mass)
    believed = sum(sum(one) / len(one) for one in masses.values())
    alone = sum(bool(one.hypotheses) for one in lists.nbest) == 1
    few, many = _PRIOR_OF_ONE if alone else _PRIOR
    share = (believed + few) / (len(masses) + many)
    weight = given if known is None else known / unit
    if weight is None:
        weight = min(max(_LEVEL + _SLOPE * math.log(share / (1 - share)), 0.0), _HIGHEST)
        weight = 0.0 if phrases.metric.name == "BLEU" else weight
    weights = replace(weights, features=plain | {PHRASES: rounded(weight * unit)})
    return Weighed(lists, weights, len(masses), sum(map(len, masses.values())), share, weight)


def biased_errors(
    phrases: Phrases, texts: Iterable[str], references: Iterable[str]
) -> dict[bool, list[int]]:
    """{whether units stand in phrases: [errors, reference units]}: of B-WER, and of U-WER.

    As the literature on contextual biasing counts them: an insertion belongs to B if it stands in a
    phrase of the text, another error if it does in the reference.
    """
    found = {True: [0, 0], False: [0, 0]}
    for text, reference in zip(texts, references, strict=True):
        units, expected = phrases.units(text), phrases.units(reference)
        inside, wanted = phrases.are_inside(units), phrases.are_inside(expected)
        for edit in Levenshtein.editops(expected, units):
            is_new = edit.tag == INSERTION
            found[inside[edit.dest_pos] if is_new else wanted[edit.src_pos]][0] += 1
        for is_inside in wanted:
            found[is_inside][1] += 1
    return found


def phrase_notes(
    weighed: Weighed | None, phrases: Phrases | None, before: np.ndarray
) -> Iterator[str]:
    """Yields what a reader of picks with phrases must know; `before` are those without, [L] int."""
    if weighed is None or phrases is None:
        return
    nbest, name = weighed.lists.nbest, phrases.metric.name
    after = select(weighed.lists, weighed.weights)
    times = f", {weighed.there:,} times, of which {weighed.share:.0%} are believed"
    yield (
        f"{weighed.distinct:,} of {len(phrases.factors):,} phrases stand in lists"
        f"{times if weighed.there else ''}; with the weight {weighed.weight:.2f} they change "
        f"{(before != after).sum():,} of {len(after):,} picks"
    )
    yield from phrases.notes()
    if name == "BLEU":
        return
    if phrases.factors and not weighed.lists.feature(PHRASES).any():
        basic = Phrases(phrases.names.values(), load_metric(name.lower(), normalize="basic"))
        if any(basic.find(basic.units(h.text)) for one in nbest for h in one.hypotheses):
            yield "phrases differ from the lists in case or punctuation: --normalize=basic"
    measured = [row for row, one in enumerate(nbest) if one.reference is not None]
    if measured:
        references, rates = [nbest[row].reference or "" for row in measured], []
        for picks in before, after:
            pairs = [(nbest[row], picks[row]) for row in measured]
            texts = [one.hypotheses[i].text if one.hypotheses else "" for one, i in pairs]
            rates.append(biased_errors(phrases, texts, references))
        for kind, where in ("B", "inside"), ("U", "outside"):
            (one, size), (other, _) = (found[kind == "B"] for found in rates)
            if size:
                change = f"{100 * one / size:.2f} -> {100 * other / size:.2f} %"
                yield f"{kind}-{name} {change} of {size:,} units {where} of phrases"
