"""Model directories: saved, loaded, and refused with a reason."""

import json

import numpy as np
import pytest

from tests.modeling.tiny import batch, tiny_config, tiny_model
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model, save_model
from tta.modeling.models.language_model import LanguageModel

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def directory(tmp_path):
    save_model(tiny_model(first_query_token_id=4), tmp_path / "model", "A tiny model.\n")
    return tmp_path / "model"


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_a_loaded_model_computes_the_same_as_the_saved_one(directory, dtype):
    inputs = batch([7, 3])
    expected = tiny_model(dtype, first_query_token_id=4)(inputs)["logits"]
    found = load_model(directory, dtype)(inputs)["logits"]
    np.testing.assert_array_equal(found, expected)
    assert (directory / "README.md").read_text() == "A tiny model.\n"


def test_no_random_numbers_are_drawn_for_weights_that_are_read(directory, monkeypatch):
    drawn = []
    monkeypatch.setattr(np.random, "default_rng", lambda seed: drawn.append(seed))
    load_model(directory)
    assert not drawn
    with pytest.raises(AttributeError):
        LanguageModel(tiny_config())
    assert len(drawn) == 1


def test_float16_takes_half_the_space(tmp_path):
    model = tiny_model(hidden_size=90, vocab_size=307)
    for dtype in ("float32", "float16"):
        save_model(model, tmp_path / dtype, "", dtype)
    full, half = (
        (tmp_path / dtype / "model.weights.h5").stat().st_size for dtype in ("float32", "float16")
    )
    assert 0.45 < half / full < 0.65
    found = load_model(tmp_path / "float16")(batch([7]))["logits"]
    np.testing.assert_allclose(found, model(batch([7]))["logits"], atol=0.05)


def test_missing_files_are_named(directory, tmp_path):
    with pytest.raises(InputError, match="none: no such model directory"):
        load_model(tmp_path / "none")
    with pytest.raises(InputError, match=r"README\.md: no such model directory"):
        load_model(directory / "README.md")
    (directory / "model.weights.h5").unlink()
    (directory / "checkpoints").mkdir()
    with pytest.raises(InputError, match=r"no model\.weights\.h5 and no checkpoint of its train"):
        load_model(directory)
    (directory / "config.json").unlink()
    with pytest.raises(InputError, match=r"not a model directory: it has no config\.json"):
        load_model(directory)


def test_a_model_that_its_file_cannot_hold_is_refused_before_it_is_built(directory):
    path = directory / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"vocab_size": 10**8}))
    rule = r"too few for the 1,\d+,\d+,\d+ parameters of config\.json"
    with pytest.raises(InputError, match=rule):
        load_model(directory)


@pytest.mark.parametrize("name", ["config.json", "vocab.txt"])
def test_a_flipped_bit_in_a_file_without_a_checksum_is_noticed(tmp_path, name):
    (tmp_path / "vocab.txt").write_text("cat\n")
    save_model(tiny_model(seed=1), tmp_path, "")
    load_model(tmp_path)
    content = (tmp_path / name).read_bytes()
    for place in range(0, len(content), 97):
        flipped = bytearray(content)
        flipped[place] ^= 1
        (tmp_path / name).write_bytes(flipped)
        with pytest.raises(InputError) as error:
            load_model(tmp_path)
        # A changed config may also not fit the weights; that error comes first.
        assert str(error.value).startswith(str(tmp_path))
    (tmp_path / name).write_bytes(content.replace(b"\n", b" \n"))  # only the checksum differs
    with pytest.raises(InputError, match=f"{name}: damaged or changed since its weights were sav"):
        load_model(tmp_path)
