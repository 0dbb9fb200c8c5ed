"""Phrases that a user knows, such as names and terms: a feature of hypotheses, and its weight.

All other weights are guessed or tuned without the feature. Its own follows from the lists that are
reranked, without references: phrases that nobody says get 0. docs/phrases.md has what it gives.

L lists, N hypotheses in the longest list. A unit is what a metric compares: a word, or a character.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.data.nbest.lists import parse_number
from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines
from tta.data.text.spelling import WITHOUT_BLANKS, plain_texts
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
_LEVEL, _SLOPE, HIGHEST = 3.5, 2.5, 4.0
_PRIOR, _PRIOR_OF_ONE = (1.0, 5.0), (0.7, 2.0)

MAX_FACTOR = 100.0  # of a phrase in a file
_CHARACTERS, _CHARACTERS_WITHOUT_BLANKS = 5, 2  # that count as a word
# What sacrebleu's tokenizers split at, too: signs stand alone.
_BLEU_UNIT = re.compile(rf"{WITHOUT_BLANKS.pattern}|(?:(?!{WITHOUT_BLANKS.pattern})\w)+|[^\w\s]")


@dataclass(frozen=True)
class Phrases:
    """Phrases, as a metric reads them.

    Attributes:
        factors: {phrase, a tuple of units: the factor on its weight, None if none is given}.
        metric: says how texts are read and split: into words, characters for CER and in scripts
            without blanks.
        left_out: the common words that were left out.
    """

    factors: Mapping[tuple[str, ...], float | None]
    metric: Metric
    left_out: tuple[str, ...] = ()
    _tree: dict[str | None, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        tree: dict[str | None, Any] = {}
        for phrase in self.factors:
            node = tree
            for unit in phrase:
                node = node.setdefault(unit, {})
            node[None] = phrase
        object.__setattr__(self, "_tree", tree)

    @classmethod
    def read(
        cls,
        lines: Iterable[str],
        metric: Metric,
        path: str | None = None,
        keep_non_words: bool = False,
    ) -> "Phrases":
        """Reads phrases, one in each str: `phrase`, or `phrase<tab>factor`, as hypotheses are read.

        The factor is that on the weight of the phrase, 0 to 100; 1 keeps a common word. Blank lines
        are skipped.

        Raises:
            InputError: there is no phrase, a phrase has nothing that the metric compares, a factor
                is no number or out of its range, or a phrase has two factors. It names `path` and
                the line, from 1.
        """
        factors: dict[tuple[str, ...], float | None] = {}
        rows = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
        cells = [line.partition("\t") for _, line in rows]
        texts, _ = plain_texts([phrase for phrase, _, _ in cells], keep_non_words)
        empty = cls({}, metric)
        for (number, line), (_, tab, cell), text in zip(rows, cells, texts, strict=True):
            with located(path=path, line=number):
                units = tuple(empty.units(text))
                if not units:
                    rule = f"expected a phrase with a word that is compared, got {shown(line)}"
                    raise InputError(rule)
                factor = parse_number(cell, "weight of the phrase") if tab else None
                if not 0 <= (factor or 0.0) <= MAX_FACTOR:
                    rule = f"the weight of a phrase must be between 0 and {MAX_FACTOR:g}"
                    raise InputError(f"{rule}, not {factor:g}")
                if factors.setdefault(units, factor) != factor:
                    raise InputError(f"the phrase {shown(text)} is there twice, with other weights")
        if not factors:
            raise InputError("expected phrases, one per line, got none", path)
        return cls(factors, metric)

    @classmethod
    def from_file(
        cls, path: str, metric: Metric, keep_non_words: bool = False, opener: Any = open
    ) -> "Phrases":
        """Reads a file, as `read`; see `tta.data.text.lines.iter_lines` for more errors."""
        return cls.read(iter_lines(path, opener), metric, str(shown_path(path)), keep_non_words)

    def units(self, text: str) -> list[str]:
        """The units of a text."""
        if self.metric.name == "BLEU":
            return _BLEU_UNIT.findall(text)
        words = self.metric.normalize(text).split()
        if self.metric.name == "CER":
            return [*characters(words)]
        return words if text.isascii() else UNIT.findall(" ".join(words))

    def find(self, units: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
        """The phrases in a text of these units, each with the place of its first unit, from 0.

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

    def are_in_phrases(self, units: Sequence[str]) -> list[bool]:
        """Whether each unit of a text stands in a phrase."""
        inside = [False] * len(units)
        for at, phrase in self.find(units):
            inside[at : at + len(phrase)] = [True] * len(phrase)
        return inside

    def size(self, phrase: tuple[str, ...]) -> float:
        """What a phrase adds to the feature: the number of its words, times its factor."""
        of_script = 1 / _CHARACTERS if self.metric.name == "CER" else 1.0
        without_blanks = 1 / _CHARACTERS_WITHOUT_BLANKS
        words = (without_blanks if WITHOUT_BLANKS.search(one) else of_script for one in phrase)
        factor = self.factors[phrase]
        return sum(words) * (1.0 if factor is None else factor)

    def without_common(self, is_common: Callable[[str], bool]) -> "Phrases":
        """Leaves out phrases of one common word, unless they have a factor."""
        names = {phrase: self.text(phrase) for phrase in self.factors}
        common = [
            phrase
            for phrase, name in names.items()
            if self.factors[phrase] is None and " " not in name and is_common(name)
        ]
        kept = {phrase: self.factors[phrase] for phrase in self.factors.keys() - {*common}}
        return Phrases(kept, self.metric, tuple(names[phrase] for phrase in common))

    def notes(self) -> Iterator[str]:
        """Yields a note if common words were left out."""
        if self.left_out:
            names = [*map(shown, self.left_out[:5]), *["..."][: len(self.left_out) - 5]]
            yield (
                f"phrases that are common words were left out: {len(self.left_out):,}, "
                f"{', '.join(names)}; a factor in the file keeps one (phrase<tab>1)"
            )

    def text(self, phrase: tuple[str, ...]) -> str:
        """A phrase as text."""
        joined = self.metric.name == "CER" or all(map(WITHOUT_BLANKS.search, phrase))
        return ("" if joined else " ").join(phrase)


@dataclass(frozen=True)
class Weighed:
    """Lists with the feature `PHRASES`, and weights with its weight.

    Attributes:
        distinct: the number of phrases that stand in a list.
        there: how often they do, once for each list.
        share: R, the share of these that the posteriors believe, 0 to 1, with its prior.
        weight: of a word of a phrase, in standard deviations of the first pass.
    """

    lists: ScoredLists
    weights: RerankWeights
    distinct: int
    there: int
    share: float
    weight: float


def weigh(
    lists: ScoredLists, phrases: Phrases, weights: RerankWeights, given: float | None = None
) -> Weighed:
    """Adds the feature to lists, and its weight to weights that were found without it.

    A phrase is there in a list if some hypothesis has it, and believed with the posteriors of those
    that do. A weight of the feature in `weights` stays; `given` is one in standard deviations.
    """
    found = [[phrases.find(phrases.units(h.text)) for h in one.hypotheses] for one in lists.nbest]
    sizes = {phrase: phrases.size(phrase) for phrase in phrases.factors}
    counts = [np.array([sum(sizes[p] for _, p in one) for one in row], float) for row in found]
    lists = replace(lists, features={**lists.features, PHRASES: pad(counts)})
    features = weights.features
    plain = {name: weight for name, weight in features.items() if name != PHRASES}
    weights = replace(weights, features=plain)
    masses: list[dict[tuple[str, ...], float]] = []
    for row, shares in zip(found, posteriors_of(decide(lists, weights)), strict=True):
        masses.append({})
        for one, share in zip(row, shares.tolist(), strict=False):
            for phrase in {phrase for _, phrase in one}:
                masses[-1][phrase] = masses[-1].get(phrase, 0.0) + share
    there, believed = sum(map(len, masses)), sum(sum(one.values()) for one in masses)
    alone = sum(bool(one.hypotheses) for one in lists.nbest) == 1
    few, many = _PRIOR_OF_ONE if alone else _PRIOR
    share = (believed + few) / (there + many)
    weight, unit = given, first_pass_unit(lists)
    if PHRASES in features:
        weight = features[PHRASES] / unit
    elif weight is None:
        weight = min(max(_LEVEL + _SLOPE * math.log(share / (1 - share)), 0.0), HIGHEST)
    weights = replace(weights, features=plain | {PHRASES: rounded(weight * unit)})
    return Weighed(lists, weights, len(set().union(*masses)), there, share, weight)


def biased_errors(
    phrases: Phrases, texts: Iterable[str], references: Iterable[str]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """(errors, reference units) of the units in phrases, B, and of all others, U.

    As the literature on contextual biasing counts them: an insertion belongs to B if it stands in a
    phrase of the text, another error if it does in the reference.
    """
    errors, sizes = [0, 0], [0, 0]
    for text, reference in zip(texts, references, strict=True):
        units, expected = phrases.units(text), phrases.units(reference)
        inside, wanted = phrases.are_in_phrases(units), phrases.are_in_phrases(expected)
        for edit in Levenshtein.editops(expected, units):
            is_inside = inside[edit.dest_pos] if edit.tag == INSERTION else wanted[edit.src_pos]
            errors[not is_inside] += 1
        sizes[0] += sum(wanted)
        sizes[1] += len(wanted) - sum(wanted)
    return (errors[0], sizes[0]), (errors[1], sizes[1])


def phrase_notes(weighed: Weighed, phrases: Phrases) -> Iterator[str]:
    """Yields what a reader of picks with phrases must know, one line each."""
    lists, weights = weighed.lists, weighed.weights
    without = replace(weights, features={**weights.features, PHRASES: 0.0})
    before, after = select(lists, without), select(lists, weights)
    found = f"{weighed.distinct:,} of {len(phrases.factors):,} phrases stand in lists"
    if weighed.distinct:
        found += f", {weighed.there:,} times, of which {weighed.share:.0%} are believed"
    changed = f"{(before != after).sum():,} of {len(after):,} picks"
    yield f"{found}; with the weight {weighed.weight:.2f} they change {changed}"
    yield from phrases.notes()
    if weights.lm_weight == 1:
        yield "lm_weight is 1, so the first pass does not count, and neither do phrases"
    if not weighed.distinct and phrases.metric.name in ("WER", "CER"):
        metric = load_metric(phrases.metric.name.lower(), normalize="basic")
        known = Phrases.read(map(phrases.text, phrases.factors), metric)
        if any(known.find(known.units(h.text)) for one in lists.nbest for h in one.hypotheses):
            yield "phrases differ from the lists in case or punctuation: --normalize=basic"
    measured = phrases.metric.name != "BLEU" and lists.nbest[0].reference is not None
    if measured and phrases.factors:
        references = [one.reference or "" for one in lists.nbest]
        rates = []
        for picks in before, after:
            hypotheses = [one.hypotheses for one in lists.nbest]
            texts = [hs[i].text if hs else "" for hs, i in zip(hypotheses, picks, strict=True)]
            rates.append(biased_errors(phrases, texts, references))
        names = zip("BU", ("in phrases", "others"), zip(*rates, strict=True), strict=True)
        shown = [
            f"{kind}-{phrases.metric.name} {100 * one / size:.2f} -> {100 * other / size:.2f} % "
            f"({size:,} {what})"
            for kind, what, ((one, size), (other, _)) in names
            if size
        ]
        yield f"errors without and with phrases: {', '.join(shown)}"
