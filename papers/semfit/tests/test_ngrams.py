"""Vectors from n-grams: hashes as fastText's, means as gensim's, damaged files in one line."""

import json

import numpy as np
import pytest

from tta.atomic import copy_present
from tta.errors import InputError
from tta.names import NGRAMS, NGRAMS_SETTINGS
from tta.papers.semfit.vectors.ngrams import NgramSettings, NgramVectors, ngram_hashes

BUCKETS, M = 97, 5
ARRAY = np.random.default_rng(0).normal(size=(BUCKETS, M)).astype(np.float16)
WORDS = ["the", "straße", "日本語", "😀ab", "don't", "a", "ééé", "internationalization", ""]


def write(directory, array=ARRAY, **settings):
    np.save(directory / "ngrams.npy", array)
    (directory / "ngrams.json").write_text(NgramSettings(**settings).text)
    return directory


def plain_hash(ngram):
    """FNV-1a in unsigned 32 bits, where a byte is a signed char in C."""
    value = np.uint32(2166136261)
    with np.errstate(over="ignore"):
        for byte in np.frombuffer(ngram.encode(), np.int8):
            value = (value ^ byte.astype(np.uint32)) * np.uint32(16777619)
    return int(value)


def plain_ngrams(word, min_n, max_n):
    word = f"<{word}>"
    return [
        word[i : i + n]
        for i in range(len(word))
        for n in range(max(min_n, 1), max_n + 1)
        if i + n <= len(word) and not (n == 1 and (i == 0 or i + n == len(word)))
    ]


@pytest.mark.parametrize(("min_n", "max_n"), [(3, 6), (1, 2), (2, 2), (5, 5), (1, 30), (0, 0)])
def test_hashes_are_those_of_a_plain_twin_and_of_gensim(min_n, max_n):
    for word in WORDS:
        hashes = ngram_hashes(word, min_n, max_n)
        assert hashes == [plain_hash(ngram) for ngram in plain_ngrams(word, min_n, max_n)], word
    fasttext = pytest.importorskip("gensim.models.fasttext", reason="pip install '.[vectors]'")

    for word in WORDS:
        theirs = list(fasttext.ft_ngram_hashes(word, min_n, max_n, BUCKETS))
        assert [value % BUCKETS for value in ngram_hashes(word, min_n, max_n)] == theirs, word


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_vectors_are_means_over_ngrams(tmp_path, dtype):
    ngrams = NgramVectors(write(tmp_path, ARRAY.astype(dtype), min_n=3, max_n=4))
    ngrams.check_values()
    found = ngrams.vectors(WORDS)
    assert (found.shape, found.dtype, ngrams.size) == ((len(WORDS), M), np.float32, M)
    for vector, word in zip(found, WORDS, strict=True):
        rows = [ARRAY[plain_hash(ngram) % BUCKETS] for ngram in plain_ngrams(word, 3, 4)]
        expected = np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(M)
        np.testing.assert_allclose(vector, expected, rtol=1e-5, atol=1e-6, err_msg=word)
    assert not found[WORDS.index("")].any(), "no n-gram"
    assert ngrams.vectors([]).shape == (0, M)


def test_blocks_do_not_matter(tmp_path, monkeypatch):
    ngrams = NgramVectors(write(tmp_path))
    together = ngrams.vectors(WORDS)
    monkeypatch.setattr("tta.papers.semfit.vectors.ngrams._BLOCK_WORDS", 2)
    np.testing.assert_array_equal(ngrams.vectors(WORDS), together)
    np.testing.assert_array_equal(ngrams.vectors([""]), np.zeros((1, M)))


def test_a_copy_is_equal(tmp_path):
    ngrams, other = NgramVectors(write(tmp_path, min_n=2)), tmp_path / "model"
    other.mkdir()
    copy_present(tmp_path, other, [NGRAMS, NGRAMS_SETTINGS])
    again = NgramVectors(other)
    assert (again.digest, again.settings) == (ngrams.digest, ngrams.settings)
    assert NgramVectors(write(tmp_path, min_n=4)).digest != ngrams.digest


def test_damaged_vectors_another_size_and_settings_that_are_missing(tmp_path):
    """test_target_vectors.py has the other rules of such arrays."""
    damaged = np.where(np.arange(BUCKETS)[:, None] == 7, np.nan, ARRAY)
    with pytest.raises(InputError, match=r"ngrams\.npy: the vector of bucket 7 is not finite"):
        NgramVectors(write(tmp_path, damaged)).check_values()
    with pytest.raises(InputError, match=r"ngrams\.npy: expected vectors of 1 to 100,000 numbers"):
        NgramVectors(write(tmp_path, ARRAY[:0]))
    with pytest.raises(InputError, match=r"ngrams\.npy: its vectors have 5 numbers, but those of"):
        NgramVectors(write(tmp_path)).check_size(6)
    (tmp_path / "ngrams.json").unlink()
    with pytest.raises(InputError, match=r"ngrams\.json: cannot be read"):
        NgramVectors(tmp_path)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"min_n": -1}, "min_n must be an integer between 0 and 100, not -1"),
        ({"max_n": 6.0}, "max_n must be an integer between 0 and 100, not 6.0"),
        ({"max_n": True}, "max_n must be an integer between 0 and 100, not True"),
        ({"min_n": 7}, "min_n is 7, more than max_n, 6"),
        ({"lower_case": 1}, "lower_case must be true or false, not 1"),
        ({"more": 1}, "expected the keys min_n, max_n, lower_case, got min_n, max_n, lower_case, "),
    ],
)
def test_wrong_settings(tmp_path, settings, rule):
    write(tmp_path)
    values = {"min_n": 3, "max_n": 6, "lower_case": False} | settings
    (tmp_path / "ngrams.json").write_text(json.dumps(values))
    with pytest.raises(InputError) as error:
        NgramVectors(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'ngrams.json'}: {rule}")
