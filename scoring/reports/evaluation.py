"""Evaluates ways of reranking on one file of lists: values, intervals, and picks that changed."""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tta.errors import shown
from tta.scoring.combining.decision import Decision, select
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.systems import FIRST_LEVEL
from tta.scoring.combining.weights import FIRST_PASS, RerankWeights
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.significance import MIN_LISTS, paired_bootstrap, relative_gain

Interval = tuple[float, float]


@dataclass(frozen=True)
class Row:
    """One way of picking a hypothesis from every list, and how good the picks are.

    Attributes:
        name: `first pass`, `oracle`, or the name of a system.
        value: the metric over all picks.
        details: the metric's further numbers, by heading.
        gain: over the first pass, in percent, positive is better; NaN if the first pass has 0.
        interval: the confidence interval of the gain, or NaNs.
        weights: the weights that made the picks; None for first pass and oracle.
        picked: [L, S] int64, the statistics of the picks of lists with a reference.
    """

    name: str
    value: float
    details: dict[str, float]
    gain: float
    interval: Interval
    weights: RerankWeights | None
    picked: np.ndarray = field(compare=False, repr=False)


@dataclass(frozen=True)
class Difference:
    """The metric of the row `first` minus that of `second`, with its confidence interval."""

    first: str
    second: str
    value: float
    interval: Interval


@dataclass(frozen=True)
class Evaluation:
    """The rows measured on one file of lists, and differences between some of them.

    `notes` says why gains or intervals are NaN, if some are.
    """

    rows: list[Row]
    differences: list[Difference]
    notes: list[str]


def evaluate(
    lists: ScoredLists,
    statistics: ListStatistics,
    systems: Mapping[str, RerankWeights],
    compared: Iterable[str] = (),
    variants: Mapping[str, RerankWeights] | None = None,
    lists_of_systems: Mapping[str, ScoredLists] | None = None,
    beside: Iterable[str] = (),
) -> Evaluation:
    """Measures the first pass (without scores: the order of the lists), systems and the oracle.

    `statistics` is the metric on the same lists. The systems named in `compared` are compared
    pairwise. One system is compared with those named in `beside` and with `variants`, which get no
    row: the last one of `systems`. `lists_of_systems` has the lists of systems that have more
    hypotheses or features than `lists`; `statistics` is then of these.
    """
    metric, variants = statistics.metric, variants or {}
    lists_of_systems = lists_of_systems or {}
    picks = {"first pass": select(lists, FIRST_PASS)}
    for name, weights in {**systems, **variants}.items():
        picks[name] = select(lists_of_systems.get(name, lists), weights)
    if lists.rescored is not None:
        before = replace(lists, models=(lists.rescored.first,))
        picks[FIRST_LEVEL] = select(before, lists.rescored.weights)
    picks["oracle"] = statistics.oracle()
    measured = [nbest_list.reference is not None for nbest_list in lists.nbest]
    picked = {name: statistics.of(system_picks)[measured] for name, system_picks in picks.items()}
    totals = {name: counts.sum(axis=0) for name, counts in picked.items()}
    values = {name: float(metric.corpus(total)) for name, total in totals.items()}

    pairs = list(itertools.combinations(compared, 2))
    pairs += [(list(systems)[-1], name) for name in (*beside, *variants)]

    def quantities(values):
        """The systems' gains and the pairs' differences, from the values of all picks."""
        of = dict(zip(picked, values, strict=True))
        gains = [relative_gain(of[name], of["first pass"], metric) for name in systems]
        return np.stack([*gains, *(of[a] - of[b] for a, b in pairs)])

    bounds = paired_bootstrap(np.stack(list(picked.values())), metric, quantities)
    notes = list(_why_undefined(bounds, values["first pass"], sum(measured), metric))
    keys = [*systems, *pairs]
    intervals = {key: (low, high) for key, (low, high) in zip(keys, bounds.tolist(), strict=True)}
    rows = [
        Row(
            name=name,
            value=values[name],
            details=metric.details(totals[name]),
            gain=float(relative_gain(values[name], values["first pass"], metric)),
            interval=intervals.get(name, (np.nan, np.nan)),
            weights=systems.get(name),
            picked=picked[name],
        )
        for name in picks
        if name not in variants
    ]
    differences = [Difference(a, b, values[a] - values[b], intervals[a, b]) for a, b in pairs]
    return Evaluation(rows, differences, notes)


def _why_undefined(
    bounds: np.ndarray, first_pass: float, num_lists: int, metric: Metric
) -> Iterator[str]:
    """Yields the reasons why gains, or the [Q, 2] bounds of intervals, are NaN."""
    if first_pass == 0:
        yield f"no gains in percent: the {metric.name} of the first pass is 0"
    if num_lists < MIN_LISTS:
        yield f"no intervals: they need at least {MIN_LISTS} lists"
    elif first_pass != 0 and np.isnan(bounds).any():
        yield (
            f"no interval: the {metric.name} of the first pass is 0 or not defined on some of the "
            "resamples, because only few lists have errors or words"
        )


VERDICTS = ("better", "worse", "neither")


@dataclass(frozen=True)
class Change:
    """An utterance for which reranking picks another text than the first pass.

    Attributes:
        number: the index of its list.
        before, after: the indices of the hypotheses picked by the first pass and by reranking.
        verdict: "better", "worse" or "neither"; "" without a reference.
        size: the difference of the metric's errors, or, without a reference, of combined scores
            or expected losses.
    """

    number: int
    before: int
    after: int
    verdict: str
    size: float


def find_changes(decision: Decision, statistics: ListStatistics | None) -> list[Change]:
    """Finds the utterances whose pick changed, the largest change first.

    `statistics` is the metric on the same lists, or None if nothing is measured.
    """
    goodness = decision.goodness
    if statistics is not None:
        goodness = -statistics.errors
    before = select(decision.lists, FIRST_PASS)
    changes = []
    for number, nbest_list in enumerate(decision.lists.nbest):
        i, j = int(before[number]), int(decision.picks[number])
        if i != j and nbest_list.hypotheses[i].text != nbest_list.hypotheses[j].text:
            size = float(goodness[number, j] - goodness[number, i])
            verdict = "better" if size > 0 else "worse" if size < 0 else "neither"
            verdict = "" if statistics is None or nbest_list.reference is None else verdict
            changes.append(Change(number, i, j, verdict, abs(size)))
    return sorted(changes, key=lambda change: -change.size)


def describe_best(changes: Sequence[Change], decision: Decision) -> list[str]:
    """Lines that count the changes, and show the one that improved most; without any, no line.

    Beside each text stand its probability and its expected loss, which the decision follows; or,
    if the decision is `max`, its combined score.
    """
    if not changes:
        return []
    change = next((change for change in changes if change.verdict == "better"), changes[0])
    nbest_list = decision.lists.nbest[change.number]
    verdicts = Counter(change.verdict for change in changes if change.verdict)
    counts = ", ".join(f"{verdicts[name]:,} {name}" for name in VERDICTS)
    what = f", {change.verdict}" if change.verdict else ""
    of = f" of {len(changes):,} ({counts})" if verdicts else f" of {len(changes):,}"
    title = f"the largest change{of}: {shown(nbest_list.utterance_id)}{what}"
    if decision.expected_losses is None:
        headings = ["combined score"]
    else:
        headings = ["probability", "expected loss"]
    rows = [(" " * 10, headings, "")]
    for name, i in (("first pass", change.before), ("reranked", change.after)):
        text = " ".join(nbest_list.hypotheses[i].text.split())
        rows.append((name, _grounds(decision, change.number, i), text))
    if nbest_list.reference is not None:
        rows.append(("reference", [""] * len(headings), " ".join(nbest_list.reference.split())))
    widths = [len(heading) for heading in headings]
    return [title, *(_aligned(name, cells, widths, text) for name, cells, text in rows)]


def _grounds(decision: Decision, number: int, i: int) -> list[str]:
    """What a decision follows for hypothesis i of a list, as it is printed."""
    if decision.expected_losses is None:
        return [f"{decision.combined[number, i]:.2f}"]
    probability, loss = decision.posteriors[number, i], decision.expected_losses[number, i]
    return [f"{probability:.3f}", f"{loss:.2f}"]


def _aligned(name: str, cells: Sequence[str], widths: Sequence[int], text: str) -> str:
    numbers = "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
    return f"  {name:10}  {numbers}  {text}".rstrip()
