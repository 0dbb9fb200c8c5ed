"""tta fit-pooling as a user runs it."""

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tests.tiny import WORDS, write_model_directory
from tta.names import POOLING

pytestmark = pytest.mark.tensorflow


def test_it_writes_the_statistics_that_encoding_reads(tmp_path):
    model = write_model_directory(tmp_path / "tiny")
    text = tmp_path / "text.txt"
    rng = np.random.default_rng(0)
    lines = [" ".join(rng.choice(WORDS, rng.integers(1, 9))) for _ in range(120)]
    text.write_text("\n".join(lines) + "\n")
    flags = [f"--model={model}", f"--input_file={text}"]
    done = run_command("tta-fit-pooling", *flags)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{model / POOLING}\n"
    assert tta.load(model).encode(["the cat"], "token", "whitened").any()
    before = (model / POOLING).read_bytes()
    again = run_command("tta-fit-pooling", *flags)
    assert again.returncode == 1
    assert again.stderr == f"error: {model / POOLING}: exists; pass --overwrite to replace it\n"
    assert (model / POOLING).read_bytes() == before
