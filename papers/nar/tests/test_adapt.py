"""adapt(config) of a half of an autoencoder."""

import pytest

import tta
from tests.scoring.adaptation.test_adapt import ONE_LAYER, adapted, config, text  # noqa: F401
from tests.tiny import write_model_directory
from tta.modeling.formats.model_directory import save_model
from tta.modeling.models.language_model import build_model
from tta.papers.nar.config import AutoencoderConfig

pytestmark = pytest.mark.tensorflow


@pytest.mark.slow
def test_the_decoder_of_an_autoencoder_is_adapted_by_its_name(text, tmp_path):  # noqa: F811
    values = ONE_LAYER.to_dict() | {"model_type": "autoencoder", "latent_size": 5}
    values |= {"decoder_type": "tta", "decoder_input": "ground_truth"}
    write_model_directory(tmp_path / "whole")  # for its vocabulary
    save_model(build_model(AutoencoderConfig.from_dict(values)), tmp_path / "whole", "")
    name = f"decoder:{tmp_path / 'whole'}"
    report = adapted(config(text, tmp_path / "new", max_passes=1), name)
    assert report.after.values["nll"] < report.before.values["nll"]
    made, start = tta.load(tmp_path / "new"), tta.load(name)
    assert made.config == start.config
    assert (made.score(["the cat sat"]) != start.score(["the cat sat"])).all()
