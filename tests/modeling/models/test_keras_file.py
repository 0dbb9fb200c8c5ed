"""`keras.models.load_model` reads a model that Keras saved, once our module is imported.

Keras finds a class only in its registry, which our classes enter when their module is imported.
`import tta` imports neither Keras nor TensorFlow, so it cannot put them there.
"""

import subprocess
import sys

import numpy as np
import pytest

from benchmarks import ROOT
from tests.modeling.tiny import batch, randomize, tiny_config
from tta.modeling.models.language_model import build_model

pytestmark = pytest.mark.tensorflow

TTA = tiny_config(model_type="tta")
MODULE = "tta.modeling.models.language_model"

# Arguments: a folder, and the modules of the models in it.
LOAD = """
import importlib, sys
import numpy as np
import tta
import keras

folder, *modules = sys.argv[1:]
for module in modules:  # before any of them is imported
    try:
        keras.models.load_model(f"{folder}/{module}.keras")
    except TypeError as error:
        assert "make sure they are all imported" in str(error), error
        assert f"'module': '{module}'" in str(error), error
    else:
        raise AssertionError("the class is in Keras's registry: docs/scorers.md can be simpler")
for module in modules:
    importlib.import_module(module)
    model = keras.models.load_model(f"{folder}/{module}.keras")
    inputs = dict(np.load(f"{folder}/in.npz"))
    np.savez(f"{folder}/{module}.npz", **model(inputs, training=False))
"""


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # in Keras
def test_keras_names_the_module_to_import_and_then_loads_the_model(tmp_path):
    check_models_are_loaded([(MODULE, TTA)], tmp_path)


def check_models_are_loaded(models, tmp_path):
    """Of (the module of a model, its config)."""
    inputs, expected = batch([7, 3]), {}
    np.savez(tmp_path / "in.npz", **inputs)
    for module, config in models:
        model = build_model(config)
        randomize(model.named_weights())
        model.save(tmp_path / f"{module}.keras")
        expected[module] = model(inputs, training=False)
    code = ["-W", "ignore", "-c", LOAD]
    done = subprocess.run(
        [sys.executable, *code, tmp_path, *expected], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for module, outputs in expected.items():
        found = np.load(tmp_path / f"{module}.npz")
        assert set(found) == set(outputs), module
        for key, value in outputs.items():
            np.testing.assert_allclose(found[key], value, atol=1e-5, err_msg=module)
