"""`keras.models.load_model` reads the models of papers/."""

import pytest

from tests.modeling.models.test_keras_file import TTA, check_models_are_loaded
from tta.papers.glue.config import ClassifierConfig
from tta.papers.nar.config import AutoencoderConfig

pytestmark = pytest.mark.tensorflow

OF_CLASSIFIER = {"labels": ("a", "b"), "max_seq_length": 19, "pooling": "first", "dropout": 0.0}
OF_AUTOENCODER = {"model_type": "autoencoder", "latent_size": 7, "pad_id": 2}
MODELS = [
    ("tta.papers.glue.model", ClassifierConfig.of(TTA, **OF_CLASSIFIER)),
    ("tta.papers.nar.model", AutoencoderConfig.from_dict(TTA.to_dict() | OF_AUTOENCODER)),
]


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # in Keras
def test_keras_names_the_module_to_import_and_then_loads_the_model(tmp_path):
    check_models_are_loaded(MODELS, tmp_path)
