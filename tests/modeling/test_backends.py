"""Keras's other backends compute the same, and draw the same initial weights."""

import json
import os

import keras
import numpy as np
import pytest

from tests.commands import python
from tta.modeling.config.base import config_from
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.config.weights import named
from tta.modeling.layers.base import initializer

pytestmark = pytest.mark.tensorflow

# Loads the built-in model and writes what it computes.
PROGRAM = """
import sys
import numpy as np
from keras import ops
from tta.choices import DTYPE_POLICIES
from tta.modeling.formats.model_directory import load_model
from tta.modeling.formats.trained_models import find_directory
from tta.modeling.likelihood import likelihood_of

model = load_model(find_directory(None))
ids = np.random.default_rng(0).integers(5, model.config.vocab_size, (3, 13)).astype("int32")
batch = {"input_ids": ids, "padding_mask": np.arange(13) < np.array([[13], [7], [1]])}
found = dict(model(batch, training=False))
for normalizer in ("exact", "learned"):
    likelihood = likelihood_of(model.config.model_type, None, "original", normalizer)
    found[normalizer] = likelihood.token_scores(model, batch)
np.savez(sys.argv[1], **{name: ops.convert_to_numpy(value) for name, value in found.items()})
"""


@pytest.mark.parametrize("backend", ["jax", pytest.param("torch", marks=pytest.mark.large)])
def test_the_built_in_model_computes_the_same_under_another_backend(backend, tmp_path, monkeypatch):
    """In a process of its own, where TensorFlow is out of reach."""
    variables = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    code = f"import sys\nsys.modules['tensorflow'] = None\n{PROGRAM}"
    done = python(code, tmp_path / "other.npz", env=variables)
    assert done.returncode == 0, done.stderr
    monkeypatch.setattr("sys.argv", ["-c", str(tmp_path / "own.npz")])
    exec(PROGRAM, {})
    expected, found = (dict(np.load(tmp_path / f"{name}.npz")) for name in ("own", "other"))
    assert set(found) == set(expected) >= {"hidden_states", "logits", "exact", "learned"}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=2e-3, err_msg=name)


SIZES = {"vocab_size": 23, "hidden_size": 15, "num_hidden_layers": 2, "num_attention_heads": 3}
SIZES |= {"intermediate_size": 17, "max_position_embeddings": 13}
ELMO = {"model_type": "elmo", "vocab_size": 23, "hidden_size": 7, "lstm_size": 5}
LATENT = {"model_type": "autoencoder", "latent_size": 5, "predicts_length": True}
ADAPTIVE = {"output_layer": "adaptive_softmax", "adaptive_cutoffs": [5]}
CLASSES = {"model_type": "classifier", "labels": ["a", "b"], "max_seq_length": 11}

# What is drawn -> the config. A family, and whatever draws weights in another way, has a row.
DRAWN = {
    "T-TA": SIZES | {"model_type": "tta"},
    "another table": SIZES | {"model_type": "bilm", "output_layer": "softmax"},
    "vectors": SIZES | {"model_type": "unilm", "output_layer": "semfit", "target_size": 11},
    "towers, distances": SIZES | {"model_type": "cloze", "max_relative_distance": 2},
    "LSTMs": ELMO | {"input_layer": "tokens"},
    "LSTMs over vectors": ELMO | {"input_layer": "vectors", "input_size": 11} | ADAPTIVE,
    "a convolution": ELMO | {"input_layer": "characters", "output_layer": "softmax"},
    "a latent vector": SIZES | LATENT | {"variational": True},
    "memories": SIZES | LATENT | {"num_latents": 3},
    "a classifier": CLASSES | {"encoder": SIZES | {"model_type": "bilm"}},
    "an LSTM over layers": CLASSES
    | {"pooling": "mix", "lstm_size": 5, "encoder": ELMO | {"input_layer": "tokens"}},
}

BUILD = """
import json, sys, zlib
import keras, numpy as np
from tta.modeling.config.base import config_from
from tta.modeling.models.language_model import build_model

found = {}
for what, values in json.loads(sys.argv[1]).items():
    keras.utils.set_random_seed(11)
    weights = build_model(config_from(values), "float32").named_weights()
    arrays = {name: np.asarray(weight.value) for name, weight in weights.items()}
    found[what] = {n: [float(a.std()), zlib.crc32(a.tobytes())] for n, a in arrays.items()}
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def drawn():
    """{backend: {what: {weight: its deviation and the hash of its values}}}."""
    found = {}
    for backend in ("tensorflow", "jax"):
        variables = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
        done = python(BUILD, json.dumps(DRAWN), env=variables)
        assert done.returncode == 0, done.stderr
        found[backend] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("what", DRAWN)
def test_a_seed_gives_the_same_weights_on_both_backends(drawn, what):
    ours, theirs = (drawn[backend][what] for backend in ("tensorflow", "jax"))
    assert ours == theirs
    for name, weight in named(config_from(DRAWN[what]).weights):
        is_random = weight.initializer not in ("zeros", "ones", "unit_forget_bias")
        assert is_random == (ours[name][0] > 0) or "bias" in name, name


def test_every_family_has_a_row():
    assert {values["model_type"] for values in DRAWN.values()} == set(MODEL_TYPES)


@pytest.mark.parametrize(
    ("start", "shape", "deviation"),
    [
        (0.02, (50, 40), 0.0176),
        ("random_normal", (50, 40), 0.05),
        ("glorot_uniform", (50, 40), (2 / 90) ** 0.5),
        ("glorot_uniform", (3, 50, 40), (2 / 270) ** 0.5),  # of a convolution
        ("orthogonal", (50, 40), 0.02**0.5),
        ("orthogonal", (40, 50), 0.02**0.5),
    ],
)
def test_random_numbers_are_those_of_keras_initializers(start, shape, deviation):
    keras.utils.set_random_seed(3)
    one, other = (np.asarray(initializer(start)(shape)) for _ in range(2))
    assert (one != other).mean() > 0.9
    assert one.std() == pytest.approx(deviation, rel=0.05)
    if isinstance(start, str):
        theirs = np.asarray(keras.initializers.get(start)(shape))
        assert one.std() == pytest.approx(theirs.std(), rel=0.05)
        assert np.abs(one).max() == pytest.approx(np.abs(theirs).max(), rel=0.35)
    if start == "orthogonal":
        product = one.T @ one if shape[0] > shape[1] else one @ one.T
        np.testing.assert_allclose(product, np.eye(40), atol=1e-5)
