"""Which engine a command takes, and what is missing."""

import importlib.util

import onnxruntime
import pytest

import tta
from tests.tiny import write_model_directory
from tta.choices import PROVIDERS
from tta.errors import InputError
from tta.scoring.engines import load
from tta.scoring.engines.load import SMALL_WORK, engine_for_work, load_engine


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "small.txt"
    path.write_text("the cat\n")
    return str(path)


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.txt"
    path.write_bytes(b"a" * SMALL_WORK)
    return str(path)


def without(monkeypatch, *packages):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in packages else find(name)
    )


def choose(files, engine="auto", precision="float32", models=(None,)):
    return engine_for_work(engine, precision, models, files)


@pytest.mark.tensorflow
def test_small_work_takes_onnxruntime(small, large):
    assert choose([small]) == choose([small, "-"]) == "onnxruntime"
    assert choose([large]) == choose([small, large]) == "tensorflow"


@pytest.mark.tensorflow
def test_a_folder_has_the_size_of_its_files(large, tmp_path):
    assert choose([str(tmp_path)]) == choose([str(tmp_path / "*.txt")]) == "tensorflow"


def test_an_engine_that_is_named_is_taken(small, large):
    assert choose([small], "tensorflow") == "tensorflow"
    assert choose([large], "onnxruntime") == "onnxruntime"


def test_the_precision_decides(small, large):
    assert choose([small], precision="bfloat16") == "tensorflow"
    assert choose([large], precision="int8") == "onnxruntime"


@pytest.mark.tensorflow
def test_models_that_onnxruntime_does_not_run(small):
    assert choose([small], models=["elmo-s-small"]) == "tensorflow"
    assert choose([small], models=[None, "elmo-s-small"]) == "tensorflow"
    assert choose([small], models=["kenlm:lm.arpa"]) == "auto"
    assert choose([small], models=[]) == "auto"


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
def test_models_of_other_libraries_and_unfinished_runs(small, tmp_path, file, engine):
    directory = write_model_directory(tmp_path / "model")
    (directory / "model.weights.h5").unlink()
    (directory / file).parent.mkdir(exist_ok=True)
    (directory / file).touch()
    assert choose([small], models=[str(directory)]) == engine


@pytest.mark.tensorflow
def test_without_tensorflow(monkeypatch, large, tmp_path):
    without(monkeypatch, "keras")
    assert choose([large]) == "onnxruntime"
    directory = write_model_directory(tmp_path / "model")
    assert load_engine(directory, "auto", "float32", "original", "exact").name == "onnxruntime"
    with pytest.raises(InputError, match="engine tensorflow needs keras, which is not installed"):
        load_engine(directory, "tensorflow", "float32", "original", "exact")


@pytest.mark.tensorflow
def test_without_onnxruntime(monkeypatch, small, tmp_path):
    without(monkeypatch, "onnx")
    assert choose([small]) == "tensorflow"
    directory = write_model_directory(tmp_path / "model")
    assert load_engine(directory, "auto", "float32", "original", "exact").name == "tensorflow"
    with pytest.raises(InputError, match="engine onnxruntime needs onnx, which is not installed"):
        load_engine(directory, "onnxruntime", "float32", "original", "exact")


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
