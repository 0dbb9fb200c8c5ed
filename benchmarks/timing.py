"""Times several things side by side: interleaved rounds, medians with quartiles, curves."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tqdm import tqdm


@dataclass(frozen=True)
class Case:
    """One thing to time.

    Attributes:
        name: unique.
        call: does it once, and returns when it is done.
        flops: floating-point operations of a call, or 0 where nobody asks.
        rounds: at most so many of the rounds; None, all.
        repeat: calls in a round; their mean counts.
        warm_up: called once before the first round; None, `call`.
    """

    name: str
    call: Callable[[], object]
    flops: float = 0.0
    rounds: int | None = None
    repeat: int = 1
    warm_up: Callable[[], object] | None = None


@dataclass
class Times:
    """Seconds of a case, one number a round."""

    flops: float
    seconds: list = field(default_factory=list)

    @property
    def median(self):
        return statistics.median(self.seconds)

    @property
    def quartiles(self):
        if len(self.seconds) == 1:
            return self.seconds * 2
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return [low, high]

    @property
    def rate(self):
        """Floating-point operations a second, at the median."""
        return self.flops / self.median


def interleave(cases, rounds):
    """Times every case once a round, after a call that does not count: {name: `Times`}."""
    for case in tqdm(cases, desc="warming up", leave=False):
        (case.warm_up or case.call)()
    times = {case.name: Times(case.flops) for case in cases}
    for number in tqdm(range(rounds), desc="rounds", leave=False):
        for case in cases:
            if case.rounds is not None and number >= case.rounds:
                continue
            start = time.perf_counter()
            for _ in range(case.repeat):
                case.call()
            times[case.name].seconds.append((time.perf_counter() - start) / case.repeat)
    return times


def draw_by_words(axes, curves, ylabel, title=""):
    """Times against the words in a sentence, both axes logarithmic, in matplotlib's `axes`.

    Args:
        axes: matplotlib's.
        curves: {label: {number of words: milliseconds}}, three of them.
        ylabel, title: as shown.
    """
    lengths = sorted(set().union(*curves.values()))
    for (label, times), marker in zip(curves.items(), "os^", strict=True):
        axes.plot(list(times), list(times.values()), marker=marker, label=label)
    axes.set(title=title, xscale="log", yscale="log", xlabel="words", ylabel=ylabel)
    shown = [n for n in lengths if n != 100]  # There is no room for it beside 120.
    axes.set_xticks(shown, [str(n) for n in shown])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
