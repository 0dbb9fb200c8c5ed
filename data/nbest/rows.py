"""What formats with one hypothesis per line share."""

import functools
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tta.data.nbest.lists import Hypothesis, ListCollector, NBestList
from tta.doors import option_named
from tta.errors import InputError, located, shown

# The least mean similarity of the hypotheses of an utterance to the first one. On the lists of
# docs/reranking.md it is 0.79 to 0.98, and 0.22 to 0.38 between different utterances.
_SIMILAR = 0.5
_FEW = 7  # Texts with fewer characters say little.
# Texts of one list must be more similar than texts of two by this much, or any beam size may be.
_GAP = 0.2
_MOST = 2000  # texts that are compared
# Texts of two utterances share less than this part of the pairs of the shorter one.
_SHORT, _SHARED = 10, 0.45


def mostly(lines: Sequence[str], test: Callable[[str], Any]) -> bool:
    """Whether at least half of the lines pass: one malformed line does not hide a format."""
    return 2 * sum(bool(test(line)) for line in lines) >= len(lines)


def collect_groups(
    rows: Iterable[tuple[int, Any]],
    parse: Callable[[Any], tuple[str, Hypothesis]],
    collector: ListCollector,
    reference_of: Callable[[Hypothesis], str | None] = lambda hypothesis: None,
    order: Callable[[Sequence[Hypothesis]], Sequence[Hypothesis]] = lambda hypotheses: hypotheses,
    *,
    file_of: Callable[[int], int] = lambda line: 0,
) -> None:
    """Adds a list for each run of rows, [(line number, row)], with the same id in one file.

    `parse` turns a row into id and hypothesis; `reference_of` finds the reference of its list,
    which may be missing in all rows but the first; `order` is that of a list; `file_of` is
    `Source.file_of`, if the rows may be of several files.
    """

    def parsed():
        for number, line in rows:
            with located(line=number):
                row = parse(line)
            yield number, *row

    def place(row):
        number, utterance_id, _ = row
        return file_of(number), utterance_id

    for (_, utterance_id), group in itertools.groupby(parsed(), key=place):
        numbers, _, hypotheses = zip(*group, strict=True)
        with located(f"list {shown(utterance_id)}", numbers[0]):
            reference, *later = map(reference_of, hypotheses)
            if any(text not in (reference, "", None) for text in later):
                raise InputError(f"expected one reference, got {shown([reference, *later])}")
            collector.add(utterance_id, order(hypotheses), reference)


def check_fields(fields: Iterable[str], separator: str, nbest: NBestList, name: str) -> None:
    """Checks that no field has a line break or contains the separator ("" for no separator).

    Raises InputError if a field does. The message names the list and the format, `name`.
    """
    for field in fields:
        if re.search(r"[\r\n]", field) or (separator and separator in field):
            raise InputError(
                f"list {shown(nbest.utterance_id)}: a {name} field cannot hold {shown(field)}"
            )


def doubt_of_groups(texts: Mapping[str, Sequence[str]], format_name: str) -> str | None:
    """Says why {id: texts} may be utterances, not hypotheses; or None.

    Each id has one text, or its texts are not similar.
    """
    several = [of_id for of_id in texts.values() if len(of_id) > 1]
    doubt = "each id has one hypothesis" if len(texts) > 1 and not several else None
    if _mean_similarity(several) < _SIMILAR:
        doubt = "the texts of an id have little in common, like those of different utterances"
    return doubt and f"{doubt}; {option_named('format', format_name)} reads it as lists"


def doubt_of_size(texts: Sequence[str], size: int, format_name: str) -> str | None:
    """Says why lists of `size` texts may mix utterances, or None.

    The right size separates texts best: neighbours in a list are similar, the last text of a list
    and the first of the next are not.
    """
    near = {
        i: _likeness(text, following)
        for i, (text, following) in enumerate(itertools.pairwise(texts[:_MOST]))
        if min(len(text), len(following)) >= _FEW
    }

    def separation(size):
        """The variance between the two groups of neighbours, times their number."""
        ends = [value for i, value in near.items() if i % size == size - 1]
        if not 0 < len(ends) < len(near):
            return 0.0
        inside = (sum(near.values()) - sum(ends)) / (len(near) - len(ends))
        gap = inside - sum(ends) / len(ends)
        return len(ends) * (len(near) - len(ends)) * gap**2 if gap >= _GAP else 0.0

    if size == len(texts):
        return doubt_of_groups({"": texts[:_MOST]}, format_name)
    sizes = [number for number in range(2, len(texts) // 2 + 1) if len(texts) % number == 0]
    best = max(sizes, key=separation, default=size)
    if separation(best) <= 1.5 * separation(size):
        return None
    return (
        f"the texts of a list are more similar with beam size {best} than with {size}; "
        f"{option_named('format', format_name)} reads it as lists of {size}"
    )


def have_little_in_common(text: str, other: str) -> bool:
    """Whether two texts share few pairs of characters, as a part and its whole do not.

    Texts of few characters say nothing.
    """
    if min(len(text), len(other)) < _SHORT:
        return False
    text, other = text.casefold(), other.casefold()
    needed = _SHARED * (1 + min(len(text), len(other)))  # of the pairs of the shorter text
    if len(_distinct_pairs(text) & _distinct_pairs(other)) >= needed:
        return False  # counting each pair takes four times as long
    return (_pairs(text) & _pairs(other)).total() < needed


def _mean_similarity(lists: Iterable[Sequence[str]]) -> float:
    """The mean similarity of texts to the first one of their list, without short texts."""
    values = []
    for texts in lists:
        first, *later = [text for text in texts if len(text) >= _FEW] or [""]
        values += [_likeness(first, text) for text in later]
    return sum(values) / len(values) if values else 1.0


def _likeness(text: str, other: str) -> float:
    """The Dice coefficient of pairs of characters, 0 to 1. It works without blanks, too."""
    pairs, other_pairs = _pairs(text), _pairs(other)
    return 2 * (pairs & other_pairs).total() / (pairs.total() + other_pairs.total())


@functools.lru_cache(8)  # the first text of a list is compared with several
def _pairs(text):
    return Counter(itertools.pairwise(f" {text} "))


@functools.lru_cache(8)
def _distinct_pairs(text):
    return set(itertools.pairwise(f" {text} "))
