"""Rows of tables, written and read as JSON lines; more of reading is in data/labelled and pairs."""

import io

import numpy as np
import pytest

from tta.data.text.tables import column_cells, row_writer, table_rows
from tta.errors import InputError

ROW = {"text": 'a "b",\tc', "score": float(np.float32(0.1)), "words": [1.5, "é"], "none": None}


@pytest.mark.parametrize(
    ("name", "default", "expected"),
    [
        ("out.csv", None, 'text,score,words,none\n"a ""b"",\tc",0.1,"[1.5, ""é""]",\n'),
        ("out.tsv.gz", None, 'text\tscore\twords\tnone\na "b", c\t0.1\t[1.5, "é"]\t\n'),
        ("out.txt", "\t", 'text\tscore\twords\tnone\na "b", c\t0.1\t[1.5, "é"]\t\n'),
        (
            "out.jsonl",
            None,
            '{"text": "a \\"b\\",\\tc", "score": 0.1, "words": [1.5, "é"], "none": null}\n',
        ),
    ],
)
def test_a_row_is_written_as_the_ending_of_the_file_says(name, default, expected):
    stream = io.StringIO()
    write = row_writer(stream, name, default)
    write(ROW)
    assert stream.getvalue() == expected
    write(ROW)
    assert stream.getvalue() == expected + expected.splitlines(keepends=True)[-1]


def test_values_of_json_are_cells():
    lines = ['{"text": "a \\"b\\"", "n": 1.50, "words": ["é"], "none": null}', "", '{"text": "c"}']
    rows = table_rows(lines[:2], "file")
    assert list(rows) == [
        (0, ["text", "n", "words", "none"]),
        (1, ['a "b"', "1.5", '["é"]', ""]),
    ]
    with pytest.raises(InputError, match="file:3: the key 'n' is missing"):
        list(table_rows(lines, "file"))


@pytest.mark.parametrize("lines", [[], ["", " \t"]])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.txt", "-"])
def test_an_empty_table_has_no_column_of_a_name(name, lines):
    with pytest.raises(InputError, match=f"^{name}: no column is named 'text': the file is empty"):
        list(column_cells(lines, name, "text"))
    assert list(column_cells(lines, name, "2")) == []


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.gz", "a.json"])
def test_an_empty_file_of_json_lines_has_no_rows(name):
    assert list(column_cells([], name, "text")) == []
