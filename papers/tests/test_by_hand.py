"""Models of papers/ are made of the public layers, too, which give the numbers of the models."""

import pytest

from tests.modeling.layers.test_by_hand import (
    TTA,
    check_numbers_of_parts,
    check_parts,
    check_summary,
)
from tta.papers.glue.config import ClassifierConfig
from tta.papers.nar.config import AutoencoderConfig

pytestmark = pytest.mark.tensorflow

OF_AUTOENCODER = {"model_type": "autoencoder", "latent_size": 7, "pad_id": 2}


def autoencoder(**changes):
    return AutoencoderConfig.from_dict(TTA.to_dict() | OF_AUTOENCODER | changes)


CONFIGS = {
    "autoencoder": autoencoder(num_latents=2, predicts_length=True),
    "autoencoder to tta": autoencoder(decoder_type="tta"),
    "autoencoder to unilm": autoencoder(decoder_type="unilm", decoder_input="ground_truth"),
    "classifier": ClassifierConfig.of(TTA, labels=("a", "b"), max_seq_length=19, pooling="mean"),
}
each_family = pytest.mark.parametrize("name", CONFIGS)


@each_family
def test_the_parts_of_a_model_are_the_layers_of_the_paper(name):
    check_parts(CONFIGS[name])


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@each_family
def test_every_part_by_itself_gives_the_numbers_that_it_gives_inside(name, dtype, monkeypatch):
    check_numbers_of_parts(CONFIGS[name], dtype, monkeypatch)


@each_family
def test_the_summary_nests_and_has_shapes(name, monkeypatch):
    check_summary(CONFIGS[name], monkeypatch)
