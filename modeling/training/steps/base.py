"""The interface between the loop of a training and a backend of Keras.

A replica is a copy of the model on one device. A worker is a process with one or more replicas. The
chief is the first worker, the only one that writes. R replicas in all, L of them on this worker.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import keras

from tta.modeling.kits.types import Tensors
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.objectives.base import Objective
from tta.modeling.training.config import STRATEGIES

# (the batches of this worker's replicas, steps done, whether this worker was asked to stop) ->
# ({"loss": mean loss of a target, and the means of its parts}, number of targets, whether any
# worker was asked to stop), over all replicas. Numbers may still be being computed.
Update: TypeAlias = Callable[[list[Tensors], int, bool], tuple[dict[str, Any], Any, bool]]


class Steps:
    """Computes steps on one device; a backend is a subclass, which may know more devices.

    Attributes:
        strategies: the names of `tta.modeling.training.config.STRATEGIES` that it has.
        in_memory: whether data sets are read into memory, see `tta.data.records.arrays`.
        num_replicas: R.
        replicas: the indices of this worker's replicas among all R.
        is_chief: whether this process is the chief.
    """

    strategies: Sequence[str] = STRATEGIES
    in_memory = False
    num_replicas: int = 1
    replicas: Sequence[int] = (0,)
    is_chief: bool = True

    @classmethod
    def connect(cls, name: str, deterministic: bool) -> "Steps":
        """As `tta.modeling.training.steps.connect`, without what must be the same."""
        raise NotImplementedError

    @property
    def is_alone(self) -> bool:
        """Whether there is no other worker."""
        return len(self.replicas) == self.num_replicas

    def check_same(self, what: str, text: str) -> None:
        """Raises InputError if `text`, which errors call `what`, is not that of all workers."""

    def scope(self) -> AbstractContextManager[Any]:
        """The context in which the variables of a training are made and assigned."""
        return contextlib.nullcontext()

    def read(self, batches: Iterable[Tensors], split: str) -> Iterator[Tensors]:
        """Yields batches; a damaged shard becomes a `DamagedDataError` that names the split."""
        yield from batches

    def groups(self, batches: Any, skip: int) -> Iterator[list[Tensors]]:
        """Yields the batches of each step, R of them, after the first `skip` batches.

        An incomplete last group is left out.
        """
        raise NotImplementedError

    def compile(self, model: ConfiguredModel, function: Callable[..., Any], spec: Any) -> Any:
        """Compiles a function of a batch that reads the model's weights; `spec` as in `update`."""
        raise NotImplementedError

    def update(
        self,
        model: ConfiguredModel,
        optimizer: keras.optimizers.Optimizer,
        objective: Objective,
        spec: Any,
    ) -> Update:
        """Compiles a step of training, which changes the variables of all three.

        `spec` is the `element_spec` of a `tf.data.Dataset` of batches; None for those in memory.
        """
        raise NotImplementedError

    def share(self, position: dict[str, int], variables: Sequence[keras.Variable]) -> None:
        """Gives all workers the chief's position and values; InputError if a worker is lost."""
