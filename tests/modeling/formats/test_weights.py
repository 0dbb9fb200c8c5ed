"""model.weights.h5: a round trip, and files that do not fit are refused."""

import time

import h5py
import numpy as np
import pytest

from tests.modeling.tiny import arrays, tiny_model
from tta.errors import InputError
from tta.modeling.formats.weights import load_weights, save_weights

pytestmark = pytest.mark.tensorflow

TABLE = "encoder/embeddings/token_table"


@pytest.fixture(scope="module")
def model():
    return tiny_model(seed=1)


@pytest.fixture
def path(model, tmp_path):
    save_weights(model, tmp_path / "model.weights.h5")
    return tmp_path / "model.weights.h5"


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_round_trip(model, tmp_path, dtype):
    path = tmp_path / "model.weights.h5"
    save_weights(model, path, dtype)
    expected = {k: v.astype(dtype) for k, v in arrays(model).items()}
    other = tiny_model(seed=2)
    load_weights(other, path)
    found = arrays(other)
    assert set(found) == set(expected)
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name])
    assert [p.name for p in tmp_path.iterdir()] == ["model.weights.h5"]


def test_the_same_weights_are_the_same_bytes_a_second_later(model, tmp_path):
    written = [tmp_path / name for name in ("now32.h5", "now16.h5", "later32.h5", "later16.h5")]
    for path in written:
        if path.name == "later32.h5":
            time.sleep(1.1)  # HDF5 counts times in seconds
        save_weights(model, path, f"float{path.stem[-2:]}", {"vocab.txt": "a" * 64})
    now32, now16, later32, later16 = (path.read_bytes() for path in written)
    assert (now32, now16) == (later32, later16)
    assert now32 != now16


def test_frozen_weights_are_saved_too(path, tmp_path):
    model, frozen = tiny_model(seed=1), tiny_model(seed=2)
    for one in (model, frozen):
        one.encoder.embeddings.trainable = False
    assert not frozen.token_table.trainable
    save_weights(model, tmp_path / "frozen.h5")
    for file in (path, tmp_path / "frozen.h5"):
        load_weights(frozen, file)
        np.testing.assert_array_equal(arrays(frozen)[TABLE], arrays(model)[TABLE])


def test_a_flipped_byte_anywhere_is_noticed_or_harmless(path, model):
    content = path.read_bytes()
    expected, other = arrays(model), tiny_model(seed=2)
    refused = 0
    for place in range(0, len(content), 211):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        other.token_table.assign(other.token_table * 0.0)
        try:
            load_weights(other, path)
        except InputError as error:
            refused += str(error).startswith(f"{path}: ") and "\n" not in str(error)
        else:
            found = arrays(other)
            assert all(np.array_equal(found[name], expected[name]) for name in found), place
    assert refused > 20


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, model, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="not a readable weights file"):
        load_weights(model, path)


def test_weights_stored_in_other_files_are_refused(path, model, tmp_path):
    (tmp_path / "secret").write_bytes(bytes(10_000))
    with h5py.File(path, "a") as file:
        shape = file[TABLE].shape
        del file[TABLE]
        file.create_dataset(
            TABLE, shape, "f4", external=[(str(tmp_path / "secret"), 0, h5py.h5f.UNLIMITED)]
        )
    with pytest.raises(InputError, match=f"weight {TABLE} refers to another file"):
        load_weights(model, path)


def test_a_missing_file_is_named(model, tmp_path):
    with pytest.raises(InputError, match=r"none\.h5: no such file"):
        load_weights(model, tmp_path / "none.h5")


def delete(file):
    del file[TABLE]


def add(file):
    file["head/more"] = np.zeros(3, np.float32)


def reshape(file):
    del file[TABLE]
    file[TABLE] = np.zeros((3, 15), np.float32)


def put_nan(file):
    file[TABLE][2, 3] = np.nan


def put_text(file):
    del file[TABLE]
    file[TABLE] = [["text"] * 15] * 23


def put_integers(file):
    del file[TABLE]
    file[TABLE] = np.zeros((23, 15), np.int64)


def put_a_group(file):
    del file[TABLE]
    file.create_group(TABLE)


def make_huge(file):
    # Takes no space in the file, but 4 TB in memory.
    del file[TABLE]
    file.create_dataset(TABLE, (10**6, 10**6), "float32", chunks=(1000, 1000))


def put_one_huge_chunk(file):
    # Takes little space in the file, but 40 MB in memory; a larger one could take all of it.
    value = file[TABLE][()]
    del file[TABLE]
    file.create_dataset(
        TABLE, data=value, chunks=(10**2, 10**5), maxshape=(None, None), compression=9
    )


def put_nothing(file):
    del file[TABLE]
    file.create_dataset(TABLE, (23, 15), "float32")


def put_a_number_as_attribute(file):
    file.attrs["vocab.txt"] = [1, 2]


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (put_one_huge_chunk, f"weight {TABLE} is not stored as plain numbers"),
        (put_nothing, f"weight {TABLE} is not stored as plain numbers"),
        (put_a_number_as_attribute, "the attribute vocab.txt must be text"),
        (delete, f"weight {TABLE} is missing (1 in all)"),
        (add, "weight head/more is not one of the model's"),
        (reshape, f"weight {TABLE} has shape [3, 15], the config requires [23, 15]"),
        (put_nan, f"weight {TABLE} holds values that are not finite"),
        (put_text, f"weight {TABLE} has type object, not a float type"),
        (put_integers, f"weight {TABLE} has type int64, not a float type"),
        (put_a_group, f"weight {TABLE} is missing (1 in all)"),
        (make_huge, f"weight {TABLE} has shape [1000000, 1000000], the config requires [23, 15]"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_weights_that_do_not_fit_are_refused(path, model, change, rule):
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(InputError) as error:
        load_weights(model, path)
    assert str(error.value) == f"{path}: {rule}"


@pytest.mark.parametrize(
    ("value", "dtype"), [(np.nan, "float32"), (np.inf, "float32"), (1e6, "float16")]
)
def test_values_that_could_not_be_loaded_are_not_saved(tmp_path, value, dtype):
    model = tiny_model()
    table = model.token_table
    table.assign(np.full(table.shape, value, np.float32))
    with pytest.raises(InputError, match=f"{TABLE} holds values that {dtype} cannot hold"):
        save_weights(model, tmp_path / "w.h5", dtype)
    assert not (tmp_path / "w.h5").exists()
