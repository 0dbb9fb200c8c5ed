"""Which engine a command takes, and what is missing."""

import importlib.util

import numpy as np
import onnxruntime
import pytest

import tta
from tests.tiny import CONFIG, write_model_directory
from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.scoring.engines import load
from tta.scoring.engines.load import load_engine
from tta.scoring.engines.options import EngineOptions


def without(monkeypatch, *packages):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in packages else find(name)
    )


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(load, "_has_gpu", lambda: False)


def chosen(directory, precision="float32"):
    return load._chosen(directory, precision)


@pytest.mark.tensorflow
def test_auto_is_onnxruntime_where_it_runs_the_model(tmp_path):
    directory = write_model_directory(tmp_path / "model")
    assert tta.load(directory).engine.name == "onnxruntime"
    assert tta.load(directory, engine="tensorflow").engine.name == "tensorflow"
    assert tta.load("elmo-s-small").engine.name == "tensorflow"


@pytest.mark.tensorflow
def test_the_precision_decides(tmp_path):
    directory = write_model_directory(tmp_path / "model")
    assert chosen(directory, "bfloat16") == "tensorflow"
    assert chosen(directory, "int8") == "onnxruntime"


@pytest.mark.tensorflow
def test_a_gpu_is_for_tensorflow(monkeypatch, tmp_path):
    directory = write_model_directory(tmp_path / "model")
    monkeypatch.setattr(load, "_has_gpu", lambda: True)
    assert chosen(directory) == "tensorflow"
    assert tta.load(directory, device="cpu").engine.name == "onnxruntime"


@pytest.mark.tensorflow
@pytest.mark.parametrize("engine", ["tensorflow", "onnxruntime"])
def test_a_learned_normalizer_needs_a_model_that_was_trained_for_it(tmp_path, engine):
    plain = write_model_directory(tmp_path / "plain")
    learned = write_model_directory(tmp_path / "learned", CONFIG.replace(learned_normalizer=True))
    auto = EngineOptions(engine=engine, normalizer="auto")
    assert [load_engine(one, auto).normalizer for one in (plain, learned)] == ["exact", "learned"]
    with pytest.raises(InputError, match="no learned normalizer: it was trained without log_"):
        load_engine(plain, EngineOptions(engine=engine, normalizer="learned"))


def test_a_gpu_may_be_hidden(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(load.glob, "glob", lambda pattern: ["/dev/nvidia0"])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert load._has_gpu()
    for hidden in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert not load._has_gpu()


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("file", "engine"),
    [
        ("model.safetensors", "onnxruntime"),
        ("model.safetensors.index.json", "onnxruntime"),
        ("checkpoints/ckpt-3.safetensors", "onnxruntime"),
        ("bert_model.ckpt.index", "tensorflow"),
    ],
)
def test_models_of_other_libraries_and_unfinished_runs(tmp_path, file, engine):
    directory = write_model_directory(tmp_path / "model")
    (directory / "model.weights.h5").unlink()
    (directory / file).parent.mkdir(exist_ok=True)
    (directory / file).touch()
    assert chosen(directory) == engine


@pytest.mark.tensorflow
def test_the_keras_model_is_loaded_when_it_is_asked_for(tmp_path):
    directory = write_model_directory(tmp_path / "model")
    lm, texts = tta.load(directory), ["a dog", "the cat"]
    before, digest = lm.score(texts), lm.engine.weights_digest()
    ids, mask = np.array([[1, 5, 6, 2]], np.int32), np.ones([1, 4], bool)
    logits = lm.model({"input_ids": ids, "padding_mask": mask})["logits"]
    assert logits.shape == (1, 4, lm.config.vocab_size)
    assert (lm.engine.name, lm.engine.weights_digest()) == ("tensorflow", digest)
    assert lm.model is lm.model
    np.testing.assert_allclose(lm.score(texts), before, atol=1e-4)
    lm.model.set_weights([2 * weight for weight in lm.model.get_weights()])
    assert (np.abs(np.subtract(lm.score(texts), before)) > 1e-3).all()
    with pytest.raises(InputError, match="precision int8 needs engine onnxruntime"):
        tta.load(directory, precision="int8").model  # noqa: B018


@pytest.mark.tensorflow
def test_without_tensorflow(monkeypatch, tmp_path):
    directory = write_model_directory(tmp_path / "model")
    without(monkeypatch, "keras")
    assert load_engine(directory).name == "onnxruntime"
    with pytest.raises(InputError, match="engine tensorflow needs keras, which is not installed"):
        load_engine(directory, EngineOptions(engine="tensorflow"))
    with pytest.raises(InputError, match="engine tensorflow needs keras, which is not installed"):
        tta.load(directory).model  # noqa: B018


@pytest.mark.tensorflow
def test_without_onnxruntime(monkeypatch, tmp_path):
    without(monkeypatch, "onnx")
    directory = write_model_directory(tmp_path / "model")
    assert load_engine(directory).name == "tensorflow"
    with pytest.raises(InputError, match="engine onnxruntime needs onnx, which is not installed"):
        load_engine(directory, EngineOptions(engine="onnxruntime"))


def test_every_engine_has_its_packages():
    from tta.choices import ENGINES

    assert {"auto", *load._PACKAGES} == set(ENGINES)


@pytest.mark.tensorflow
def test_a_device_is_onnxruntime_s_and_one_line_if_it_is_missing(tmp_path):
    directory = write_model_directory(tmp_path / "model")
    rule = r"^this build of onnxruntime has no device cuda, but .*cpu.*; for cuda, install a build "
    for engine in ("auto", "onnxruntime"):
        with pytest.raises(InputError, match=rule):
            tta.load(directory, engine=engine, device="cuda")
    with pytest.raises(InputError, match="device needs engine onnxruntime; TensorFlow takes a GPU"):
        tta.load(directory, engine="tensorflow", device="cpu")
    with pytest.raises(InputError, match="device must be cpu or cuda or coreml or"):
        tta.load(directory, device="gpu")
    lm = tta.load(directory, device="cpu")
    assert lm.engine.name == "onnxruntime"
    assert lm.score(["a dog"]) == tta.load(directory, engine="onnxruntime").score(["a dog"])


@pytest.mark.tensorflow
def test_a_device_that_does_not_start_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [*PROVIDERS.values()])
    lm = tta.load(write_model_directory(tmp_path / "model"), device="cuda")
    is_told = pytest.warns(UserWarning, match="CUDAExecutionProvider")
    with is_told, pytest.raises(InputError, match=r"^onnxruntime cannot start on the device cuda$"):
        lm.score(["a dog"])
