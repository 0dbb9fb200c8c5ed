"""The interface of metrics of N-best lists, and the metrics by name.

A new metric is one file with a class that has the members of `Metric`, and one line in `METRICS`.
This module is light: it imports neither NumPy nor a metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from tta.errors import InputError
from tta.registry import Registry

if TYPE_CHECKING:
    import numpy as np

METRICS = Registry(
    "metric",
    {
        "wer": "tta.scoring.metrics.error_rate:WordErrorRate",
        "cer": "tta.scoring.metrics.error_rate:CharacterErrorRate",
        "bleu": "tta.scoring.metrics.bleu:Bleu",
        "chrf": "tta.scoring.metrics.chrf_ter:ChrF",
        "ter": "tta.scoring.metrics.chrf_ter:Ter",
    },
)

# The tokenizers of sacrebleu that need no further package.
BLEU_TOKENIZERS = ("13a", "none", "intl", "char", "zh")


class CorpusMetric(Protocol):
    """A metric whose value over a corpus follows from the sum of S statistics of its items."""

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """The metric over a corpus: [..., S] summed statistics -> [...] float64."""
        ...


class Metric(CorpusMetric, Protocol):
    """A metric of N-best lists: a `CorpusMetric` of any picks.

    The class of a metric of speech is called with one argument, a key of `METRIC_NORMALIZATIONS`;
    `kind("basic")` must work. Others are called without arguments, but for BLEU. `corpus` raises
    InputError where the metric is not defined, as without a word in any reference.

    Attributes:
        name: the heading of its column in tables.
        higher_is_better: whether a larger value is better.
        loss_name: names what `losses` computes.
        signature: names the metric and everything that its value depends on.
        normalize: turns a text into what the metric compares.
        of_speech: whether it counts errors of recognised speech. Then features of the whole list
            (`list_features`) and phrases improve it, words that are none, such as `<eps>`, do not
            count, and `normalize` is a choice. If not, it compares translations.
        by_character: whether it counts characters, not words.
    """

    name: str
    higher_is_better: bool
    loss_name: str
    signature: str
    normalize: Callable[[str], str]
    of_speech: bool
    by_character: bool

    def statistics(self, hypotheses: Sequence[str], reference: str, *more: str) -> np.ndarray:
        """Compares n hypotheses with their reference, or with several: [n, S] numbers.

        Raises InputError if the metric takes one only.
        """
        ...

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """How wrong single hypotheses are: [..., S] -> [...] float64; one is about a wrong word."""
        ...

    def losses(self, texts: Sequence[str]) -> np.ndarray:
        """The loss of choosing text i where text j is correct: n texts -> [n, n] float32.

        Equal texts have the loss 0.
        """
        ...

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """Numbers to print beside the value: [S] summed statistics -> {heading: number}."""
        ...


def load_metric(name: str, bleu_tokenize: str = "13a", normalize: str = "none") -> Metric:
    """Creates the metric of that name, a key of `METRICS`.

    BLEU uses `bleu_tokenize`, one of `BLEU_TOKENIZERS`. Metrics of speech use `normalize`, a key of
    `tta.scoring.metrics.normalization.METRIC_NORMALIZATIONS`. Raises InputError if `normalize` is
    not "none" for another metric.
    """
    kind = METRICS.load(name)
    if kind.of_speech:
        return kind(normalize)
    if normalize != "none":
        raise InputError(
            f"normalize={normalize} is for metrics of speech, such as wer and cer, not {name}"
        )
    return kind(bleu_tokenize) if name == "bleu" else kind()


def with_basic(metric: Any) -> Metric:
    """The same metric of speech, which reads texts without case and punctuation."""
    return type(metric)("basic")
