"""The built-in model computes the same under Keras's other backends."""

import os
import subprocess
import sys

import numpy as np
import pytest

# Loads the built-in model and writes what it computes; TensorFlow is out of reach where it is not
# the backend.
PROGRAM = """
import os, sys
import numpy as np
backend, path = os.environ["KERAS_BACKEND"], sys.argv[1]
if backend != "tensorflow":
    sys.modules["tensorflow"] = None
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
np.savez(path, **{name: ops.convert_to_numpy(value) for name, value in found.items()})
"""


def outputs(backend, folder):
    path = folder / f"{backend}.npz"
    environment = os.environ | {"KERAS_BACKEND": backend, "JAX_PLATFORMS": "cpu"}
    command = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(np.load(path))


@pytest.mark.parametrize("backend", ["jax", pytest.param("torch", marks=pytest.mark.large)])
def test_the_built_in_model_computes_the_same_under_another_backend(backend, tmp_path):
    expected, found = outputs("tensorflow", tmp_path), outputs(backend, tmp_path)
    assert set(found) == set(expected) >= {"hidden_states", "logits", "exact", "learned"}
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=2e-3, err_msg=name)
