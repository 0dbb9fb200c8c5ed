"""The optimizers, BERT's AdamW and Muon, and BERT's learning rate."""

import keras
from keras import ops

# Weights that are not pulled towards zero, by the end of their path (TensorFlow adds ":0").
NOT_DECAYED = r"\b(bias|beta|gamma)(:\d+)?$"


class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """From 0 up to `peak` over the warm-up, then in a straight line down to 0 at the last step.

    Args:
        peak: the highest rate.
        num_warmup_steps: steps until it is reached; 0 starts with it.
        num_train_steps: steps in all; larger than num_warmup_steps.
    """

    def __init__(self, peak, num_warmup_steps, num_train_steps):
        if not 0 <= num_warmup_steps < num_train_steps:
            raise ValueError(
                "num_warmup_steps must lie in [0, num_train_steps), "
                f"not {num_warmup_steps} of {num_train_steps}"
            )
        self.peak = peak
        self.num_warmup_steps = num_warmup_steps
        self.num_train_steps = num_train_steps

    def __call__(self, step):
        # The first step (step = 0) is the first of the warm-up, with a rate above 0.
        step = ops.cast(step, "float32")
        up = (step + 1.0) / max(self.num_warmup_steps, 1)
        down = (self.num_train_steps - step) / (self.num_train_steps - self.num_warmup_steps)
        return self.peak * ops.minimum(1.0, ops.minimum(up, down))

    def get_config(self):
        return {
            "peak": self.peak,
            "num_warmup_steps": self.num_warmup_steps,
            "num_train_steps": self.num_train_steps,
        }


class _TakesSums:
    """Under a strategy, takes gradients that are already summed over its replicas.

    Keras sums them after clipping, so that each replica's would be clipped by a norm of its own.
    """

    def _all_reduce_sum_gradients(self, grads_and_vars):
        return list(grads_and_vars)


class BertAdamW(_TakesSums, keras.optimizers.Optimizer):
    """Adam with decoupled weight decay as BERT's: no bias correction, epsilon outside the root.

    m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate (m / (sqrt(v) + eps) + decay w)

    Under a `tf.distribute.Strategy` it takes gradients that are summed over the replicas.

    Args:
        learning_rate: a float or a schedule.
        beta_1, beta_2, epsilon: as above.
        weight_decay: decay above; LayerNorm weights and biases have none.
        global_clipnorm: gradients are scaled down to this norm, all weights taken together.
        **kwargs: as `keras.optimizers.Optimizer` has them.
    """

    def __init__(
        self,
        learning_rate,
        beta_1=0.9,
        beta_2=0.999,
        epsilon=1e-6,
        weight_decay=0.01,
        global_clipnorm=1.0,
        name="bert_adamw",
        **kwargs,
    ):
        super().__init__(
            learning_rate=learning_rate,
            weight_decay=weight_decay,
            global_clipnorm=global_clipnorm,
            name=name,
            **kwargs,
        )
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.exclude_from_weight_decay(var_names=[NOT_DECAYED])

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self.first_moments, self.second_moments = self.add_optimizer_variables(
            variables, ["first_moment", "second_moment"]
        )

    def update_step(self, gradient, variable, learning_rate):
        rate = ops.cast(learning_rate, variable.dtype)
        gradient = ops.cast(gradient, variable.dtype)
        index = self._get_variable_index(variable)
        m, v = self.first_moments[index], self.second_moments[index]
        self.assign(m, self.beta_1 * m + (1 - self.beta_1) * gradient)
        self.assign(v, self.beta_2 * v + (1 - self.beta_2) * ops.square(gradient))
        self.assign_sub(variable, rate * m / (ops.sqrt(v) + self.epsilon))

    def get_config(self):
        return super().get_config() | {
            "beta_1": self.beta_1,
            "beta_2": self.beta_2,
            "epsilon": self.epsilon,
        }


class Muon(_TakesSums, keras.optimizers.Muon):
    """Muon for the kernels, Adam for the tables, biases and LayerNorms.

    Muon (Jordan et al., 2024; scaled to Adam's rates as in Liu et al., 2025, arXiv:2502.16982)
    moves a matrix by its momentum with all singular values brought to about 1, so that rare
    directions learn as fast as common ones. Keras's own, with products of a type that one chooses:
    its authors have bfloat16, which is faster than float32 on a CPU that has such products, and
    several times slower on one that has not (docs/training.md).

    Under a `tf.distribute.Strategy` it takes gradients that are summed over the replicas.

    Args:
        learning_rate: a float or a schedule, for both.
        beta_1, beta_2: Adam's.
        weight_decay, global_clipnorm: as `BertAdamW`.
        product_dtype: "float32" or "bfloat16", of the products that even out the singular values.
        **kwargs: as `keras.optimizers.Muon` has them.
    """

    def __init__(
        self,
        learning_rate,
        beta_1=0.9,
        beta_2=0.999,
        weight_decay=0.01,
        global_clipnorm=1.0,
        product_dtype="float32",
        name="muon",
        **kwargs,
    ):
        super().__init__(
            learning_rate,
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

    def zeropower_via_newtonschulz5(self, x, steps):
        """[R, C] float32 -> [R, C] float32: its singular values brought near 1."""
        wide = x.shape[0] <= x.shape[1]
        x = x / (ops.norm(x) + 1e-7)
        x = ops.cast(x if wide else ops.transpose(x), self.product_dtype)
        for _ in range(steps):
            gram = ops.matmul(x, ops.transpose(x))
            gram = self.muon_b * gram + self.muon_c * ops.matmul(gram, gram)
            x = self.muon_a * x + ops.matmul(gram, x)
        return ops.cast(x if wide else ops.transpose(x), "float32")

    def get_config(self):
        return super().get_config() | {"product_dtype": self.product_dtype}


OPTIMIZERS = {"adamw": BertAdamW, "muon": Muon}
