"""Times several cases in interleaved rounds: medians with quartiles, and plots."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tqdm import tqdm


@dataclass(frozen=True)
class Case:
    """A case to time.

    Attributes:
        name: a unique name.
        call: runs the case once, and returns when it is done.
        flops: floating-point operations of a call; 0 if unknown.
        rounds: the largest number of rounds; None for all rounds.
        repeat: calls per round, whose mean is recorded.
        warm_up: called once before the first round; None for `call`.
    """

    name: str
    call: Callable[[], object]
    flops: float = 0.0
    rounds: int | None = None
    repeat: int = 1
    warm_up: Callable[[], object] | None = None


@dataclass
class Times:
    """Seconds of a case, one number per round."""

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
        """Floating-point operations per second at the median time."""
        return self.flops / self.median


def interleave(cases, rounds):
    """Times every case once per round, after a warm-up: {name: `Times`}."""
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


def format_times(times):
    """One line per case: its fastest time, median and quartiles; GFLOP/s if they were counted."""
    columns = f"{'fastest, ms':>12}{'median, ms':>12}{'quartiles':>20}{'GFLOP/s':>10}"
    lines = [f"{'':32}{columns}"]
    for name, one in times.items():
        low, high = one.quartiles
        spread = f"{1e3 * low:.2f} - {1e3 * high:.2f}"
        rate = f"{one.rate / 1e9:.0f}" if one.flops else ""
        fastest, median = 1e3 * min(one.seconds), 1e3 * one.median
        lines.append(f"{name:32}{fastest:12.2f}{median:12.2f}{spread:>20}{rate:>10}")
    return "\n".join(lines)


def format_ratios(results):
    """One line per ratio; "-" if it was not measured."""
    return "\n".join(
        f"{key:40}{'-' if value is None else f'{value:.3f}':>8}" for key, value in results.items()
    )


def draw_by_words(axes, curves, ylabel, title=""):
    """Plots times against the words per sentence, with logarithmic axes.

    Args:
        axes: the `Axes` of matplotlib to draw on.
        curves: {label: {number of words: milliseconds}}, at most three curves.
        ylabel, title: labels of the plot.
    """
    lengths = sorted(set().union(*curves.values()))
    for (label, times), marker in zip(curves.items(), "os^", strict=False):
        axes.plot(list(times), list(times.values()), marker=marker, label=label)
    axes.set(title=title, xscale="log", yscale="log", xlabel="words", ylabel=ylabel)
    shown = [n for n in lengths if n != 100]  # its label would overlap that of 120
    axes.set_xticks(shown, [str(n) for n in shown])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
