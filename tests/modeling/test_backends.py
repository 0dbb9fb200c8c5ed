"""The built-in model computes the same under Keras's other backends."""

import os

import numpy as np
import pytest

from tests.commands import python

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
