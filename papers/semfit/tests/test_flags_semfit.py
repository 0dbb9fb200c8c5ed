"""SemFit from text to vectors, a trained model and its uses; stopped and resumed; refused."""

import shutil

import h5py
import numpy as np
import pytest

import tta
from tests.faults import forget_last_checkpoint
from tests.flags.test_pretraining import weights
from tests.modeling.tiny import tiny_config
from tests.tiny_dataset import VOCABULARY, sentences_of, write_dataset
from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import checkpoint_path, read_checkpoint
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain
from tta.papers.semfit.create import create_vectors
from tta.papers.semfit.create_config import VectorsConfig

pytestmark = pytest.mark.tensorflow

M = 19


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of letters, vectors for it, and configs of the three families."""
    folder = tmp_path_factory.mktemp("semfit")
    train, heldout = {6: 36, 12: 40, 17: 40}, {6: 12, 12: 8, 17: 10}  # of few shapes, for XLA
    write_dataset(folder / "data", sentences_of(train), sentences_of(heldout, seed=1))
    vectors = {"input_dir": str(folder / "data"), "source": "random", "size": M}
    create_vectors(VectorsConfig(output_dir=str(folder / "vectors"), **vectors))
    for model_type in ("tta", "bilm", "unilm"):
        config = tiny_config(model_type=model_type, num_hidden_layers=1)
        config.to_json(folder / f"{model_type}.json")
    return folder


def settings(folder, output, model_type="tta", **changes):
    values = {
        "input_dir": str(folder / "data"),
        "config_file": str(folder / f"{model_type}.json"),
        "output_dir": str(folder / output),
        "output_layer": "semfit",
        "vectors": str(folder / "vectors"),
        "num_train_steps": 120,
        "num_warmup_steps": 10,
        "train_batch_tokens": 100,
        "learning_rate": 1e-2,
    }
    return values | changes


@pytest.fixture(scope="module")
def whole(folder):
    """The settings of a finished run of 6 steps."""
    steps = {"num_train_steps": 6, "num_warmup_steps": 2, "save_checkpoints_steps": 3}
    run = settings(folder, "whole", deterministic=True, **steps)
    pretrain(PretrainingConfig(**run))
    return run


def copied(folder, whole, output):
    """A copy of the finished run with its settings."""
    shutil.copytree(folder / "whole", folder / output)
    return whole | {"output_dir": str(folder / output)}


def test_the_vectors_are_not_in_the_checkpoint_nor_among_the_weights(folder, whole):
    found = read_checkpoint(checkpoint_path(folder / "whole/checkpoints", 6))
    shapes = {name: array.shape for name, array in found.items()}
    with h5py.File(folder / "whole/model.weights.h5") as file:
        file.visititems(lambda name, item: shapes.update({name: getattr(item, "shape", ())}))
    assert shapes
    assert [name for name, shape in shapes.items() if list(shape) == [len(VOCABULARY), M]] == []


def test_a_stopped_run_is_a_model_and_resumes_bit_identical(folder, whole):
    run = copied(folder, whole, "stopped")
    forget_last_checkpoint(folder / "stopped", 6, 3)
    assert (tta.load(f"cosine:{folder / 'stopped'}").score(["a b c"]) < 0).all()
    pretrain(PretrainingConfig(**run))
    one, other = (weights(folder / name / "model.weights.h5") for name in ("whole", "stopped"))
    assert one.keys() == other.keys()
    assert "head/fit/kernel" in one
    for key, value in one.items():
        np.testing.assert_array_equal(value, other[key], err_msg=key)


def broken(folder, name, change):
    """Vectors that `change`, a function of their array, has made worse."""
    shutil.copytree(folder / "vectors", folder / name, dirs_exist_ok=True)
    np.save(folder / name / "vectors.npy", change(np.load(folder / "vectors/vectors.npy")))
    return str(folder / name)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"output_layer": None, "vectors": None, "semfit_distance": "l2"},
            "semfit_distance needs output_layer semfit, not tied_softmax",
        ),
        ({"vectors": "none"}, "^none/vectors.npy: no such file; tta create-vectors writes"),
    ],
)
def test_what_does_not_fit_is_refused(folder, changes, rule):
    with pytest.raises(InputError, match=rule):
        pretrain(PretrainingConfig(**settings(folder, "refused", **changes)))


def test_a_run_goes_on_with_its_own_vectors_only(folder, whole):
    run = copied(folder, whole, "moved")
    shutil.copytree(folder / "vectors", folder / "moved_vectors")
    run |= {"vectors": str(folder / "moved_vectors"), "num_train_steps": 7}
    assert pretrain(PretrainingConfig(**run)).step == 7, "the path may change"
    run["vectors"] = broken(folder, "other_vectors", lambda array: -array)
    with pytest.raises(InputError, match=r"moved/vectors\.npy: this run began with other vectors"):
        pretrain(PretrainingConfig(**run | {"num_train_steps": 8}))
