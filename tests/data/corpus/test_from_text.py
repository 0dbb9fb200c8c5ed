"""The data set of a training on raw text: that of the two commands, made once, of one text."""

import re
from dataclasses import replace

import pytest

from tests.commands import run_command
from tta.data.corpus.config import TextSettings
from tta.data.corpus.from_text import make_dataset
from tta.errors import InputError

pytestmark = pytest.mark.tensorflow

LINES = "".join(f"der Bär sieht {a} {b}\n" for a in ("Öl", "Eis", "Heu") for b in "abcdefgh")


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    text = tmp_path_factory.mktemp("text") / "text.txt"
    text.write_text(LINES, encoding="utf-8")
    options = {"vocab_size": 60, "strip_accents": False, "heldout_fraction": 0.2}
    return TextSettings(input_file=[str(text)], **options)


@pytest.fixture(scope="module")
def dataset(settings, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "tfrecords"
    make_dataset(settings, None, folder)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "text.json"}


def test_it_is_that_of_the_two_commands(settings, dataset, tmp_path):
    (text,) = settings.input_file
    vocabulary = f"--vocab_file={tmp_path / 'vocab.txt'}"
    accents = "--strip_accents=false"
    run_command("tta-create-vocab", f"--input_file={text}", "--vocab_size=60", accents, vocabulary)
    files = [f"--input_file={text}", vocabulary, f"--output_dir={tmp_path / 'data'}"]
    run_command("tta-create-tfrecords", *files, "--heldout_fraction=0.2")
    assert "ä" in (dataset / "vocab.txt").read_text(encoding="utf-8")
    assert contents(dataset) == contents(tmp_path / "data")


def test_a_complete_one_is_not_made_again_wherever_the_text_is_now(settings, dataset, tmp_path):
    (tmp_path / "moved.txt").write_text(LINES, encoding="utf-8")
    before = {path: path.stat().st_mtime_ns for path in dataset.iterdir()}
    make_dataset(replace(settings, input_file=[str(tmp_path / "moved.txt")]), None, dataset)
    assert {path: path.stat().st_mtime_ns for path in dataset.iterdir()} == before


@pytest.mark.parametrize(
    ("changes", "vocabulary", "rule"),
    [
        ({"vocab_size": 61}, None, "began with --vocab_size=60, not 61; choose another --output_d"),
        ({"strip_accents": None}, None, "began with --strip_accents=False, not None; choose"),
        ({"input_file": "other.txt"}, None, r"began with other text than \S+other.txt; choose"),
        ({}, "vocab.txt", r"began with another vocabulary than \S+vocab.txt; choose"),
    ],
)
def test_other_text_or_settings_are_refused(settings, dataset, tmp_path, changes, vocabulary, rule):
    for name in ("other.txt", "vocab.txt"):
        (tmp_path / name).write_text("anders\n")
    if "input_file" in changes:
        changes = {"input_file": [str(tmp_path / changes["input_file"])]}
    vocab_file = None if vocabulary is None else str(tmp_path / vocabulary)
    before = contents(dataset)
    with pytest.raises(InputError, match=f"{re.escape(str(dataset))}/text.json: this run {rule}"):
        make_dataset(replace(settings, **changes), vocab_file, dataset)
    assert contents(dataset) == before


def test_an_unfinished_one_is_made_anew_and_one_of_the_command_stays(settings, dataset, tmp_path):
    folder = tmp_path / "tfrecords"
    folder.mkdir()
    (folder / "vocab.txt").write_text("half\n")
    (folder / "text.json").write_text("{}\n")
    make_dataset(settings, None, folder)
    assert contents(folder) == contents(dataset)
    (folder / "text.json").unlink()
    with pytest.raises(InputError, match="a data set of tta create-tfrecords: pass it as --input_"):
        make_dataset(settings, None, folder)
    assert contents(folder) == contents(dataset)


def test_a_pipe_is_refused(settings, tmp_path):
    with pytest.raises(InputError, match="it is read more than once: expected a file, not a pipe"):
        make_dataset(replace(settings, input_file=["-"]), None, tmp_path / "tfrecords")
    assert not (tmp_path / "tfrecords").exists()
