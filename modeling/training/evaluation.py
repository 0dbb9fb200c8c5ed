"""Held-out evaluation: what an objective measures, summed over sentences."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.data.records.features import PADDING_MASK
from tta.errors import InputError
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.objectives.base import Batch, Objective
from tta.modeling.training.statistics import common_component, common_sums
from tta.modeling.training.steps import connect
from tta.modeling.training.steps.base import Steps

# The share of the normalized values of the last LayerNorm that is common to all tokens (see
# `statistics.common_component`). Near 1, the scores of the model depend on differences that
# bfloat16 and int8 round away.
COMMON_COMPONENT = "common_component"

# A run whose outputs share more has failed: tokens then differ by less than 1 % of an output's
# norm, and rounding to bfloat16 changes values by up to 0.2 %. `similarity-small` is at 0.9995.
MOST_COMMON = 0.9999
# A language model that shares more has rarely learned its text.
MUCH_COMMON = 0.999


@dataclass(frozen=True)
class Evaluation:
    """Held-out results: `values` as the objective summarizes them, and as `text` with units.

    A language model has "nll", the mean negative log-likelihood per token (natural log), and
    "pseudo_perplexity_mean" and "..._median" over sentences. A model whose encoder ends in a
    LayerNorm has "common_component", see `COMMON_COMPONENT`; it is not in the text.
    """

    values: dict[str, float]
    num_tokens: int
    num_sentences: int
    text: str

    def __str__(self):
        return f"{self.text} over {self.num_sentences:,} sentences, {self.num_tokens:,} tokens"


class Evaluator:
    """Measures a model by an objective, compiled once; `spec` is as in `Steps.update`."""

    def __init__(
        self, model: ConfiguredModel, objective: Objective, spec: Any, steps: Steps | None = None
    ):
        self._objective = objective
        self._steps = steps or connect()
        self._measure = self._steps.compile(model, lambda b: objective.evaluate(model, b), spec)
        self._sum_outputs = self._steps.compile(model, lambda b: common_sums(model, b), spec)

    def __call__(self, batches: Iterable[Batch], max_batches: int | None = None) -> Evaluation:
        """Evaluates the first `max_batches` batches; None is all of them.

        Sentences without tokens, which fill the batches of `ArrayBatches`, do not count. Raises
        InputError if there is no token to measure, or a shard is damaged.
        """
        columns: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        common = []
        for batch in itertools.islice(self._steps.read(batches, "held-out"), max_batches):
            if (sums := self._sum_outputs(batch)) is not None:
                common.append([np.asarray(value, np.float64) for value in sums])
            is_sentence = np.asarray(batch[PADDING_MASK]).any(axis=1)
            for name, pair in self._measure(batch).items():
                sums, counts = (np.asarray(value, np.float64)[is_sentence] for value in pair)
                if sums.ndim > 1:  # vectors are added up at once, because they are large
                    sums, counts = sums.sum(axis=0, keepdims=True), counts.sum(keepdims=True)
                columns.setdefault(name, []).append((sums, counts))
        measured = {}
        for name, pairs in columns.items():
            sums, counts = (np.concatenate(column) for column in zip(*pairs, strict=True))
            measured[name] = sums[counts > 0], counts[counts > 0]
        _, counts = next(iter(measured.values()), (None, np.zeros(0)))
        if not counts.size:
            raise InputError("the held-out set has no token to score")
        values = self._objective.summarize(measured)
        text = self._objective.describe(values)
        if common:
            totals = (np.sum(column, axis=0) for column in zip(*common, strict=True))
            values = values | {COMMON_COMPONENT: common_component(*totals)}
        return Evaluation(values, int(counts.sum()), counts.size, text)
