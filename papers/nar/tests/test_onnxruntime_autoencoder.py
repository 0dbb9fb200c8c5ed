"""Both halves of an autoencoder compute in onnxruntime what the Keras model computes."""

from types import SimpleNamespace

import numpy as np
import pytest
from keras import ops

from tests.modeling.tiny import arrays, batch
from tests.tiny_dataset import VOCABULARY
from tta.errors import InputError
from tta.modeling.kits.onnx.weights import Arrays
from tta.papers.nar.engines.onnxruntime import _ARRAYS, AutoencoderEngine
from tta.papers.nar.functions import lowest
from tta.papers.nar.tests.test_autoencoder import TYPES, autoencoder_config, make, unbiased
from tta.scoring.engines.options import EngineOptions

pytestmark = pytest.mark.tensorflow

KINDS = {
    **{kind: (kind, {}) for kind in TYPES},
    "variational, lengths": ("pad", {"variational": True, "predicts_length": True}),
    "tta without words": ("tta", {"decoder_input": "pad", "first_query_token_id": 3}),
    "several latents": ("pad", {"num_latents": 3, "decoder_input": "masked"}),
    "unilm, variational": ("unilm", {"variational": True}),
}
LENGTHS = [11, 2, 7, 5, 9, 4, 3, 10]


@pytest.fixture(scope="module", params=KINDS)
def model(request):
    kind, changes = KINDS[request.param]
    return unbiased(make(kind, **changes))


@pytest.fixture(scope="module")
def engine(model):
    return engine_of(model)


def engine_of(model, precision="float32"):
    copy = Arrays(model.config)
    copy.arrays = {name: value.astype(np.float32) for name, value in arrays(model).items()}
    options = EngineOptions(precision=precision)
    return AutoencoderEngine(copy, SimpleNamespace(vocabulary=VOCABULARY), options)


@pytest.fixture(scope="module")
def given():
    inputs = batch(LENGTHS)
    return inputs["input_ids"], inputs["padding_mask"]


def latents(model):
    numbers = model.config.latent_numbers
    return np.random.default_rng(3).normal(size=(len(LENGTHS), numbers)).astype(np.float32)


def test_the_posterior_agrees(model, engine, given):
    ids, mask = given
    encoded = model.encode_latent({"input_ids": ids, "padding_mask": mask})
    expected = np.concatenate(list(encoded.values()), axis=1)
    np.testing.assert_allclose(engine.posterior()(ids, mask, mask), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "output"), [("context", "hidden_states"), ("embed", "embedding_output")]
)
def test_vectors_of_the_encoder_agree(model, engine, given, name, output):
    ids, mask = given
    expected = np.asarray(model.encode({"input_ids": ids, "padding_mask": mask})[output])
    found = engine.token_vectors(name)(ids, mask, mask)
    np.testing.assert_allclose(found[mask], expected[mask], atol=1e-5)


def test_the_decoder_s_probabilities_agree(model, engine, given):
    ids, mask = given
    z = latents(model)
    states = model.decode(z, mask, ids)
    expected = model.head.log_probabilities(states, model.token_table, ids, wanted=mask)
    found = engine.decoded_scores()(ids, mask, z)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_the_decoder_writes_the_same_tokens(model, engine, given):
    ids, mask = given
    z = latents(model)
    if model.config.decoder_type == "unilm":
        expected = model.decode_greedily(z, ids.shape[1], VOCABULARY.bos_id)
    else:
        expected = model.decode_at_once(z, mask, ids)
    found = engine.decoded_ids(1)(ids, mask, z)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found[mask], np.asarray(expected)[mask])
    assert len(np.unique(found[mask])) > 1


def test_several_passes_write_the_same_tokens(given):
    ids, mask = given
    kind, changes = KINDS["several latents"]
    model = unbiased(make(kind, **changes))
    z, engine = 0.3 * latents(model), engine_of(model)
    found = engine.decoded_ids(3)(ids, mask, z)
    np.testing.assert_array_equal(found[mask], np.asarray(model.decode_in_passes(z, mask, 3))[mask])
    assert (found != engine.decoded_ids(1)(ids, mask, z))[mask].any()


def test_the_lengths_agree():
    kind, changes = KINDS["variational, lengths"]
    model = make(kind, **changes)
    z = latents(model)
    found = engine_of(model).length_logits(z)
    np.testing.assert_allclose(found, model.lengths(z), atol=1e-5)


def test_lowest():
    values = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    allowed = np.array([[True, True, True, False], [False, True, True, True]])
    expected = [[False, True, True, False], [False, True, False, False]]
    counts = np.array([[2], [1]])
    for arrays_of in (_ARRAYS, ops):
        found = lowest(arrays_of, values, allowed, counts)
        assert np.asarray(found).tolist() == expected


def test_int8_rounds_both_halves(given):
    ids, mask = given
    model = make("pad", num_hidden_layers=3)
    exact, rounded = engine_of(model), engine_of(model, "int8")
    one, other = (engine.posterior()(ids, mask, mask) for engine in (exact, rounded))
    assert 1e-5 < np.abs(one - other).max() < 0.2
    z = latents(model)
    one, other = (engine.decoded_scores()(ids, mask, z) for engine in (exact, rounded))
    assert 1e-5 < np.abs(one - other).max() < 1.0


def test_it_has_no_scores_of_sentences():
    config = autoencoder_config()
    engine = AutoencoderEngine(Arrays(config))
    with pytest.raises(InputError, match="has no probabilities of tokens"):
        engine.token_scores()
    with pytest.raises(InputError, match="has no representation layers"):
        engine.token_vectors("layers")
