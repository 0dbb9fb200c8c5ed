"""Attention maps of texts: the same in both engines, with an empty diagonal in a T-TA."""

import keras
import numpy as np
import pytest

import tta
from benchmarks import ROOT
from tta.errors import InputError
from tta.scoring.scorers.scorer import Scorer

TEXTS = ["i scream for ice cream", "the cat sat on the mat", ""]
# Model -> (number of layers, whether a token attends to itself in the last one).
MODELS = {
    "": (3, False),
    "bilm-small": (3, True),
    "unilm-small": (3, True),
    "cloze-small": (5, False),
}


def load(name, engine="onnxruntime"):
    return tta.load(ROOT / "pretrained" / name if name else None, engine=engine)


def check_maps(found, layers, sees_itself):
    for one, text in zip(found, TEXTS, strict=True):
        assert one.tokens == ["[SOS]", *text.split(), "[EOS]"]
        assert one.maps.shape == (layers, 4, len(one.tokens), len(one.tokens))
        assert one.maps.dtype == np.float32
        total = one.maps.sum(-1)
        assert np.isclose(total, 1.0, atol=1e-5).all() or not text
        assert np.diagonal(one.maps[-1], axis1=1, axis2=2).any() == sees_itself


@pytest.mark.parametrize("name", MODELS)
def test_each_text_gets_its_tokens_and_the_maps_of_all_layers(name):
    lm = load(name)
    check_maps(lm.attention(TEXTS), *MODELS[name])
    assert lm.attention([]) == []
    if name == "unilm-small":
        assert not any(np.triu(one.maps, 1).any() for one in lm.attention(TEXTS))


def test_a_text_must_fit_and_a_kind_of_model_without_maps_says_so():
    with pytest.raises(InputError, match=r"sentence 2 has 130 pieces; .* at most 126"):
        load("").attention(["a", "a " * 130])
    with pytest.raises(InputError, match="of type autoencoder need engine tensorflow"):
        load("nar-small").attention(["a"])
    with pytest.raises(InputError, match="this kind of model gives no attention maps"):
        Scorer().attention(["a"])


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", MODELS)
def test_both_engines_give_the_same_maps(name):
    light, full = load(name).attention(TEXTS), load(name, "tensorflow").attention(TEXTS)
    for one, other in zip(light, full, strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(one.maps, other.maps, atol=1e-5)


@pytest.mark.tensorflow
def test_tensorflow_gives_the_maps_of_an_encoder_and_names_families_without():
    check_maps(load("nar-small", "tensorflow").attention(TEXTS), 3, True)
    with pytest.raises(InputError, match="a model of type elmo gives no attention maps"):
        load("elmo-s-small", "tensorflow").attention(["a"])


@pytest.mark.tensorflow
def test_scores_and_maps_follow_what_a_caller_changes_in_the_model():
    lm = load("", "tensorflow")
    block = lm.model.encoder.layer_1
    scores, (maps, *_) = lm.score(TEXTS), lm.attention(TEXTS)

    class Half(type(block.feed_forward)):
        def call(self, x, training=None):
            return 0.5 * super().call(x, training)

    old, block.feed_forward = block.feed_forward, Half(lm.config)
    block.feed_forward.set_weights(old.get_weights())
    changed = lm.score(TEXTS)
    assert np.abs(changed - scores).max() > 0.1
    assert np.abs(lm.attention(TEXTS)[0].maps - maps.maps).max() > 1e-3
    call = block.feed_forward.call
    block.feed_forward.call = lambda x, **options: 2.0 * call(x, **options)
    np.testing.assert_allclose(lm.score(TEXTS), scores, atol=1e-3)
    block.feed_forward.call = call
    np.testing.assert_array_equal(lm.score(TEXTS), changed)
    query = block.attention.query_dense
    query.enable_lora(2)
    query.lora_kernel_b.assign(keras.ops.ones_like(query.lora_kernel_b))
    assert np.abs(lm.score(TEXTS) - changed).max() > 1e-3
