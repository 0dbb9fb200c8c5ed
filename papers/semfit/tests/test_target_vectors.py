"""Target vectors on disk: looked up without being read, and refused with a reason."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.vocabulary.test_regular_files import check_it_is_refused
from tests.tiny_dataset import MAX_LENGTH, VOCABULARY, sentences, write_shard
from tta.data.records.features import DEFAULT_FEATURES, ModelInputs
from tta.data.records.pipeline import eval_batches, train_batches, with_inputs
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.papers.semfit.vectors.target_vectors import TargetVectors, map_vectors, write_vectors

pytestmark = pytest.mark.tensorflow

V, M = len(VOCABULARY), 7
ARRAY = np.random.default_rng(0).normal(size=(V, M)).astype(np.float16)


def write(directory, array, vocabulary=VOCABULARY):
    vocabulary.save(directory / "vocab.txt", overwrite=True)
    np.save(directory / "vectors.npy", array)
    return directory


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rows_are_looked_up_in_a_graph_and_outside(tmp_path, dtype):
    vectors = TargetVectors(write(tmp_path, ARRAY.astype(dtype)), VOCABULARY)
    vectors.check_values()
    assert isinstance(vectors.array, np.memmap)
    assert not vectors.array.flags.writeable
    ids = np.array([[3, 5, 1], [4, 0, 22]], np.int32)
    graph = tf.function(vectors.look_up, input_signature=[tf.TensorSpec([None, None], tf.int32)])
    assert graph.get_concrete_function().structured_outputs.shape.as_list() == [None, None, M]
    for found in (vectors.look_up(tf.constant(ids)), graph(ids)):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, ARRAY[ids])


def test_batches_get_the_vectors_of_their_tokens(tmp_path):
    write_shard(tmp_path / "shard", sentences(60))
    vectors = TargetVectors(write(tmp_path, ARRAY), VOCABULARY)
    arguments = [str(tmp_path / "shard")], DEFAULT_FEATURES, 100, MAX_LENGTH, VOCABULARY.pad_id
    for batches in (eval_batches(*arguments), train_batches(*arguments, 0, 0)):
        found = with_inputs(batches, ModelInputs({"target_vectors": vectors.look_up}))
        assert found.element_spec["target_vectors"].shape.as_list() == [None, None, M]
        count = 0
        for batch in found:
            np.testing.assert_array_equal(batch["target_vectors"], ARRAY[batch["input_ids"]])
            count += len(batch["input_ids"])
        assert count == 60


def test_written_vectors_are_read_back_in_float16(tmp_path):
    write(tmp_path, ARRAY)
    with open(tmp_path / "vectors.npy", "wb") as file:
        write_vectors(file, ARRAY.astype(np.float64), tmp_path / "vectors.npy")
    found = TargetVectors(tmp_path, VOCABULARY)
    assert found.array.dtype == np.float16
    np.testing.assert_array_equal(found.array, ARRAY)


@pytest.mark.parametrize("value", [70_000.0, np.nan])
def test_numbers_that_float16_cannot_hold_are_not_written(tmp_path, value):
    with (
        open(tmp_path / "vectors.npy", "wb") as file,
        pytest.raises(InputError, match="a number that float16 cannot hold"),
    ):
        write_vectors(file, np.full((2, 3), value), tmp_path / "vectors.npy")


def with_value(place, value, dtype="float16"):
    array = ARRAY.astype(dtype)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("array", "rule"),
    [
        (ARRAY[1:], "it has 22 vectors, and vocab.txt has 23 tokens"),
        (with_value((7, 3), np.nan), "the vector of 'c' is not finite"),
        (np.zeros_like(ARRAY), "all vectors are zero"),
        (ARRAY.astype(np.float64), "vectors must be float16 or float32, not float64"),
        (ARRAY.astype(">f4"), "vectors must be float16 or float32, not >f4"),
        (ARRAY[0], "expected vectors of 1 to 100,000 numbers, got shape [7]"),
        (ARRAY[:, :0], "expected vectors of 1 to 100,000 numbers, got shape [23, 0]"),
        (ARRAY.astype(object), "not a readable NumPy file: "),
    ],
)
def test_bad_vectors_are_refused_by_their_rule(tmp_path, array, rule):
    write(tmp_path, array)
    with pytest.raises(InputError) as error:
        TargetVectors(tmp_path, VOCABULARY).check_values()
    assert str(error.value).startswith(f"{tmp_path / 'vectors.npy'}: {rule}")
    assert "\n" not in str(error.value)


def test_a_bad_value_is_found_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr("tta.papers.semfit.vectors.target_vectors._BLOCK_BYTES", 2 * 5 * M)
    for row in range(V):
        vectors = TargetVectors(write(tmp_path, with_value((row, 0), np.nan)), VOCABULARY)
        with pytest.raises(InputError) as error:
            vectors.check_values()
        assert repr(VOCABULARY.tokens[row]) in str(error.value)


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (None, "no such file; tta create-vectors writes it"),
        (b"", "not a readable NumPy file: "),
        (b"the 0.1 0.2\n", "not a readable NumPy file: "),
        (b"\x93NUMPY\x01\x00v\x00{", "not a readable NumPy file: "),
    ],
)
def test_files_that_are_no_vectors(tmp_path, content, rule):
    write(tmp_path, ARRAY)
    path = tmp_path / "vectors.npy"
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(InputError) as error:
        TargetVectors(tmp_path, VOCABULARY)
    assert str(error.value).startswith(f"{path}: {rule}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (%s, 4)}" % ("9" * 30),
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000, 300)}",
        "{'descr': [], 'fortran_order': False, 'shape': (3, 4)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (3, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3.5, 4)}",
        "{'descr': '<f4', 'shape': (3, 4)}",
        "[" * 9_000,
        "\0",
        "1 if",
    ],
)
def test_headers_that_are_none(tmp_path, header):
    path = tmp_path / "vectors.npy"
    size = len(header.encode()).to_bytes(2, "little")
    path.write_bytes(b"\x93NUMPY\x01\x00" + size + header.encode() + bytes(48))
    with pytest.raises(InputError, match=r"vectors\.npy: (not a readable NumPy|vectors must)"):
        map_vectors(path)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_a_device_is_refused(kind, tmp_path):
    check_it_is_refused(map_vectors, kind, tmp_path)


def test_a_truncated_file_and_an_archive(tmp_path):
    write(tmp_path, ARRAY)
    path = tmp_path / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match=r"vectors\.npy: not a readable NumPy file: "):
        TargetVectors(tmp_path, VOCABULARY)
    with open(path, "wb") as file:
        np.savez(file, ARRAY)
    with pytest.raises(InputError, match=r"vectors\.npy: expected one NumPy array"):
        TargetVectors(tmp_path, VOCABULARY)


def test_another_vocabulary_and_none(tmp_path):
    tokens = [*VOCABULARY.tokens[:-2], *VOCABULARY.tokens[:-3:-1]]  # the last two exchanged
    write(tmp_path, ARRAY, Vocabulary(tuple(tokens)))
    with pytest.raises(InputError, match=r"vocab\.txt: another vocabulary than the model's$"):
        TargetVectors(tmp_path, VOCABULARY)
    (tmp_path / "vocab.txt").unlink()
    with pytest.raises(InputError, match=r"vocab\.txt: no such file"):
        TargetVectors(tmp_path, VOCABULARY)


def test_ids_beyond_a_vocabulary_become_unknown_in_a_graph(caplog):
    """AutoGraph warns of code that it cannot transform, and runs it as it is."""
    inputs = ModelInputs({"twice": lambda ids: 2 * ids}, vocab_size=5, unk_id=1)
    batches = tf.data.Dataset.from_tensors({"input_ids": tf.constant([[2, 7]])})
    (batch,) = with_inputs(batches, inputs)
    assert batch["input_ids"].numpy().tolist() == [[2, 1]]
    assert batch["twice"].numpy().tolist() == [[4, 14]]
    assert caplog.records == []
