"""tta create-vectors from each source, and what it refuses."""

import os

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, TOKENS, write_model_directory
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.papers.semfit.create import create_vectors
from tta.papers.semfit.create_config import VectorsConfig
from tta.papers.semfit.vectors.target_vectors import TargetVectors
from tta.papers.semfit.vectors.token_vectors import svd_vectors
from tta.scoring.scorers.pooling import fit_pooling

pytestmark = pytest.mark.tensorflow

V = len(VOCABULARY)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data"), sentences(60), sentences(9, seed=1))


def create(dataset, output_dir, **settings):
    config = VectorsConfig(input_dir=str(dataset), output_dir=str(output_dir), **settings)
    made = create_vectors(config)
    read = TargetVectors(output_dir, VOCABULARY)
    read.check_values()
    np.testing.assert_array_equal(read.array, made.astype(np.float16))
    return made


def test_skip_gram_trains_every_piece_that_occurs_boundary_tokens_included(dataset, tmp_path):
    vectors = create(dataset, tmp_path / "a", size=8, num_epochs=2)
    occurs = np.isin(np.arange(V), [i for one in sentences(60) for i in one])
    np.testing.assert_array_equal(vectors.any(axis=1), occurs)
    assert occurs[[VOCABULARY.bos_id, VOCABULARY.eos_id]].all()
    np.testing.assert_array_equal(create(dataset, tmp_path / "b", size=8, num_epochs=2), vectors)
    card = (tmp_path / "a" / "README.md").read_text()
    assert "23 pieces, 8 numbers\neach, 3 pieces without a vector" in card
    assert "--source=skip_gram --seed=0 --window=5 --num_epochs=2" in card


def test_vectors_by_svd_are_of_the_training_sentences(dataset, tmp_path):
    settings = {"source": "svd", "size": 7, "window": 2, "num_negatives": 1.0}
    vectors = create(dataset, tmp_path / "a", **settings)
    expected = svd_vectors(sentences(60), V, 7, 2, 1.0)
    np.testing.assert_allclose(vectors @ vectors.T, expected @ expected.T, atol=1e-4)
    card = (tmp_path / "a" / "README.md").read_text()
    assert "--source=svd --seed=0 --window=2 --num_negatives=1.0" in card
    with pytest.raises(InputError, match="whiten needs a data set of words"):
        create(dataset, tmp_path / "b", **settings, whiten=True)


def test_random_vectors_are_unit_directions_of_a_seed(dataset, tmp_path):
    vectors = create(dataset, tmp_path / "a", source="random", size=101)
    assert vectors.shape == (V, 101)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-6)
    assert np.abs(vectors @ vectors.T - np.eye(V)).max() < 0.5
    again = create(dataset, tmp_path / "b", source="random", size=101)
    np.testing.assert_array_equal(again, vectors)
    other = create(dataset, tmp_path / "c", source="random", size=101, seed=1)
    assert np.abs(other - vectors).max() > 0.1


def of_a_model(folder, source):
    """The settings for vectors of a tiny model; its vocabulary is not that of the data set."""
    return VectorsConfig(
        input_dir=str(write_dataset(folder / "data", sentences(5))),
        output_dir=str(folder / "v"),
        source=source,
        model=str(write_model_directory(folder / "model")),
    )


def test_the_token_table_of_a_trained_model(tmp_path):
    config = of_a_model(tmp_path, "token_table")
    with pytest.raises(InputError, match=r"model: the model has another vocabulary than .*vocab"):
        create_vectors(config)
    assert not (tmp_path / "v" / "vectors.npy").exists()
    other = Vocabulary(TOKENS)
    other.save(tmp_path / "data" / "vocab.txt", overwrite=True)
    vectors = create_vectors(config)
    np.testing.assert_array_equal(vectors, tta.load(config.model).model.token_table)
    assert vectors.shape == (len(TOKENS), CONFIG.hidden_size)
    assert TargetVectors(tmp_path / "v", other).size == CONFIG.hidden_size


def test_the_whitened_token_table_is_that_of_pooling(tmp_path):
    config = of_a_model(tmp_path, "whitened_token_table")
    Vocabulary(TOKENS).save(tmp_path / "data" / "vocab.txt", overwrite=True)
    with pytest.raises(InputError, match=r"pooling\.npz: no such file; tta fit-pooling writes it"):
        create_vectors(config)
    texts = [" ".join(TOKENS[i : i + 5]) for i in range(5, len(TOKENS))]
    with open(tmp_path / "model" / "pooling.npz", "wb") as file:
        fit_pooling(tta.load(config.model), texts, num_whitening=len(texts)).write(file)
    vectors = create_vectors(config)
    words = ["the", "cat", "q"]
    rows = vectors[[TOKENS.index(word) for word in words]]
    expected = tta.load(config.model).encode(words, "token", "whitened")
    np.testing.assert_allclose(rows, expected, atol=1e-5)


@pytest.mark.parametrize("settings", [{"source": "token_table"}, {"model": "small"}])
def test_a_model_goes_with_its_source(settings):
    rule = "sources token_table, whitened_token_table, input_layer need a model"
    with pytest.raises(InputError, match=rule):
        VectorsConfig(input_dir="x", output_dir="y", **settings)


def test_existing_vectors_are_kept_unless_told(dataset, tmp_path):
    first = create(dataset, tmp_path, source="random", size=5)
    with pytest.raises(InputError, match=r"vectors\.npy: exists; pass overwrite=True"):
        create(dataset, tmp_path, source="random", size=5)
    second = create(dataset, tmp_path, source="random", size=5, seed=1, overwrite=True)
    assert not np.array_equal(first, second)


def test_a_folder_of_another_vocabulary_is_refused(dataset, tmp_path):
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    with pytest.raises(InputError, match=r"vocab\.txt: the folder has another vocabulary than"):
        create(dataset, tmp_path, source="random", overwrite=True)
    assert os.listdir(tmp_path) == ["vocab.txt"]
