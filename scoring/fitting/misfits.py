"""Whether weights fit lists: whether scores are the quantities that the weights were tuned on.

A rule takes a column of the lists that weights are tuned on, and of those to rerank. The text of
its misfit goes on after the name of the column. Other noise, other speakers and other sizes of
lists change a column little; another unit, sign or quantity changes it much.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
from scipy.optimize import linear_sum_assignment

from tta.scoring.fitting.columns import Column, Typical

# The name of the column of first-pass scores; the others have the names of features.
FIRST_PASS_COLUMN = "first pass"

# A difference counts beyond so many standard errors.
_ERRORS = 3.0
# Fewer lists say too little: if both have so few, they are not compared; if one has, there is at
# most a note.
_LEAST_LISTS = 8
# The ratio of scales, beyond chance, from which there is a note, and from which it is an error.
_NOTED, _REFUSED = math.log(1.5), math.log(100.0)
# How clearly a column follows the order of the lists if it rises in one file and falls in another.
_ORDERED = 0.2
# The difference of `Column.order`, and of `Column.words`, from which there is a note.
_OTHER_ORDER, _OTHER_WORDS = 0.15, 0.25
# How much nearer columns are under other names, in the sum of all differences.
_SWAPPED = 1.5

_TUNED, _RERANKED = "the lists that weights are tuned on", "the lists to rerank"
_TWO_KINDS = "these are scores of two kinds"

Columns = Mapping[str, Column]


@dataclass(frozen=True)
class Misfit:
    """What speaks against the weights; `is_error` if they cannot be used."""

    text: str
    is_error: bool = False


def misfits(tuned: Columns, reranked: Columns) -> Iterator[Misfit]:
    """Yields what speaks against weights that are tuned on some lists, for other ones.

    Args:
        tuned: the columns of the lists that the weights are tuned on, by their names.
        reranked: those of the lists to rerank.
    """
    if (FIRST_PASS_COLUMN in tuned) != (FIRST_PASS_COLUMN in reranked):
        text = f"either both {_TUNED} and {_RERANKED} must have first-pass scores, or neither"
        yield Misfit(f"{text}: weights for one kind do not fit the other", is_error=True)
    shared = sorted(tuned.keys() & reranked.keys())
    swapped = list(_swapped(tuned, reranked, shared))
    yield from swapped
    for name in shared if not swapped else ():
        yield from _misfits_of_column(name, tuned[name], reranked[name])


def _misfits_of_column(name: str, tuned: Column, reranked: Column) -> Iterator[Misfit]:
    """What the first rule finds that finds something."""
    is_first_pass = name == FIRST_PASS_COLUMN
    for rule in _RULES_OF_FIRST_PASS if is_first_pass else _RULES:
        misfit = rule(tuned, reranked)
        if misfit is not None:
            subject = f"the {name}" if is_first_pass else f"the feature {name}"
            yield Misfit(f"{subject} {misfit.text}", misfit.is_error)
            return


def _swapped(tuned: Columns, reranked: Columns, shared: list[str]) -> Iterator[Misfit]:
    """Features that fit much better under the names of other features."""
    features = [name for name in shared if name != FIRST_PASS_COLUMN]
    if len(features) < 2 or not all(_enough(tuned[n], reranked[n]) for n in features):
        return
    distances = np.array([[_distance(tuned[n], reranked[m]) for m in features] for n in features])
    rows, columns = linear_sum_assignment(distances)
    if np.trace(distances) - distances[rows, columns].sum() > _SWAPPED:
        pairs = [
            f"{features[row]} like {features[column]}"
            for row, column in zip(rows, columns, strict=True)
            if row != column
        ]
        text = f"features of {_TUNED} look like others of {_RERANKED}: {', '.join(pairs)}"
        yield Misfit(f"{text}; give them in the same order", is_error=True)


def _other_sign(tuned: Column, reranked: Column) -> Misfit | None:
    if tuned.sign.value * reranked.sign.value > -1.0:
        return None
    signs = ("positive", "negative") if tuned.sign.value > 0 else ("negative", "positive")
    text = f"is {signs[0]} in {_TUNED}, and {signs[1]} in {_RERANKED}: {_TWO_KINDS}"
    return Misfit(text, _enough(tuned, reranked))


def _other_direction(tuned: Column, reranked: Column) -> Misfit | None:
    orders = tuned.order, reranked.order
    clear = min(abs(order.value) - _ERRORS * _error(order, orders) for order in orders)
    if tuned.order.value * reranked.order.value >= 0 or clear < _ORDERED:
        return None
    verbs = ("falls", "rises") if tuned.order.value > 0 else ("rises", "falls")
    text = f"{verbs[0]} from the first to the last hypothesis in {_TUNED}, and {verbs[1]}"
    return Misfit(f"{text} in {_RERANKED}: {_TWO_KINDS}", _enough(tuned, reranked))


def _constant(tuned: Column, reranked: Column) -> Misfit | None:
    counts = tuned.spread.count, reranked.spread.count
    lists = tuned.sign.count, reranked.sign.count
    if min(counts) > 0 or max(counts) < _LEAST_LISTS or min(lists) < _LEAST_LISTS:
        return None
    where = _RERANKED if counts[0] else _TUNED
    return Misfit(f"is the same for all hypotheses of a list in {where} alone")


def _ranks(tuned: Column, reranked: Column) -> Misfit | None:
    if tuned.is_ranked == reranked.is_ranked or not _enough(tuned, reranked):
        return None
    lists = _TUNED if tuned.is_ranked else _RERANKED
    text = f"is the same in every list of {lists} alone, as ranks are: {_TWO_KINDS}"
    return Misfit(text, is_error=True)


def _other_scale(tuned: Column, reranked: Column) -> Misfit | None:
    """Another unit changes spread and level alike; noise makes one larger, the other smaller.

    Both are larger in longer lists.
    """
    pairs = [(tuned.spread, reranked.spread)]
    if abs(tuned.sign.value * reranked.sign.value) == 1.0:
        pairs.append((tuned.level, reranked.level))
    difference = sum(pair[0].value - pair[1].value for pair in pairs) / len(pairs)
    chance = math.hypot(*(_error(number, pair) for pair in pairs for number in pair)) / len(pairs)
    of_size = abs(tuned.size.value - reranked.size.value)
    beyond = abs(difference) - _ERRORS * chance - of_size
    if beyond < _NOTED:
        return None
    lists = (_TUNED, _RERANKED) if difference > 0 else (_RERANKED, _TUNED)
    text = f"is {math.exp(abs(difference)):.3g} times as large in {lists[0]} as in {lists[1]}"
    return Misfit(
        f"{text}; if it is in two units, or a mean in one of them, the weights do not fit",
        beyond > _REFUSED and _enough(tuned, reranked),
    )


def _other_order(tuned: Column, reranked: Column) -> Misfit | None:
    if _beyond(tuned.order, reranked.order) < _OTHER_ORDER:
        return None
    lists = _TUNED if abs(tuned.order.value) > abs(reranked.order.value) else _RERANKED
    text = f"follows the order of the hypotheses more in {lists}; the scores of the others"
    return Misfit(f"{text} may belong to other hypotheses")


def _other_words(tuned: Column, reranked: Column) -> Misfit | None:
    if _beyond(tuned.words, reranked.words) < _OTHER_WORDS:
        return None
    return Misfit(
        f"follows the number of words by {tuned.words.value:.2f} in {_TUNED}, and by "
        f"{reranked.words.value:.2f} in {_RERANKED} (-1 to 1); if it is another score, the weights "
        "do not fit"
    )


_RULES = (_other_sign, _other_direction, _constant, _ranks, _other_scale, _other_words)
_RULES_OF_FIRST_PASS = (*_RULES, _other_order)


def _enough(tuned: Column, reranked: Column) -> bool:
    return min(tuned.spread.count, reranked.spread.count) >= _LEAST_LISTS


def _error(number: Typical, pair: tuple[Typical, Typical]) -> float:
    """The standard error of a number of the pair. Few lists do not show how wide they scatter."""
    if max(typical.count for typical in pair) < _LEAST_LISTS or not number.count:
        return math.inf
    return max(typical.width for typical in pair) / math.sqrt(number.count)


def _beyond(tuned: Typical, reranked: Typical) -> float:
    """How far two numbers differ beyond chance; 0 if one is of few lists."""
    pair = tuned, reranked
    if min(typical.count for typical in pair) < _LEAST_LISTS:
        return 0.0
    chance = math.hypot(*(_error(typical, pair) for typical in pair))
    return abs(tuned.value - reranked.value) - _ERRORS * chance


def _distance(tuned: Column, reranked: Column) -> float:
    """How unlike two columns are: the sum of all differences."""
    names = [field.name for field in fields(Column)]
    return sum(abs(getattr(tuned, n).value - getattr(reranked, n).value) for n in names)
