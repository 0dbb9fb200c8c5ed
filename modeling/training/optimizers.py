"""The optimizers, BERT's AdamW and Muon, and BERT's schedule of the learning rate."""

import dataclasses
from dataclasses import dataclass
from typing import Any, NamedTuple

import keras
from keras import ops

from tta.modeling.kits.fused import fused, sum_of_squares
from tta.modeling.kits.types import Tensor
from tta.modeling.training.config import OPTIMIZERS, OptimizerSettings

# Muon's polynomials: coefficients (a, b, c) of a x + b x^3 + c x^5, one after the other. Each is
# nearest to 1, by the largest distance, on the interval onto which those before it map [0.01, 1]
# (Amsel et al., 2025, "The Polar Express", arXiv:2505.16932). The first three take x / 1.01, as
# there: rounding to bfloat16 must not leave the interval. Together they map [0.01, 1] into
# [0.98, 1.02]. Keras's five equal polynomials map it into [0.68, 1.14].
ORTHOGONALIZING = (
    (8.013256, -22.925896, 16.599532),
    (3.600578, -2.641875, 0.510505),
    (2.634949, -1.919008, 0.430650),
    (1.956171, -1.337507, 0.383853),
)

# Weights without weight decay, by the end of their path (TensorFlow adds ":0").
NOT_DECAYED = r"\b(bias|beta|gamma)(:\d+)?$"


@dataclass(eq=False)
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Rises from 0 to `peak` during the warm-up, then falls linearly to 0 at the last step.

    With `num_decay_steps`, the rate stays at the peak until that many steps are left.

    Args:
        peak: the highest rate.
        num_warmup_steps: steps until the peak; with 0, training starts at the peak.
        num_train_steps: total number of steps; larger than num_warmup_steps.
        num_decay_steps: steps over which the rate falls; 0 keeps it at the peak to the end. None is
            all steps after the warm-up.
    """

    peak: float
    num_warmup_steps: int
    num_train_steps: int
    num_decay_steps: int | None = None

    def __post_init__(self):
        if not 0 <= self.num_warmup_steps < self.num_train_steps:
            raise ValueError(
                "num_warmup_steps must lie in [0, num_train_steps), "
                f"not {self.num_warmup_steps} of {self.num_train_steps}"
            )

    def __call__(self, step: Tensor) -> Tensor:
        # Step 0 is the first step of the warm-up; its rate is above 0.
        step = ops.cast(step, "float32")
        up = (step + 1.0) / max(self.num_warmup_steps, 1)
        if self.num_decay_steps == 0:
            return self.peak * ops.minimum(1.0, up)
        decay = self.num_decay_steps or self.num_train_steps - self.num_warmup_steps
        down = (self.num_train_steps - step) / decay
        return self.peak * ops.minimum(1.0, ops.minimum(up, down))

    def get_config(self):
        return dataclasses.asdict(self)


@fused
def _adam(weight, mean, square, gradient, scale, rate, decay, beta_1, beta_2, epsilon):
    """Updates three variables by Adam; `decay` is the part of the weight that is lost."""
    gradient = scale * gradient
    new_mean = mean + (1.0 - beta_1) * (gradient - mean)
    new_square = square + (1.0 - beta_2) * (ops.square(gradient) - square)
    weight.assign(weight - decay * weight - rate * new_mean / (ops.sqrt(new_square) + epsilon))
    mean.assign(new_mean)
    square.assign(new_square)


@fused
def _momentum(momentum, gradient, scale, rate, nesterov):
    """Updates the momentum; returns it, or Nesterov's: the next one, with the same gradient."""
    gradient = scale * gradient
    new_momentum = rate * momentum + gradient
    momentum.assign(new_momentum)
    return gradient + rate * new_momentum if nesterov else new_momentum


@fused
def _quadratic(x, square, a, b, c):
    """a I + b X + c X^2 for a matrix X."""
    value = b * ops.cast(x, "float32") + c * ops.cast(square, "float32")
    return ops.cast(value + a * ops.eye(x.shape[0]), x.dtype)


@fused
def _move(weight, update, rate, decay):
    weight.assign(weight - decay * weight - rate * update)


class _Moments(NamedTuple):
    """What Adam keeps of a weight's gradients: variables of the weight's shape."""

    mean: keras.Variable
    square: keras.Variable


class _OnePass(keras.optimizers.Optimizer):
    """Updates a weight in place and in one pass, clipping and decay included.

    Subclasses define `update_step`, whose gradient is a pair: the gradient, and its factor. Under a
    `tf.distribute.Strategy`, gradients must already be summed over the replicas. Keras would sum
    them after clipping, and so clip the gradients of each replica separately.
    """

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return list(grads_and_vars)

    def _clip_gradients(self, grads):
        """Pairs each gradient with its factor. TensorFlow's of a table has a row per lookup."""
        if not self.global_clipnorm:
            return [(gradient, ops.ones(())) for gradient in super()._clip_gradients(grads)]
        norm = ops.sqrt(sum(map(sum_of_squares, grads)))
        scale = self.global_clipnorm / ops.maximum(norm, self.global_clipnorm)
        return [(gradient, scale) for gradient in grads]

    def _apply_weight_decay(self, variables):
        """Nothing, as `_decay` is part of the update."""

    def _decay(self, variable, rate, weight_decay):
        """The part of a weight that an update removes."""
        return rate * (weight_decay or 0.0) if self._use_weight_decay(variable) else 0.0 * rate

    def _update_by_adam(self, weight, moments: _Moments, gradient, *, rate, decay, beta_1, beta_2):
        mean = self._copy_beside(weight, moments.mean)
        square = self._copy_beside(weight, moments.square)
        gradient, scale = map(ops.copy, _dense(gradient, weight))
        _adam(
            weight,
            mean,
            square,
            gradient,
            scale=scale,
            rate=ops.copy(rate),
            decay=ops.copy(decay),
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=self.epsilon,
        )

    def _copy_beside(self, weight, variable):
        """Under TensorFlow, a variable's copy on the replica whose copy of a weight is updated."""
        if keras.config.backend() != "tensorflow":
            return variable
        copies = self._distribution_strategy.experimental_local_results(variable.value)
        return next(copy for copy in copies if copy.device == weight.device)


def _dense(gradient, weight):
    """A pair of `_OnePass`; the rows of TensorFlow's lookups are added up in a table."""
    gradient, scale = gradient
    if hasattr(gradient, "indices"):
        gradient = ops.segment_sum(gradient.values, gradient.indices, weight.shape[0])
    return gradient, scale


class BertAdamW(_OnePass, keras.optimizers.Adam):
    """Adam with decoupled weight decay as in BERT: no bias correction, epsilon outside the root.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate (m / (sqrt(v) + eps) + decay w)

    Under a `tf.distribute.Strategy`, gradients must be summed over the replicas.

    Args:
        learning_rate: a float or a schedule.
        beta_1, beta_2, epsilon: b1, b2 and eps above.
        weight_decay: decay above; not applied to LayerNorm weights and biases.
        global_clipnorm: largest norm of the gradients of all weights together. Under TensorFlow,
            each lookup of a row counts by itself in a table that is read by lookups alone, as in
            BERT.
        product_dtype: ignored, as this optimizer multiplies no matrices; see `Muon`.
        **kwargs: as in `keras.optimizers.Adam`.
    """

    def __init__(
        self,
        learning_rate: float | WarmupLinearDecay,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        *,
        epsilon: float = 1e-6,
        weight_decay: float = 0.01,
        global_clipnorm: float | None = 1.0,
        product_dtype: str = "float32",
        name: str = "bert_adamw",
        **kwargs: Any,
    ):
        rate: Any = learning_rate
        super().__init__(
            rate,
            beta_1,
            beta_2,
            epsilon,
            weight_decay=weight_decay,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.exclude_from_weight_decay(var_names=[NOT_DECAYED])

    def update_step(
        self, gradient: Tensor, variable: keras.Variable, learning_rate: Tensor
    ) -> None:
        index = self._get_variable_index(variable)
        moments = _Moments(self._momentums[index], self._velocities[index])
        self._update_by_adam(
            variable,
            moments,
            gradient,
            rate=learning_rate,
            decay=self._decay(variable, learning_rate, self.weight_decay),
            beta_1=self.beta_1,
            beta_2=self.beta_2,
        )


class Muon(_OnePass, keras.optimizers.Muon):
    """Muon for the kernels, Adam for the tables, biases and LayerNorms.

    Muon (Jordan et al., 2024; scaled to Adam's rates as in Liu et al., 2025, arXiv:2502.16982)
    updates a matrix by its momentum, whose singular values are all brought to about 1. So rare
    directions learn as fast as common ones. This is the Muon of Keras with better polynomials, of
    which four are enough, and a choice of the type of its products. Muon's authors use bfloat16: it
    is faster than float32 on a CPU that supports it, and several times slower on other CPUs
    (docs/experiments/training.md). Gradients as in `BertAdamW`.

    Args:
        learning_rate: a float or a schedule, used by Muon and Adam.
        beta_1, beta_2: Adam's.
        weight_decay, global_clipnorm: as in `BertAdamW`.
        product_dtype: "float32" or "bfloat16", the type of Muon's matrix products.
        **kwargs: as in `keras.optimizers.Muon`; `ns_steps` and the coefficients have no effect.
    """

    def __init__(
        self,
        learning_rate: float | WarmupLinearDecay,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        *,
        weight_decay: float = 0.01,
        global_clipnorm: float | None = 1.0,
        product_dtype: str = "float32",
        name: str = "muon",
        **kwargs: Any,
    ):
        rate: Any = learning_rate
        super().__init__(
            rate,
            weight_decay=weight_decay,
            global_clipnorm=global_clipnorm,
            name=name,
            **{
                "adam_beta_1": beta_1,
                "adam_beta_2": beta_2,
                "adam_weight_decay": weight_decay,
                "exclude_layers": [r"_table\b"],
            }
            | kwargs,
        )
        self.product_dtype = product_dtype
        self.exclude_from_weight_decay(var_names=[NOT_DECAYED])

    def _adamw_update_step(self, gradient, variable, learning_rate, m, v):
        step = ops.cast(self.iterations, "float32") + 1.0
        rate = learning_rate * ops.sqrt(1.0 - self.adam_beta_2**step)
        rate = rate / (1.0 - self.adam_beta_1**step)
        self._update_by_adam(
            variable,
            _Moments(m, v),
            gradient,
            rate=rate,
            decay=self._decay(variable, learning_rate, self.adam_weight_decay),
            beta_1=self.adam_beta_1,
            beta_2=self.adam_beta_2,
        )

    def _muon_update_step(self, gradient, variable, lr, m):
        momentum = self._copy_beside(variable, m)
        direction = _momentum(momentum, *_dense(gradient, variable), self.momentum, self.nesterov)
        update = self._orthogonalize(direction)
        rate = lr if self.rms_rate is None else lr * self.rms_rate * max(variable.shape) ** 0.5
        decay = self._decay(variable, lr, self.weight_decay)
        _move(variable, ops.copy(update), rate=ops.copy(rate), decay=ops.copy(decay))

    def _orthogonalize(self, x):
        """[R, C] float32 -> [R, C] float32 with all but small singular values near 1."""
        wide = x.shape[0] <= x.shape[1]
        x = x / (ops.sqrt(sum_of_squares(x)) + 1e-7)
        x = ops.cast(x if wide else ops.transpose(x), self.product_dtype)
        # The polynomials of a wide matrix are multiplied in pairs, which are small products. More
        # than two would amplify what bfloat16 rounds in the Gram matrix.
        together = 2 if x.shape[0] < x.shape[1] else 1
        for start in range(0, len(ORTHOGONALIZING), together):
            gram, product = ops.matmul(x, ops.transpose(x)), None
            for coefficients in ORTHOGONALIZING[start : start + together]:
                factor = _quadratic(gram, ops.matmul(gram, gram), *coefficients)
                product = factor if product is None else ops.matmul(factor, product)
                gram = ops.matmul(ops.matmul(factor, gram), factor)  # of the next X
            x = ops.matmul(product, x)
        return ops.cast(x if wide else ops.transpose(x), "float32")

    def get_config(self):
        return super().get_config() | {"product_dtype": self.product_dtype}


def make_optimizer(settings: OptimizerSettings, product_dtype: str) -> keras.optimizers.Optimizer:
    """The optimizer of a run; `product_dtype` is the type of matrix products."""
    schedule = WarmupLinearDecay(
        settings.learning_rate,
        settings.num_warmup_steps,
        settings.num_train_steps,
        settings.num_decay_steps,
    )
    return OPTIMIZERS.load(settings.optimizer)(
        schedule,
        settings.adam_beta_1,
        settings.adam_beta_2,
        weight_decay=settings.weight_decay,
        global_clipnorm=settings.clip_norm,
        product_dtype=product_dtype,
    )
