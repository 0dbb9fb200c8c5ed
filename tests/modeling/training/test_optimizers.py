"""BERT's AdamW, Muon and BERT's learning rate equal their equations."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import batch, randomize, tiny_config, tiny_model
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.training.config import OPTIMIZERS
from tta.modeling.training.optimizers import BertAdamW, Muon, WarmupLinearDecay

pytestmark = pytest.mark.tensorflow

# BERT's settings, and a rate that suits weights and gradients of usual size.
RATE, BETA_1, BETA_2, EPSILON, DECAY = 0.01, 0.9, 0.999, 1e-6, 0.1


class NumpyAdamW:
    """One weight's updates, in float64: no bias correction, epsilon outside the root."""

    def __init__(self, value, decay):
        self.value, self.decay = value.astype(np.float64), decay
        self.m, self.v = np.zeros_like(self.value), np.zeros_like(self.value)

    def update(self, gradient, rate):
        self.m = BETA_1 * self.m + (1 - BETA_1) * gradient
        self.v = BETA_2 * self.v + (1 - BETA_2) * gradient**2
        step = self.m / (np.sqrt(self.v) + EPSILON) + self.decay * self.value
        self.value = self.value - rate * step


def run(weights, gradients, schedule=None, clip=None):
    """Compares several steps of the optimizer with NumPy; `weights` are Keras variables by name."""
    optimizer = BertAdamW(
        RATE if schedule is None else schedule, weight_decay=DECAY, global_clipnorm=clip
    )
    twins = {
        name: NumpyAdamW(np.asarray(v), 0.0 if name.endswith(("bias", "gamma", "beta")) else DECAY)
        for name, v in weights.items()
    }
    for step, one in enumerate(gradients):
        optimizer.apply_gradients([(tf.constant(one[n], tf.float32), weights[n]) for n in weights])
        norm = np.sqrt(sum((g**2).sum() for g in one.values()))
        scale = 1.0 if clip is None else min(1.0, clip / norm)
        rate = RATE if schedule is None else float(schedule(step))
        for name, twin in twins.items():
            twin.update(scale * one[name], rate)
    for name, twin in twins.items():
        np.testing.assert_allclose(
            np.asarray(weights[name]), twin.value, atol=2e-6, rtol=2e-5, err_msg=name
        )
    return optimizer


def random_gradients(weights, steps, scale):
    rng = np.random.default_rng(1)
    return [
        {n: rng.normal(0.0, scale, v.shape).astype(np.float32) for n, v in weights.items()}
        for _ in range(steps)
    ]


# 1e-6 is the size of epsilon: there it matters whether epsilon is inside the root.
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6])
def test_updates_equal_the_equations(scale):
    weights = tiny_model().named_weights()
    run(weights, random_gradients(weights, 5, scale))


def test_clipping_takes_all_weights_together():
    weights = tiny_model().named_weights()
    gradients = random_gradients(weights, 3, 1.0)
    gradients[1] = {n: 1e-4 * g for n, g in gradients[1].items()}  # too small to be clipped
    run(weights, gradients, clip=1.0)


def test_the_rows_of_a_table_s_lookups_are_added_up_after_the_norm():
    """As in BERT, each lookup counts for the norm by itself."""
    start = np.arange(10.0, dtype=np.float32).reshape(5, 2)
    table, twin = keras.Variable(start, name="token_table"), NumpyAdamW(start, DECAY)
    optimizer = BertAdamW(RATE, weight_decay=DECAY, global_clipnorm=1.0)
    rows, places = np.array([[3.0, 0.0], [4.0, 0.0], [0.0, 12.0]], np.float32), [1, 1, 4]
    lookups = tf.IndexedSlices(tf.constant(rows), tf.constant(places), tf.constant([5, 2]))
    for divisor in (13.0, 1.0):  # the norm of all three rows; a gradient that is not clipped
        optimizer.apply_gradients([(lookups, table)])
        gradient = np.zeros_like(start)
        np.add.at(gradient, places, rows / divisor)
        twin.update(gradient, RATE)
        optimizer.global_clipnorm = None
    np.testing.assert_allclose(np.asarray(table), twin.value, atol=2e-6, rtol=2e-5)


def test_the_schedule_is_read_at_every_step():
    weights = tiny_model().named_weights()
    run(weights, random_gradients(weights, 6, 1.0), WarmupLinearDecay(RATE, 3, 7))


def test_only_biases_and_layer_norms_are_not_decayed():
    model = tiny_model(num_hidden_layers=3)
    weights = model.named_weights()
    randomize(weights, seed=5)
    before = {name: np.asarray(v).copy() for name, v in weights.items()}
    optimizer = BertAdamW(0.1, weight_decay=0.5)
    optimizer.apply_gradients([(tf.zeros(v.shape), v) for v in weights.values()])
    spared = {name for name in weights if np.array_equal(np.asarray(weights[name]), before[name])}
    assert spared == {n for n in weights if n.split("/")[-1] in ("bias", "gamma", "beta")}
    assert len(spared) == 2 + 3 * (6 + 4) + 1 + 1 + 2
    for name in set(weights) - spared:
        np.testing.assert_allclose(np.asarray(weights[name]), 0.95 * before[name], rtol=1e-5)


def train(model, optimizer, inputs, num_steps):
    """The losses of some steps of language autoencoding."""
    targets, weights = inputs["input_ids"], inputs["padding_mask"].astype(np.float32)
    variables = model.trainable_variables
    optimizer.build(variables)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            hidden_states = model.encode(inputs, training=True)["hidden_states"]
            loss = model.loss_of(hidden_states, targets, weights)
        gradients = tape.gradient(loss, [v.value for v in variables])
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        return loss

    return [float(step()) for _ in range(num_steps)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_it_lowers_a_model_s_loss(name):
    schedule = WarmupLinearDecay(0.02, 3, 60)
    # All optimizers accept these arguments.
    optimizer = OPTIMIZERS.load(name)(
        schedule, 0.9, 0.999, weight_decay=0.0, global_clipnorm=1.0, product_dtype="float32"
    )
    losses = train(tiny_model(), optimizer, batch([7, 5, 3]), 60)
    assert losses[-1] < 0.2 * losses[0]


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_a_log_normalizer_weight_keeps_the_log_normalizer_at_zero(weight):
    model = LanguageModel(tiny_config(), head_options={"log_normalizer_weight": weight})
    randomize(model.named_weights())
    inputs = batch([7, 5, 3])
    train(model, BertAdamW(WarmupLinearDecay(0.02, 3, 150), weight_decay=0.0), inputs, 150)
    real, outputs = inputs["padding_mask"], model(inputs)
    logits = np.asarray(outputs["logits"], np.float64)
    log_normalizers = np.log(np.exp(logits).sum(axis=-1))[real]
    assert (np.abs(log_normalizers).max() < 0.3) == bool(weight), log_normalizers
    if weight:
        learned, exact = (
            np.array(
                model.log_probabilities(
                    outputs["hidden_states"], inputs["input_ids"], normalizer=normalizer
                )
            )
            for normalizer in ("learned", "exact")
        )
        np.testing.assert_allclose(learned[real], exact[real] + log_normalizers, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (5, 5)])
@pytest.mark.parametrize(
    ("product_dtype", "error", "nesterov"), [("float32", 1e-5, True), ("bfloat16", 0.05, False)]
)
def test_muon_moves_a_kernel_by_its_momentum_with_singular_values_near_one(
    shape, product_dtype, error, nesterov
):
    rng = np.random.default_rng(2)
    value = rng.normal(size=shape)
    weight = keras.Variable(value.astype(np.float32), name="kernel")
    optimizer = Muon(
        RATE,
        weight_decay=DECAY,
        global_clipnorm=None,
        product_dtype=product_dtype,
        nesterov=nesterov,
    )
    momentum = np.zeros(shape)
    for _ in range(3):
        gradient = rng.normal(size=shape)
        optimizer.apply_gradients([(tf.constant(gradient, tf.float32), weight)])
        momentum = 0.95 * momentum + gradient
        direction = gradient + 0.95 * momentum if nesterov else momentum
        update = polar_factor_by_newton_schulz(direction)
        value = value * (1 - RATE * DECAY) - RATE * 0.2 * np.sqrt(max(shape)) * update
    # The size of a step is RATE.
    np.testing.assert_allclose(np.asarray(weight), value, atol=3 * error * RATE)


def polar_factor_by_newton_schulz(x):
    """Four quintic steps on the singular values themselves, in float64."""
    u, s, v = np.linalg.svd(x / np.linalg.norm(x), full_matrices=False)
    for a, b, c in (
        (8.013256, -22.925896, 16.599532),
        (3.600578, -2.641875, 0.510505),
        (2.634949, -1.919008, 0.430650),
        (1.956171, -1.337507, 0.383853),
    ):
        s = a * s + b * s**3 + c * s**5
    return u * s @ v


@pytest.mark.parametrize("product_dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("smallest", [1.0, 0.3, 0.03])
def test_muon_brings_singular_values_to_one(product_dtype, smallest):
    """Those of at least a hundredth of the norm, for wide, tall and nearly singular gradients."""
    rng = np.random.default_rng(4)
    for shape in ((16, 64), (64, 16), (16, 16), (1, 64)):
        u, s, v = np.linalg.svd(rng.normal(size=shape), full_matrices=False)
        s = np.geomspace(1.0, smallest, len(s))
        weight = keras.Variable(np.zeros(shape, np.float32), name="kernel")
        optimizer = Muon(1.0, global_clipnorm=None, product_dtype=product_dtype)
        optimizer.apply_gradients([(tf.constant(u * s @ v, tf.float32), weight)])
        update = -np.asarray(weight) / (0.2 * max(shape) ** 0.5)
        allowed = 0.03 if product_dtype == "float32" else 0.05  # 8 bits a product
        np.testing.assert_allclose(np.linalg.svd(update)[1], 1.0, atol=allowed)


@pytest.mark.parametrize("shape", [(128, 512), (512, 128), (128, 128)])
def test_muon_keeps_small_singular_values_below_one_in_bfloat16(shape):
    """Those of a matrix of nearly rank one, which rounding hides in its Gram matrix."""
    u, s, v = np.linalg.svd(np.random.default_rng(0).normal(size=shape), full_matrices=False)
    s = np.where(np.arange(len(s)) == 0, 1.0, 1e-3)
    made = Muon(1.0, product_dtype="bfloat16")._orthogonalize(tf.constant(u * s @ v, tf.float32))
    assert np.linalg.svd(made)[1].max() < 1.05


def test_muon_leaves_tables_biases_and_layer_norms_to_adam():
    model = tiny_model()
    weights = list(model.named_weights().values())
    gradients = [np.random.default_rng(3).normal(size=v.shape).astype("float32") for v in weights]
    before = {v.path: np.asarray(v).copy() for v in weights}
    optimizer = Muon(RATE, weight_decay=0.0, global_clipnorm=None)
    optimizer.apply_gradients(zip(map(tf.constant, gradients), weights, strict=True))
    by_adam = set()
    for weight, gradient in zip(weights, gradients, strict=True):
        moved = before[weight.path] - np.asarray(weight)
        if np.allclose(moved, RATE * np.sign(gradient), rtol=1e-3, atol=1e-6):
            by_adam.add(weight.path)  # Adam's first step: the rate times the gradient's sign
    assert by_adam == {path for path in before if not path.endswith("kernel")}


@pytest.mark.parametrize(
    ("decay", "rates"),
    [
        (3, [0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2 / 3, 1 / 3, 0.0]),
        (8, [0.5, 1.0, 1.0, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0.0]),
        (0, [0.5, *[1.0] * 10]),
    ],
)
def test_schedule_is_constant_until_the_last_steps(decay, rates):
    schedule = WarmupLinearDecay(2.0, 2, 10, num_decay_steps=decay)
    found = [float(schedule(step)) for step in range(11)]
    np.testing.assert_allclose(found, 2.0 * np.array(rates), rtol=1e-6)


def test_schedule_without_warm_up_starts_at_the_peak():
    assert float(WarmupLinearDecay(1.0, 0, 10)(0)) == 1.0


@pytest.mark.parametrize(("warmup", "steps"), [(10, 10), (11, 10), (-1, 10), (0, 0)])
def test_schedule_refuses_a_warm_up_as_long_as_the_run(warmup, steps):
    with pytest.raises(ValueError, match=rf"in \[0, num_train_steps\), not {warmup} of {steps}"):
        WarmupLinearDecay(1.0, warmup, steps)


def test_configs_round_trip():
    options = {"weight_decay": 0.02, "global_clipnorm": 3.0}
    optimizer = BertAdamW(0.5, 0.8, 0.98, epsilon=1e-5, **options)
    again = BertAdamW.from_config(optimizer.get_config())
    assert again.get_config() == optimizer.get_config()
    assert (again.beta_1, again.weight_decay, again.global_clipnorm) == (0.8, 0.02, 3.0)
    muon = Muon(0.5, 0.8, 0.98, **options, product_dtype="bfloat16", ns_steps=4)
    again = Muon.from_config(muon.get_config())
    assert again.get_config() == muon.get_config()
    assert (again.adam_beta_1, again.adam_weight_decay, again.ns_steps) == (0.8, 0.02, 4)
    schedule = WarmupLinearDecay(1.0, 2, 10, 3)
    assert vars(WarmupLinearDecay.from_config(schedule.get_config())) == vars(schedule)
