"""The vectors of words, `encode_words`, of language models and word vectors."""

import re

import keras
import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, TOKENS, write_model_directory
from tta.errors import InputError
from tta.scoring.scorers.scorer import Scorer

pytestmark = pytest.mark.tensorflow

SENTENCES = [
    ["the", "cats", "sat"],  # cats is cat ##s
    [],
    ["The", "dog's", "mat", "."],
    ["€", "\u0301", "a"],  # unknown; a lone accent, of which nothing is left
    ["home", "on"] * 9,  # longer than the model, in three windows
]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_model_directory(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def lm(directory):
    return tta.load(directory)


def states(lm, pieces):
    """[T, D] the outputs at pieces, boundaries left out, straight from the Keras model."""
    ids = np.array([[TOKENS.index(t) for t in ["[SOS]", *pieces, "[EOS]"]]], np.int32)
    out = lm.model({"input_ids": ids, "padding_mask": np.ones_like(ids, bool)})
    return keras.ops.convert_to_numpy(out["hidden_states"])[0, 1:-1]


def test_a_word_is_the_mean_of_its_pieces(lm):
    first, _, third, fourth, _ = lm.encode_words(SENTENCES)
    cat = states(lm, ["the", "cat", "##s", "sat"])
    np.testing.assert_allclose(first, [cat[0], cat[1:3].mean(axis=0), cat[3]], atol=1e-5)
    dog = states(lm, ["the", "dog", "'", "s", "mat", "."])
    expected = [dog[0], dog[1:4].mean(axis=0), dog[4], dog[5]]
    np.testing.assert_allclose(third, expected, atol=1e-5)
    odd = states(lm, ["[UNK]", "a"])
    np.testing.assert_allclose(fourth, [odd[0], np.zeros_like(odd[0]), odd[1]], atol=1e-5)


@pytest.mark.parametrize("representation", [None, "embed", "token"])
def test_shapes_and_the_mean_over_all_words_of_one_piece(lm, representation):
    vectors = lm.encode_words(SENTENCES, representation)
    assert [one.shape for one in vectors] == [(len(s), CONFIG.hidden_size) for s in SENTENCES]
    assert {one.dtype for one in vectors} == {np.dtype(np.float32)}
    # Of a sentence in several windows, too: each word comes from the window that keeps it.
    whole = lm.encode([" ".join(SENTENCES[-1])], representation)[0]
    np.testing.assert_allclose(vectors[-1].mean(axis=0), whole, atol=1e-5)


def test_words_of_a_long_sentence_are_in_order(lm):
    """Token rows do not depend on the context: the vectors of the words themselves."""
    words = [*"abcdefghijklmnopqrstuvwxyz"]
    [vectors] = lm.encode_words([words], "token")
    table = lm.model.token_table.numpy()
    np.testing.assert_array_equal(vectors, table[[TOKENS.index(word) for word in words]])


def test_any_characters_give_one_vector_per_word(lm):
    """The pieces of the words one by one are those of the sentence, or the shapes would differ."""
    rng = np.random.default_rng(0)
    codes = [
        *range(1, 0x250),
        *range(0x300, 0x370),
        *range(0x2000, 0x2070),
        0x4E00,
        0xAC00,
        0x1F600,
    ]
    sentences = [
        ["".join(map(chr, rng.choice(codes, rng.integers(1, 5)))) for _ in range(9)]
        for _ in range(200)
    ]
    vectors = lm.encode_words(sentences, "token")
    assert [len(one) for one in vectors] == [len(one) for one in sentences]
    assert all(np.isfinite(one).all() for one in vectors)


def test_refusals(lm):
    with pytest.raises(InputError, match="representation must be context or embed or token"):
        lm.encode_words([["a"]], "cls")
    with pytest.raises(TypeError, match=re.escape("sentences[1] must be an ordered iterable")):
        lm.encode_words([["a"], "b c"])
    with pytest.raises(TypeError, match=re.escape("sentences[0][1] must be a str, not int")):
        lm.encode_words([["a", 1]])
    with pytest.raises(InputError, match="this kind of model has no sentence vectors"):
        Scorer().encode_words([["a"]])


def test_word_vectors(tmp_path):
    (tmp_path / "tiny.txt").write_text("the 1 0\ncat 0 2\n")
    lm = tta.load(f"glove:{tmp_path}/tiny.txt")
    first, second, third = lm.encode_words([["The", "cat", "."], [], ["zebra", "cat's", "(the)"]])
    assert first.tolist() == [[1, 0], [0, 2], [0, 0]]
    assert second.shape == (0, 2)
    assert third.tolist() == [[0, 0], [0, 0], [1, 0]]
    assert lm.encode_words([]) == []


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_a_random_model_has_the_config_and_other_weights_the_same_every_time(
    directory, lm, precision
):
    one, two = (tta.load(f"random:{directory}", precision=precision) for _ in range(2))
    assert one.signature == two.signature != lm.signature
    assert one.name == f"random:{directory.name}"
    assert one.tokenizer.vocabulary.tokens == lm.tokenizer.vocabulary.tokens
    assert (one.representations, one.config) == (lm.representations, lm.config)
    ours, theirs = one.encode(["the cat"]), lm.encode(["the cat"])
    np.testing.assert_array_equal(ours, two.encode(["the cat"]))
    assert ours.shape == theirs.shape
    assert abs(ours - theirs).max() > 0.1


@pytest.mark.parametrize(
    ("model", "error"), [("nowhere", "nowhere: no such model"), ("glove:x", "x: no such file")]
)
def test_a_random_model_needs_a_model(model, error):
    with pytest.raises(InputError, match=f"^{error}"):
        tta.load(f"random:{model}")
