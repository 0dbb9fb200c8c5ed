"""What objectives share: a batch becomes a task, a task a loss, held-out batches an evaluation.

B batch, T tokens, D hidden size, N sentences.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import keras
import numpy as np

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.training import LossSettings
from tta.modeling.kits.types import Tensor, Tensors
from tta.modeling.models.base import ConfiguredModel

# The tensors of a batch by name; (sums, counts) by name, of a batch and of all batches.
Batch: TypeAlias = Tensors
Sums: TypeAlias = dict[str, tuple[Tensor, Tensor]]
Measured: TypeAlias = dict[str, tuple[np.ndarray, np.ndarray]]


class Vocabulary(Protocol):
    """What objectives need of a vocabulary."""

    @property
    def mask_id(self) -> int: ...

    def __len__(self) -> int: ...


class Task(NamedTuple):
    """What a model is given in a training step, and what it should predict.

    Attributes:
        inputs: the model's inputs, a dict of tensors.
        targets: token ids, vectors or labels, in the layout that the model's head takes.
        weights: float32, one per target; 0 leaves it out. The loss is a mean by these weights.
        auxiliary: factor of the losses besides the head's: a number or [] float32.
    """

    inputs: Batch
    targets: Tensor
    weights: Tensor
    auxiliary: Tensor | float = 1.0


class Loss(NamedTuple):
    """The loss of a task: `total`, [] float32, is minimized; `parts`, {name: []}, are logged."""

    total: Tensor
    parts: Tensors


class Objective:
    """The interface of every objective; a new one is a subclass.

    An objective keeps no step counter: `task` receives the step, which survives a restart.

    Args:
        vocabulary: has `mask_id` and a length.
        config: an objective reads its own fields. None uses defaults.

    Attributes:
        model_types: families that it can train, besides those whose `ModelType` names it.
        seeds: states of random generators, each [2] int64. Replicas draw different numbers.
        variables: other state. Checkpoints hold both.
    """

    model_types: tuple[str, ...] = ()
    seeds: Sequence[keras.Variable] = ()
    variables: Sequence[keras.Variable] = ()

    def __init__(self, vocabulary: Vocabulary | None = None, config: LossSettings | None = None):
        self.vocabulary = vocabulary
        self.config = config

    def setting(self, name: str) -> float:
        """A field of the config; 0.0 if it is not set."""
        return getattr(self.config, name, None) or 0.0

    def check_model(self, config: ModelConfig) -> None:
        """Raises InputError if the objective cannot train a model of this config."""

    def at_step(self, step: Tensor) -> dict[str, Any]:
        """What the objective changes in the course of a run, by name, after `step` steps.

        It is shown with the losses and the held-out results: {name: a number or [] float32}.
        """
        return {}

    def task(self, batch: Batch, step: Tensor | int) -> Task:
        """Turns a training batch into a task; `step`, [] int64, is the number of steps done.

        The batch is {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} and the further
        features that the data set declares.
        """
        raise NotImplementedError

    def loss(self, model: ConfiguredModel, task: Task) -> Loss:
        """The training loss of a task, as a sum.

        The weights of the task are already divided by their sum over all replicas, so the losses
        of the replicas add up to a mean per target.
        """
        raise NotImplementedError

    def evaluate(self, model: ConfiguredModel, batch: Batch) -> Sums:
        """Measures a held-out batch without dropout: {name: (sums [B], counts [B])} float32.

        There is one entry per sentence, which depends on no other sentence: a batch may have any
        size, and sentences without tokens (see `Evaluator`). The counts of the first name are
        numbers of tokens. A value that is a vector has (sums [B, m], counts [B]).
        """
        raise NotImplementedError

    def summarize(self, measured: Measured) -> dict[str, float]:
        """Summarizes what `evaluate` measured of all sentences, (sums [N], counts [N]) per name.

        By default, each value is the sum divided by the count. Vectors come added up over
        sentences, (sums [..., m], counts [...]).
        """
        return {name: float(s.sum() / c.sum()) for name, (s, c) in measured.items()}

    def describe(self, values: dict[str, float]) -> str:
        """The values of `summarize` as text for a reader."""
        return ", ".join(f"{name} {value:.4f}" for name, value in values.items())
