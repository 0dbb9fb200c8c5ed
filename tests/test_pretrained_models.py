"""The models in the repository: they load, prefer sentences, and can be trained again."""

import re
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.commands import ROOT
from tests.goldens.record import MODELS as RECORDED
from tta.commands import COMMANDS
from tta.errors import InputError
from tta.modeling.formats.trained_models import BUILT_IN, PRETRAINED
from tta.names import POOLING
from tta.scoring.exports.serving.export import export

DIRECTORIES = [BUILT_IN, *sorted(path.parent for path in PRETRAINED.glob("*/config.json"))]
NO_SCORES = ("nar-small", "elmo-s-small")
# test_goldens.py has the scores of the others.
LANGUAGE_MODELS = [d for d in DIRECTORIES if d.name not in (*NO_SCORES, *RECORDED)]
pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
each_model = pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda path: path.name)


def scored_case(directory):
    """The larger cloze has no code of its own."""
    marks = pytest.mark.slow if directory.name == "cloze-base" else ()
    return pytest.param(directory, id=directory.name, marks=marks)


@pytest.mark.parametrize("directory", [scored_case(d) for d in LANGUAGE_MODELS])
def test_it_loads_and_prefers_a_sentence_to_its_words_reversed(directory):
    lm = tta.load(str(directory))
    sentence = "they were waiting for the last train to london"
    good, bad = lm.score([sentence, " ".join(reversed(sentence.split()))])
    assert good > bad
    assert lm.encode([sentence]).shape == (1, lm.model.config.hidden_size)


def test_the_autoencoder_writes_sentences_down_again():
    lm = tta.load("nar-small")
    texts = ["he was born in london .", "the city has about two thousand people ."]
    lengths = [len(row) - 2 for row in lm.rows_of(texts)]
    vectors = lm.encode(texts, "latent")
    assert lm.decode(vectors, lengths) == texts
    assert lm.decode(vectors) == texts, "of the predicted lengths"
    assert not set(lm.decode(vectors[::-1], lengths)) & set(texts)


def test_the_autoencoder_exports(tmp_path):
    lm = tta.load("nar-small")
    export(lm, tmp_path / "1")
    served = tf.saved_model.load(str(tmp_path / "1")).signatures["encode"]
    texts = ["he was born in london .", "", "the city has about two thousand people ."]
    found = served(tf.constant(texts))["vectors"]
    np.testing.assert_allclose(found, lm.encode(texts, "latent"), atol=1e-4)


def test_the_model_of_words_encodes_them_and_gives_no_scores():
    lm = tta.load("elmo-s-small")
    assert lm.encode(["a dog runs"], "layers").shape == (1, 768)
    assert lm.encode(["a dog runs"], "fit").shape == (1, 200)
    # Words that no text had, told apart by their letters.
    unseen = lm.encode(["a blorfing dog", "a zzyx dog"], "layers")
    assert np.abs(unseen[0] - unseen[1]).max() > 0.01
    with pytest.raises(InputError, match="predicts vectors, not probabilities"):
        lm.score(["a dog runs"])


def test_the_model_of_words_prefers_a_sentence_to_its_words_reversed():
    ranker = tta.load("cosine:elmo-s-small")
    sentence = "They were waiting for the last train to London ."
    good, bad = ranker.score([sentence, " ".join(reversed(sentence.split()))])
    assert good > bad


@pytest.mark.parametrize(
    "directory",
    [d for d in DIRECTORIES if (d / POOLING).exists() and d.name not in RECORDED],
    ids=lambda d: d.name,
)
def test_its_pooling_statistics_fit_it(directory):
    vectors = tta.load(str(directory)).encode(
        ["a dog runs", "a dog is running"], "token", "whitened"
    )
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors, axis=1).min() > 0


@each_model
def test_its_readme_names_the_licenses_of_model_and_text(directory):
    readme = " ".join((directory / "README.md").read_text(encoding="utf-8").split())
    assert "The model's license is that of the code, Apache-2.0." in readme
    # Each has seen Wikipedia, and all but one of them books.
    books = [] if directory.name == "elmo-s-small" else ["public domain in the US"]
    for license in ["CC BY-SA", *books]:
        assert license in readme


@each_model
def test_its_readme_has_the_commands_that_trained_it(directory):
    readme = (directory / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^Trained in ", readme, re.MULTILINE)
    assert re.search(r"^Held-out: (nll|distance) -?\d", readme, re.MULTILINE)
    lines = readme.replace("\\\n", " ").splitlines()
    calls = [line.split() for line in lines if line.startswith("    ")]
    calls = [call[2:] if call[:2] == ["python", "-m"] else call for call in calls]
    calls = [call[1:] if call[0] == "KERAS_BACKEND=jax" else call for call in calls]
    calls = [[f"tta-{call[1]}", *call[2:]] if call[0] == "tta" else call for call in calls]
    names = {command for command, *_ in calls}
    assert "run_pretraining.py" in names
    for command, *given in calls:
        given = map(flag_name, [one for one in given if one.startswith("--")])
        unknown = {name for name in given if name not in flags_of(command)}
        assert not unknown, f"{command} has no {unknown}"


def test_they_are_small_enough_for_a_repository():
    sizes = {path.name: sum(f.stat().st_size for f in path.iterdir()) for path in DIRECTORIES}
    assert max(sizes.values()) <= 60 * 2**20, sizes
    assert sum(sizes.values()) <= 200 * 2**20, sizes


def flag_name(argument):
    """`--name=value` or `--name` -> `name`."""
    return re.fullmatch(r"--(\w+)(=.*)?", argument)[1]


@cache
def flags_of(command):
    """The names of the flags in the --help of a command."""
    start = ["-m", COMMANDS.get(command, command)]
    if command.endswith(".py"):
        start = [command]
    done = subprocess.run(
        [sys.executable, *start, "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return set(re.findall(r"^  --(?:\[no\])?(\w+)", done.stdout, re.MULTILINE))
