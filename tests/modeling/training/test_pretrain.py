"""pretrain(config) from Python: what it needs, and that a finished run has its model."""

import json
import shutil
from pathlib import Path

import pytest

from tests.modeling.tiny import tiny_config, training_config
from tests.tiny import without_graphs
from tests.tiny_dataset import VOCABULARY, sentences, sentences_of, write_dataset
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.formats.model_directory import load_model
from tta.modeling.formats.onnx.light import LightFile
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training import evaluation
from tta.modeling.training.pretrain import pretrain
from tta.modeling.training.trainer import Trainer

pytestmark = pytest.mark.tensorflow

ROOT = Path(__file__).resolve().parents[3]


def tiny_run(folder, **changes):
    """The settings of a run of two steps on `folder / "data"`; its config names no vocab_size."""
    values = tiny_config(num_hidden_layers=1).to_dict()
    del values["vocab_size"]
    (folder / "config.json").write_text(json.dumps(values))
    values = {
        "input_dir": str(folder / "data"),
        "config_file": str(folder / "config.json"),
        "output_dir": str(folder / "out"),
        "num_train_steps": 2,
    }
    return training_config(**values | changes)


@pytest.mark.parametrize(("fraction", "trains"), [(0.0, False), (0.002, True)])
@without_graphs()
def test_without_held_out_sentences_a_run_says_so_at_the_start_and_writes_its_model(
    tmp_path, capsys, monkeypatch, fraction, trains
):
    (tmp_path / "text").write_text("".join(f"{a} {b}\n" for a in "abcd" for b in "efghij"))
    VOCABULARY.save(tmp_path / "vocab.txt")
    paths = {"input_file": [str(tmp_path / "text")], "vocab_file": str(tmp_path / "vocab.txt")}
    create_tfrecords(
        LocalCorpusConfig(
            **paths,
            output_dir=str(tmp_path / "data"),
            num_shards=1,
            max_seq_length=17,
            heldout_fraction=fraction,
        )
    )
    capsys.readouterr()
    if not trains:
        monkeypatch.setattr(Trainer, "train", lambda self: False)
    result = pretrain(tiny_run(tmp_path, eval_steps=1))
    told = f"{tmp_path / 'data'} has no held-out sentences: training runs without evaluation\n"
    assert capsys.readouterr().err.startswith(told)
    assert (result.finished, result.evaluation) == (trains, None)
    if trains:
        load_model(result.directory)
        assert "Held-out: not measured" in (result.directory / "README.md").read_text()
        kinds = {name.partition("/")[0] for name in LightFile(result.directory).arrays}
        assert kinds == {"range", "graph", "index"}  # it is calibrated


@without_graphs()
def test_a_run_whose_evaluations_fail_names_the_shard_and_has_its_model(tmp_path):
    """In the middle, and at the end; test_trainer.py has other places of evaluations."""
    write_dataset(tmp_path / "data", sentences(20), sentences(9, seed=1))
    shard = tmp_path / "data" / "heldout-00000-of-00001.tfrecord"
    content = bytearray(shard.read_bytes())
    content[-20] ^= 0xFF
    shard.write_bytes(content)
    with pytest.raises(InputError, match=r"heldout-00000-of-00001\.tfrecord: record 9 is trunc"):
        pretrain(tiny_run(tmp_path, eval_steps=1))
    assert (tmp_path / "out" / "model.weights.h5").exists()


class New(LanguageAutoencoding):
    """An objective of a user."""

    model_types = ("tta",)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """(the folder of a run by a new objective, its result). Its pooling statistics were older."""
    folder = tmp_path_factory.mktemp("finished")
    write_dataset(folder / "data", sentences(20))
    (folder / "out").mkdir()
    (folder / "out" / "pooling.npz").write_bytes(b"of an earlier checkpoint")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(OBJECTIVES, "new", New)
        with without_graphs():
            result = pretrain(tiny_run(folder, objective="new"))
        yield folder, result


def test_a_new_objective_trains_the_families_that_it_names(finished):
    _, result = finished
    assert (result.finished, result.step, result.evaluation) == (True, 2, None)
    assert (result.directory / "model.weights.h5").exists()


def test_a_new_objective_trains_no_family_that_it_does_not_name(tmp_path, monkeypatch):
    monkeypatch.setattr(New, "model_types", ("bilm",))
    monkeypatch.setitem(OBJECTIVES, "new", New)
    write_dataset(tmp_path / "data", sentences(9))
    with pytest.raises(InputError, match="model_type is 'tta', which --objective=lae trains, not"):
        pretrain(tiny_run(tmp_path, objective="new"))


def test_a_finished_run_removes_pooling_statistics_of_earlier_weights(finished):
    assert not (finished[0] / "out" / "pooling.npz").exists()


@without_graphs()
def test_a_run_resumes_with_its_own_text_only(finished, tmp_path):
    folder, _ = finished
    shutil.copytree(folder / "out", tmp_path / "out")
    run = {"objective": "new", "output_dir": str(tmp_path / "out")}
    assert pretrain(tiny_run(folder, **run, num_train_steps=3)).step == 3
    one, *others = sentences(20)
    other = [[*one[:-1], 5 + one[-2] % 18, one[-1]][-len(one) :], *others]
    write_dataset(folder / "data", other)  # which no other test reads
    with pytest.raises(InputError, match=r"run\.json: this run began with other text than \S+data"):
        pretrain(tiny_run(folder, **run, num_train_steps=4))


FEW_SHAPES = {6: 36, 12: 40, 17: 40}  # XLA compiles for each


@pytest.mark.filterwarnings("error")
@without_graphs()
def test_a_diverged_training_has_no_model(tmp_path):
    """The loss stays finite, and is far above that of a model that knows nothing."""
    write_dataset(tmp_path / "data", sentences_of(FEW_SHAPES), sentences_of({6: 9}, seed=1))
    config = tiny_run(tmp_path, num_train_steps=6, learning_rate=1.0, num_warmup_steps=0)
    with pytest.raises(
        InputError, match=r"training diverged: it ends with a loss of .*; chance is"
    ):
        pretrain(config)
    assert not (tmp_path / "out" / "model.weights.h5").exists()


@without_graphs()
def test_a_run_whose_outputs_hardly_depend_on_the_text_has_no_model(tmp_path, monkeypatch, capfd):
    """similarity-small is at 99.95 %; outputs that are equal up to rounding cannot be scaled."""
    write_dataset(tmp_path / "data", sentences_of(FEW_SHAPES), sentences_of({6: 9}, seed=1))
    for share, fails in ((0.99995, True), (0.9996, False)):
        monkeypatch.setattr(evaluation, "common_component", lambda *_, share=share: share)
        config = tiny_run(tmp_path)
        if fails:
            rule = r"failed: the common component of the outputs is 99\.995%, so they hardly depend"
            for _ in range(2):  # it resumes at its end
                with pytest.raises(InputError, match=rule):
                    pretrain(config)
        else:
            assert pretrain(config).finished
        err = capfd.readouterr().err
        noted, warned = "and a run that ends so fails" in err, "they depend little on" in err
        assert (tmp_path / "out/model.weights.h5").exists() is not fails
        assert (noted, warned) == (fails, not fails)


@without_graphs()
def test_a_run_on_raw_text_makes_its_data_once(tmp_path, capfd):
    text = tmp_path / "text"
    text.write_text("".join(f"{a} {b}\n" for a in "abcd" for b in "efghij"))
    of_text = {"input_dir": None, "input_file": [str(text)], "heldout_fraction": 0.1}
    assert pretrain(tiny_run(tmp_path, **of_text)).finished
    card = (tmp_path / "out/README.md").read_text()
    assert "- text\n" in card
    assert "input_file" not in card
    made = tmp_path / "out/tfrecords/dataset.json"
    before = made.stat().st_mtime_ns
    err = capfd.readouterr().err
    assert "pieces\n" in err
    assert "compiling the first step" in err
    assert pretrain(tiny_run(tmp_path, **of_text, num_train_steps=3)).step == 3
    assert made.stat().st_mtime_ns == before
    assert "pieces\n" not in capfd.readouterr().err
    text.write_text("other\n")
    with pytest.raises(
        InputError, match=r"text\.json: this run began with other text than \S+text"
    ):
        pretrain(tiny_run(tmp_path, **of_text, num_train_steps=4))


@without_graphs()
def test_a_resumed_run_is_compared_with_the_first_loss_of_the_run(tmp_path):
    """The loss of the checkpoint is high already, and a run may begin far above chance.

    Nothing is held out, so only the losses of the training tell.
    """
    write_dataset(tmp_path / "data", sentences_of(FEW_SHAPES))
    changes = {"num_train_steps": 6, "save_checkpoints_steps": 2, "num_warmup_steps": 0}
    config = tiny_run(tmp_path, learning_rate=1.0, **changes)
    record = tmp_path / "out" / "run.json"
    for _ in range(2):
        with pytest.raises(InputError, match="training diverged"):
            pretrain(config)
        assert (tmp_path / "out" / "checkpoints" / "ckpt-4.safetensors").exists()
        assert not (tmp_path / "out" / "model.weights.h5").exists()
        values = json.loads(record.read_text())
        assert 0 < values["first_loss"] < 10
    record.write_text(json.dumps(values | {"first_loss": 1e9}))
    assert pretrain(config).finished


def test_a_config_without_vocab_size_takes_the_vocabulary_s(finished):
    folder, _ = finished
    assert load_model(folder / "out").config.vocab_size == len(VOCABULARY)
    with pytest.raises(InputError, match="vocab_size is missing"):
        read_config(folder / "config.json")


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.json")), ids=lambda path: path.stem)
def test_the_configs_of_the_repository_fit_any_vocabulary(path):
    size = 825 if "elmo-a" not in path.stem else 200_825  # more than its clusters' first words
    assert read_config(path, vocab_size=size).vocab_size == size
