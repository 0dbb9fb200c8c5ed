"""Rows of `tta score`: words in a table, bits, the file of a sentence, punctuation apart."""

import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

from tests.commands import FAKE_MODEL, ROOT, run_with_fake_model
from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.files import score_file
from tta.scoring.scorers.rows import punctuation_notes, scored_words
from tta.scoring.scorers.scorer import TokenScores

SURPRISAL = str(np.float32(1 / math.log(2)))


def score(*flags):
    return run_with_fake_model("tta-score", *flags)


@pytest.fixture
def table(tmp_path):
    (tmp_path / "in.csv").write_text('item,word,text\n1,x,the cat\n\n2,"y, z",\n3,u,the cat\n')
    return tmp_path / "in.csv"


def test_a_table_has_a_row_per_word_with_the_columns_of_the_input(table):
    out = table.parent / "out.csv"
    done = score(f"--input_file={table}", "--column=text", "--words", f"--output_file={out}")
    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines() == [
        "sentence_number,item,word_,word_number,word,log_probability",
        "1,1,x,1,the,-1.0",
        "1,1,x,2,cat,-1.0",
        "3,3,u,1,the,-1.0",
        "3,3,u,2,cat,-1.0",
    ]


def test_a_table_of_sentences_keeps_all_columns(table):
    out = table.parent / "out.csv"
    table.write_text('item,word,text\n1,x,the cat\n2,"y, z",\n')
    done = score(f"--input_file={table}", "--column=text", f"--output_file={out}")
    assert done.returncode == 0, done.stderr
    assert out.read_text().splitlines() == [
        "item,word,text,score,num_tokens,num_unknown",
        "1,x,the cat,-2.0,2,0",
        '2,"y, z",,0.0,0,0',
    ]


@pytest.mark.parametrize("words", [(), ("--words",)], ids=["sentences", "words"])
@pytest.mark.parametrize(("read", "written"), [("csv", "parquet"), ("parquet", "csv")])
def test_columns_are_kept_from_one_kind_of_table_to_another(table, read, written, words):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = {"item": ["1", "2"], "sentence": ["x", "y"], "text": ["the cat", "the cat"]}
    table.write_text("item,sentence,text\n1,x,the cat\n2,y,the cat\n")
    parquet.write_table(pyarrow.table(texts), table.with_suffix(".parquet"))
    out = table.parent / f"out.{written}"
    source = table.with_suffix(f".{read}")
    done = score(f"--input_file={source}", "--column=text", *words, f"--output_file={out}")
    assert done.returncode == 0, done.stderr
    if written == "csv":
        lines = [line.split(",") for line in out.read_text().splitlines()]
        rows = [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]
    else:
        rows = parquet.read_table(out).to_pylist()
    assert list(dict.fromkeys((row["item"], row["sentence"]) for row in rows)) == [
        ("1", "x"),
        ("2", "y"),
    ]


@pytest.mark.parametrize(
    ("content", "column", "noted"),
    [
        ("item,word\n1,the cat\n2,the dog\n", 2, True),
        ("name,Sentence\na,the cat\n", 2, True),
        ("a,the cat\nb,the dog\n", 2, False),
        ("1,the cat\n2,the dog\n", 2, False),
        ('{"item": 1, "text": "the cat"}\n', 2, False),
        ("item,word\n1,the cat\n", "word", False),
    ],
)
def test_a_first_row_that_is_scored_and_may_be_a_header_is_noted(table, content, column, noted):
    table.write_text(content)
    done = score(f"--input_file={table}", f"--column={column}", "--output_file=-")
    assert done.returncode == 0, done.stderr
    assert ("the first row was scored, and may be a header" in done.stderr) == noted


def test_a_name_of_ours_and_a_table_without_rows(table):
    out = table.parent / "out.csv"
    table.write_text("score,text\n5,the cat\n")
    flags = f"--input_file={table}", "--column=text", f"--output_file={out}", "--overwrite"
    assert score(*flags).returncode == 0
    header = "score_,text,score,num_tokens,num_unknown"
    assert out.read_text().splitlines() == [header, "5,the cat,-2.0,2,0"]
    table.write_text("score,text\n")
    assert score(*flags).returncode == 0
    assert out.read_text().splitlines() == [header]


def test_columns_have_numbers_without_a_header_and_words_bits(table):
    out = table.parent / "out.tsv"
    flags = "--column=3", "--words", "--unit=bits", f"--output_file={out}", "--text"
    (table.parent / "in.csv").write_text("1,x,the cat\n")
    done = score(f"--input_file={table}", *flags)
    assert done.returncode == 0, done.stderr
    head, *rows = [line.split("\t") for line in out.read_text().splitlines()]
    assert head == ["sentence_number", "1", "2", "text", "word_number", "word", "surprisal"]
    assert rows == [
        ["1", "1", "x", "the cat", "1", "the", SURPRISAL],
        ["1", "1", "x", "the cat", "2", "cat", SURPRISAL],
    ]


def test_bits_are_positive_and_have_other_names():
    done = score("--unit=bits", "--words", "--tokens", "the kat")
    row = json.loads(done.stdout)
    assert row["surprisal"] == pytest.approx(6 / math.log(2))
    for name in ("surprisals", "word_surprisals"):
        assert row[name] == pytest.approx([1 / math.log(2), 5 / math.log(2)])
    assert not {"score", "log_probabilities", "word_log_probabilities"} & row.keys()


def test_of_a_folder_texts_are_read_and_rows_name_their_file(tmp_path):
    files = {"a.txt": "a cat\n", "b.txt": "\na cat\n", "c.py": "import os\n", ".d.txt": "x\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = score(f"--input_file={tmp_path}")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [os.path.basename(row["file"]) for row in found] == ["a.txt", "b.txt", "b.txt"]
    assert [row["score"] for row in found] == [-2.0, 0.0, -2.0]
    done = score(f"--input_file={tmp_path}/*.py")
    assert "file" not in json.loads(done.stdout), "a glob is as it was"
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).unlink()
    assert "c.py" in score(f"--input_file={tmp_path}").stdout, "without .txt, all are read"


class ByCharacter(FakeModel):
    """A token per letter, the n-th with the score -n."""

    def score_tokens(self, texts, progress=False):
        joined = ["".join(text.split()) for text in texts]
        return [TokenScores([*one], -np.arange(1.0, 1 + len(one))) for one in joined]


def test_words_and_their_punctuation_share_the_tokens():
    lm, texts = ByCharacter(), ["he fell."]
    scored = lm.score_tokens(texts)
    assert scored_words(lm, texts, scored, False) == [(["he", "fell."], [-3.0, -25.0])]
    split = [(["he", "fell", "."], [-3.0, -18.0, -7.0])]
    assert scored_words(lm, texts, scored, True) == split
    assert scored_words(lm, [" "], lm.score_tokens([" "]), True) == [([], [])]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("he fell.", []),  # 18 for the word, 7 for the full stop
        ("a?! so", ["a?!"]),  # 1 and 5
        ('so (a) "ox!" .', ["(a)", '"ox!"']),  # 4 and 8; 15 and 25; a mark alone is a word
        ("-- ...", []),
        ("", []),
    ],
)
def test_the_note_on_punctuation_that_carries_more_than_the_word(text, words):
    lm = ByCharacter()
    notes = punctuation_notes(lm, [text], lm.score_tokens([text]))
    shown = [f"than the rest: {len(words)}, first {words[0]!r}; split" for _ in words[:1]]
    assert [one in note for one, note in zip(shown, notes, strict=True)] == [True] * len(shown)


@pytest.mark.parametrize(
    ("model", "sees"), [("small", True), ("unilm-small", False), ("bilm-small", True)]
)
def test_the_note_on_both_sides(tmp_path, model, sees):
    config = ScoreConfig(texts=["the cat"], words=True, output_file=f"{tmp_path}/out")
    note = "each word is scored given the words on both sides of it"
    assert (note in score_file(config, model).notes) == sees
    config = ScoreConfig(texts=["the cat"], output_file=f"{tmp_path}/other")
    assert note not in score_file(config, model).notes


@pytest.mark.parametrize(
    ("values", "rule"),
    [
        ({"pairs": ["x"], "unit": "bits"}, "unit needs input_file, not pairs"),
        ({"texts": ["x"], "split_punctuation": True}, "split_punctuation needs words"),
    ],
)
def test_refused(values, rule):
    with pytest.raises(InputError, match=rule):
        ScoreConfig(**values)


def test_a_reader_that_goes_away_ends_the_command_as_other_tools_end(tmp_path):
    (tmp_path / "in").write_text("the cat\n" * 100_000)
    reading, writing = os.pipe()
    os.close(reading)
    run = [sys.executable, FAKE_MODEL, "flags/score.py", f"--input_file={tmp_path / 'in'}"]
    done = subprocess.run(run, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"loaded\n")
