"""The model of an unfinished run: the weights of its last complete checkpoint."""

import json
import re

import numpy as np
import pytest

from tests.modeling.tiny import arrays, batch, dataset, tiny_model, training_config
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training.optimizers import BertAdamW
from tta.modeling.training.trainer import Trainer

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def run(tmp_path):
    """A run of dropout and moments, with checkpoints of steps 9 and 10 that it has not made."""
    model = tiny_model(hidden_dropout_prob=0.5)
    batches = dataset([batch([5, 3])])
    objective = LanguageAutoencoding()
    config = training_config()
    trainer = Trainer(model, BertAdamW(1e-3), objective, lambda _: batches, None, tmp_path, config)
    model.config.to_json(tmp_path / "config.json")
    for step in (9, 10):
        model.head.bias.assign_add(np.ones(23, np.float32))
        trainer.position["step"] = step
        trainer.save()
    return trainer


def test_it_is_the_model_at_the_last_checkpoint(run, tmp_path, capsys):
    loaded = load_model(tmp_path)
    rule = "training has not finished; using the checkpoint of step 10"
    assert capsys.readouterr().err == f"{tmp_path}: {rule}\n"
    assert loaded.config == run.model.config
    expected, found = arrays(run.model), arrays(loaded)
    assert list(found) == list(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def test_an_unfinished_checkpoint_is_not_used(run, tmp_path, capsys):
    folder = tmp_path / "checkpoints"
    (folder / ".tta-0123456789abcdef.tmp").write_bytes(b"half")
    (folder / "ckpt-11.index").write_bytes(b"of an earlier version")
    (folder / "ckpt-10.safetensors").unlink()
    load_model(tmp_path)
    assert "the checkpoint of step 9\n" in capsys.readouterr().err


@pytest.mark.parametrize("size", [0, 100])
def test_the_checkpoint_before_a_damaged_one_is_used(run, tmp_path, capsys, size):
    rule = r"/checkpoints/ckpt-{}\.safetensors: not a readable safetensors file: "
    for step in (10, 9):
        path = tmp_path / "checkpoints" / f"ckpt-{step}.safetensors"
        path.write_bytes(path.read_bytes()[:size])
        if step == 10:
            load_model(tmp_path)
            damaged, used = capsys.readouterr().err.splitlines()
            assert re.search(rule.format(10), damaged)
            assert used.endswith("using the checkpoint of step 9")
    with pytest.raises(InputError, match=rule.format(10)):
        load_model(tmp_path)


def test_a_flipped_byte_is_noticed(run, tmp_path):
    path = tmp_path / "checkpoints" / "ckpt-10.safetensors"
    (path.parent / "ckpt-9.safetensors").unlink()
    content = path.read_bytes()
    for place in range(3, len(content), len(content) // 12):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        with pytest.raises(
            InputError, match=r"ckpt-10\.safetensors: (damaged|not a readable|weight)"
        ):
            load_model(tmp_path)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"num_hidden_layers": 3}, r"ckpt-10\.safetensors: weight encoder/layer_2/\S+ is missing"),
        (
            {"vocab_size": 10**8},
            r"ckpt-10\.safetensors: it holds at most [\d,]+ values, too few for the ",
        ),
    ],
)
def test_a_config_of_another_model_is_refused(run, tmp_path, changes, rule):
    values = json.loads((tmp_path / "config.json").read_text()) | changes
    (tmp_path / "config.json").write_text(json.dumps(values))
    with pytest.raises(InputError, match=rule):
        load_model(tmp_path)
