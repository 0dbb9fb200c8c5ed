"""Parquet in and out: scores beside the other columns, lists, pairs, partitions, errors."""

import datetime
import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest

from tests.commands import run_command, run_with_fake_model
from tta.data.text import parquet
from tta.data.text.files import open_output
from tta.data.text.lines import ParquetReader, iter_lines
from tta.errors import InputError
from tta.scoring.scorers.arguments import as_texts

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WHEN = datetime.datetime(2026, 1, 1)


def write(path, texts=("the cat", "a \u2028dog", "the cat sat"), **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {"text": list(texts), "when": [WHEN] * len(texts)} | columns
    pq.write_table(pa.table(rows), path, compression="zstd")


def score(*flags):
    return run_with_fake_model("tta-score", *flags)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("rows", [2, 100])
def test_the_other_columns_are_kept_and_scores_are_those_of_text(folder, monkeypatch, rows):
    monkeypatch.setattr(parquet, "ROWS", rows)
    texts = ["the cat", "", "a dog ran", "the cat", "mat"]
    write(folder / "in.parquet", texts)
    (folder / "in.txt").write_text("".join(f"{text}\n" for text in texts))
    assert score("--input_file=in.txt", "--output_file=out.jsonl", "--tokens").returncode == 0
    flags = ["--input_file=in.parquet", "--column=text", "--output_file=out.parquet", "--tokens"]
    done = score(*flags)
    assert done.returncode == 0, done.stderr
    table = pq.read_table("out.parquet")
    assert table.schema.field("when").type == pa.timestamp("us")
    expected = map(json.loads, (folder / "out.jsonl").read_text().splitlines())
    kept = zip(texts, expected, strict=True)
    assert table.to_pylist() == [{"text": text, "when": WHEN} | row for text, row in kept]
    assert pq.ParquetFile("out.parquet").num_row_groups == -(-len(texts) // rows)


def test_a_folder_of_an_engine_has_its_partitions_as_a_column(folder):
    write(folder / "in/year=2025/part-0.gz.parquet")
    write(folder / "in/year=2026/part-0.parquet", ["a", "mat"])
    (folder / "in/_SUCCESS").touch()
    done = score("--input_file=in", "--column=text", "--output_file=out.parquet")
    assert done.returncode == 0, done.stderr
    assert pq.read_table("out.parquet")["year"].to_pylist() == [2025] * 3 + [2026] * 2
    assert pq.read_schema("out.parquet").names[:4] == ["text", "when", "year", "score"]
    done = score("--input_file=in", "--column=year", "--output_file=years.parquet")
    assert "expected strings in column 'year', got int32" in done.stderr


FAILURES = [
    ({}, ["--column=txt"], "in.parquet: expected one column 'txt'; the file has text, when"),
    ({}, [], "in.parquet: --column chooses the column; the file has text, when"),
    ({}, ["--column=when"], "in.parquet: expected strings in column 'when', got timestamp[us]"),
    ({"tags": [["a"]] * 3}, ["--column=tags"], "in.parquet: expected strings in column 'tags', "),
    ({"t": ["a", "b", None]}, ["--column=t"], "in.parquet:3: column 't' is null"),
    ({"t": [None] * 3}, ["--column=t"], "in.parquet:1: column 't' is null"),
    ({"t": [b"a"] * 3}, ["--column=t"], "in.parquet: expected strings in column 't', got binary"),
    (
        {"score": [1, 2, 3]},
        ["--column=text"],
        "out.parquet: the input has a column 'score' already",
    ),
    ({}, ["--column=text", "--text"], "out.parquet: the input has a column 'text' already"),
]


@pytest.mark.parametrize(("columns", "flags", "message"), FAILURES)
def test_a_wrong_column_is_one_line(folder, columns, flags, message):
    write(folder / "in.parquet", **columns)
    done = score("--input_file=in.parquet", "--output_file=out.parquet", *flags)
    assert (done.returncode, done.stdout) == (1, "")
    lines = [line for line in done.stderr.splitlines() if line != "loaded"]
    assert len(lines) == 1
    assert lines[0].startswith(f"error: {message}")
    assert os.listdir(folder) == ["in.parquet"]


def integers(kind, *values):
    """Numbers that are dates or times, which pyarrow does not check."""
    return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


NOT_UTF8 = pa.array([b"ok", b"\xff\xfe"]).view(pa.string())
STARTS, BIG = pa.array([0, 1, 2], pa.int32()), 1 << 62
TWICE = pa.StructArray.from_arrays([pa.array([1, 2])] * 2, ["a", "a"])
# What Python cannot hold: (a column x, the row that the error names)
STRANGE = [
    (NOT_UTF8, 2),
    (NOT_UTF8.dictionary_encode(), 2),
    (pa.ListArray.from_arrays(STARTS, NOT_UTF8), 2),
    (pa.StructArray.from_arrays([NOT_UTF8], ["a"]), 2),
    (pa.MapArray.from_arrays(STARTS, NOT_UTF8, pa.array([1, 2])), 2),
    (pa.ListArray.from_arrays(STARTS, TWICE), 1),
    (TWICE, 1),
    (integers(pa.timestamp("ms"), 1, BIG), 2),
    (integers(pa.timestamp("us"), 1, -BIG), 2),
    (integers(pa.timestamp("us", "Mars/Base"), 1, 2), 1),
    (integers(pa.date32(), 1, 2**31 - 1), 2),
    (integers(pa.duration("s"), 1, BIG), 2),
    (integers(pa.time64("us"), 1, BIG), 2),
]


@pytest.mark.parametrize(("column", "row"), STRANGE, ids=lambda x: str(getattr(x, "type", x)))
def test_a_value_that_python_cannot_hold_is_one_line_or_copied(folder, column, row):
    write(folder / "in.parquet", ["a", "b"], x=column)
    place = f"in.parquet:{row}: column 'x': a "
    with pytest.raises(InputError, match=f"{place}.* that Python cannot hold: "):
        list(iter_lines("in.parquet"))
    done = score("--input_file=in.parquet", "--column=text", "--output_file=out.parquet")
    assert done.returncode == 0, done.stderr
    assert (
        pq.read_table("out.parquet")["x"]
        .combine_chunks()
        .equals(pa.chunked_array([column]).combine_chunks())
    )


LETTERS = "".join(random.Random(1).choices("abcdefgh", k=300_000))  # which are not packed well


def repeated(count, *before):
    """The texts before, and then LETTERS as often, in a dictionary."""
    places = [*range(len(before)), *[len(before)] * count]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), [*before, LETTERS])


def one_each(values):
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


ZEROS = pa.array(np.zeros(40_000_000, np.int8))
LARGE_LISTS = pa.array([0, 1, 20_000_000, 40_000_000], pa.int32())
DELTA = {"use_dictionary": False, "column_encoding": {"text": "DELTA_BYTE_ARRAY"}}
# Files of 200 kB or less: (their columns, options of their writer)
LARGE = {
    "a text in each row": ({"text": repeated(12_000)}, {}),
    "after short texts": ({"text": repeated(12_000, *map(str, range(4_000)))}, {}),
    "in lists": ({"text": one_each(repeated(12_000))}, {}),
    "in structs": ({"text": pa.StructArray.from_arrays([repeated(12_000)], ["a"])}, {}),
    "as starts of others": ({"text": pa.array([LETTERS] * 300)}, DELTA),
    "numbers of lists": ({"text": pa.ListArray.from_arrays(LARGE_LISTS, ZEROS)}, {}),
    "one text": ({"text": ["a" * 40_000_000]}, {}),
    "null": ({"text": pa.nulls(10_000_000)}, {}),
}  # fmt: skip


READ_ALL = """
import sys, pyarrow
from tta.data.text.parquet import ParquetFiles
for path in sys.argv[1:]:
    try:
        print(path, sum(len(table) for _, _, table in ParquetFiles([path]).batches()))
    except ValueError as error:
        print(error)
print(pyarrow.default_memory_pool().max_memory())
"""


def test_a_small_file_takes_little_memory_and_is_refused(folder):
    for name, (columns, options) in LARGE.items():
        pq.write_table(pa.table(columns), name, compression="zstd", **options)
        assert os.path.getsize(name) < 250_000
    done = subprocess.run([sys.executable, "-c", READ_ALL, *LARGE], text=True, capture_output=True)
    *errors, most = done.stdout.splitlines()
    rule = "unpacks to more than 50 times its size; unpack it, or raise max_unpack_ratio"
    assert errors == [f"{name}: {rule}" for name in LARGE]
    assert int(most) < 150_000_000


def test_a_long_row_is_refused_as_a_long_line_is(folder):
    write(folder / "in.parquet", ["a", LETTERS * 4])
    with pytest.raises(InputError, match=r"in\.parquet:2: a row is longer than 1,048,576 bytes"):
        list(iter_lines("in.parquet"))
    with pytest.raises(InputError, match=r"in\.parquet:2: a text is longer than 1,048,576 bytes"):
        list(ParquetReader(["in.parquet"], "text"))


GROUPS = ["--tokens", "--words"], ["--perplexity"]


@pytest.mark.parametrize("flags", GROUPS)
def test_a_first_group_without_values_fits_the_others(folder, flags):
    table = pa.table({"line": ["", "the cat", "a dog"]})
    pq.write_table(table, "in.parquet", row_group_size=1)
    (folder / "in.txt").write_text("\n\n")
    for source in ("in.parquet", "in.txt"):
        given = [f"--input_file={source}", "--output_file=out.parquet", "--overwrite", *flags]
        done = score(*given, *(["--column=line"] if source == "in.parquet" else []))
        assert done.returncode == 0, done.stderr
        kinds = {one.name: str(one.type) for one in pq.read_schema("out.parquet")}
        assert "null" not in " ".join(kinds.values()), kinds
        if "--tokens" in flags:
            assert kinds["tokens"] == kinds["words"] == "list<element: string>"
            assert kinds["log_probabilities"] == "list<element: double>"


def test_unfinished_files_of_an_engine_are_no_rows(folder):
    write(folder / "in/_year=2026/part-0.parquet")
    for name in ("_temporary/0/a", "_delta_log/b", "_year=2026/_temporary/c", ".tmp/d", ".e"):
        write(folder / f"in/{name}.parquet")
    for flags in (["--input_file=in"], ["--input_file=./in/"]):
        done = score(*flags, "--column=text", "--output_file=out.parquet", "--overwrite")
        assert done.returncode == 0, done.stderr
        assert pq.read_table("out.parquet")["_year"].to_pylist() == [2026] * 3


def test_parquet_is_not_packed_again(folder):
    write(folder / "in.parquet")
    for name in ("out.parquet.gz", "out.parquet.xz", "out.parquet.bz2"):
        done = score("--input_file=in.parquet", "--column=text", f"--output_file={name}")
        rule = f"{name}: Parquet is compressed in itself: leave out {name[11:]}"
        assert (done.returncode, done.stderr) == (1, f"error: {rule}\n")
    assert os.listdir(folder) == ["in.parquet"]


def test_files_of_other_columns_are_refused(folder):
    write(folder / "in/1.parquet")
    ours = "its columns are not those of in/1.parquet"
    strings = "expected strings in column 'text', got int64"
    for rule, columns in ((ours, {"more": [1, 2, 3]}), (strings, {"text": [1, 2, 3]})):
        write(folder / "in/2.parquet", **columns)
        done = score("--input_file=in", "--column=text", "--output_file=out.parquet")
        assert done.returncode == 1, rule
        assert f"in/2.parquet: {rule}" in done.stderr
        assert os.listdir(folder) == ["in"]


@pytest.mark.parametrize(
    "flags", ["", "--text", "--perplexity", "--tokens", "--words", "--words --unit=bits --tokens"]
)
def test_files_without_rows_have_the_columns_of_others(folder, flags):
    for name, texts in (("in", ["the cat"]), ("none", [])):
        rows = pa.table({"sentence": pa.array(texts, pa.string())})
        pq.write_table(rows, f"{name}.parquet")
        (folder / f"{name}.txt").write_text("".join(f"{text}\n" for text in texts))
        for given in (
            [
                f"--input_file={name}.parquet",
                "--column=sentence",
                f"--output_file={name}.1.parquet",
            ],
            [f"--input_file={name}.txt", f"--output_file={name}.2.parquet"],
            [f"--input_file={name}.txt", f"--output_file={name}.csv"],
        ):
            assert score(*given, *flags.split()).returncode == 0
    for number in (1, 2):
        assert pq.read_schema(f"none.{number}.parquet") == pq.read_schema(f"in.{number}.parquet")
    if "--words" not in flags:  # tables of words have the columns of the input, too
        header = (folder / "in.csv").read_text().splitlines()[0]
        assert (folder / "none.csv").read_text().splitlines() == [header]


def test_other_commands_do_not_take_rows_for_sentences(folder):
    write(folder / "in.parquet")
    done = run_command("tta-create-vocab", "--input_file=in.parquet", "--vocab_file=v.txt")
    assert (done.returncode, done.stderr[:35]) == (1, "error: in.parquet: a Parquet file; ")


def test_a_damaged_file_and_a_missing_package_are_one_line(folder, monkeypatch):
    for content in (b"", b"PAR1 is not all of it"):
        (folder / "in.parquet").write_bytes(content)
        done = score("--input_file=in.parquet", "--column=text", "--output_file=out.jsonl")
        assert done.stderr.startswith("error: in.parquet: a Parquet file that pyarrow cannot read:")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = score("--input_file=in.parquet", "--column=text")
    assert done.stderr.startswith(
        "error: in.parquet: a Parquet file needs the package pyarrow: pip"
    )


def test_lists_are_read_and_written_as_columns_of_lists(folder):
    columns = {
        "id": ["u1", "u2"],
        "texts": [["a dock", "a dog"], ["the cat", "the kat"]],
        "scores": [[-1.0, -1.1], [-2.0, -2.1]],
        "reference": ["a dog", "the cat"],
        "more": [1, 2],
    }
    os.mkdir("lists")
    pq.write_table(pa.table(columns), "lists/part-0.parquet")
    (folder / "lists/_SUCCESS").touch()
    for path in ("lists", "lists/part-0.parquet"):
        flags = [f"--nbest_file={path}", "--output_file=out.parquet", "--overwrite"]
        done = run_with_fake_model("tta-rerank", *flags, "--scores_file=scores.parquet")
        assert done.returncode == 0, done.stderr
        found = pq.read_table("out.parquet").to_pydict()
        assert found["texts"] == [["a dog", "a dock"], ["the cat", "the kat"]]
        assert (found["id"], found["reference"], found["more"]) == (
            columns["id"], columns["reference"], columns["more"],
        )  # fmt: skip
        assert pq.read_table("scores.parquet")["text"].to_pylist()[0] == "a dog"


def test_pairs_are_compared_and_null_is_no_empty_sentence(folder):
    columns = {"sentence1": ["a", "the cat", "mat"], "sentence2": ["b", "cat", "mat"]}
    pq.write_table(pa.table(columns | {"score": [1.0, 3.0, 5.0]}), "in.parquet")
    done = run_with_fake_model("tta-sts", "--sts_file=in.parquet", "--output_file=out.parquet")
    assert done.returncode == 0, done.stderr
    found = pq.read_table("out.parquet").to_pydict()
    assert found["gold"] == [1.0, 3.0, 5.0]
    assert found["cosine"][2] == pytest.approx(1.0)
    pq.write_table(pa.table(columns | {"sentence2": ["b", None, "mat"]}), "in.parquet")
    done = run_with_fake_model("tta-sts", "--sts_file=in.parquet")
    assert (done.returncode, done.stderr) == (
        1,
        "error: in.parquet:2: column 'sentence2' is null\n",
    )


def test_lines_that_are_no_objects_leave_no_file(folder):
    with (
        pytest.raises(Exception, match="cannot be written as Parquet"),
        open_output("o.parquet") as f,
    ):
        f.write("not json\n")
    assert os.listdir(folder) == []


def test_an_interrupt_after_a_group_leaves_no_file(folder, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS", 1)

    def write_and_end():
        with open_output("o.parquet") as file:
            file.write('{"score": 1.0}\n{"score": 2.0}\n')
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_end()
    assert os.listdir(folder) == []


def test_arrays_of_pyarrow_are_texts():
    texts = ["the cat", "a dog"]
    for array in (pa.array(texts), pa.chunked_array([texts[:1], texts[1:]])):
        assert as_texts(array) == texts
    assert as_texts(pa.array(texts).dictionary_encode()) == texts
    with pytest.raises(TypeError, match=r"texts\[1\] must be a str, not NoneType"):
        as_texts(pa.array(["a", None]))
