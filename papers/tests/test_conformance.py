"""What every public layer of papers/ can do, by the checks of those of modeling/."""

import pytest

from tests.modeling import test_conformance as core
from tests.modeling.test_conformance import CONFIG, IDS, MASK, STREAM, D, F, N, V
from tta.papers.glue.config import ClassifierConfig
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.semfit.config import ElmoConfig
from tta.papers.semfit.head_settings import AdaptiveSoftmaxSettings

pytestmark = pytest.mark.tensorflow

CLASSIFIER = ClassifierConfig.of(
    CONFIG.replace(model_type="bilm", num_segments=2), labels=("a", "b", "c"), max_seq_length=19
)
AUTOENCODER = AutoencoderConfig.from_dict(
    CONFIG.to_dict()
    | {"model_type": "autoencoder", "latent_size": 7, "variational": True, "pad_id": 2}
    | {"predicts_length": True}
)
SEVERAL = AUTOENCODER.replace(variational=False, num_latents=2)
ELMO = ElmoConfig(
    vocab_size=V,
    hidden_size=D,
    lstm_size=F,
    input_size=11,
    output_layer="adaptive_softmax",
    head=AdaptiveSoftmaxSettings(adaptive_cutoffs=(5, 13)),
)
VECTORS, CHARACTERS = ("float32", 11), ("int32", 13)

LATENT = {
    "LatentPooling": {"states": STREAM, "is_real": MASK},
    "LatentConnector": {"states": STREAM},
    "LatentInputs": {"latent": ("float32", 14)},
}

# As the table of the core.
LAYERS = {
    "ElmoEncoder": (
        {"config": ELMO},
        {"inputs": {"input_ids": IDS, "padding_mask": MASK, "input_vectors": VECTORS}},
    ),
    "ProjectedLSTM": (
        {"units": F, "projection": D, "num_networks": 2, "use_layer_norm": True},
        {"x": ("float32", 2, D)},
    ),
    "ScalarMix": ({"num_layers": N}, {"layers": STREAM}),
    "MixedLSTM": ({"num_layers": N, "lstm_size": F}, {"layers": STREAM, "padding_mask": MASK}),
    "LinearChainCRF": ({"num_tags": D}, {"emissions": STREAM, "padding_mask": MASK}),
    **{
        name: (
            {"num_layers": N, "num_labels": 7, "size": D, "lstm_size": F, **more},
            {"inputs": {"layers": STREAM, "padding_mask": MASK}},
        )
        for name, more in {"LabelModel": {"texts_per_example": 2}, "TagModel": {}}.items()
    },
    "Highway": ({"size": D}, {"x": STREAM}),
    "VectorInput": ({"config": ELMO}, {"inputs": {"input_vectors": VECTORS}}),
    "TableInput": ({"config": ELMO.replace(input_layer="tokens")}, {"inputs": {"input_ids": IDS}}),
    "CharacterInput": (
        {"config": ELMO.replace(input_layer="characters")},
        {"inputs": {"characters": CHARACTERS}},
    ),
    "AdaptiveSoftmaxHead": ({"config": ELMO}, {"hidden_states": STREAM}),
    "SemFitHead": (
        {"config": CONFIG.replace(output_layer="semfit", target_size=11)},
        {"hidden_states": STREAM},
    ),
    **{name: ({"config": SEVERAL}, inputs) for name, inputs in LATENT.items()},
    "ClassificationHead": ({"config": CLASSIFIER}, {"pooled_states": STREAM}),
    **{
        model: (
            {"config": config},
            {"inputs": {"input_ids": IDS, "padding_mask": MASK}},
        )
        for model, config in {
            "SequenceAutoencoder": AUTOENCODER,
            "TextClassifier": CLASSIFIER,
        }.items()
    },
}
PUBLIC = core.public_layers("papers")
core.KNOWN.update(LAYERS)
core.CLASSES.update(PUBLIC)

each_layer = pytest.mark.parametrize("name", sorted(LAYERS))


def test_the_table_holds_every_public_layer():
    assert set(map(core.class_name, LAYERS)) == set(PUBLIC)


@each_layer
def test_config_round_trip(name):
    core.test_config_round_trip(name)


@each_layer
def test_mixed_precision(name):
    core.test_mixed_precision(name)


@each_layer
def test_unknown_dimensions_in_a_graph_and_through_a_saved_model(name, tmp_path):
    core.test_unknown_dimensions_in_a_graph_and_through_a_saved_model(name, tmp_path)


@pytest.mark.parametrize("name", sorted(set(LAYERS) - core.WITHOUT_STREAM - LATENT.keys()))
def test_symbolic_call_gives_the_shape_of_the_real_one(name):
    core.test_symbolic_call_gives_the_shape_of_the_real_one(name)


@each_layer
def test_every_weight_gets_a_gradient(name):
    core.test_every_weight_gets_a_gradient(name)


@each_layer
def test_documented(name):
    core.test_documented(name)
