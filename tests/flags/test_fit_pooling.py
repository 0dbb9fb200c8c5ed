"""tta-fit-pooling as a user runs it."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tta
from tests.tiny import WORDS, write_model_directory
from tta.names import POOLING

ROOT = Path(__file__).resolve().parents[2]


def command(*flags):
    return subprocess.run(
        [sys.executable, "-m", "tta.flags.fit_pooling", *flags],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={"PATH": "", "PYTHONPATH": str(ROOT)},
        check=False,
    )


def test_it_writes_the_statistics_that_encoding_reads(tmp_path):
    model = write_model_directory(tmp_path / "tiny")
    text = tmp_path / "text.txt"
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(120)]
    text.write_text("\n".join(lines) + "\n")
    flags = [f"--model={model}", f"--input_file={text}", "--num_whitening=100"]
    done = command(*flags)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{model / POOLING}\n"
    assert tta.load(model).encode(["the cat"], "token", "whitened").any()
    before = (model / POOLING).read_bytes()
    again = command(*flags)
    assert again.returncode == 1
    assert again.stderr == f"error: {model / POOLING}: exists; pass --overwrite to replace it\n"
    assert (model / POOLING).read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "status", "rule"),
    [
        (["--model=none"], 1, "none: no such model directory"),
        (["--model=a", "--model=b"], 2, "already defined as a"),
        ([], 2, "--model"),
    ],
)
def test_a_wrong_model_is_one_line(flags, status, rule):
    done = command("--input_file=README.md", *flags)
    assert done.returncode == status, done.stderr
    assert rule in done.stderr
    assert done.stderr.count("\n") == 1
