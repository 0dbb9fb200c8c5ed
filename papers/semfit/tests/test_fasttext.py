"""fastText by gensim: every word has the vector that gensim gives, from our files too."""

import gzip

import numpy as np
import pytest

from tta.errors import InputError
from tta.papers.semfit.vectors.fasttext import SubwordVectors

fasttext = pytest.importorskip("gensim.models.fasttext", reason="pip install '.[vectors]'")

KNOWN = ["the", "straße", "日本語", "don't", "a", "walking", "walked"]
UNKNOWN = ["walks", "straßen", "日本", "😀", "", "b"]


def sentences(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return [[KNOWN[i] for i in rng.integers(0, len(KNOWN), 9)] for _ in range(count)]


def train(**settings):
    return SubwordVectors.train(sentences(), 7, 101, num_epochs=2, **settings)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """gensim's model, and its file in Facebook's format."""
    made = fasttext.FastText(
        sentences(), vector_size=7, min_count=1, min_n=2, max_n=4, bucket=101, seed=1, workers=1
    )
    path = tmp_path_factory.mktemp("fasttext") / "vectors.bin"
    fasttext.save_facebook_model(made, str(path))
    return made, path


def composed(words, word):
    """The mean of a word's own vector, if there is one, and those of its n-grams."""
    hashes = fasttext.ft_ngram_hashes(word, words.min_n, words.max_n, words.bucket)
    rows = [words.vectors_ngrams[i] for i in hashes]
    if word in words.key_to_index:
        rows.append(words.vectors_vocab[words.key_to_index[word]])
    return np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(words.vector_size)


def test_a_file_gives_the_mean_of_a_word_and_its_ngrams(model):
    made, path = model
    vectors = SubwordVectors.read(path)
    assert (vectors.size, vectors.min_n, vectors.max_n) == (7, 2, 4)
    assert vectors.ngrams.shape == (101, 7)
    found = vectors.vectors([*KNOWN, *UNKNOWN])
    assert found.dtype == np.float32
    for vector, word in zip(found, [*KNOWN, *UNKNOWN], strict=True):
        np.testing.assert_allclose(vector, composed(made.wv, word), atol=1e-6, err_msg=word)
        np.testing.assert_array_equal(vector, made.wv.get_vector(word), err_msg=word)


def test_words_without_ngrams_are_zeros_and_nothing_is_logged(caplog):
    made = fasttext.FastText(sentences(), vector_size=7, min_count=1, min_n=4, max_n=5, workers=1)
    vectors = SubwordVectors(made.wv)
    found = vectors.vectors(["a", "", "b", "ab"])
    assert found.any(axis=1).tolist() == [True, False, False, True]
    assert "origin vector" not in caplog.text


def test_a_file_without_ngrams_knows_its_own_words_only(tmp_path):
    made = fasttext.FastText(sentences(), vector_size=7, min_count=1, max_n=0, bucket=0)
    fasttext.save_facebook_model(made, str(tmp_path / "plain.bin"))
    vectors = SubwordVectors.read(tmp_path / "plain.bin")
    assert (vectors.ngrams.shape, vectors.min_n, vectors.max_n) == ((0, 7), 0, 0)
    assert vectors.vectors(["the", "walks"]).any(axis=1).tolist() == [True, False]


def test_training_is_repeatable_and_related_words_are_alike():
    vectors = train()
    assert (vectors.size, vectors.min_n, vectors.max_n) == (7, 3, 6)
    assert vectors.ngrams.shape == (101, 7)
    words = [*KNOWN, *UNKNOWN]
    np.testing.assert_array_equal(train().vectors(words), vectors.vectors(words))
    assert not np.array_equal(train(seed=2**63 - 1).vectors(words), vectors.vectors(words))


@pytest.mark.parametrize("given", [[], [[]]])
def test_no_word(given):
    with pytest.raises(InputError, match=r"^the training set holds no word$"):
        SubwordVectors.train(given, 7, 101)


def test_files_that_are_not_fasttext_s(model, tmp_path):
    content = model[1].read_bytes()
    path = tmp_path / "bad.bin"
    rules = {
        b"": "not a binary file (.bin) of fastText",
        b"the 0.1 0.2\n": "not a binary file (.bin) of fastText",
        gzip.compress(content): "compressed; unpack it first",
        content[:8] + b"\xff\xff\xff\x7f" * 12 + content[56:]: "not a readable fastText file: ",
    }
    for bad, rule in rules.items():
        path.write_bytes(bad)
        with pytest.raises(InputError) as error:
            SubwordVectors.read(path)
        assert str(error.value).startswith(f"{path}: {rule}")
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"none\.bin: no such file"):
        SubwordVectors.read(tmp_path / "none.bin")


def test_a_file_that_ends_anywhere_is_refused_at_once(model, tmp_path):
    content = model[1].read_bytes()
    rows = (101 + len(KNOWN)) * 7 * 4  # bytes of the vectors; what follows them is not read
    end = content.index(np.int64([101 + len(KNOWN), 7]).tobytes()) + 16 + rows
    path = tmp_path / "short.bin"
    for length in (*range(5, end - rows), end - 1):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match=r"short\.bin: not a readable fastText file: it ends"):
            SubwordVectors.read(path)
    path.write_bytes(content[:end])
    assert SubwordVectors.read(path).size == 7


@pytest.mark.parametrize("position", [8, 40, 64, 68])  # dim, bucket, entries, words
@pytest.mark.parametrize("number", [-1, 0, 2**31 - 1])
def test_sizes_that_the_file_does_not_hold_are_refused(model, tmp_path, position, number):
    content = bytearray(model[1].read_bytes())
    content[position : position + 4] = np.int32(number).tobytes()
    path = tmp_path / "sizes.bin"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"sizes\.bin: (not a readable|a quantized) fastText file"):
        SubwordVectors.read(path)


def test_a_vector_that_is_not_finite(model, tmp_path):
    made = model[0]
    content = model[1].read_bytes()
    number = made.wv.vectors_ngrams[5, 3].tobytes()
    place = content.index(number)
    (tmp_path / "nan.bin").write_bytes(content[:place] + b"\x00\x00\xc0\x7f" + content[place + 4 :])
    with pytest.raises(InputError, match=r"nan\.bin: a vector is not finite$"):
        SubwordVectors.read(tmp_path / "nan.bin")
