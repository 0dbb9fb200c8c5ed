"""tta-fit-pooling as a user runs it."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.scoring.test_pooling import texts

import tta
from tests.tiny import write_model_directory
from tta.scoring.scorers.pooling import STATISTICS

ROOT = Path(__file__).resolve().parents[2]


def command(*flags):
    return subprocess.run(
        [sys.executable, str(ROOT / "scoring/run_fit_pooling.py"), *flags],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        check=False,
    )


def test_it_writes_the_statistics_that_run_sts_reads(tmp_path):
    model = write_model_directory(tmp_path / "tiny")
    text = tmp_path / "text.txt"
    text.write_text("\n".join(texts(120)) + "\n")
    flags = [f"--model={model}", f"--input_file={text}", "--num_whitening=100"]
    done = command(*flags)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{model / STATISTICS}\n"
    assert tta.load(model).encode(["the cat"], "token", "whitened").any()
    before = (model / STATISTICS).read_bytes()
    again = command(*flags)
    assert again.returncode == 1
    assert again.stderr == f"error: {model / STATISTICS}: exists; pass --overwrite to replace it\n"
    assert (model / STATISTICS).read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "status", "rule"),
    [
        (["--model=none"], 1, "none: no such model directory"),
        (["--model=a", "--model=b"], 2, "is given once"),
        ([], 2, "--model"),
    ],
)
def test_wrong_models_are_one_line(flags, status, rule):
    done = command("--input_file=README.md", *flags)
    assert done.returncode == status, done.stderr
    assert rule in done.stderr
    assert done.stderr.count("\n") == 1
