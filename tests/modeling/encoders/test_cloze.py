"""A cloze encoder has T-TA's guarantees, by other masks; see `test_encoders`."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling import numpy_cloze, numpy_tta
from tests.modeling.guarantee import BFLOAT16, check, graph_of
from tests.modeling.tiny import MASK_ID, arrays, batch, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.models.language_model import LanguageModel

SHAPES = [(1, 1), (1, 2), (2, 3)]  # layers of a tower, combining layers
FORMS = [{}, {"norm_first": True, "max_relative_distance": 3}]
# Every shape, every form, the largest shape with every type: each is a graph.
CASES = [
    pytest.param(SHAPES[0], FORMS[0], *BFLOAT16.values, marks=BFLOAT16.marks),
    (SHAPES[1], {"first_query_token_id": MASK_ID}, "float32"),
    (SHAPES[2], FORMS[1], "float32"),
    pytest.param(SHAPES[2], FORMS[1], *BFLOAT16.values, marks=BFLOAT16.marks),
]


def cloze(dtype="float32", shape=(1, 1), **changes):
    sizes = {"num_tower_layers": shape[0], "num_hidden_layers": shape[1]}
    return tiny_model(dtype, model_type="cloze", **sizes, **changes)


def words_of(lengths, width, seed=1):
    starts = np.random.default_rng(seed).random((len(lengths), width)) < 0.4
    return starts.cumsum(axis=1).astype(np.int32)


@pytest.mark.parametrize(("shape", "form", "dtype"), CASES)
def test_every_token_is_hidden_from_itself_and_seen_by_all_others(shape, form, dtype):
    outputs = graph_of(cloze(dtype, shape, **form))
    for length, padding in itertools.product([1, 2, 3, 7, 13, 17], [0, 2]):
        check(outputs, length, length + padding)


@pytest.mark.parametrize(
    ("shape", "form", "dtype"),
    [
        ((1, 1), FORMS[0], "float32"),
        pytest.param((2, 2), FORMS[1], *BFLOAT16.values, marks=BFLOAT16.marks),
    ],
)
def test_with_word_ids_a_token_is_hidden_from_the_earlier_pieces_of_its_word_too(
    shape, form, dtype
):
    outputs = graph_of(cloze(dtype, shape, **form), tf.int32)
    for length, padding in itertools.product([1, 2, 3, 7, 13, 17], [0, 2]):
        check(outputs, length, length + padding, words_of([1], length + padding, length)[0])
    check(outputs, 7, 7, np.zeros(7, np.int32))  # one word: left to right


# The smallest and the largest shape, each with every form, and word ids or none.
PAIRS = [
    (shape, form, bool((i + j) % 2))
    for i, shape in enumerate([SHAPES[0], SHAPES[2]])
    for j, form in enumerate([*FORMS, {"first_query_token_id": MASK_ID}])
]


@pytest.mark.parametrize(("shape", "form", "words"), PAIRS)
def test_encoder_and_head_equal_the_plain_equations(shape, form, words):
    model = cloze(shape=shape, **form)
    weights, lengths = arrays(model), [17, 7, 2, 1]
    inputs, word_ids = batch(lengths, width=18), words_of(lengths, 18)
    if words:
        inputs |= {"word_ids": word_ids}
    encoded, logits = model.encode(inputs), model(inputs)["logits"]
    for b, n in enumerate(lengths):
        ids = inputs["input_ids"][b, :n]
        given = word_ids[b] if words else None
        hidden, embedded = numpy_cloze.encode(weights, model.config, ids, given)
        for found, expected in [
            (encoded["hidden_states"][b, :n], hidden),
            (encoded["embedding_output"][b, :n], embedded),
            (logits[b, :n], numpy_tta.logits(weights, hidden)),
        ]:
            np.testing.assert_allclose(found, expected, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ["positions", "segment_ids", "added", "memory"])
def test_inputs_that_it_has_no_use_for_are_refused(name):
    with pytest.raises(TypeError, match=f"an encoder of type cloze takes no {name}"):
        cloze()(batch([3]) | {name: np.zeros((1, 3), np.int32)})


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"num_tower_layers": 0}, "num_tower_layers must be at least 1, not 0"),
        ({"num_tower_layers": 1.5}, "num_tower_layers must be of type int, not 1.5"),
        ({"num_tower_layers": 1_001}, "a tower has at most 1,000 layers, not 1001"),
        ({"num_hidden_layers": 0}, "num_hidden_layers must be at least 1, not 0"),
        ({"num_segments": 2}, "num_segments must be 0 with model_type cloze, not 2"),
    ],
)
def test_shapes_that_it_cannot_have_are_refused(changes, rule):
    with pytest.raises(InputError, match=rule):
        LanguageModel(tiny_config(model_type="cloze", **changes))
