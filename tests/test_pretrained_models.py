"""The models in the repository: they load, know sentences from words, and can be made anew."""

import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tta
from tta.scoring.scorers.load import PRETRAINED
from tta.scoring.scorers.text_model import BUILT_IN

DIRECTORIES = [BUILT_IN, *sorted(path.parent for path in PRETRAINED.glob("*/config.json"))]
COMMANDS = {
    "run_pretraining.py": ("run_pretraining.py",),
    "tta-create-vocab": ("-m", "tta.data.run_create_vocab"),
    "tta-create-tfrecords": ("-m", "tta.data.run_create_tfrecords"),
    "tta-fit-pooling": ("-m", "tta.scoring.run_fit_pooling"),
}
each_model = pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)


@each_model
def test_it_loads_and_knows_a_sentence_from_its_words(directory):
    lm = tta.load(directory)
    sentence = "they were waiting for the last train to london"
    good, bad = lm.score([sentence, " ".join(reversed(sentence.split()))])
    assert good > bad
    assert lm.encode([sentence]).shape == (1, lm.model.config.hidden_size)


@each_model
def test_what_is_fitted_to_it_is_of_its_vocabulary(directory):
    if not (directory / "pooling.npz").exists():
        pytest.skip("nothing was fitted for pooling")
    vectors = tta.load(directory).encode(["a dog runs", "a dog is running"], "token", "whitened")
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1).min() > 0


@each_model
def test_its_readme_has_the_commands_that_made_it(directory):
    readme = (directory / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^Trained in ", readme, re.MULTILINE)
    assert re.search(r"^Held-out: nll \d", readme, re.MULTILINE)
    lines = readme.replace("\\\n", " ").splitlines()
    calls = [line.split() for line in lines if line.startswith("    ")]
    assert "run_pretraining.py" in {command for command, *_ in calls}
    for command, *given in calls:
        unknown = {name for name in map(flag_name, given) if name not in flags_of(command)}
        assert not unknown, f"{command} has no {unknown}"


def test_they_are_small_enough_for_a_repository():
    sizes = {path.name: sum(f.stat().st_size for f in path.iterdir()) for path in DIRECTORIES}
    assert max(sizes.values()) <= 60 * 2**20, sizes
    assert sum(sizes.values()) <= 160 * 2**20, sizes


def flag_name(argument):
    """`--name=value` -> `name`."""
    return re.fullmatch(r"--(\w+)=.*", argument)[1]


@cache
def flags_of(command):
    """The names that a command's --help has."""
    done = subprocess.run(
        [sys.executable, *COMMANDS[command], "--help"],
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^\s+--(?:\[no\])?(\w+):", done.stdout, re.MULTILINE))
