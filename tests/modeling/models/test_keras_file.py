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
from tta.modeling.config.autoencoder import AutoencoderConfig
from tta.modeling.config.classifier import ClassifierConfig
from tta.modeling.models.language_model import build_model

TTA = tiny_config(model_type="tta")
OF_CLASSIFIER = {"labels": ("a", "b"), "max_seq_length": 19, "pooling": "first", "dropout": 0.0}
OF_AUTOENCODER = {"model_type": "autoencoder", "latent_size": 7, "pad_id": 2}
MODELS = [
    ("language_model", TTA),
    ("text_classifier", ClassifierConfig.of(TTA, **OF_CLASSIFIER)),
    ("autoencoder", AutoencoderConfig.from_dict(TTA.to_dict() | OF_AUTOENCODER)),
]

LOAD = """
import importlib, sys
import numpy as np
import tta
import keras

path, module, inputs, outputs = sys.argv[1:]
try:
    keras.models.load_model(path)
except TypeError as error:
    assert "make sure they are all imported" in str(error), error
    assert f"'module': '{module}'" in str(error), error
else:
    raise AssertionError("the class is in Keras's registry: docs/scorers.md can be simpler")
importlib.import_module(module)
model = keras.models.load_model(path)
np.savez(outputs, **model(dict(np.load(inputs)), training=False))
"""


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # in Keras
@pytest.mark.parametrize(("name", "config"), MODELS)
def test_keras_names_the_module_to_import_and_then_loads_the_model(tmp_path, name, config):
    model, inputs = build_model(config), batch([7, 3])
    randomize(model.named_weights())
    model.save(tmp_path / "model.keras")
    np.savez(tmp_path / "in.npz", **inputs)
    module, paths = f"tta.modeling.models.{name}", ("model.keras", "in.npz", "out.npz")
    arguments = [tmp_path / paths[0], module, *(tmp_path / path for path in paths[1:])]
    code = ["-W", "ignore", "-c", LOAD]
    done = subprocess.run(
        [sys.executable, *code, *arguments], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    expected, found = model(inputs, training=False), np.load(tmp_path / "out.npz")
    assert set(found) == set(expected)
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, atol=1e-5)
