"""tta score as a user meets it: sentences in, JSON lines out, one line where it fails."""

import gzip
import io
import json
import math
import os
import select
import subprocess
import sys

import numpy as np
import pytest

from tests.commands import FAKE_MODEL, run_command, run_with_fake_model, with_fake_model
from tta.data.text.tables import row_writer
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.files import ScoreReport, _row
from tta.scoring.scorers.inference.stream import Sentence

TEXT = b"\xef\xbb\xbfthe cat sat\r\n\n the k\xc3\xa5t \nthe cat sat"
ROWS = [
    {"score": -3.0, "num_tokens": 3, "num_unknown": 0},
    {"score": 0.0, "num_tokens": 0, "num_unknown": 0},
    {"score": -6.0, "num_tokens": 2, "num_unknown": 0},
    {"score": -3.0, "num_tokens": 3, "num_unknown": 0},
]
CLOSING = """\
4 sentences (3 distinct), 8 tokens, perplexity per token 4.482
note: without a token to score, so score 0: 1
fake|version:0
"""


def command(*flags, stdin=b""):
    """Runs the command in this process."""
    return run_with_fake_model("tta-score", *flags, stdin=stdin, text=False)


def process(*flags, **options):
    """Runs the command in a process of its own."""
    return with_fake_model("flags/score.py", *flags, **{"text": False} | options)


def rows(data):
    return [json.loads(line) for line in data.splitlines()]


def test_each_line_in_gives_a_line_out(tmp_path):
    (tmp_path / "in").write_bytes(TEXT)
    out = tmp_path / "out.jsonl"
    done = process(f"--input_file={tmp_path / 'in'}", f"--output_file={out}")
    assert (done.returncode, done.stderr) == (0, b"loaded\n")  # no progress bar without a terminal
    assert done.stdout.decode() == CLOSING
    assert rows(out.read_bytes()) == ROWS
    assert [list(row) for row in rows(out.read_bytes())] == [
        ["score", "num_tokens", "num_unknown"]
    ] * 4


def test_standard_streams_and_optional_fields():
    done = command("--input_file=-", "--text", "--tokens", stdin=gzip.compress(TEXT))
    assert done.returncode == 0
    assert done.stderr.decode() == "loaded\n" + CLOSING  # standard output has only the rows
    found = rows(done.stdout)
    assert [row.pop("text") for row in found] == ["the cat sat", "", " the kåt ", "the cat sat"]
    assert "kåt".encode() in done.stdout
    assert found[2] == ROWS[2] | {"tokens": ["the", "kåt"], "log_probabilities": [-1.0, -5.0]}
    assert found[1] == ROWS[1] | {"tokens": [], "log_probabilities": []}


def test_sentences_are_arguments(tmp_path, monkeypatch):
    (tmp_path / "cat").touch()
    monkeypatch.chdir(tmp_path)
    done = command("the cat sat", "--text", " kåt\n", "--texts=cat")
    assert done.returncode == 0, done.stderr
    assert [(row["text"], row["score"]) for row in rows(done.stdout)] == [
        ("cat", -1.0), ("the cat sat", -3.0), (" kåt\n", -5.0),
    ]  # fmt: skip
    assert b"note: 'cat' is a text here; --input_file=cat reads the file" in done.stderr
    done = command("the nan")
    assert done.stderr.endswith(b"<text>:1: the model's score is nan, not a finite number\n")


def test_standard_input_is_the_default_and_may_be_empty():
    assert [row["score"] for row in rows(command(stdin=b"kat\n").stdout)] == [-5.0]
    done = command("--input_file=-")
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"loaded\n0 sentences (0 distinct), 0 tokens\nfake|version:0\n"


def test_scores_have_the_fewest_digits_of_a_float32():
    written = io.StringIO()
    write = row_writer(written, "-")
    write({"a": float(np.float32(-2.0965)), "b": [0.1, 1e300, 5, 0.0], "c": {"d": -1e-40}})
    assert written.getvalue() == '{"a": -2.0965, "b": [0.1, 1e+300, 5, 0.0], "c": {"d": -1e-40}}\n'
    rng = np.random.default_rng(0)
    values = (rng.normal(size=999) * 10.0 ** rng.integers(-4, 9, 999)).astype(np.float32)
    write({"a": values.astype(float).tolist()})
    read = json.loads(written.getvalue().splitlines()[-1])["a"]
    assert np.array_equal(np.array(read, np.float32), values)
    assert max(len(repr(value)) for value in read) <= len("-0.000123456789")


def test_the_perplexity_of_each_sentence(tmp_path):
    done = command("--input_file=-", "--perplexity", stdin=TEXT)
    found = [row.pop("perplexity") for row in rows(done.stdout)]
    assert found == [pytest.approx(math.e), None, pytest.approx(math.exp(3)), found[0]]
    done = command("--input_file=-", "--perplexity", "--normalizer=learned", stdin=TEXT)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"error: fake: a perplexity needs log-probabilities" in done.stderr
    done = command("--input_file=-", "--normalizer=learned", stdin=TEXT)
    assert done.stderr.decode().splitlines()[1] == (
        "4 sentences (3 distinct), 8 tokens, "
        "no perplexity (it needs --normalizer=exact, not learned)"
    )


def test_a_perplexity_beyond_the_largest_float_is_no_number():
    report = ScoreReport(sentences=1, scored=1, tokens=1, score=-1e6)
    assert "perplexity per token above 1.798e+308" in str(report)
    row = _row(Sentence("a", 1, -1e6, 1), ScoreConfig(input_file="a", perplexity=True))
    assert row["perplexity"] is None


def test_a_table_needs_a_column_and_lines_like_rows_get_a_note(tmp_path):
    note = b"note: whole lines were read, but they look like those of a table; --column chooses"
    refused = b"b.csv:1: --column chooses the column of the sentences, by name or number; the first"
    for name, text, status, said in [
        ("a.txt", b"1\tthe cat\n2\tthe dog\n", 0, note),
        ("b.csv", b"id,sentence\n1,the cat\n", 1, refused + b" row has 'id', 'sentence'"),
        ("c.txt", b"1\tthe cat\nthe dog\n", 0, b""),
        ("d.txt", b"", 0, b""),
        ("e.tsv", b"", 0, b""),
    ]:
        (tmp_path / name).write_bytes(text)
        done = command(f"--input_file={tmp_path / name}")
        assert done.returncode == status, name
        assert said in done.stderr, name
        assert bool(said) == (b"--column" in done.stderr), name


@pytest.mark.parametrize("flags", [[], ["--tokens"]])
def test_a_pipe_gets_each_score_before_the_next_sentence_is_written(flags):
    run = [sys.executable, FAKE_MODEL, "flags/score.py", "--input_file=-"]
    pipe = subprocess.PIPE
    with subprocess.Popen([*run, *flags], stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0) as done:
        for sentence, score in ((b"the cat\n", -2.0), (b"\n", 0.0), (b"kat\n", -5.0)):
            done.stdin.write(sentence)
            ready, _, _ = select.select([done.stdout], [], [], 60)
            assert ready, "no score before the end of the input"
            assert json.loads(done.stdout.readline())["score"] == score
        done.stdin.close()
        assert done.stdout.read() == b""
        assert b"3 sentences (3 distinct), 3 tokens" in done.stderr.read()
    assert done.returncode == 0


# (input, flags, line on standard error, whether a model was loaded)
FAILURES = [
    (b"a\nb\n\xc3\n", [], "in:3: expected UTF-8, got byte 0xc3", False),
    (b"a\tb\n\nc\n", ["--column=2"], "in:3: expected 2 columns, got 1", False),
    (b"a\tb\n", ["--column=0"], "in:1: no column 0: the first row has 2", False),
    (b"a\tb\n", ["--column=3"], "in:1: no column 3: the first row has 2", False),
    (b"a,b\n", ["--column=" + "9" * 5000], "in:1: no column 99", False),
    (b"a," * 9999, ["--column=c"], "in:1: no column is named 'c'; the first row has 'a'", False),
    (
        b"c;d\n1;2\n",
        ["--column=c"],
        "in:1: no column is named 'c'; the first row has 'c;d'; "
        "semicolons separate no columns, commas or tabs do",
        False,
    ),
    (b"a,b\n\n1,nan\n", ["--column=b"], "in:3: the model's score is nan", True),
    (b"a\n", ["--output_file=in"], "in: exists; pass --overwrite to replace it", False),
]


def assert_one_line(loaded, message, is_loaded, *flags):
    """The command fails with this message, before or after it loads the model."""
    done = run_command("tta-score", *flags)
    assert (done.returncode, done.stdout, len(loaded)) == (1, "", is_loaded)
    assert done.stderr.startswith(f"error: {message}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(("data", "flags", "message", "is_loaded"), FAILURES)
def test_a_failure_is_one_line_and_leaves_no_output(
    tmp_path, monkeypatch, loaded, data, flags, message, is_loaded
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").write_bytes(data)
    output = (
        [] if any(flag.startswith("--output_file") for flag in flags) else ["--output_file=out"]
    )
    assert_one_line(loaded, message, is_loaded, "--input_file=in", *output, *flags)
    assert os.listdir(tmp_path) == ["in"]
