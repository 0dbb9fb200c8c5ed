"""`raw:MODEL`: the vectors of a training before its last step standardized them."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import tta
from tests.modeling.tiny import tiny_config, tiny_model, training_config
from tests.tiny import without_graphs
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.errors import InputError
from tta.modeling.formats.model_directory import save_model
from tta.modeling.formats.run_checkpoint import load_run
from tta.modeling.models.language_model import build_model
from tta.modeling.training.pretrain import pretrain
from tta.names import STANDARDIZATION

pytestmark = pytest.mark.tensorflow

TEXTS = ["a b c", "b", "c d a a"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained model of two steps, whose checkpoint has the outputs before."""
    folder = tmp_path_factory.mktemp("raw")
    config = tiny_config(num_hidden_layers=1).to_dict()
    del config["vocab_size"]
    (folder / "config.json").write_text(json.dumps(config))
    run = training_config(
        input_dir=str(write_dataset(folder / "data", sentences(40), sentences(9, 1))),
        config_file=str(folder / "config.json"),
        output_dir=str(folder / "run"),
        num_train_steps=2,
    )
    with without_graphs():
        return pretrain(run).directory


def test_vectors_are_those_before_and_scores_are_the_same(folder):
    lm, raw, before = tta.load(folder), tta.load(f"raw:{folder}"), load_run(folder, build_model)
    batch = {"input_ids": np.array([[3, 7, 9, 11, 1]]), "padding_mask": np.ones((1, 5), bool)}
    expected = np.array(before.encode(batch)["hidden_states"])
    np.testing.assert_allclose(raw.model.encode(batch)["hidden_states"], expected, atol=1e-4)
    standard = np.array(lm.model.encode(batch)["hidden_states"])
    assert np.abs(standard - expected).max() > 0.1
    record = load_file(folder / STANDARDIZATION)
    made = (expected - record["mean"]) / record["deviation"]
    np.testing.assert_allclose(standard, made, atol=1e-4)
    np.testing.assert_allclose(raw.score(TEXTS), lm.score(TEXTS), atol=1e-4)
    np.testing.assert_allclose(raw.encode(TEXTS, "embed"), lm.encode(TEXTS, "embed"), atol=1e-6)
    assert raw.signature != lm.signature
    assert raw.signature.startswith("model:raw:run|")
    with pytest.raises(InputError, match="is not a directory with pooling"):
        raw.encode(TEXTS, pooling="sif")


def test_models_without_a_record_are_one_line(folder, tmp_path):
    for option in {"engine": "onnxruntime"}, {"precision": "int8"}:
        with pytest.raises(InputError, match="a raw model runs in engine tensorflow only"):
            tta.load(f"raw:{folder}", **option)
    for model in "similarity-small", "nar-small":
        with pytest.raises(InputError, match=r"standardization.safetensors: no such file: the mod"):
            tta.load(f"raw:{model}")
    save_model(tiny_model(), tmp_path, "")
    VOCABULARY.save(tmp_path / "vocab.txt")
    arrays = load_file(folder / STANDARDIZATION)
    size = len(arrays["mean"])
    for wrong, rule in (
        ({"mean": arrays["mean"]}, "expected mean and deviation, 15 float64 numbers each"),
        (arrays | {"mean": np.zeros(size, np.float32)}, "expected mean and deviation"),
        (arrays | {"mean": np.zeros(size + 1)}, "expected mean and deviation"),
        (arrays | {"deviation": np.zeros(size)}, "deviation above 0"),
        (arrays | {"mean": np.full(size, np.nan)}, "must be finite"),
        (arrays | {"deviation": np.full(size, 1e-200)}, "their quotient finite"),
    ):
        save_file(wrong, tmp_path / STANDARDIZATION)
        with pytest.raises(InputError, match=rule):
            tta.load(f"raw:{tmp_path}")
    (tmp_path / STANDARDIZATION).write_bytes(b"x" * 20)
    with pytest.raises(InputError, match="not a readable safetensors file"):
        tta.load(f"raw:{tmp_path}")


def test_another_record_than_the_weights_is_refused(folder, tmp_path):
    for name in folder.iterdir():
        if name.is_file():
            (tmp_path / name.name).write_bytes(name.read_bytes())
    tta.load(f"raw:{tmp_path}")
    record = load_file(folder / STANDARDIZATION)
    save_file(record | {"mean": record["mean"] + 1}, tmp_path / STANDARDIZATION)
    with pytest.raises(InputError, match="damaged or changed since its weights were saved"):
        tta.load(tmp_path)
