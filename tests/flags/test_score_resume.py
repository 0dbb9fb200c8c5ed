"""`tta score --resume`: the bytes of one run after an interrupt, and one line for another run."""

import os
import random
import signal
import sqlite3
import subprocess
import sys

import pytest

from tests.commands import ROOT, run_command
from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.files import score_file
from tta.scoring.scorers.inference import stream
from tta.scoring.scorers.inference.store import ResultStore
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer

KEPT = ".out.unfinished"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Many blocks, and sentences that occur again while they are recent, and later."""
    monkeypatch.setattr(stream, "BLOCK_LINES", 40)
    monkeypatch.setattr(stream, "FIRST_LINES", 8)
    monkeypatch.setattr(stream, "RECENT_TEXTS", 60)


def write_input(path, lines):
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


def score(*flags):
    return run_command("tta-score", "--input_file=in", "--output_file=out", *flags)


def interrupt_at(monkeypatch, number, error=KeyboardInterrupt):
    """Ends a run after so many blocks. Returns the results that are kept, also of later runs."""
    added, put = [], ResultStore.put

    def ends(self, results):
        put(self, results)
        if results and "run" not in results:
            added.append(results)
            if len(added) == number:
                raise error

    monkeypatch.setattr(ResultStore, "put", ends)
    return added


@pytest.fixture
def folder(tmp_path, monkeypatch, loaded):
    monkeypatch.chdir(tmp_path)
    write_input(tmp_path / "in", 200)
    return tmp_path


@pytest.fixture
def interrupted(folder, monkeypatch):
    """A folder with what a run left that was interrupted after three blocks."""
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at(patch, 3)
        done = score()
    end = f"error: interrupted; --resume goes on with {KEPT}\n"
    assert (done.returncode, done.stderr) == (130, end)
    assert sorted(os.listdir(folder)) == [KEPT, "in"]
    return folder


@pytest.mark.usefixtures("models_are_loaded_once")
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("s.jsonl.gz", {"text": True, "tokens": True, "words": True, "perplexity": True}),
        ("s.csv", {"words": True}),
        ("s.parquet", {"tokens": True}),
    ],
)
def test_resumed_twice_it_has_the_bytes_of_one_run(tmp_path, monkeypatch, name, options):
    write_input(tmp_path / "in.txt", 120)

    def run(folder, resume=False):
        (tmp_path / folder).mkdir(exist_ok=True)
        files = {"input_file": f"{tmp_path}/in.txt", "output_file": f"{tmp_path}/{folder}/{name}"}
        config = ScoreConfig(**files, resume=resume, **options)
        return score_file(config, options=ScoreOptions(engine="onnxruntime"))

    with pytest.MonkeyPatch.context() as patch:
        blocks = interrupt_at(patch, 0)
        one = run("one")
    (written,) = (tmp_path / "one").iterdir()
    for resume, number in ((False, 2), (True, 1)):
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(patch, number)
            with pytest.raises(KeyboardInterrupt):
                run("cut", resume)
    added = interrupt_at(monkeypatch, 0)
    again = run("cut", True)
    assert len(added) == len(blocks) - 3, "blocks that were done are not done again"
    (found,) = (tmp_path / "cut").iterdir()
    assert found.read_bytes() == written.read_bytes()
    assert str(again) == str(one)


KILLED = f"""
import os, signal, sqlite3, sys
sys.path.insert(0, {str(ROOT)!r})
import tta
from tests.fake_model import FakeModel
from tta.scoring.scorers.inference import store, stream
stream.BLOCK_LINES, stream.FIRST_LINES, stream.RECENT_TEXTS = 40, 8, 60
left = int(sys.argv.pop())

class Cut(sqlite3.Connection):
    def executemany(self, *given):
        global left
        left -= 1
        if left < 0:
            super().execute("PRAGMA cache_spill = 1").execute("PRAGMA cache_size = 1")
            super().executemany(*given)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().executemany(*given)

connect = sqlite3.connect
store.sqlite3.connect = lambda *given, **options: connect(*given, factory=Cut, **options)
tta.load = lambda model=None, **options: FakeModel(model, **options)
from tta.flags import score
score.run()
"""


def test_a_killed_run_goes_on_and_a_block_that_was_cut_does_not_count(folder):
    flags = ["--input_file=in", "--output_file=out", "--tokens", "--resume"]
    for left in (2, 3, 4):  # with what the run depends on
        run = [sys.executable, "-c", KILLED, *flags, str(left)]
        assert subprocess.run(run, check=False).returncode == -signal.SIGKILL
    assert (folder / KEPT).stat().st_mode & 0o777 == 0o600
    assert score("--tokens", "--resume").returncode == 0
    kept = (folder / "out").read_bytes()
    assert sorted(os.listdir(folder)) == ["in", "out"]
    (folder / "out").unlink()
    assert score("--tokens").returncode == 0
    assert (folder / "out").read_bytes() == kept


def test_scores_that_depend_on_their_batch_are_those_of_one_run(folder, monkeypatch):
    plain = FakeModel.score_with_counts

    def by_batch(self, texts, progress=False):
        sums, counts = plain(self, texts)
        return sums + len(texts) / 1024, counts

    def ahead(self, blocks, tokens=False, advance=None):
        return Scorer.score_blocks(self, [*blocks], tokens, advance)

    monkeypatch.setattr(FakeModel, "score_with_counts", by_batch)
    monkeypatch.setattr(FakeModel, "score_blocks", ahead)
    assert score().returncode == 0
    (folder / "out").rename(folder / "one")
    with pytest.MonkeyPatch.context() as patch:
        interrupt_at(patch, 2)
        assert score().returncode == 130
    added = interrupt_at(monkeypatch, 0)
    assert score("--resume").returncode == 0
    assert len(added) > 2
    assert (folder / "out").read_bytes() == (folder / "one").read_bytes()


OTHER = f"error: {KEPT}: an interrupted run of another run: its "


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        (["--model=length"], "model"),
        (["--perplexity"], "perplexity"),
        (["--batch_tokens=9"], "batch_tokens"),
        (["--score_boundary_tokens"], "score_boundary_tokens"),
        (["--input_file=other"], "input_file"),
        (["--column=1"], "column"),
    ],
)
def test_another_run_is_refused_by_name_and_what_is_kept_stays(interrupted, flags, name):
    (interrupted / "other").write_text("the cat\n")
    before = (interrupted / KEPT).read_bytes()
    output = ["--input_file=in"] * (name != "input_file") + ["--output_file=out", "--resume"]
    done = run_command("tta-score", *output, *flags)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"{OTHER}{name} is ")
    assert done.stderr.count("\n") == 1
    assert (interrupted / KEPT).read_bytes() == before


def test_without_resume_it_begins_anew_and_says_so(interrupted, monkeypatch):
    added = interrupt_at(monkeypatch, 0)
    done = score()
    assert done.returncode == 0
    assert done.stderr.startswith(f"note: {KEPT} of an interrupted run was replaced; --resume ")
    assert len(added[0]) == 6, "the first block, of 8 lines"
    assert sorted(os.listdir(interrupted)) == ["in", "out"]


@pytest.mark.parametrize("kind", ["file", "link", "absent", "folder"])
@pytest.mark.parametrize("flags", [[], ["--resume"]])
def test_a_file_of_the_user_is_not_taken_for_one(folder, kind, flags):
    (folder / "mine").write_text("mine\n")
    made = {
        "file": lambda path: path.write_text("mine\n"),
        "link": lambda path: path.symlink_to("mine"),
        "absent": lambda path: path.symlink_to("no_such_file"),
        "folder": lambda path: path.mkdir(),
    }
    made[kind](folder / KEPT)
    done = score(*flags)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {KEPT}: ")
    assert sorted(os.listdir(folder)) == [KEPT, "in", "mine"]
    assert (folder / "mine").read_text() == "mine\n"
    assert kind in ("absent", "folder") or (folder / KEPT).read_text() == "mine\n"


def test_a_wrong_input_leaves_nothing_and_a_full_disk_what_is_done(folder, monkeypatch):
    with open(folder / "in", "a") as file:
        file.write("the nan\n")
    done = score()
    assert (done.returncode, os.listdir(folder)) == (1, ["in"])
    assert done.stderr.endswith("not a finite number\n")
    write_input(folder / "in", 200)
    interrupt_at(monkeypatch, 3, OSError(28, "No space left on device", "out"))
    done = score()
    assert (done.returncode, done.stderr) == (1, "error: out: No space left on device\n")
    assert sorted(os.listdir(folder)) == [KEPT, "in"]


def test_a_full_disk_at_the_begin_leaves_nothing_and_names_the_output(folder, monkeypatch):
    connect = sqlite3.connect

    def full(*arguments, **options):
        database = connect(*arguments, **options)
        database.execute("PRAGMA max_page_count = 1")
        return database

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", full)
        done = score()
    assert (done.returncode, done.stderr) == (1, "error: out: No space left on device\n")
    assert os.listdir(folder) == ["in"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "resume needs input_file, a file"),
        ({"texts": ["a"]}, "resume needs input_file, a file"),
        ({"pairs": ["a"]}, "resume needs input_file, a file"),
        ({"input_file": "in"}, "resume needs output_file, a file"),
    ],
)
def test_only_the_scores_of_a_file_in_a_file_are_resumed(options, message):
    with pytest.raises(InputError, match=f"^{message}$"):
        ScoreConfig(resume=True, **options)


# (what is there, flags, the end of the line that names an interrupt while the model is loaded)
LOADING = [
    (["in"], [], "; nothing was written yet"),
    (["in", "out"], ["--overwrite"], ""),
    (["in"], ["--output_file=-"], ""),
]


@pytest.mark.parametrize(("there", "flags", "end"), LOADING)
def test_an_interrupt_while_the_model_loads_says_how_it_goes_on(
    folder, monkeypatch, there, flags, end
):
    def load(model=None, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("tta.load", load)
    for name in there[1:]:
        (folder / name).touch()
    output = [] if "--output_file=-" in flags else ["--output_file=out"]
    done = run_command("tta-score", "--input_file=in", *output, *flags)
    assert (done.returncode, done.stderr) == (130, f"error: interrupted{end}\n")
    assert sorted(os.listdir(folder)) == sorted(there)


@pytest.mark.parametrize("flags", [["--resume"], []])
def test_an_interrupt_while_the_model_loads_names_what_is_kept(interrupted, monkeypatch, flags):
    def load(model=None, **options):
        os.kill(os.getpid(), signal.SIGTERM)

    before = (interrupted / KEPT).read_bytes()
    monkeypatch.setattr("tta.load", load)
    done = score(*flags)
    end = f"error: terminated; --resume goes on with {KEPT}\n"
    assert (done.returncode, done.stderr) == (143, end)
    assert (interrupted / KEPT).read_bytes() == before


def test_what_cannot_be_read_again_is_scored_and_not_kept(folder, monkeypatch):
    added = interrupt_at(monkeypatch, 0)
    done = run_command("tta-score", "--output_file=out", stdin=b"the cat\n")
    assert (done.returncode, added) == (0, [])
    done = run_command("tta-score", "--input_file=in", "--output_file=/dev/null")
    assert (done.returncode, added) == (0, [])
    os.mkfifo(folder / "pipe")
    done = run_command("tta-score", "--input_file=pipe", "--output_file=o", "--resume")
    assert "expected a file, not a pipe" in done.stderr
