"""Raw text to shards: no sentence lost or repeated, shuffled, held out, repeatable, atomic."""

import collections
import gzip
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from tests.commands import ROOT, python
from tta.atomic import LOCK_FILE
from tta.data.corpus import chunks, prepare, spill
from tta.data.corpus.chunks import spoken_form
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.output import WORK_FOLDER, summary
from tta.data.records import dataset, examples
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.errors import InputError

DIGITS = tuple("0123456789")
VOCABULARY = Vocabulary([*TTA_SPECIALS, *DIGITS, *(f"##{d}" for d in DIGITS), *"ns.,'"])
BEGIN, END = VOCABULARY.bos_id, VOCABULARY.eos_id


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Many chunks from little text."""
    monkeypatch.setattr(chunks, "CHUNK_LINES", 16)


@pytest.fixture
def text(tmp_path):
    """500 different sentences "n 0 1 7 ." in three files, plain, gzip and xz."""
    lines = [f"n {' '.join(str(i))} ." for i in range(500)]
    (tmp_path / "a.txt").write_text("\n".join(lines[:200]) + "\n\n")
    with gzip.open(tmp_path / "b.gz", "wt") as file:
        file.write("\n".join(lines[200:300]))
    with lzma.open(tmp_path / "c.xz", "wt") as file:
        file.write("\n".join(lines[300:]))
    return [str(tmp_path / name) for name in ("a.txt", "b.gz", "c.xz")]


def config(paths, folder, **settings):
    settings = {"num_shards": 4, "num_workers": 2, "vocab_file": "unused", **settings}
    return LocalCorpusConfig(input_file=paths, output_dir=str(folder), **settings)


def run(paths, folder, **settings):
    with tempfile.TemporaryDirectory() as other:
        vocab_file = f"{other}/vocab.txt"
        VOCABULARY.save(vocab_file)
        return prepare.create_tfrecords(config(paths, folder, vocab_file=vocab_file, **settings))


def read(output, split):
    """The sentences of a split, in order, as text."""
    info = dataset.load_dataset_info(output)
    tokenizer = Tokenizer(VOCABULARY)
    sentences = []
    for path in dataset.shard_paths(output, info, split):
        for ids in examples.read_sentences(path):
            assert ids[0] == BEGIN
            assert ids[-1] == END
            sentences.append(" ".join(tokenizer.pieces(ids[1:-1])).replace(" ##", ""))
    return sentences


def files(output):
    return {p.name: p.read_bytes() for p in Path(output).iterdir()}


@pytest.mark.tensorflow
def test_every_sentence_once_and_shuffled(text, tmp_path):
    output = tmp_path / "new" / "out"
    info = run(text, output, heldout_fraction=0.2)
    train, heldout = read(output, "train"), read(output, "heldout")
    expected = [f"n {' '.join(str(i))} ." for i in range(500)]
    assert sorted(train + heldout) == sorted(expected)
    assert 60 <= len(heldout) <= 140
    # Shuffled within and across shards: positions in the corpus and the data do not correlate.
    corpus_places = [int(s[2:-2].replace(" ", "")) for s in train]
    assert abs(np.corrcoef(corpus_places, np.arange(len(train)))[0, 1]) < 0.15
    sizes = [
        sum(1 for _ in examples.read_sentences(path))
        for path in dataset.shard_paths(output, info, "train")
    ]
    assert min(sizes) > 60

    assert info == dataset.load_dataset_info(output)
    assert info["splits"]["train"]["sentences"] == len(train)
    assert info["splits"]["heldout"]["sentences"] == len(heldout)
    tokens = sum(len(s.split()) + 2 for s in train)
    assert info["splits"]["train"]["tokens"] == tokens
    assert info["counts"]["lines"] == info["counts"]["sentences"] == 500
    assert info["features"] == {"input_ids": {"dtype": "int32", "shape": [None]}}
    assert (info["lower_case"], info["normalization"]) == (True, "strip_latin")
    assert info["vocab_sha256"] == Vocabulary.from_file(output / "vocab.txt").sha256
    assert set(files(output)) == {
        *(dataset.shard_name("train", i, 4) for i in range(4)),
        dataset.shard_name("heldout", 0, 1),
        "vocab.txt",
        "dataset.json",
    }


@pytest.mark.tensorflow
def test_the_result_depends_on_the_seed_and_not_on_the_threads(text, tmp_path, monkeypatch):
    monkeypatch.setattr(spill, "PART_BYTES", 1000)  # Let the large-spill path be repeatable too.
    options = {"spoken_fraction": 0.5, "heldout_fraction": 0.1}
    run(text, tmp_path / "1", num_workers=1, seed=5, **options)
    run(text, tmp_path / "5", num_workers=5, seed=5, **options)
    run(text, tmp_path / "other", seed=6, **options)
    assert files(tmp_path / "1") == files(tmp_path / "5")
    assert read(tmp_path / "1", "train") != read(tmp_path / "other", "train")
    assert set(read(tmp_path / "1", "heldout")) != set(read(tmp_path / "other", "heldout"))


@pytest.mark.tensorflow
def test_copies_of_a_sentence_are_on_one_side(tmp_path):
    path = tmp_path / "a.txt"
    lines = [f"{n} {i} {end}" for i in range(300) for n in "nN" for end in (".", "", ",", "'")]
    path.write_text("\n".join(np.random.default_rng(0).permutation(lines)))
    run([str(path)], tmp_path / "out", heldout_fraction=0.3)
    numbers = [
        {s.rstrip(" .,'") for s in read(tmp_path / "out", split)} for split in ("train", "heldout")
    ]
    assert not numbers[0] & numbers[1]
    assert len(numbers[0] | numbers[1]) == 300
    assert 60 < len(numbers[1]) < 120


@pytest.mark.tensorflow
@pytest.mark.parametrize(("fraction", "split"), [(0, "train"), (1, "heldout")])
def test_all_or_nothing_held_out(text, tmp_path, fraction, split):
    run(text, tmp_path / "out", heldout_fraction=fraction)
    assert len(read(tmp_path / "out", split)) == 500


@pytest.mark.tensorflow
def test_spoken_fraction(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("N, s.\n" * 400 + "N, 5.\n" * 100)
    info = run([str(path)], tmp_path / "half", spoken_fraction=0.5, heldout_fraction=0)
    found = collections.Counter(read(tmp_path / "half", "train"))
    assert found.keys() == {"n , s .", "n s", "n , 5 ."}
    assert found["n , 5 ."] == 100, "digits have no spoken form"
    assert found["n s"] == info["counts"]["spoken"]
    assert 150 < found["n s"] < 250
    assert spoken_form("N, s.") == "n s"
    run([str(path)], tmp_path / "all", spoken_fraction=1, heldout_fraction=0)
    assert collections.Counter(read(tmp_path / "all", "train")) == {"n s": 400, "n , 5 .": 100}


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("long_sentences", "kept", "truncated", "dropped"),
    [("truncate", ["n n n", "n n n", "n n"], 1, 0), ("drop", ["n n n", "n n"], 0, 1)],
)
def test_long_and_short_sentences(tmp_path, long_sentences, kept, truncated, dropped):
    path = tmp_path / "a.txt"
    path.write_text("n n n n\nn n n\nn n\nn\n\u200b\n")
    info = run(
        [str(path)],
        tmp_path / "out",
        max_seq_length=5,
        min_tokens=2,
        long_sentences=long_sentences,
        heldout_fraction=0,
    )
    assert sorted(read(tmp_path / "out", "train"), reverse=True) == kept
    counts = info["counts"]
    assert (counts["truncated"], counts["dropped_long"]) == (truncated, dropped)
    assert counts["dropped_short"] == 2
    assert counts["lines"] == counts["sentences"] + counts["dropped_short"] + dropped
    shown = summary(info, 2.0)
    assert f"{truncated} truncated to 5 tokens, {dropped} dropped as longer" in shown
    assert "2 dropped with fewer than 2 pieces" in shown


@pytest.mark.tensorflow
def test_a_bounded_number_of_chunks_is_in_flight(text, tmp_path, monkeypatch):
    given, done = [], []

    def slow(number, *arguments):
        time.sleep(0.01)
        done.append(number)
        return prepare_chunk(number, *arguments)

    def iter_chunks(reader):
        for lines in original(reader):
            given.append(1)
            assert len(given) - len(done) <= 4
            yield lines

    prepare_chunk, original = prepare.prepare_chunk, prepare.iter_chunks
    monkeypatch.setattr(prepare, "prepare_chunk", slow)
    monkeypatch.setattr(prepare, "iter_chunks", iter_chunks)
    run(text, tmp_path / "out", num_workers=2)
    assert len(done) == 32


@pytest.mark.tensorflow
def test_a_failure_leaves_the_old_set_and_nothing_else(text, tmp_path):
    output = tmp_path / "out"
    run(text, output)
    before = files(output)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"n n\n" * 50 + b"\xff\n")
    with pytest.raises(InputError, match=r"bad\.txt:51: expected UTF-8"):
        run([*text, str(bad)], output, overwrite=True)
    assert files(output) == before
    with pytest.raises(InputError, match=r"bad\.txt:51"):
        run([*text, str(bad)], tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.tensorflow
def test_existing_data_is_kept_without_overwrite(text, tmp_path):
    output, description = tmp_path / "out", tmp_path / "out/dataset.json"
    run(text, output, num_shards=5)
    (output / "mine.txt").write_text("keep")
    before = files(output)
    with pytest.raises(InputError, match="a data set is here; pass overwrite=True to replace it"):
        run(text, output)
    description.rename(tmp_path / "dataset.json")
    with pytest.raises(InputError, match=r"heldout-00000-of-00001\.tfrecord: a data set is here"):
        run(text, output)
    (tmp_path / "dataset.json").rename(description)
    assert files(output) == before
    run(text, output, num_shards=2, overwrite=True)
    assert len(list(output.glob("train-*"))) == 2, "no shard of the old set is left"
    assert (output / "mine.txt").read_text() == "keep"


@pytest.mark.tensorflow
def test_another_vocabulary_is_kept_without_overwrite(text, tmp_path):
    output = tmp_path / "out"
    output.mkdir()
    Vocabulary([*TTA_SPECIALS, "x"]).save(output / "vocab.txt")
    with pytest.raises(InputError, match="another vocabulary is here"):
        run(text, output)
    run(text, output, overwrite=True)
    assert Vocabulary.from_file(output / "vocab.txt") == VOCABULARY


@pytest.mark.tensorflow
def test_no_sentence_left(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("n\n\n")
    with pytest.raises(InputError, match=r"a\.txt: no sentence is left to write"):
        run([str(path)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.tensorflow
def test_a_killed_run_leaves_no_data_set_and_the_next_one_cleans_up(text, tmp_path):
    vocab_file, output = tmp_path / "vocab.txt", tmp_path / "out"
    VOCABULARY.save(vocab_file)
    command = [sys.executable, "-m", "tta.flags.create_tfrecords", f"--output_dir={output}"]
    command += [f"--vocab_file={vocab_file}", "--num_shards=2", "--num_workers=2"]
    endless = subprocess.Popen(
        [*command, "--input_file=-"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(8192 * 8):  # More than the chunks in flight, so that some are written.
        endless.stdin.write(b"n n n n n n n n\n")
    endless.stdin.flush()
    while not list(output.glob(f"{WORK_FOLDER}/spill*")):
        assert endless.poll() is None, "it ended before its input did"
        time.sleep(0.05)
    endless.send_signal(signal.SIGKILL)
    endless.wait()
    endless.stdin.close()
    assert {p.name for p in output.iterdir()} == {WORK_FOLDER, LOCK_FILE}
    assert list((output / WORK_FOLDER).iterdir())

    finished = subprocess.run(
        [*command, f"--input_file={','.join(text)}"], cwd=ROOT, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr
    assert len(read(output, "train")) + len(read(output, "heldout")) == 500
    assert not {WORK_FOLDER, LOCK_FILE} & set(os.listdir(output))
    assert "tokenizing" not in finished.stderr, "a progress bar without a terminal"
    assert "train: " in finished.stderr


@pytest.mark.tensorflow
def test_a_run_that_was_killed_while_its_shards_appeared_is_repeated(text, tmp_path, monkeypatch):
    output = tmp_path / "out"
    run(text, output)
    expected = files(output)
    output.rename(tmp_path / "whole")
    replace, moved = os.replace, []

    def killed(source, target):
        if Path(target).parent == output:
            moved.append(target)
            if len(moved) == 3:
                raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", killed)
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # Nothing is cleaned up.
        with pytest.raises(KeyboardInterrupt):
            run(text, output)
    left = [name for name in os.listdir(output) if dataset.is_shard_name(name)]
    assert len(left) == 2
    with pytest.raises(InputError, match="not a complete data set"):
        dataset.load_dataset_info(output)
    run(text, output)
    assert files(output) == expected


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--input_file=none/*.xz"], 1, "error: none/*.xz: no file matches"),
        (["--input_file=setup.py"], 1, "error: none.txt: no such file"),
        (["--input_file=setup.py", "--num_shards=0"], 2, "num_shards"),
    ],
)
def test_command_refuses_without_tensorflow(tmp_path, arguments, status, message):
    (tmp_path / "tensorflow.py").write_text("raise SystemExit('tensorflow was imported')")
    defaults = ["--vocab_file=none.txt", f"--output_dir={tmp_path / 'out'}"]
    result = python(
        "from tta.flags.create_tfrecords import run; run()",
        *defaults,
        *arguments,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert message in result.stderr
    assert result.returncode == status
    assert not (tmp_path / "out").exists()
