"""`tta score --shard` and `--merge_shards`: the bytes of one run, and one line for wrong shards."""

import json
import os
import random

import pytest

from tests.commands import run_command
from tta.errors import InputError
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.files import score_file
from tta.scoring.scorers.inference import stream

COUNT = 3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks, and sentences that occur again while they are recent, and later."""
    monkeypatch.setattr(stream, "BLOCK_LINES", 40)
    monkeypatch.setattr(stream, "FIRST_LINES", 8)
    monkeypatch.setattr(stream, "RECENT_TEXTS", 60)


def write_input(path, lines=360):
    """Sentences of 0 to 12 words, a third of which occurred before."""
    draw = random.Random(0)
    words = ["the", "cat", "sat", "on", "mat", "while", "unquestionably", "dogs", "слово", "ran"]
    texts = []
    for _ in range(lines):
        again = texts and draw.random() < 0.3
        texts.append(draw.choice(texts[-300:]) if again else " ".join(
            draw.choices(words, k=draw.randrange(13))
        ))  # fmt: skip
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("s.jsonl", {}),
        ("s.jsonl.gz", {"text": True, "tokens": True, "words": True, "perplexity": True}),
        ("s.csv", {"words": True, "text": True}),
        ("s.tsv.xz", {"perplexity": True}),
    ],
)
def test_merged_shards_have_the_bytes_of_one_run(tmp_path, name, options):
    write_input(tmp_path / "in.txt")

    def run(folder, **more):
        (tmp_path / folder).mkdir(exist_ok=True)
        output = str(tmp_path / folder / name)
        config = ScoreConfig(input_file=f"{tmp_path}/in.txt", output_file=output, **options, **more)
        return score_file(config, engine="onnxruntime")

    one = run("one")
    shards = [run("many", shard=f"{number}/{COUNT}") for number in range(1, COUNT + 1)]
    merged = run("many", merge_shards=COUNT)
    assert (tmp_path / "many" / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    assert str(merged) == str(one)
    assert sum(shard.scored for shard in shards) == merged.scored == one.scored
    assert all(shard.scored > one.scored / (COUNT + 1) for shard in shards)


def fake_run(*flags):
    return run_command("tta-score", "--input_file=in", "--output_file=out", *flags)


@pytest.fixture
def sharded(tmp_path, monkeypatch, loaded):
    """A folder with all shards of `in`."""
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in", 200)
    for number in range(1, COUNT + 1):
        done = fake_run(f"--shard={number}/{COUNT}")
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_a_merge_loads_no_model_and_small_files_have_empty_shards(sharded, loaded):
    loaded.clear()
    assert fake_run(f"--merge_shards={COUNT}").returncode == 0
    assert not loaded
    (sharded / "in").write_text("the cat\n")
    for number in range(1, COUNT + 1):
        assert fake_run(f"--shard={number}/{COUNT}", "--overwrite").returncode == 0
    assert fake_run(f"--merge_shards={COUNT}", "--overwrite").returncode == 0
    assert json.loads((sharded / "out").read_text())["score"] == -2.0


def edit(path, change):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(change(lines)))


def other_header(**values):
    return lambda lines: [json.dumps(json.loads(lines[0]) | values) + "\n", *lines[1:]]


OTHER = "out.2-of-3: a shard of another run: its "

# (what happens to the folder of shards, further flags of the merge, message)
FAILURES = [
    (lambda at: (at / "out.2-of-3").unlink(), [], "out.2-of-3: no such file"),
    (lambda at: (at / "out.3-of-3").replace(at / "out.2-of-3"), [],
     f"{OTHER}shard is '3/3', expected '2/3'"),
    (lambda at: (at / "in").write_text("the cat\n"), [],
     "out.1-of-3: a shard of another run: its input_file is "),
    (None, ["--tokens"], "out.1-of-3: a shard of another run: its tokens is False, expected True"),
    (None, ["--model=length"], "out.1-of-3: a shard of another run: its model is None, expected "),
    (None, ["--batch_tokens=9"], "out.1-of-3: a shard of another run: its batch_tokens is None, "),
    (lambda at: edit(at / "out.2-of-3", other_header(signature="a")), [],
     "out.2-of-3:1: damaged: expected a JSON object with shard, signature"),
    (lambda at: edit(at / "out.1-of-3", lambda lines: lines[:1] * 2), [],
     "out.1-of-3:2: damaged: expected a JSON object with score, num_tokens, num_unknown"),
    (lambda at: edit(at / "out.2-of-3", lambda lines: lines[:-1]), [],
     "out.2-of-3: fewer rows than the shard has sentences"),
    (lambda at: edit(at / "out.2-of-3", lambda lines: [*lines, lines[-1]]), [], "out.2-of-3:"),
    (lambda at: edit(at / "out.2-of-3", lambda lines: [lines[0][:-9], *lines[1:]]), [],
     "out.2-of-3:1: damaged: expected a JSON object with shard, signature, normalizer"),
    (lambda at: (at / "out.2-of-3").write_bytes(b""), [], "out.2-of-3: the file is empty"),
]  # fmt: skip


@pytest.mark.parametrize(("happens", "flags", "message"), FAILURES)
def test_a_missing_damaged_or_other_shard_is_one_line(sharded, happens, flags, message):
    if happens is not None:
        happens(sharded)
    done = fake_run(f"--merge_shards={COUNT}", *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {message}")
    assert done.stderr.count("\n") == 1
    assert not (sharded / "out").exists()


@pytest.mark.parametrize("shard", ["0/8", "9/8", "a", "3", "3/8/2", "-1/8", "1/1001", "", "٣/"])
def test_a_wrong_shard_is_one_line(shard):
    with pytest.raises(InputError, match=r"^shard must be K/N, such as 3/8, with K from 1 to N"):
        ScoreConfig(input_file="in", output_file="out", shard=shard)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "shard needs input_file, a file"),
        ({"texts": ["a"]}, "shard needs input_file, a file"),
        ({"pairs": ["a"]}, "shard needs input_file, a file"),
        ({"input_file": "-"}, "shard needs input_file, a file"),
        ({"input_file": "in"}, "shard needs output_file, a file"),
        ({"input_file": "in", "output_file": "-"}, "shard needs output_file, a file"),
        ({"merge_shards": 3}, "shard and merge_shards cannot be combined"),
    ],
)
def test_shards_are_of_files(options, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        ScoreConfig(shard="1/3", **options)


def test_an_input_is_not_replaced_by_a_shard(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out.1-of-2").write_text("the cat\n")
    with pytest.raises(InputError, match="an input is not replaced"):
        ScoreConfig(input_file="out.1-of-2", output_file="out", shard="1/2", overwrite=True)


def test_a_pipe_has_no_shards(tmp_path, loaded):

    os.mkfifo(tmp_path / "in")
    done = run_command(
        "tta-score", f"--input_file={tmp_path}/in", f"--output_file={tmp_path}/out", "--shard=1/2"
    )
    assert done.returncode == 1
    assert "expected a file, not a pipe" in done.stderr
