"""tta adapt as a user runs it."""

import lzma

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tests.scoring.adaptation.test_lists import some_lists, write_lists
from tests.tiny import CONFIG, WORDS, write_model_directory

pytestmark = pytest.mark.tensorflow

ONE_LAYER = CONFIG.replace(num_hidden_layers=1)


def test_it_writes_a_model_that_is_loaded_and_reports_before_and_after(tmp_path):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    rng = np.random.default_rng(0)
    lines = [f"the cat {' '.join(rng.choice(WORDS[:8], 3))} home\n" for _ in range(500)]
    text = tmp_path / "text.txt.xz"
    text.write_bytes(lzma.compress("".join(lines).encode()))
    flags = [f"--model={model}", f"--input_file={text}", f"--output_dir={tmp_path / 'new'}"]
    done = run_command("tta-adapt", *flags, "--max_passes=1", "--learning_rate=0.01")
    assert done.returncode == 0, done.stderr
    before, after, last = done.stdout.splitlines()
    assert before.startswith("held-out before: nll ")
    assert after.startswith("held-out after:  nll ")
    assert last == f"{tmp_path / 'new'}: the weights after pass 1 of 1, with learning rate 0.01"
    sentence = ["the cat ran on the home"]
    assert tta.load(tmp_path / "new").score(sentence) > tta.load(model).score(sentence)


def test_it_fine_tunes_on_lists(tmp_path):
    model = write_model_directory(tmp_path / "tiny", ONE_LAYER)
    nbest = write_lists(tmp_path / "lists.jsonl", some_lists())
    flags = [f"--model={model}", f"--nbest_file={nbest}", f"--output_dir={tmp_path / 'new'}"]
    done = run_command("tta-adapt", *flags, "--max_passes=1", "--learning_rate=0.01")
    assert done.returncode == 0, done.stderr
    before, after, passes, advice = done.stdout.splitlines()
    assert before.startswith("held-out lists before: ")
    assert after.startswith("held-out lists after:  ")
    assert passes == (
        f"{tmp_path / 'new'}: the weights after pass 1 of 1 over the lists, with learning rate 0.01"
    )
    assert advice.startswith("Tune the weights only on lists that the model has not seen: ")
    assert (tmp_path / "new/heldout.jsonl").exists()
