"""run_pretraining.py as a user runs it: killed, stopped, resumed, and refused with a reason.

A process takes seconds to import TensorFlow, so only a killed run and the one that it is
compared with have one of their own.
"""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from tensorflow.python.framework.config import disable_op_determinism

import tta
from tests.commands import ROOT, environment, run_command
from tests.faults import assert_killed, signal_after
from tests.modeling.tiny import tiny_config, tiny_model
from tests.tiny import without_graphs
from tests.tiny_dataset import sentences_of, write_dataset
from tta.atomic import locked_folder
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.formats.model_directory import save_model
from tta.modeling.formats.run_checkpoint import checkpoint_steps
from tta.modeling.training import config as training_config
from tta.modeling.training import pretrain as pretraining
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.trainer import Trainer

pytestmark = pytest.mark.tensorflow

NUM_STEPS = 43
FLAGS = [
    f"--num_train_steps={NUM_STEPS}",
    "--num_warmup_steps=10",
    "--train_batch_tokens=100",
    "--learning_rate=1e-2",
    "--save_checkpoints_steps=7",
    "--eval_steps=20",
    "--log_steps=3",
    "--deterministic",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of 20 batches per epoch, and the config of a model with dropout."""
    folder = tmp_path_factory.mktemp("pretraining")
    # Training compiles once per shape and process.
    write_dataset(folder / "data", sentences_of({6: 96, 12: 96}), sentences_of({6: 20}, seed=1))
    config = tiny_config(
        num_hidden_layers=1, hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2
    )
    config.to_json(folder / "config.json")
    return folder


def flags_of(folder, output):
    return [
        f"--input_dir={folder / 'data'}",
        f"--config_file={folder / 'config.json'}",
        f"--output_dir={folder / output}",
        *FLAGS,
    ]


def start(folder, output, signalled=()):
    """Starts the command; its standard error goes to `<output>.err`.

    With `signalled`, (step, signal), it sends itself this signal when it has done this step.
    """
    script = "tests/flags/signalled_pretraining.py" if signalled else "run_pretraining.py"
    with open(folder / f"{output}.err", "ab") as err, open(folder / f"{output}.out", "ab") as out:
        return subprocess.Popen(
            [
                sys.executable,
                str(ROOT / script),
                *(str(int(number)) for number in signalled),
                *flags_of(folder, output),
            ],
            stdout=out,
            stderr=err,
            env=environment(),
        )


def checkpoint(folder, output):
    """The step of the last complete checkpoint; 0 without one."""
    return max(checkpoint_steps(folder / output / "checkpoints"), default=0)


def go_on(folder, signalled=None):
    """Runs the killed run again, in this process, which gets Ctrl-C in a step."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "_batches", Trainer._batches)
            if signalled:
                signal_after(signalled, signal.SIGINT)
            return run_command("tta-pretrain", *flags_of(folder, "killed"))
    finally:
        signal.signal(signal.SIGINT, before)
        disable_op_determinism()  # which --deterministic has set


@pytest.fixture(scope="module")
def runs(folder):
    """One undisturbed run, and one that is killed, stopped by Ctrl-C, and resumed.

    The first run and the killed one have a process of their own. test_trainer.py stops a run by
    SIGTERM, too.

    `unfinished` is a copy of the second run's folder after the kill.
    """
    with start(folder, "whole") as whole:
        killed = start(folder, "killed", signalled=(24, signal.SIGKILL))
        assert_killed(killed, folder / "killed.err")
        after_kill = checkpoint(folder, "killed")
        assert after_kill == 21  # A checkpoint is written every 7 steps.
        assert not (folder / "killed" / "model.weights.h5").exists()
        shutil.copytree(folder / "killed", folder / "unfinished")

        stopped = go_on(folder, 32)
        assert checkpoint(folder, "killed") == 33, stopped.stderr
        assert not (folder / "killed" / "model.weights.h5").exists()
        last = go_on(folder)
        assert last.returncode == 0, last.stderr
        assert whole.wait() == 0, (folder / "whole.err").read_text()
    return {"folder": folder, "after_kill": after_kill, "stopped": stopped, "last": last}


def weights(path):
    """{name: array} of a weights file."""
    found = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found


def test_a_killed_and_resumed_run_gives_the_same_bits_as_an_undisturbed_one(runs):
    whole, killed = (
        weights(runs["folder"] / name / "model.weights.h5") for name in ("whole", "killed")
    )
    assert set(whole) == set(killed)
    assert len(whole) == 4 + 16 + 5
    for name in whole:
        np.testing.assert_array_equal(killed[name], whole[name], err_msg=name)


def test_a_stopped_run_says_how_to_resume_and_does_not_exit_with_0(runs):
    status, out, shown = runs["stopped"]
    message = "stopped after step 33 of 43; repeat the command to resume\n"
    assert (status, out) == (130, "")
    assert shown.endswith(f"{message}error: interrupted\n")


def test_a_run_that_sigterm_stopped_ends_with_143(monkeypatch):
    unfinished = pretraining.PretrainingResult(False, None, 33, None)
    monkeypatch.setattr(pretraining, "pretrain", lambda config: unfinished)
    ended = run_command("tta-pretrain", "--input_dir=a", "--config_file=b", "--output_dir=c")
    assert ended == (143, "", "")


def test_a_killed_run_is_a_model_before_it_is_finished(runs, capsys):
    lm = tta.load(runs["folder"] / "unfinished")
    assert f"using the checkpoint of step {runs['after_kill']}\n" in capsys.readouterr().err
    scores = lm.score(["a b c d e f", "r q p"])
    assert np.isfinite(scores).all()
    finished = tta.load(runs["folder"] / "killed")
    assert (finished.score(["a b c d e f", "r q p"]) != scores).all()


def test_the_output_is_a_model_directory(runs):
    from tta.modeling.formats.model_directory import load_model

    output = runs["folder"] / "whole"
    model = load_model(output)
    values = json.loads((runs["folder"] / "config.json").read_text())
    assert json.loads((output / "config.json").read_text()) == values | {"do_lower_case": True}
    assert model.config.hidden_dropout_prob == 0.2
    assert (output / "vocab.txt").read_text() == (runs["folder"] / "data/vocab.txt").read_text()
    readme = (output / "README.md").read_text()
    assert readme.startswith("# whole\n")
    assert f"Trained for {NUM_STEPS} steps" in readme
    assert "- letters.txt" in readme
    assert "Held-out: nll " in readme
    assert "--learning_rate=0.01" in readme
    killed = (runs["folder"] / "killed" / "README.md").read_text()
    assert killed.splitlines()[2:] == readme.splitlines()[2:]


def test_standard_output_has_only_the_path_of_the_model(runs):
    assert (runs["folder"] / "whole.out").read_text() == f"{runs['folder'] / 'whole'}\n"
    assert (runs["folder"] / "killed.out").read_text() == ""
    assert runs["last"].stdout == f"{runs['folder'] / 'killed'}\n"


def test_standard_error_has_only_the_command_s_own_lines(runs):
    text = (runs["folder"] / "whole.err").read_bytes().decode()  # `read_text` drops \r
    assert "\r" not in text
    rest = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and "step/s" not in line and "s/step" not in line
        if not line.startswith("note: ")  # of the calibration
    ]
    steps = [line.split(":")[0] for line in rest]
    assert steps[::2] == steps[1::2] == ["step 20", "step 40", "step 43"]
    assert all("held-out nll " in line for line in rest[::2])
    assert all("common component of the outputs " in line for line in rest[1::2])
    assert "tokens/s" in text


def end_of(values):
    """ "done", or the error of a training."""
    try:
        assert pretraining.pretrain(PretrainingConfig(**values)).finished
    except InputError as error:
        return str(error)
    return "done"


@pytest.fixture(scope="module")
def refusals(folder):
    """{name of a case: "done", or its error}."""
    data, output = folder / "data", folder / "refused"
    (folder / "other_vocab.txt").write_text(
        (data / "vocab.txt").read_text().replace("\nr\n", "\nz\n")
    )
    tiny_config(num_hidden_layers=1).to_json(folder / "good.json")
    (folder / "other").mkdir()
    (folder / "other" / "vocab.txt").write_text((folder / "other_vocab.txt").read_text())
    save_model(tiny_model(num_hidden_layers=1), folder / "other", "")
    (folder / "not_flags").mkdir()
    (folder / "not_flags" / "run.json").write_text("[1]")

    def settings(output_dir=output, **more):
        return {
            "input_dir": str(data),
            "config_file": str(folder / "good.json"),
            "output_dir": str(output_dir),
            "num_train_steps": 2,
            "num_warmup_steps": 1,
            "train_batch_tokens": 100,
        } | {name: str(v) if isinstance(v, Path) else v for name, v in more.items()}

    unchanged = {"learning_rate": 0.0, "num_train_steps": 1, "num_warmup_steps": 0}
    cases = {
        "busy": settings(output_dir=folder / "busy"),
        "vocabulary": settings(vocab_file=folder / "other_vocab.txt"),
        # The runs above were refused before they began, so this one is the first.
        "good": settings(),
        "other rate": settings(learning_rate=0.5),
        "longer": settings(weights_dtype="float16", log_steps=7, eval_steps=9, num_train_steps=3),
        "not flags": settings(output_dir=folder / "not_flags"),
        "init": settings(output_dir=folder / "from_model", init_checkpoint=output, **unchanged),
        "init vocabulary": settings(
            output_dir=folder / "from_other", init_checkpoint=folder / "other", **unchanged
        ),
    }
    (folder / "busy").mkdir()
    with locked_folder(folder / "busy"), without_graphs():
        return {name: end_of(values) for name, values in cases.items()}


@pytest.mark.parametrize(
    ("case", "rule"),
    [
        ("busy", "busy: another process is writing there"),
        ("vocabulary", "other_vocab.txt: not the vocabulary that "),
        ("good", "done"),
        ("other rate", "run.json: this run began with --learning_rate=0.0001, not 0.5; choose"),
        ("longer", "done"),
        ("not flags", "run.json: expected a JSON object, found list"),
        ("init", "done"),
        ("init vocabulary", "done"),
    ],
)
def test_settings_that_do_not_fit_are_refused_in_one_line(refusals, case, rule):
    assert rule in refusals[case]
    assert "\n" not in refusals[case]


def test_a_run_may_be_made_longer_with_other_flags(refusals, folder):
    found = weights(folder / "refused" / "model.weights.h5")
    assert {str(array.dtype) for array in found.values()} == {"float16"}
    assert checkpoint(folder, "refused") == 3
    assert json.loads((folder / "refused" / "run.json").read_text())["num_train_steps"] == 3


def test_a_run_may_start_from_a_trained_model(refusals, folder):
    before, after = (
        weights(folder / name / "model.weights.h5") for name in ("refused", "from_model")
    )
    # The last outputs are standardized again, from weights that were rounded to float16.
    standardized = ("layer_0/feed_forward_norm/norm/", "head/transform/")
    for name in before:
        if any(part in name for part in standardized):
            np.testing.assert_allclose(after[name], before[name], atol=0.01, err_msg=name)
        else:
            np.testing.assert_array_equal(after[name], before[name], err_msg=name)


def test_a_run_may_start_from_a_model_of_another_vocabulary(refusals, folder):
    before, after = (
        weights(folder / name / "model.weights.h5")["encoder/embeddings/token_table"]
        for name in ("other", "from_other")
    )
    vocabulary = Vocabulary.from_file(folder / "data" / "vocab.txt")
    expected = before.copy()
    expected[vocabulary.ids["r"]] = before[vocabulary.unk_id]  # No pieces there spell "r".
    np.testing.assert_array_equal(after, expected)


def test_an_error_ends_with_status_1(folder):
    flags = {"input_dir": folder / "none", "config_file": "none", "output_dir": folder / "x"}
    ended = run_command("tta-pretrain", *(f"--{name}={path}" for name, path in flags.items()))
    rule = "not a complete data set: it has no dataset.json. "
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (1, "", 1)
    assert ended.stderr.startswith(f"error: {folder / 'none'}: {rule}")
    assert not (folder / "x").exists()


def test_muon_multiplies_in_the_type_that_mixed_precision_names(folder, monkeypatch):
    made = []

    class Muon(training_config.OPTIMIZERS.load("muon")):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self.product_dtype)
            raise InputError("no training here")

    monkeypatch.setitem(training_config.OPTIMIZERS, "muon", Muon)
    values = {"input_dir": folder / "data", "config_file": folder / "config.json"}
    values |= {"output_dir": folder / "products", "num_train_steps": 2, "num_warmup_steps": 1}
    values = {name: v if isinstance(v, int) else str(v) for name, v in values.items()}
    end = end_of(values | {"optimizer": "muon", "mixed_precision": "bfloat16"})
    assert (end, made) == ("no training here", ["bfloat16"])
