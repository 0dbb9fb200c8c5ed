"""What a model reads of words: vectors and characters, in a graph, of words never seen too."""

import numpy as np
import pytest
import tensorflow as tf

from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.papers.semfit.vectors.character_network import NUM_CHARACTERS
from tta.papers.semfit.vectors.ngrams import NgramSettings, NgramVectors
from tta.papers.semfit.vectors.target_vectors import TargetVectors
from tta.papers.semfit.vectors.word_inputs import CharacterInputs, WordVectorInputs

pytestmark = pytest.mark.tensorflow

COUNTS = {"the": 9, "naïve": 5, "[UNK]": 4, "日本語": 3, "x" * 70: 2, "é" * 30: 1}
VOCABULARY = WordVocabulary.from_counts(COUNTS)
V, M, BUCKETS = len(VOCABULARY), 5, 31
TABLE = np.random.default_rng(0).normal(size=(V, M)).astype(np.float16)
TEXT = f"the zebra 日本 naïve zebra {'é' * 40} straße"


def write(directory, size=M):
    VOCABULARY.save(directory / "vocab.txt")
    np.save(directory / "vectors.npy", TABLE)
    ngrams = np.random.default_rng(1).normal(size=(BUCKETS, size)).astype(np.float16)
    np.save(directory / "ngrams.npy", ngrams)
    (directory / "ngrams.json").write_text(NgramSettings().text)
    return directory


def batch():
    """A tokenizer, and ids with every special token, known and new words: [2, 9]."""
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    words = tokenizer.encode([TEXT])[0].tolist()
    v = VOCABULARY
    second = [v.bos_id, *range(4, V), v.eos_id, v.unk_id, v.pad_id]
    first = [v.bos_id, *words, v.eos_id]
    return tokenizer, np.array([first + [v.pad_id] * (len(second) - len(first)), second], np.int32)


def in_graph(inputs, size):
    graph = tf.function(inputs.look_up, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    assert graph.get_concrete_function().structured_outputs.shape.as_list() == [None, None, size]
    return graph


def test_vectors_are_rows_and_means_of_ngrams(tmp_path):
    vectors, ngrams = TargetVectors(write(tmp_path), VOCABULARY), NgramVectors(tmp_path)
    tokenizer, ids = batch()
    inputs = WordVectorInputs(vectors, tokenizer, ngrams)
    expected = np.zeros((*ids.shape, M), np.float16)
    for place in np.ndindex(*ids.shape):
        number = ids[place]
        new = number >= V
        row = ngrams.vectors(tokenizer.pieces([number]))[0] if new else TABLE[number]
        expected[place] = row
    assert (ids >= V).sum() == 5
    assert expected[ids >= V].any(axis=1).all()
    for found in (inputs.look_up(tf.constant(ids)), in_graph(inputs, M)(ids)):
        assert found.dtype == np.float16
        np.testing.assert_array_equal(found, expected)
    known = np.where(ids < V, ids, 2)
    np.testing.assert_array_equal(WordVectorInputs(vectors).look_up(known), TABLE[known])


def test_without_ngrams_new_words_are_zeros(tmp_path):
    tokenizer, ids = batch()
    inputs = WordVectorInputs(TargetVectors(write(tmp_path), VOCABULARY), tokenizer)
    found = np.asarray(inputs.look_up(ids))
    assert not found[ids >= V].any()
    np.testing.assert_array_equal(found[ids < V], TABLE[ids[ids < V]])


def test_what_does_not_fit_is_one_line(tmp_path):
    vectors = TargetVectors(write(tmp_path, size=M + 1), VOCABULARY)
    with pytest.raises(InputError, match=r"ngrams\.npy: its vectors have 6 numbers, but those"):
        WordVectorInputs(vectors, None, NgramVectors(tmp_path))
    with pytest.raises(InputError, match=rf"id {V} is not in a vocabulary of {V}"):
        WordVectorInputs(vectors).rows(np.array([[V]], np.int32))
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    for inputs in (WordVectorInputs(vectors, tokenizer), CharacterInputs(tokenizer)):
        with pytest.raises(InputError, match=rf"id {V + 3} is not in a vocabulary of {V}"):
            inputs.rows(np.array([[V + 3]], np.int32))


def plain_characters(word):
    """ELMo's characters of a word, which may be "begin" or "end" of a sentence, + 1."""
    middle = {"begin": [256], "end": [257], None: []}.get(word)
    if middle is None:
        middle = list(word.encode("utf-8"))[:48]
    numbers = [258, *middle, 259]
    return [number + 1 for number in numbers + [260] * (50 - len(numbers))]


def test_characters_are_those_of_a_plain_twin():
    tokenizer, ids = batch()
    inputs = CharacterInputs(tokenizer)
    v = VOCABULARY
    special = {v.bos_id: "begin", v.eos_id: "end", v.unk_id: None}
    expected = [
        [
            [0] * 50
            if number == v.pad_id
            else plain_characters(special.get(number, tokenizer.pieces([number])[0]))
            for number in row
        ]
        for row in ids.tolist()
    ]
    for found in (inputs.look_up(tf.constant(ids)), in_graph(inputs, 50)(ids)):
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, expected)
    assert np.max(expected) < NUM_CHARACTERS
    long = np.array(expected)[ids == v.ids["x" * 70]][0]
    assert long.tolist() == [259, *[ord("x") + 1] * 48, 260]


def test_a_word_named_as_a_special_token_is_spelled():
    inputs = CharacterInputs(WordTokenizer(VOCABULARY))
    word, unknown = inputs.rows(np.array([[VOCABULARY.ids["[UNK]"], VOCABULARY.unk_id]]))[0]
    assert word[:8].tolist() == [259, *[1 + ord(c) for c in "[UNK]"], 260, 261]
    assert unknown[:3].tolist() == [259, 260, 261]
