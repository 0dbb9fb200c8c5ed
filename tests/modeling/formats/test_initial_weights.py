"""A model starts from the weights of one that fits, and pieces are exchanged by name."""

import dataclasses

import numpy as np
import pytest

from tests.modeling.tiny import VOCAB_SIZE, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.config.base import config_from
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.formats.initial_weights import exchange_pieces, start_from
from tta.modeling.models.language_model import LanguageModel, build_model

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


CLOZE = {"model_type": "cloze"}
ELMO = {"model_type": "elmo", "vocab_size": 23, "hidden_size": 5, "lstm_size": 7}
ELMO |= {"input_layer": "tokens", "num_hidden_layers": 1}
LATENT = {"model_type": "autoencoder", "latent_size": 3, "num_attention_heads": 3}
LATENT |= {"vocab_size": 23, "hidden_size": 6, "intermediate_size": 7, "num_hidden_layers": 1}
FAMILIES = {
    "tta": tiny_config().to_dict(),
    "cloze": tiny_config(**CLOZE).to_dict(),
    "elmo": ELMO,
    "autoencoder": LATENT,
}


def started(family, changes, old=None, origins=None):
    """Starts a model with these changes from one of the family with those of `old`."""
    ours, theirs = (build_model(config_from(FAMILIES[family] | (c or {}))) for c in (changes, old))
    start_from(ours, theirs, "old", origins)
    return ours, theirs


# Fields that do not change what the weights compute, or how scores are added up.
FREE = {"hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range"}
FREE |= {"learned_normalizer", "do_lower_case", "normalization", "unknown_price", "head"}
FREE |= {"model_type", "vocab_size", "output_layer", "input_layer"}  # they need other weights
FREE |= {"num_segments"}  # which a T-TA has not
# Another value for those of other types than numbers.
OTHERS = {"hidden_act": "relu", "decoder_type": "tta", "decoder_input": "masked"}
OTHERS |= {"num_attention_heads": 1, "first_query_token_id": 4, "tokenizer": "words"}


@pytest.mark.parametrize("family", FAMILIES)
def test_another_value_of_any_other_field_is_refused(family):
    """A new field is covered, too, without a change here."""
    config = config_from(FAMILIES[family])
    for field in dataclasses.fields(config):
        if field.name in FREE:
            continue
        value = getattr(config, field.name)
        other = OTHERS.get(field.name)
        if other is None:
            other = not value if isinstance(value, bool) else value * 2 if value else 1
        with pytest.raises(InputError, match=r"^old: "):
            started(family, {field.name: other})


@pytest.mark.parametrize(
    ("changes", "old", "note"),
    [
        ({"hidden_dropout_prob": 0.5, "initializer_range": 1.0}, {}, ""),
        ({"learned_normalizer": True}, {}, ""),
        ({"model_type": "bilm", "first_query_token_id": 4}, {"model_type": "bilm"}, ""),
        ({"first_query_token_id": 4}, {"model_type": "bilm"}, ""),
        ({"unknown_price": 5.0}, {}, "note: old has unknown_price 3.0, the new model 5.0\n"),
        ({"do_lower_case": False}, {}, "note: old has do_lower_case True, the new model False\n"),
    ],
)
def test_what_may_differ_is_said_if_it_changes_how_text_is_read(changes, old, note, capsys):
    started("tta", changes, old)
    assert capsys.readouterr().err == note


def test_the_token_of_the_first_query_may_have_another_id():
    origins = [(4 if number == 6 else 5,) for number in range(23)]
    started("tta", {"first_query_token_id": 6}, {"first_query_token_id": 4}, origins)
    with pytest.raises(InputError, match="the model has first_query_token_id 4, not 4"):
        started("tta", {"first_query_token_id": 4}, {"first_query_token_id": 4}, origins)


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
