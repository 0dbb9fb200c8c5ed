"""What computes the steps of a training: one file per backend of Keras.

Keras chooses its backend when it is imported, by the environment variable KERAS_BACKEND.
"""

from collections.abc import Mapping

import keras

from tta.errors import InputError
from tta.modeling.training.steps.base import Steps
from tta.registry import Registry

BACKENDS = Registry(
    "KERAS_BACKEND",
    {
        "tensorflow": "tta.modeling.training.steps.tensorflow:TensorFlowSteps",
        "jax": "tta.modeling.training.steps.jax:JaxSteps",
    },
)


def backend(strategy: str = "one_device") -> type[Steps]:
    """The `Steps` of Keras's backend; InputError if there are none, or not with this strategy."""
    steps = BACKENDS.load(keras.config.backend())
    if strategy not in steps.strategies:
        raise InputError(f"distribution_strategy {strategy} needs KERAS_BACKEND=tensorflow")
    return steps


def connect(
    name: str = "one_device", deterministic: bool = False, same: Mapping[str, str] | None = None
) -> Steps:
    """Makes the `Steps` of a strategy. Call it before any tensor is created.

    Args:
        name: one of `tta.modeling.training.config.STRATEGIES`.
        deterministic: operations give bit-equal results, in this whole process.
        same: what must be the same on all workers, {its name in errors: its value as text}.

    Raises:
        InputError: the backend has no such strategy; the port of this worker is in use, another
            worker is lost, or has other values.
    """
    steps = backend(name).connect(name, deterministic)
    for what, text in (same or {}).items():
        steps.check_same(what, text)
    return steps
