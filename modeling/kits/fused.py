"""Functions that read their data once: elementwise ones by XLA, and the squared norm."""

from collections.abc import Callable
from typing import Any

from keras import config, ops


def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiles a function of tensors with XLA; elementwise operations become one loop.

    With another backend of Keras than TensorFlow, the function stays as it is.

    TensorFlow runs each elementwise operation on its own, and each one reads and writes whole
    tensors. In a training step they take longer than the matrix products
    (docs/experiments/performance.md). XLA's own matrix products are slow, so keep these out of the
    function. TensorFlow Serving accepts no XLA, so use the function in training only.

    XLA compiles once per shape. The result has no gradient: call it within `ops.custom_gradient`.
    A `tf.Variable` among the arguments can be assigned, and is then changed in place.
    """
    if config.backend() != "tensorflow":
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)


def sum_of_squares(x: Any) -> Any:
    """The squared norm of a tensor, or of TensorFlow's sparse gradient: [] float32."""
    if config.backend() != "tensorflow":
        return ops.sum(ops.square(x))
    import tensorflow as tf

    return 2.0 * tf.nn.l2_loss(getattr(x, "values", x))  # stores no squares
