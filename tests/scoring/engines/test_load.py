"""Which engine a command takes, and what is missing."""

import importlib.util

import pytest

from tests.tiny import write_model_directory
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


def test_small_work_takes_onnxruntime(small, large):
    assert choose([small]) == choose([small, "-"]) == "onnxruntime"
    assert choose([large]) == choose([small, large]) == "tensorflow"


def test_a_folder_has_the_size_of_its_files(large, tmp_path):
    assert choose([str(tmp_path)]) == choose([str(tmp_path / "*.txt")]) == "tensorflow"


def test_an_engine_that_is_named_is_taken(small, large):
    assert choose([small], "tensorflow") == "tensorflow"
    assert choose([large], "onnxruntime") == "onnxruntime"


def test_the_precision_decides(small, large):
    assert choose([small], precision="bfloat16") == "tensorflow"
    assert choose([large], precision="int8") == "onnxruntime"


def test_models_that_onnxruntime_does_not_run(small):
    assert choose([small], models=["elmo-s-small"]) == "tensorflow"
    assert choose([small], models=[None, "elmo-s-small"]) == "tensorflow"
    assert choose([small], models=["kenlm:lm.arpa"]) == "auto"
    assert choose([small], models=[]) == "auto"


def test_without_tensorflow(monkeypatch, large, tmp_path):
    without(monkeypatch, "keras")
    assert choose([large]) == "onnxruntime"
    directory = write_model_directory(tmp_path / "model")
    assert load_engine(directory, "auto", "float32", "original", "exact").name == "onnxruntime"
    with pytest.raises(InputError, match="engine tensorflow needs keras, which is not installed"):
        load_engine(directory, "tensorflow", "float32", "original", "exact")


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
