"""Models of papers/ are made of the public layers, too, which give the numbers of the models."""

import numpy as np
import pytest

from tests.modeling.layers.test_by_hand import (
    TTA,
    check_numbers_of_parts,
    check_parts,
    check_summary,
    made,
)
from tests.modeling.layers.test_inside import WITH_DROPOUT, check_every_layer_is_called
from tests.modeling.tiny import batch, tiny_config
from tta.papers.glue.config import ClassifierConfig
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.semfit.config import ElmoConfig

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


ELMO = ElmoConfig(
    vocab_size=23,
    hidden_size=15,
    lstm_size=17,
    input_layer="tokens",
    output_layer="tied_softmax",
)
DROPS = tiny_config(**WITH_DROPOUT)
CALLED = {
    "elmo": ELMO,
    "elmo of softmax": ELMO.replace(output_layer="softmax"),
    "semfit": tiny_config(output_layer="semfit", target_size=11, **WITH_DROPOUT),
    "autoencoder": autoencoder(num_latents=2, predicts_length=True, **WITH_DROPOUT),
    "variational": autoencoder(variational=True, **WITH_DROPOUT),
    "autoencoder to tta": autoencoder(decoder_type="tta", **WITH_DROPOUT),
    "autoencoder to unilm": CONFIGS["autoencoder to unilm"],
    "classifier": ClassifierConfig.of(DROPS, labels=("a", "b"), max_seq_length=19),
    "classifier of a mix": ClassifierConfig.of(
        ELMO, labels=("a", "b"), max_seq_length=19, pooling="mix", lstm_size=5
    ),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", CALLED)
def test_a_pass_calls_every_layer_of_the_summary(name, training, monkeypatch):
    check_every_layer_is_called(CALLED[name], monkeypatch, training)


@pytest.mark.parametrize("name", CALLED)
def test_a_mask_of_ones_and_zeros_is_one_of_booleans(name):
    model, inputs = made(CALLED[name]), batch([7, 3, 1])
    expected = model(inputs)
    for kind in (np.int32, np.float32):
        mask = inputs["padding_mask"].astype(kind)
        for key, value in model(inputs | {"padding_mask": mask}).items():
            np.testing.assert_array_equal(value, expected[key])
