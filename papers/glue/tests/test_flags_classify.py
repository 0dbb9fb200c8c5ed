"""tta classify as a user runs it."""

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tests.faults import killed_writer
from tests.tiny import CONFIG, write_model_directory

pytestmark = pytest.mark.tensorflow


def test_it_prints_a_table_and_writes_a_model_and_predictions(tmp_path):
    model = write_model_directory(tmp_path / "tiny", CONFIG.replace(num_hidden_layers=1))
    animals = np.random.default_rng(0).integers(0, 2, 50)
    lines = [f"{('dog', 'cat')[a]}-like\tthe {('dog', 'cat')[a]} sat\n" for a in animals]
    (tmp_path / "train.tsv").write_text("".join(lines))
    (tmp_path / "dev.tsv").write_text("label\tsentence\n" + "".join(lines[:9]) + "\n")
    flags = [f"--model={model}", f"--output_dir={tmp_path / 'out'}", "--num_seeds=1"]
    flags += [f"--{part}_file={tmp_path / part}.tsv" for part in ("train", "dev")]
    flags += ["--learning_rates=0.01", "--num_train_epochs=4", "--train_batch_size=8"]
    killed_writer(tmp_path / "out", "run.json")
    done = run_command("tta-classify", *flags)
    assert done.returncode == 0, done.stderr
    count, _, heading, control, row, last, note, *_ = done.stdout.splitlines()
    assert count == "train.tsv: 50 train, 9 dev examples"
    assert heading.split() == ["accuracy", "sd", "95%", "interval", "macro", "F1", "sd"]
    assert control.startswith("majority class")
    assert row.split()[:5] == ["rate", "0.01,", "1", "seed", "100.00"]
    assert not list((tmp_path / "out").glob(".*"))
    assert last == f"{tmp_path / 'out'}: the model of rate 0.01, seed 0"
    assert "also in" in note  # dev is part of train here; nothing was cut
    assert tta.load(tmp_path / "out").predict(["the cat sat"]) == ["cat-like"]
    again = run_command("tta-classify", *flags)
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert "step" not in again.stderr
