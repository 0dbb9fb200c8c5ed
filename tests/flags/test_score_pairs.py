"""`tta score --pairs` as a user meets it: accuracies per group, rows, one-line errors."""

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.flags.test_score import assert_one_line, command

# The fake model scores a known word -1 and any other -5: (good, bad, UID, linguistics_term).
PAIRS = [
    ("the cat sat", "the cat sit", "agree", "verbs"),
    ("a dog ran home", "a dog run home", "agree", "verbs"),
    ("the cats", "the cat", "agree", "verbs"),
    ("the mat", "mat the", "order", "words"),
    ("the dog", "dog", "length", "words"),
    ("the cat sat", "hers cat sat", "length", "words"),
]
TABLE = """\
1 file, 6 pairs, 11 distinct sentences
UID             pairs  ties  accuracy %  95% interval
agree               3     0       66.67  [20.8, 93.9]
order               1     1        0.00   [0.0, 79.3]
length              2     0       50.00   [9.5, 90.5]
mean of groups      6     1       38.89  [18.5, 69.9]
all pairs           6     1       50.00  [18.8, 81.2]
fake|version:0|score:sum|ties:wrong|interval:95% Wilson
"""


def json_lines(pairs=PAIRS, names=("UID", "linguistics_term")):
    keys = ("sentence_good", "sentence_bad", *names)
    return "".join(json.dumps(dict(zip(keys, p, strict=False))) + "\n" for p in pairs).encode()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.jsonl").write_bytes(json_lines())
    return tmp_path


def groups(done):
    """{first column: accuracy} of the table."""
    assert done.returncode == 0, done.stderr
    rows = [line.rsplit(maxsplit=5) for line in done.stdout.decode().splitlines()[2:-1]]
    return {row[0]: float(row[3]) for row in rows}


def test_prints_a_row_per_group_their_mean_and_all_pairs(folder):
    done = command("--pairs=pairs.jsonl")
    assert (done.returncode, done.stderr) == (0, b"loaded\n")  # no progress bar without a terminal
    assert done.stdout.decode() == TABLE


def test_several_files_archives_and_standard_input_are_one_report(folder):
    for i, pair in enumerate(PAIRS[:4]):
        (folder / f"part{i}.gz").write_bytes(gzip.compress(json_lines([pair])))
    (folder / "pairs.jsonl").unlink()
    done = command("--pairs=part*.gz,-", stdin=json_lines(PAIRS[4:]))
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == TABLE.replace("1 file,", "5 files,")


@pytest.mark.parametrize(
    ("names", "flags", "expected"),
    [
        (("UID", "linguistics_term"), ["--group_by=linguistics_term"], {"verbs", "words"}),
        (("other", "linguistics_term"), [], {"verbs", "words"}),
        (("field", "other"), [], {"agree", "order", "length"}),
        (("other", "another"), ["--group_by=another"], {"verbs", "words"}),
        (("other", "another"), [], set()),
    ],
)
def test_groups_come_from_a_field(folder, names, flags, expected):
    (folder / "pairs.jsonl").write_bytes(json_lines(names=names))
    found = groups(command("--pairs=pairs.jsonl", *flags))
    means = {"mean of groups"} if expected else set()
    assert found.keys() == expected | means | {"all pairs"}
    assert found["all pairs"] == 50.0


def test_the_output_has_a_row_per_pair(folder):
    done = command("--pairs=pairs.jsonl", "--output_file=out.gz", "--text")
    assert done.stdout.decode() == TABLE
    rows = [json.loads(line) for line in gzip.decompress(Path("out.gz").read_bytes()).splitlines()]
    assert rows[1] == {
        "file": "pairs.jsonl",
        "line": 2,
        "group": "agree",
        "sentence_good": "a dog ran home",
        "sentence_bad": "a dog run home",
        "score_good": -4.0,
        "score_bad": -8.0,
        "difference": 4.0,
        "correct": True,
        "num_tokens_good": 4,
        "num_tokens_bad": 4,
    }
    assert [row["difference"] for row in rows] == [4.0, 4.0, -4.0, 0.0, -1.0, 4.0]
    assert [row["correct"] for row in rows] == [True, True, False, False, False, True]


def test_rows_on_standard_output_leave_the_table_on_standard_error(folder):
    (folder / "pairs.tsv").write_text("the cat\tthe kat\n")
    done = command("--pairs=pairs.tsv", "--output_file=-")
    (row,) = done.stdout.splitlines()
    assert list(json.loads(row)) == [
        "file", "line", "score_good", "score_bad", "difference", "correct", "num_tokens_good",
        "num_tokens_bad",
    ]  # fmt: skip
    assert done.stderr.decode().startswith("loaded\n1 file, 1 pair, 2 distinct sentences\n")


# (contents of pairs.jsonl, flags, line on standard error, whether a model is loaded)
FAILURES = [
    (b'{"sentence_good": "a"}\n', [], 'pairs.jsonl:1: the pair has no "sentence_bad"', False),
    (json_lines() + b'{"sentence_good": "a", "sentence_bad": "b", "n": 1}\n', [],
     "pairs.jsonl:7: no field 'UID' to group by; it has 'n'", False),
    (b"a\tb\n", ["--group_by=UID"], "pairs.jsonl:1: no field 'UID' to group by; it has n", False),
    (json_lines([("a", "b", None)]), [],
     "pairs.jsonl:1: expected the name of a group as 'UID', got None", False),
    (json_lines([("a", "b", " ")]), [], "pairs.jsonl:1: expected the name of a group as", False),
    (json_lines([("a", "b", "x\ny")]), [], "pairs.jsonl:1: expected the name of a group", False),
    (b"a\tb\n", ["--output_file=pairs.jsonl"], "pairs.jsonl: exists; pass --overwrite", False),
    (b"\nnan\tb\n", [], "pairs.jsonl:2: sentence_good has the score nan, not a finite", True),
]  # fmt: skip


@pytest.mark.parametrize(("data", "flags", "message", "is_loaded"), FAILURES)
def test_a_failure_is_one_line_and_leaves_no_output(
    folder, loaded, data, flags, message, is_loaded
):
    (folder / "pairs.jsonl").write_bytes(data)
    output = (
        [] if any(flag.startswith("--output_file") for flag in flags) else ["--output_file=out"]
    )
    assert_one_line(loaded, message, is_loaded, "--pairs=pairs.jsonl", *output, *flags)
    assert os.listdir(folder) == ["pairs.jsonl"]
