"""Detects changes of a model's weights, in less than a millisecond."""

from typing import Any

import numpy as np
import tensorflow as tf


class WeightSnapshot:
    """The weights of a model at one moment.

    A tensor never changes its value. TensorFlow lets the tensor that is read from a variable share
    the variable's memory, and moves the variable to other memory when it is written to while such
    a tensor exists. The snapshot holds these tensors. Therefore a variable whose value is still at
    the address of its snapshot has not been written to, by whatever means: `assign`, a sparse
    update, an optimizer inside a `tf.function`. Where addresses differ, bytes are compared.

    Addresses can only be read on the CPU, and not for bfloat16. In all other cases, all bytes are
    compared, on the device.

    Args:
        model: a Keras model.
    """

    def __init__(self, model: Any):
        variables = [weight.value for weight in model.weights]

        def read():
            return [variable.read_value() for variable in variables]

        def differ():
            now = [tf.bitcast(value, tf.uint8) for value in variables]
            before = [tf.bitcast(value, tf.uint8) for value in values]
            return tf.reduce_any([tf.reduce_any(x != y) for x, y in zip(now, before, strict=True)])

        values = read()
        self._has_addresses = all("CPU" in v.device and v.dtype != tf.bfloat16 for v in values)
        self._bytes = list(map(_bytes_of, values)) if self._has_addresses else []
        look = read if self._has_addresses else differ
        self._look = tf.function(look, autograph=False).get_concrete_function()

    def has_changed(self) -> bool:
        """Whether a weight now differs from the snapshot."""
        if not self._has_addresses:
            return bool(self._look())
        found = list(map(_bytes_of, self._look()))
        for before, now in zip(self._bytes, found, strict=True):
            # The second comparison is for a weight that was assigned an equal value.
            if not np.may_share_memory(before, now) and not np.array_equal(before, now):
                return True
        self._bytes = found
        return False


def _bytes_of(tensor):
    """The memory of a tensor, which it keeps alive: [size] uint8, not a copy."""
    return np.frombuffer(tensor, np.uint8)
