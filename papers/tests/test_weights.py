"""The table of weights against what the Keras layers of every family create; a row of each head."""

import pytest

from tests.modeling.config.test_weights import CONFIGS as OF_CORE
from tests.modeling.config.test_weights import TRANSFORMER, check_weights
from tests.modeling.config.test_weights import language_model as transformer
from tta.modeling.config.base import config_from
from tta.modeling.config.model_types import HEADS, MODEL_TYPES
from tta.papers.glue.config import ClassifierConfig

pytestmark = pytest.mark.tensorflow

ELMO = {
    "vocab_size": 23,
    "hidden_size": 5,
    "lstm_size": 7,
    "num_hidden_layers": 2,
    "input_size": 11,
    "initializer_range": 0.03,
}
OF_HEADS = {"semfit": {"target_size": 11}, "adaptive_softmax": {"adaptive_cutoffs": [5, 13]}}
MIXES = {"texts_per_example": 2, "pooling": "mix", "lstm_size": 13}


def language_model(model_type, output_layer, **changes):
    changes = {**OF_HEADS.get(output_layer, {}), **changes}
    if model_type == "elmo":
        return config_from({**ELMO, "model_type": "elmo", "output_layer": output_layer, **changes})
    return transformer(model_type, output_layer, **changes)


def autoencoder(**changes):
    return config_from({**TRANSFORMER, "model_type": "autoencoder", "latent_size": 7, **changes})


def classifier(encoder, **changes):
    values = {"labels": ("a", "b", "c"), "max_seq_length": 19, **changes}
    return ClassifierConfig.of(encoder, **values)


def all_configs():
    for family in ("tta", "bilm", "unilm", "cloze"):
        yield language_model(family, "semfit")
    for use_layer_norm in (True, False):
        changes = {"use_layer_norm": use_layer_norm}
        for head in ("softmax", "adaptive_softmax", "semfit"):
            yield language_model("elmo", head, **changes)
            yield language_model("elmo", head, input_layer="characters", **changes)
        yield language_model("elmo", "tied_softmax", input_layer="tokens", **changes)
    yield language_model("elmo", "adaptive_softmax", adaptive_cutoffs=[])
    yield language_model("elmo", "adaptive_softmax", adaptive_cutoffs=[5, 9, 15])
    unilm = {"decoder_type": "unilm", "decoder_input": "ground_truth"}
    for kind in ({}, {"decoder_type": "tta"}, unilm, {"num_latents": 3}):
        for variational in (True, False):
            yield autoencoder(**kind, variational=variational)
    yield autoencoder(predicts_length=True)
    yield autoencoder(predicts_length=True, num_latents=3)
    bilm, elmo = language_model("bilm", "softmax"), language_model("elmo", "softmax")
    yield classifier(bilm)
    yield classifier(bilm, labels=())
    yield classifier(bilm, pooling="mean", texts_per_example=2)
    yield classifier(bilm, **MIXES)
    yield classifier(elmo, **MIXES)


CONFIGS = {f"{i}-{config.model_type}": config for i, config in enumerate(all_configs())}


def test_every_family_and_every_head_is_there():
    configs = [*OF_CORE.values(), *CONFIGS.values()]
    assert {config.model_type for config in configs} == set(MODEL_TYPES)
    heads = {getattr(config, "output_layer", "tied_softmax") for config in configs}
    assert heads == set(HEADS)


@pytest.mark.parametrize("name", CONFIGS)
def test_the_layers_create_the_weights_of_the_table_and_no_others(name):
    check_weights(CONFIGS[name])
