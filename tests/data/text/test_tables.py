"""Rows that are written; what reads them has its tests in the rooms above."""

import io

import numpy as np
import pytest

from tta.data.text.tables import row_writer

ROW = {"text": 'a "b",\tc', "score": float(np.float32(0.1)), "words": [1.5, "é"], "none": None}


@pytest.mark.parametrize(
    ("name", "default", "expected"),
    [
        ("out.csv", None, 'text,score,words,none\n"a ""b"",\tc",0.1,"[1.5, ""é""]",null\n'),
        ("out.tsv.gz", None, 'text\tscore\twords\tnone\na "b", c\t0.1\t[1.5, "é"]\tnull\n'),
        ("out.txt", "\t", 'text\tscore\twords\tnone\na "b", c\t0.1\t[1.5, "é"]\tnull\n'),
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
