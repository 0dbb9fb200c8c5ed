"""A model starts from the weights of one that fits, and pieces are exchanged by name."""

import numpy as np
import pytest

from tests.modeling.tiny import VOCAB_SIZE, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.formats.initial_weights import exchange_pieces, start_from
from tta.modeling.models.language_model import LanguageModel

pytestmark = pytest.mark.tensorflow

SEMFIT = {"output_layer": "semfit", "target_size": 11}


def test_new_pieces_are_copies_or_means_of_old_pieces():
    trained, model = tiny_model(), LanguageModel(tiny_config(vocab_size=4))
    start_from(model, trained, "trained", origins=[(7,), (0,), (3, 5, 5), (22,)])
    tables = [np.asarray(m.token_table) for m in (trained, model)]
    biases = [np.asarray(m.head.bias) for m in (trained, model)]
    for rows, made in (tables, biases):
        expected = np.stack([rows[7], rows[0], (rows[3] + 2 * rows[5]) / 3, rows[22]])
        np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_exchanging_pieces_with_themselves_changes_nothing():
    weights = {name: np.asarray(v) for name, v in tiny_model().named_weights().items()}
    found = exchange_pieces(weights, [(number,) for number in range(VOCAB_SIZE)])
    for name, weight in weights.items():
        np.testing.assert_array_equal(found[name], weight, err_msg=name)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"hidden_size": 18}, r"has shape \[.*15\], the config requires \[.*18\]"),
        ({"num_attention_heads": 5}, "the model has 3 attention heads, not 5"),
        ({"max_position_embeddings": 20}, r"has shape \[19, 15\], the config requires \[20, 15\]"),
        ({"num_hidden_layers": 3}, "weight encoder/layer_2/.* is missing"),
        ({"num_hidden_layers": 1}, "weight encoder/layer_1/.* is not one of the model's"),
    ],
)
def test_a_model_of_other_sizes_is_refused(changes, rule):
    model = LanguageModel(tiny_config(**changes))
    with pytest.raises(InputError, match="trained: .*" + rule):
        start_from(model, tiny_model(), "trained")


CLOZE = {"model_type": "cloze"}


@pytest.mark.parametrize(
    ("ours", "theirs", "rule"),
    [
        (CLOZE, {}, "a model of type cloze starts from one of type cloze, not tta"),
        ({}, CLOZE, "a model of type tta starts from one of type tta or bilm or unilm, not cloze"),
    ],
)
def test_models_of_other_families_are_refused_with_what_fits(ours, theirs, rule):
    with pytest.raises(InputError, match=f"^small: {rule}$"):
        start_from(tiny_model(**ours), tiny_model(**theirs), "small")


def test_a_family_without_the_ability_starts_only_from_its_own_vocabulary(monkeypatch):
    trained, model = tiny_model(seed=1), tiny_model(seed=2)
    monkeypatch.setattr(TransformerConfig, "can_exchange_pieces", False)
    start_from(model, trained, "trained")
    for one, other in zip(model.weights, trained.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match="with output_layer tied_softmax starts only"):
        start_from(model, trained, "trained", [(0,)] * VOCAB_SIZE)


def test_a_model_with_another_output_layer_gives_its_encoder_only():
    trained, model = tiny_model(seed=1), tiny_model(seed=2, **SEMFIT)
    head = {n: np.asarray(w) + 0 for n, w in model.named_weights().items() if "head/" in n}
    start_from(model, trained, "small")
    expected = {n: w for n, w in trained.named_weights().items() if not n.startswith("head/")}
    found = model.named_weights()
    assert head
    assert set(found) == {*expected, *head}
    for name, weight in {**expected, **head}.items():
        np.testing.assert_array_equal(found[name], weight)
    with pytest.raises(InputError, match="with output_layer semfit starts only from one of the"):
        start_from(model, trained, "small", [(0,)] * VOCAB_SIZE)
