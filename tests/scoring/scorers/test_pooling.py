"""Poolings against plain NumPy; their statistics on disk: good, damaged, of another model."""

import io
import zipfile

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, TOKENS, write_model_directory
from tta.errors import InputError
from tta.names import POOLING
from tta.scoring.scorers.pooling import (
    SIF_A,
    PoolingStatistics,
    Whitening,
    fit_pooling,
    piece_probabilities,
)

SIZE = CONFIG.hidden_size
WORDS = ["the", "cat", "dog", "sat", "on", "mat", "ran", "home", "cats", "dogs", ".", ","]


def texts(count, seed=0):
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(count)]


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = write_model_directory(tmp_path_factory.mktemp("models") / "tiny")
    with open(directory / POOLING, "wb") as file:
        fit_pooling(tta.load(directory), texts(200), 150).write(file)
    return directory


@pytest.fixture(scope="module")
def lm(directory):
    return tta.load(directory)


def test_probabilities_are_relative_frequencies_with_smoothing():
    found = piece_probabilities([np.array([1, 1, 3]), np.array([], int), np.array([1])], 5)
    np.testing.assert_allclose(found, np.array([0.5, 3.5, 0.5, 1.5, 0.5]) / 6.5)
    np.testing.assert_allclose(piece_probabilities([], 4), 0.25)


def test_vectors_have_the_identity_as_covariance_before_normalization():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=5)
    whitening = Whitening.fit(vectors.mean(axis=0), np.cov(vectors.T))
    white = (vectors - whitening.mean) @ whitening.matrix
    np.testing.assert_allclose(np.cov(white.T), np.eye(5), atol=1e-4)
    expected = white / np.linalg.norm(white, axis=1, keepdims=True)
    np.testing.assert_allclose(whitening(vectors.astype(np.float32)), expected, atol=1e-5)


@pytest.mark.tensorflow
@pytest.mark.parametrize("pooling", ["sif", "whitened"])
@pytest.mark.parametrize("representation", ["context", "embed", "token"])
def test_vectors_equal_plain_sums(lm, representation, pooling):
    some = texts(7, seed=1)
    found = lm.encode(some, representation, pooling)
    weights = SIF_A / (SIF_A + np.asarray(lm.pooling_statistics.piece_probabilities, np.float64))
    table = np.asarray(lm.model.token_table)
    for text, vector in zip(some, found, strict=True):
        (ids,) = lm.tokenizer.encode([text])
        vocabulary = lm.tokenizer.vocabulary
        ids = np.concatenate([[vocabulary.bos_id], ids, [vocabulary.eos_id]])
        inputs = {"input_ids": ids[None], "padding_mask": np.ones((1, len(ids)), bool)}
        encoded = lm.model.encode(inputs, training=False)
        rows = {
            "context": np.asarray(encoded["hidden_states"])[0],
            "embed": np.asarray(encoded["embedding_output"])[0],
            "token": table[ids],
        }[representation][1:-1]
        weight = weights[ids[1:-1]]
        if pooling == "whitened":
            whitening = lm.pooling_statistics.whitenings[representation]
            rows = (rows - whitening.mean) @ whitening.matrix
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        expected = (weight[:, None] * rows).sum(axis=0) / weight.sum()
        np.testing.assert_allclose(vector, expected, atol=2e-3 if pooling == "whitened" else 1e-5)


@pytest.mark.tensorflow
def test_moments_are_weighted_over_all_pieces(lm):
    some, weights = texts(40), np.random.default_rng(0).random(len(TOKENS), np.float32)
    ids = np.concatenate(lm.tokenizer.encode(some))
    vectors = np.asarray(lm.model.token_table, np.float64)[ids]
    mean, covariance = lm.piece_moments(some, "token", weights)
    np.testing.assert_allclose(mean, np.average(vectors, axis=0, weights=weights[ids]), atol=1e-6)
    expected = np.cov(vectors.T, ddof=0, aweights=weights[ids])
    np.testing.assert_allclose(covariance, expected, atol=1e-6)


@pytest.mark.tensorflow
@pytest.mark.parametrize("representation", ["context", "embed", "token"])
def test_a_whitening_is_fitted_on_the_first_sentences_with_sif_weights(lm, representation):
    weights = lm.pooling_statistics.piece_weights()
    mean, covariance = lm.piece_moments(texts(200)[:150], representation, weights)
    whitening = lm.pooling_statistics.whitenings[representation]
    np.testing.assert_allclose(whitening.mean, mean, atol=1e-5)
    variances = np.linalg.eigvalsh(whitening.matrix.T @ covariance @ whitening.matrix)
    # Few words occur in the sentences, so some directions have no variance.
    np.testing.assert_allclose(variances[variances > 0.5], 1.0, atol=0.02)
    assert (variances > 0.5).sum() >= SIZE - 4


@pytest.mark.tensorflow
def test_joint_vectors_are_token_rows_a_constant_and_outputs(lm):
    some = texts(5)
    joint = lm.encode(some, "joint")
    token, context = lm.encode(some, "token", "whitened"), lm.encode(some, "context")
    assert joint.shape == (5, SIZE + 1 + SIZE)
    rows = np.concatenate([token, np.full((5, 1), 0.3)], axis=1)
    rows, context = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (rows, context))
    expected = 0.7 * rows @ rows.T + 0.3 * context @ context.T
    np.testing.assert_allclose(joint @ joint.T, expected, atol=1e-6)
    np.testing.assert_allclose(np.diag(expected), 1.0, rtol=1e-6)
    assert not lm.encode([""], "joint").any()
    assert "joint" not in lm.pooled_representations


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("representation", "pooling", "rule"),
    [
        ("cls", "sif", "tiny: pooling of cls must be mean, not 'sif'"),
        ("joint", "sif", "tiny: pooling of joint must be mean, not 'sif'"),
        ("embed", "max", "tiny: pooling of embed must be mean or sif or whitened, not 'max'"),
    ],
)
def test_unknown_poolings_are_refused(lm, representation, pooling, rule):
    with pytest.raises(InputError) as error:
        lm.encode(["the cat"], representation, pooling)
    assert str(error.value) == rule


@pytest.mark.tensorflow
def test_without_statistics_the_error_names_the_command_that_writes_them(tmp_path):
    lm = tta.load(write_model_directory(tmp_path / "bare"))
    with pytest.raises(InputError, match=r"bare/pooling\.npz: no such file; tta fit-pooling w"):
        lm.encode(["the cat"], "token", "sif")
    assert lm.encode(["the cat"], "token").shape == (1, SIZE)


@pytest.mark.tensorflow
@pytest.mark.parametrize("text", [["the cat sat on the mat"], ["the cat sat"] * 50])
def test_too_few_pieces_or_equal_sentences_are_refused(lm, text):
    rule = r"of size 12 needs more than 12 pieces in different sentences, got \d$"
    with pytest.raises(InputError, match=rule):
        fit_pooling(lm, [*text, "the dog ran home."], len(text))


@pytest.mark.tensorflow
def test_equal_vectors_are_refused(lm):
    """The rows of one piece in the token table have no variance at all."""
    rule = "no whitening: the vectors of all pieces of the text are equal"
    with pytest.raises(InputError, match=rule):
        Whitening.fit(np.array([1.0, 2.0]), np.zeros([2, 2]))
    with pytest.raises(InputError, match=rule):
        Whitening.fit(np.zeros(2), np.zeros([2, 2]))
    with pytest.raises(InputError, match=rule):
        fit_pooling(lm, [" ".join(["the"] * length) for length in range(1, 7)], 6)


def arrays(**changes):
    """The arrays of a good file with changes; None removes an array."""
    good = {
        "piece_probabilities": np.full(len(TOKENS), 1 / len(TOKENS), np.float32),
        "token.mean": np.zeros(SIZE, np.float32),
        "token.matrix": np.eye(SIZE, dtype=np.float32),
    }
    return {n: a for n, a in (good | changes).items() if a is not None}


def read(path, **changes):
    np.savez(path, **arrays(**changes))
    return PoolingStatistics.load(path, len(TOKENS), SIZE)


@pytest.mark.tensorflow
def test_a_round_trip(tmp_path, directory):
    good = read(tmp_path / POOLING)
    with open(tmp_path / "again.npz", "wb") as file:
        good.write(file)
    again = PoolingStatistics.load(tmp_path / "again.npz", len(TOKENS), SIZE)
    np.testing.assert_array_equal(again.piece_probabilities, good.piece_probabilities)
    np.testing.assert_array_equal(again.whitenings["token"].matrix, np.eye(SIZE))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["again.npz", POOLING]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"piece_probabilities": None}, "other arrays"),
        ({"piece_probabilities": np.ones(3, np.float32)}, "other arrays"),
        ({"token.mean": np.zeros(3, np.float32)}, "other arrays"),
        ({"token.matrix": None}, "other arrays"),
        ({"token.more": np.zeros(3, np.float32)}, "other arrays"),
        ({"token.mean": np.full(SIZE, np.nan, np.float32)}, "finite float32"),
        ({"token.mean": np.zeros(SIZE)}, "finite float32"),
        ({"piece_probabilities": np.zeros(len(TOKENS), np.float32)}, "above 0"),
        ({"token.mean": np.array([object()] * SIZE)}, "not readable"),  # a pickle
    ],
)
def test_a_file_that_does_not_fit_is_refused(tmp_path, changes, rule):
    with pytest.raises(InputError, match=rule) as error:
        read(tmp_path / POOLING, **changes)
    assert str(error.value).startswith(f"{tmp_path}/{POOLING}: ")
    assert "\n" not in str(error.value)


def test_a_large_array_is_refused_before_memory_is_allocated(tmp_path):
    path = tmp_path / POOLING
    for size in (10**15, 10**9):
        with (
            zipfile.ZipFile(path, "w") as archive,
            archive.open("piece_probabilities.npy", "w") as f,
        ):
            header = {"descr": "<f4", "fortran_order": False, "shape": (size,)}
            np.lib.format.write_array_header_1_0(f, header)
        with pytest.raises(InputError, match="other arrays"):
            PoolingStatistics.load(path, len(TOKENS), SIZE)


def test_bytes_behind_an_array_are_refused_before_they_are_read(tmp_path):
    path = tmp_path / POOLING
    array = io.BytesIO()
    np.save(array, np.full(len(TOKENS), 0.1, np.float32))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("piece_probabilities.npy", array.getvalue() + bytes(10**7))
    with pytest.raises(InputError, match="bytes that are no numbers"):
        PoolingStatistics.load(path, len(TOKENS), SIZE)


@pytest.mark.tensorflow
def test_a_damaged_file_is_refused(tmp_path, directory):
    content = (directory / POOLING).read_bytes()
    path = tmp_path / POOLING
    flipped = bytearray(content)
    flipped[len(flipped) // 2] ^= 16
    for damaged in (b"no zip file", content[:-40], flipped):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"pooling\.npz: ") as error:
            PoolingStatistics.load(path, len(TOKENS), SIZE)
        assert "\n" not in str(error.value)
