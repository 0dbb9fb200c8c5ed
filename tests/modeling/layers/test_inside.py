"""A model calls its layers: what is changed, hooked or asked for inside it has its effect.

docs/reference/layers.md shows this on the built-in model.
"""

import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from benchmarks import ROOT
from tests.modeling.layers.test_by_hand import CONFIGS, made
from tests.modeling.tiny import batch, of_core, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.config.base import config_from
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.weights import load_weights, save_weights
from tta.modeling.layers.base import Dense
from tta.modeling.layers.blocks import (
    AddNorm,
    CrossAttentionBlock,
    DiagonalMaskedSelfAttention,
    FeedForward,
    MaskedAttention,
    SelfMaskedSelfAttentionBlock,
)
from tta.modeling.models.language_model import build_model

pytestmark = pytest.mark.tensorflow

INPUTS = batch([7, 3, 1])
WITH_DROPOUT = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}


def shown_layers(layer):
    """{path: layer} of all layers that `summary(expand_nested=True)` shows, by Keras's own rule."""
    shown = {}
    for part in getattr(layer, "layers", []):
        shown[f"/{part.name}"] = part
        shown |= {f"/{part.name}{path}": inner for path, inner in shown_layers(part).items()}
    return shown


def check_every_layer_is_called(config, monkeypatch, training):
    """A forward pass calls each layer that the summary shows; returns {path: number of calls}."""
    model, calls = made(config), []
    shown, call = shown_layers(model), keras.layers.Layer.__call__

    def counted(layer, *inputs, **options):
        calls.append(id(layer))
        return call(layer, *inputs, **options)

    monkeypatch.setattr(keras.layers.Layer, "__call__", counted)
    model(INPUTS, training=training)
    monkeypatch.undo()
    numbers = {path: calls.count(id(layer)) for path, layer in shown.items()}
    assert [path for path, number in numbers.items() if number == 0] == []
    return numbers


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_pass_calls_every_layer_of_the_summary(name, training, monkeypatch):
    config = config_from(CONFIGS[name].to_dict() | WITH_DROPOUT)
    numbers = check_every_layer_is_called(config, monkeypatch, training)
    assert numbers["/encoder/layer_1/attention/key"] == 1
    assert sum("/dropout" in path for path in numbers) > 5


def logits(model, inputs=INPUTS):
    return np.asarray(model(inputs)["logits"])


def check_no_token_is_in_its_own_state(model, states):
    """Replaces each token: its own state is the same, and others are not."""
    for i in range(7):
        ids = INPUTS["input_ids"].copy()
        ids[0, i] = (ids[0, i] + 1) % 23
        changed = np.asarray(model.encode(INPUTS | {"input_ids": ids})["hidden_states"])
        np.testing.assert_array_equal(changed[0, i], states[0, i])
        assert not np.array_equal(changed[0], states[0])


def doubled(kind):
    """A subclass of a layer whose first output is twice as large."""

    class Doubled(kind):
        def call(self, *inputs, **options):
            return 2.0 * super().call(*inputs, **options)

    return Doubled


def attention_of(kind):
    return lambda config: kind(config.num_attention_heads)


# A part of a T-TA -> its replacement, called with the config.
PARTS = {
    "encoder/layer_0": doubled(SelfMaskedSelfAttentionBlock),
    "encoder/layer_1/attention": attention_of(doubled(DiagonalMaskedSelfAttention)),
    "encoder/layer_0/feed_forward": doubled(FeedForward),
    "encoder/layer_1/feed_forward_norm": doubled(AddNorm),
    "encoder/layer_0/attention/query_dense": lambda config: doubled(Dense)(15),
    "encoder/layer_0/attention/value_dense": lambda config: keras.layers.Dense(15),
    "encoder/layer_0/attention/output_dense": lambda config: keras.layers.Dense(15),
    "encoder/layer_0/feed_forward/intermediate_dense": lambda config: keras.layers.Dense(17),
    "encoder/layer_1/attention_norm/norm": lambda config: keras.layers.LayerNormalization(
        epsilon=1e-12
    ),
    "head/transform_dense": lambda config: keras.layers.Dense(15),
}


@pytest.mark.parametrize("is_built", [False, True], ids=["new", "built before"])
@pytest.mark.parametrize("path", PARTS)
def test_a_part_that_is_replaced_changes_what_the_model_gives(path, is_built, tmp_path):
    model = tiny_model(**WITH_DROPOUT)
    names, expected = list(model.named_weights()), logits(model)
    parent, _, name = path.rpartition("/")
    old, layer = model.of(path), PARTS[path](model.config)
    if is_built:
        layer.build((None, None, 17 if name == "output_dense" and "feed" in path else 15))
    setattr(model.of(parent), name, layer)
    layer.set_weights(old.get_weights())
    assert model.of(path) is layer
    assert old not in model._flatten_layers()
    assert layer.name == old.name
    if type(layer).__module__.startswith("keras"):  # the same product by another layer
        np.testing.assert_allclose(logits(model), expected, atol=1e-4)
        layer.set_weights([2.0 * weight for weight in layer.get_weights()])
    assert np.abs(logits(model) - expected).max() > 1e-3
    assert np.asarray(model(INPUTS, training=True)["logits"]).shape == expected.shape
    # The new weights are saved under the names of the old ones.
    assert list(model.named_weights()) == names
    save_weights(model, tmp_path / "model.weights.h5")
    restored = build_model(model.config)
    load_weights(restored, tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(restored.get_weights()[0], model.get_weights()[0])


class LowRank(keras.layers.Layer):
    """LoRA by replacement: a frozen layer, and a trained product beside it."""

    def __init__(self, layer, **options):
        super().__init__(**options)
        self.layer = layer
        layer.trainable = False

    def build(self, shape):
        self.down = self.add_weight((shape[-1], 2), "glorot_uniform", name="down")
        self.up = self.add_weight((2, self.layer.units), "ones", name="up")

    def call(self, x):
        return self.layer(x) + ops.matmul(ops.matmul(x, self.down), self.up)


def test_a_wrapped_dense_layer_trains_and_what_is_frozen_does_not():
    model = tiny_model()
    expected = logits(model)
    wrapper = LowRank(model.encoder.layer_0.attention.query_dense)
    wrapper.build((None, None, 15))
    model.encoder.layer_0.attention.query_dense = wrapper
    model.encoder.embeddings.trainable = model.encoder.layer_1.trainable = False
    assert not np.array_equal(logits(model), expected)
    variables = model.trainable_variables
    names = {variable.path for variable in variables}
    assert {f"encoder/layer_0/attention/query/{name}" for name in ("down", "up")} <= names
    frozen = {path for path in model.named_weights() if path not in names}
    assert any("layer_1" in path for path in frozen)
    assert not any("embeddings" in path or "layer_1" in path for path in names)
    before = {path: np.asarray(value) for path, value in model.named_weights().items()}
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(INPUTS, training=True)["logits"] ** 2)
    gradients = tape.gradient(loss, [variable.value for variable in variables])
    keras.optimizers.SGD(0.1).apply_gradients(zip(gradients, variables, strict=True))
    for path, value in model.named_weights().items():
        # All attentions of a query add the same to each of its logits, whatever its key's bias is.
        if not path.endswith("key/bias"):
            assert np.array_equal(value, before[path]) == (path in frozen), path


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras
@pytest.mark.parametrize("has_lora", [False, True])
def test_quantize_has_an_effect_on_dense_layers_and_their_numbers_are_saved(has_lora, tmp_path):
    model = tiny_model()
    model(INPUTS)
    dense = model.encoder.layer_0.attention.query_dense
    if has_lora:
        dense.enable_lora(2)
        dense.lora_kernel_b.assign(0.5 * ops.ones_like(dense.lora_kernel_b))
    names, expected = list(model.named_weights()), logits(model)
    kernels = {path: np.asarray(value) for path, value in model.named_weights().items()}
    with pytest.warns(UserWarning, match="does not have a `quantize`"):  # of a LayerNorm
        model.quantize("int8")
    assert dense.dtype_policy.name == "int8_from_float32"
    change = np.abs(logits(model) - expected)
    assert 1e-6 < change.max() < 0.1 * np.abs(expected).max()
    assert sorted(model.named_weights()) == sorted(names)
    for path, value in model.named_weights().items():
        np.testing.assert_allclose(value, kernels[path], atol=np.abs(kernels[path]).max() / 127)
    save_weights(model, tmp_path / "model.weights.h5")
    restored = build_model(model.config)
    load_weights(restored, tmp_path / "model.weights.h5")
    assert np.abs(logits(restored) - expected).max() < 0.1 * np.abs(expected).max()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_hook_around_a_call_sees_and_changes_what_a_layer_gives(name):
    model = made(CONFIGS[name])
    block = model.encoder.layer_1
    call, outputs, expected = block.call, [], logits(model)

    @functools.wraps(call)
    def hooked(*inputs, **options):
        outputs.append(call(*inputs, **options))
        return outputs[-1]

    block.call = hooked
    np.testing.assert_array_equal(logits(model), expected)
    assert [output.shape for output in outputs] == [(3, 7, 15)]
    if not CONFIGS[name].norm_first:  # the last block's output is the encoder's
        np.testing.assert_array_equal(outputs[0], model.encode(INPUTS)["hidden_states"])
    block.call = lambda *inputs, **options: -call(*inputs, **options)
    assert np.abs(logits(model) - expected).max() > 1e-3


@pytest.mark.parametrize("name", ["tta", "bilm", "unilm", "cloze"])
def test_the_output_of_a_layer_is_extracted_by_a_functional_model(name):
    """A subclassed model has no symbolic outputs before the encoder's `call` gets symbols."""
    model = made(CONFIGS[name])
    inputs = {key: keras.Input([7], name=key, dtype=INPUTS[key].dtype) for key in INPUTS}
    final = model.encoder.call(inputs)["hidden_states"]
    first, last = (getattr(model.encoder, f"layer_{i}").output for i in range(2))
    found = keras.Model(inputs, [first, last, final])(INPUTS)
    outputs, call = [], model.encoder.layer_0.call
    model.encoder.layer_0.call = lambda *given, **options: (
        outputs.append(call(*given, **options)) or outputs[-1]
    )
    np.testing.assert_array_equal(model.encode(INPUTS)["hidden_states"], found[2])
    np.testing.assert_array_equal(outputs[0], found[0])
    np.testing.assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("name", CONFIGS)
def test_a_model_returns_the_attention_scores_of_all_layers(name):
    model = made(CONFIGS[name])
    outputs = model(INPUTS, return_attention_scores=True)
    np.testing.assert_array_equal(outputs["logits"], logits(model))
    scores, config = outputs["attention_scores"], model.config
    towers = 2 * getattr(config, "num_tower_layers", 0)
    assert len(scores) == towers + 2
    for number, weights in enumerate(map(np.asarray, scores)):
        reads_towers = config.model_type == "cloze" and number >= towers
        assert weights.shape == (3, 3, 7, 14 if reads_towers else 7)
        assert weights.dtype == np.float32
        assert not weights[1, :, :, 3:7].any()  # padding
        total = weights[0].sum(-1)
        np.testing.assert_allclose(total, 1.0, atol=1e-5)
        halves = weights.reshape(3, 3, 7, -1, 7).sum(3)
        sees_itself = np.diagonal(halves, axis1=2, axis2=3).any()
        assert sees_itself == (config.model_type != "tta" and not reads_towers)


NUMBERS = [np.int32, np.int64, np.float32, np.float64]


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("layer", [
    SelfMaskedSelfAttentionBlock, CrossAttentionBlock, DiagonalMaskedSelfAttention, MaskedAttention
])  # fmt: skip
def test_a_layer_takes_such_a_mask_too(layer, rank, kind):
    rng, is_block = np.random.default_rng(0), issubclass(layer, CrossAttentionBlock)
    made_layer = layer(tiny_config()) if is_block else layer(3)
    x = rng.normal(size=(2, 7, 15)).astype(np.float32)
    mask = rng.random((2, 7) if rank == 2 else (2, 7, 7)) < 0.6
    found = made_layer(x, x, mask.astype(kind))
    np.testing.assert_array_equal(found, made_layer(x, x, mask))
    assert not np.array_equal(found, made_layer(x, x, np.ones_like(mask)))


def test_an_own_block_and_an_own_attention_get_the_mask_of_the_encoder():
    """A mask that an encoder hands on is complete; another one still gets the diagonal."""

    class Plain(SelfMaskedSelfAttentionBlock):
        def call(self, query, key_value, mask):
            hidden = self.attention_norm(self.attention(query, key_value, mask), query)
            return self.feed_forward_norm(self.feed_forward(hidden), hidden)

    class Mean(keras.layers.Layer):
        def call(self, query, key_value, mask):
            weights = ops.cast(mask, "float32")
            return ops.matmul(weights, key_value) / 7.0

    model, wanted = tiny_model(), np.zeros((3, 7), bool)
    wanted[0, 2:5] = True  # fewer queries than keys
    expected = np.asarray(model.encode(INPUTS | {"wanted": wanted})["hidden_states"])
    block = Plain(model.config)
    old, model.encoder.layer_0 = model.encoder.layer_0, block
    block.set_weights(old.get_weights())
    found = model.encode(INPUTS | {"wanted": wanted})["hidden_states"]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    model.encoder.layer_1.attention = Mean()
    states = np.asarray(model.encode(INPUTS)["hidden_states"])
    check_no_token_is_in_its_own_state(model, states)


def test_files_of_before_the_encoder_called_its_layers_are_read():
    folder = ROOT / "tests/goldens/keras_file"
    model = keras.models.load_model(folder / "tta.keras")
    stored = np.load(folder / "tta.npz")
    outputs = model({name: stored[name] for name in ("input_ids", "padding_mask")})
    for name in ("hidden_states", "logits"):
        np.testing.assert_allclose(outputs[name], stored[name], rtol=1e-6, atol=2e-6)


def test_the_variant_of_contributing_reads_as_a_tta(monkeypatch):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (code,) = [
        code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Near" in code
    ]
    values = {"__name__": "tta_near"}
    exec(code, values)
    monkeypatch.setitem(MODEL_TYPES, "near", values["FAMILY"])
    model, lines = made(tiny_config(model_type="near", max_relative_distance=3)), []
    model.summary(expand_nested=True, print_fn=lines.append, line_length=200)
    summary = "".join(lines)
    for kind in ("SelfMaskedSelfAttentionBlock", "DiagonalMaskedSelfAttention"):
        assert summary.count(kind) == 2
    assert not any(kind in summary for kind in ("CrossAttentionBlock", "MaskedAttention)"))
    with pytest.raises(InputError, match="num_segments must be 0, or more in a BERT, not 2"):
        model.config.replace(num_segments=2)
    states = np.asarray(model.encode(INPUTS)["hidden_states"])
    check_no_token_is_in_its_own_state(model, states)
    model.of("encoder/layer_0/attention").relative_bias.assign_add(np.eye(3, 7, dtype=np.float32))
    assert not np.array_equal(model.encode(INPUTS)["hidden_states"], states)


def test_a_family_of_blocks_of_another_kind_declares_them():
    assert {name: MODEL_TYPES[name].has_self_masked_blocks for name in of_core(MODEL_TYPES)} == {
        "tta": True, "bilm": False, "unilm": False, "cloze": False,
    }  # fmt: skip
