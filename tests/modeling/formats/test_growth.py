"""A grown model computes the same as the smaller one, and its copies train separately."""

import numpy as np
import pytest

from tests.modeling.tiny import VOCAB_SIZE, batch, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.formats.growth import exchange_pieces, grow, widen
from tta.modeling.models.language_model import LanguageModel

TYPES = ["tta", "bilm", "unilm", "cloze"]
SEMFIT = {"output_layer": "semfit", "target_size": 11}


def larger(factor=2, inner=3, **changes):
    """A model `factor` times the size of `tiny_model`; its intermediate size is `inner` times."""
    small = tiny_config()
    sizes = {
        "hidden_size": factor * small.hidden_size,
        "num_attention_heads": factor * small.num_attention_heads,
        "intermediate_size": inner * small.intermediate_size,
    }
    return LanguageModel(tiny_config(**sizes | changes))


@pytest.mark.parametrize("model_type", TYPES)
@pytest.mark.parametrize(("factor", "inner"), [(2, 3), (3, 1), (1, 1)])
def test_scores_do_not_change_and_outputs_are_repeated(model_type, factor, inner):
    form = {"norm_first": True, "max_relative_distance": 2} if model_type == "cloze" else {}
    small = tiny_model(model_type=model_type, **form)
    large, inputs = larger(factor, inner, model_type=model_type, **form), batch([7, 5, 3, 1])
    grow(large, small, "small")
    before, after = small(inputs), large(inputs)
    real = inputs["padding_mask"]
    np.testing.assert_allclose(after["logits"][real], before["logits"][real], atol=2e-4)
    repeated = np.tile(before["hidden_states"], (1, 1, factor))
    np.testing.assert_allclose(after["hidden_states"][real], repeated[real], atol=2e-5)


def test_copies_of_an_output_have_different_gradients():
    import tensorflow as tf

    small, large, inputs = tiny_model(), larger(), batch([7, 5, 3])
    grow(large, small, "small")
    weights = inputs["padding_mask"].astype(np.float32)
    with tf.GradientTape() as tape:
        hidden_states = large.encode(inputs, training=True)["hidden_states"]
        loss = large.loss_of(hidden_states, inputs["input_ids"], weights)
    variables = large.named_weights()
    gradients = dict(
        zip(variables, tape.gradient(loss, [v.value for v in variables.values()]), strict=True)
    )
    for name in ("encoder/layer_0/attention/query/kernel", "encoder/embeddings/position_table"):
        first, second = np.split(np.asarray(gradients[name]), 2, axis=-1)
        assert np.abs(first - second).max() > 0.1 * np.abs(first).max(), name


def test_all_weights_of_a_grown_kernel_are_different():
    grown = widen({"kernel": np.ones((2, 3)) * [1, 2, 3]}, {"kernel": (4, 6)})["kernel"]
    assert np.unique(grown).size == grown.size
    np.testing.assert_allclose(grown[:2] + grown[2:], np.tile([1, 2, 3], (2, 2)), rtol=1e-6)


def test_new_pieces_are_copies_or_means_of_old_pieces():
    small = tiny_model()
    large = larger(vocab_size=4)
    grow(large, small, "small", origins=[(7,), (0,), (3, 5, 5), (22,)])
    tables = [np.asarray(m.token_table) for m in (small, large)]
    biases = [np.asarray(m.head.bias) for m in (small, large)]
    for rows, made in (tables, biases):
        expected = np.stack([rows[7], rows[0], (rows[3] + 2 * rows[5]) / 3, rows[22]])
        expected = np.tile(expected, (1, made.shape[1] // rows.shape[1]) if rows.ndim > 1 else 1)
        np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_exchanging_pieces_with_themselves_changes_nothing():
    weights = {name: np.asarray(v) for name, v in tiny_model().named_weights().items()}
    found = exchange_pieces(weights, [(number,) for number in range(VOCAB_SIZE)])
    for name, weight in weights.items():
        np.testing.assert_array_equal(found[name], weight, err_msg=name)


def test_the_same_seed_gives_the_same_weights():
    weights = [larger() for _ in range(3)]
    for model, seed in zip(weights, [1, 1, 2], strict=True):
        grow(model, tiny_model(), "small", seed=seed)
    same, again, other = (m.encoder.blocks[0].attention.query_dense.kernel for m in weights)
    np.testing.assert_array_equal(same, again)
    assert not np.array_equal(same, other)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"hidden_size": 20, "num_attention_heads": 4}, r"cannot grow to \[.*20"),
        ({"num_attention_heads": 3}, "heads of size 5 cannot become heads of size 10"),
        ({"intermediate_size": 18}, r"\[15, 17\] cannot grow to \[30, 18\]"),
        ({"max_position_embeddings": 20}, r"\[19, 15\] cannot grow to \[20, 30\]"),
        (
            {"max_position_embeddings": 38},
            r"cannot grow to \[38, 30\]: only the hidden size",
        ),
        ({"num_hidden_layers": 3}, "weight encoder/layer_2/.* is missing"),
        ({"num_hidden_layers": 1}, "weight encoder/layer_1/.* is not one of the model's"),
    ],
)
def test_sizes_that_cannot_grow_are_refused(changes, rule):
    with pytest.raises(InputError, match="small: .*" + rule):
        grow(larger(**changes), tiny_model(), "small")


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
        grow(tiny_model(**ours), tiny_model(**theirs), "small")


def test_equal_weights_with_heads_of_another_size_are_refused():
    model = tiny_model(num_attention_heads=5)
    with pytest.raises(InputError, match="heads of size 5 cannot become heads of size 3"):
        grow(model, tiny_model(), "small")


def test_a_family_without_growth_starts_only_from_its_own_size(monkeypatch):
    small, same, large = tiny_model(seed=1), tiny_model(seed=2), larger()
    monkeypatch.setattr(TransformerConfig, "can_grow", False)
    grow(same, small, "small")
    for one, other in zip(same.weights, small.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    for origins, model in ((None, large), ([(0,)] * VOCAB_SIZE, same)):
        with pytest.raises(InputError, match="with output_layer tied_softmax starts only"):
            grow(model, small, "small", origins)


def test_a_model_with_another_output_layer_gives_its_encoder_only():
    trained, model = tiny_model(seed=1), tiny_model(seed=2, **SEMFIT)
    head = {n: np.asarray(w) + 0 for n, w in model.named_weights().items() if "head/" in n}
    grow(model, trained, "small")
    expected = {n: w for n, w in trained.named_weights().items() if not n.startswith("head/")}
    found = model.named_weights()
    assert head
    assert set(found) == {*expected, *head}
    for name, weight in {**expected, **head}.items():
        np.testing.assert_array_equal(found[name], weight)
    with pytest.raises(InputError, match="with output_layer semfit starts only from one of the"):
        grow(tiny_model(**SEMFIT), larger(), "small")
