"""What every public layer of modeling/ can do, one table for all; a layer missing from it fails."""

import functools
import importlib
import inspect
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.modeling.tiny import randomize, tiny_config

pytestmark = pytest.mark.tensorflow

CONFIG = tiny_config(hidden_dropout_prob=0.1, num_hidden_layers=1)
V, D, N, F = 23, 15, 3, 17
STREAM, IDS, MASK = ("float32", D), ("int32",), ("bool",)

# Class, perhaps with what it is for -> (its arguments, what it is called with: name -> type and,
# for floats, the last size).
LAYERS = {
    "Dense": ({"units": F}, {"inputs": STREAM}),
    "Embeddings": ({"config": CONFIG}, {"ids": IDS}),
    "FeedForward": ({"config": CONFIG}, {"x": STREAM}),
    "AddNorm": ({"config": CONFIG}, {"x": STREAM, "residual": STREAM}),
    "MaskedAttention": (
        {"num_heads": N, "dropout": 0.1},
        {"query": STREAM, "key_value": STREAM, "attention_mask": ("bool", None)},
    ),
    "DiagonalMaskedSelfAttention": (
        {"num_heads": N, "dropout": 0.1},
        {"query": STREAM, "key_value": STREAM, "padding_mask": MASK},
    ),
    "SelfMaskedSelfAttentionBlock": (
        {"config": CONFIG},
        {"query": STREAM, "key_value": STREAM, "padding_mask": MASK},
    ),
    "CrossAttentionBlock": (
        {"config": CONFIG},
        {"query": STREAM, "key_value": STREAM, "mask": ("bool", None)},
    ),
    **{
        encoder: (
            {"config": CONFIG.replace(model_type=model_type)},
            {"inputs": {"input_ids": IDS, "padding_mask": MASK}},
        )
        for encoder, model_type in {
            "FunctionEncoder": "tta",
            "FunctionEncoder bilm": "bilm",
            "CausalEncoder": "unilm",
        }.items()
    },
    "FunctionEncoder cloze": (
        {
            "config": tiny_config(
                model_type="cloze", hidden_dropout_prob=0.1, num_hidden_layers=1, num_tower_layers=1
            )
        },
        {"inputs": {"input_ids": IDS, "padding_mask": MASK}},
    ),
    "SoftmaxHead": ({"config": CONFIG.replace(output_layer="softmax")}, {"hidden_states": STREAM}),
    "TiedSoftmaxHead": ({"config": CONFIG}, {"hidden_states": STREAM, "table": "table"}),
    "LanguageModel": (
        {"config": CONFIG},
        {"inputs": {"input_ids": IDS, "padding_mask": MASK}},
    ),
}


# Faces that subclasses fill in, and Keras's own LayerNorm.
BASES = {"ConfiguredModel", "LayerNormalization", "Encoder", "Head", "TransformHead", "TaskModel"}


def public_layers(room="modeling"):
    """{name: class} of every keras layer that a module of a room defines and that is called."""
    found = {}
    root = Path(tta.__file__).resolve().parent.parent
    for path in sorted(set((root / room).rglob("*.py")) - {root / "modeling/kits/torch.py"}):
        if path.parent.name == "tests" or path.name == "conftest.py":  # of papers/
            continue
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(f"tta.{name}")
        for name, value in vars(module).items():
            is_layer = inspect.isclass(value) and issubclass(value, keras.layers.Layer)
            is_layer = is_layer and value.call is not keras.layers.Layer.call
            is_base = name in BASES or name.startswith("_")
            if is_layer and value.__module__ == module.__name__ and not is_base:
                found[name] = value
    return found


PUBLIC = public_layers()
KNOWN, CLASSES = dict(LAYERS), dict(PUBLIC)  # papers/tests/test_conformance.py adds its own


def class_name(name):
    return name.split()[0]


each_layer = pytest.mark.parametrize("name", sorted(LAYERS))


def test_the_table_holds_every_public_layer():
    assert set(map(class_name, LAYERS)) == set(PUBLIC)


def sample(kind, length, batch=2, seed=0):
    """A value of one argument: random of the right shape for this many tokens."""
    rng = np.random.default_rng(seed)
    if isinstance(kind, dict):
        return {key: sample(value, length, batch) for key, value in kind.items()}
    if kind == "table":
        return rng.normal(0.0, 1.0, (V, D)).astype(np.float32)
    if kind[0] == "int32":
        return rng.integers(0, V, (batch, length, *kind[1:])).astype(np.int32)
    if kind == MASK:
        return np.arange(length) < np.array([length, 2] * (batch // 2))[:, None]
    if kind[0] == "bool":
        return rng.random((batch, length, length)) < 0.7
    return rng.normal(0.0, 1.0, (batch, length, *kind[1:])).astype(np.float32)


def spec(kind, name=None):
    """The same with unknown sizes of batch and sentence."""
    if isinstance(kind, dict):
        return {key: spec(value, key) for key, value in kind.items()}
    if kind == "table":
        return tf.TensorSpec([V, D], tf.float32, name)
    shape = [None, None, *kind[1:]]
    return tf.TensorSpec(shape, kind[0], name)


# The layers that end in a product, and return its type. The others return float32.
PRODUCTS = {"MaskedAttention", "DiagonalMaskedSelfAttention", "FeedForward", "Dense", "Highway"}


@functools.cache
def make(name, dtype="float32"):
    """The layer, built by a first call and with random weights, which no test may change."""
    layer = CLASSES[class_name(name)](**KNOWN[name][0], dtype=dtype, name="layer")
    call(layer, name, 5)
    randomize({v.path: v for v in layer.trainable_variables})
    return layer


def call(function, name, length, batch=2):
    """The outputs as one dict of arrays."""
    values = [sample(kind, length, batch) for kind in KNOWN[name][1].values()]
    found = function(*values)
    return found if isinstance(found, dict) else {"output": found}


def of_tensors(function):
    """A concrete function, called with arrays."""
    return lambda *values: function(*tf.nest.map_structure(tf.constant, values))


def assert_same(found, expected, atol=1e-6):
    """`atol` is for values of about 1; larger values may differ by more."""
    assert set(found) == set(expected)
    for key in expected:
        one, other = (tf.cast(outputs[key], tf.float32).numpy() for outputs in (found, expected))
        np.testing.assert_allclose(one, other, atol=atol * max(1.0, np.abs(other).max()))


@each_layer
def test_config_round_trip(name):
    layer = make(name)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert type(again) is CLASSES[class_name(name)]
    assert again.get_config() == layer.get_config()
    call(again, name, 5)
    assert [v.path for v in again.trainable_variables] == [
        v.path for v in layer.trainable_variables
    ]
    for one, other in zip(again.trainable_variables, layer.trainable_variables, strict=True):
        one.assign(other)
    assert_same(call(again, name, 5), call(layer, name, 5), atol=0.0)


@each_layer
def test_mixed_precision(name):
    layer, full = make(name, "mixed_bfloat16"), make(name)
    assert {v.dtype for v in layer.trainable_variables} == {"float32"}
    found, expected = call(layer, name, 5), call(full, name, 5)
    for value in found.values():
        assert value.dtype == (tf.bfloat16 if name in PRODUCTS else tf.float32)
    assert_same(found, expected, atol=0.25)


@each_layer
def test_unknown_dimensions_in_a_graph_and_through_a_saved_model(name, tmp_path):
    layer, arguments = make(name), KNOWN[name][1]
    graph = tf.function(
        lambda *values: layer(*values),
        input_signature=[spec(kind, key) for key, kind in arguments.items()],
        autograph=False,
    ).get_concrete_function()  # else saving and the first call would each trace it
    module = tf.Module()
    module.layer, module.call = layer, graph
    tf.saved_model.save(module, str(tmp_path / "saved"))
    saved = tf.saved_model.load(str(tmp_path / "saved"))
    for length, batch in [(1, 2), (5, 2), (7, 4)]:
        expected = call(layer, name, length, batch)
        for function in (graph, saved.call):
            assert_same(call(of_tensors(function), name, length, batch), expected, atol=1e-5)


def symbolic_input(kind):
    if isinstance(kind, dict):
        return {name: symbolic_input(value) for name, value in kind.items()}
    return keras.Input((None, *kind[1:]), dtype=kind[0])


# A table is not a stream of one batch. Models have no symbolic inputs. A CRF has a number per text.
WITHOUT_STREAM = {
    "LanguageModel", "SequenceAutoencoder", "TextClassifier", "TiedSoftmaxHead", "LabelModel",
    "TagModel", "LinearChainCRF",
}  # fmt: skip
# Weights that only the loss reads.
OF_THE_LOSS = {"TagModel": "crf"}


@pytest.mark.parametrize("name", sorted(set(LAYERS) - WITHOUT_STREAM))
def test_symbolic_call_gives_the_shape_of_the_real_one(name):
    options, arguments = KNOWN[name]
    layer = CLASSES[class_name(name)](**options)
    symbolic = layer(*map(symbolic_input, arguments.values()))
    symbolic = symbolic if isinstance(symbolic, dict) else {"output": symbolic}
    for key, value in call(layer, name, 5).items():
        assert symbolic[key].shape == (None, None, *value.shape[2:])


@each_layer
def test_every_weight_gets_a_gradient(name):
    layer = make(name)
    with tf.GradientTape() as tape:
        values = call(layer, name, 5).values()
        total = tf.add_n([tf.reduce_sum(tf.cast(v, tf.float32) ** 3) for v in values])
    gradients = tape.gradient(total, [v.value for v in layer.trainable_variables])
    for variable, gradient in zip(layer.trainable_variables, gradients, strict=True):
        if gradient is None and OF_THE_LOSS.get(name, "none") in variable.path.split("/"):
            continue
        assert gradient is not None, variable.path
        assert np.isfinite(tf.convert_to_tensor(gradient)).all(), variable.path


@each_layer
def test_documented(name):
    assert inspect.getdoc(CLASSES[class_name(name)]), f"{name} has no docstring"
    # A docstring may leave to its base class what they share.
    ours = [
        base for base in CLASSES[class_name(name)].__mro__ if base.__module__.startswith("tta.")
    ]
    doc = "\n".join(base.__doc__ or "" for base in ours)
    for part in ("Args:", "Call:", "Returns:"):
        assert part in doc, f"{name}'s docstring has no {part}"
