"""Tables of labelled texts: the layouts, and malformed files."""

import gzip
import re

import pytest

from tta.errors import InputError
from tta.papers.glue.data.tables import LabelledTexts, read_table, read_tables

ONE = 'sentence\tlabel\n"Fine," he said .  \t1\n\nZüge\t0\n'


def test_sentences_keep_quotes_and_lose_white_space_and_blank_lines(write, tmp_path):
    table = read_table(write(ONE))
    assert table.rows == [
        LabelledTexts(('"Fine," he said .',), "1", 2),
        LabelledTexts(("Züge",), "0", 4, 1),
    ]
    assert (table.text_columns, table.labels) == (("sentence",), ["0", "1"])
    (tmp_path / "rows.gz").write_bytes(gzip.compress(("\ufeff" + ONE).encode()))
    assert read_table(tmp_path / "rows.gz").rows == table.rows


def test_csv_and_empty_texts(write):
    table = read_table(write('id,label,sentence\n1,"a ""b""","x, y\nz"\n\n2,c," "\n'))
    assert table.rows == [LabelledTexts(("x, y\nz",), 'a "b"', 2), LabelledTexts(("",), "c", 5, 1)]
    assert table.notes() == [f"{table.path}: 1 with an empty text (first: line 5)"]


@pytest.mark.parametrize(
    ("text", "columns", "label", "expected", "why"),
    [
        ("label\tsentence2\tsentence1\nx\tb\ta\n", None, "label", ("a", "b"), "pairs, any order"),
        ("index\tsentence1\tsentence\tlabel\n0\ta\tb\tx\n", None, "label", ("b",), "one of a pair"),
        ("pair_ID\tsentence_A\tsentence_B\tscore\tjudgment\n1\ta\tb\t4.5\tx\n",
         ["sentence_A", "sentence_B"], "judgment", ("a", "b"), "SICK-E"),
        ("index\tquestion\tsentence\tlabel\n0\ta\tb\tx\n", ["question", "sentence"], "label",
         ("a", "b"), "QNLI"),
        ("Quality\t#1 String\t#2 String\nx\ta\tb\n", ["#2 String", "#1 String"], "Quality",
         ("b", "a"), "MRPC, in the order of the flag"),
    ],
)  # fmt: skip
def test_named_columns(write, text, columns, label, expected, why):
    [row] = read_table(write(text), columns, label).rows
    assert (row.texts, row.label) == (expected, "x"), why


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("", ": the file is empty", "no bytes"),
        ("\n\n", ":1: the column 'sentence' is missing; the header has ''", "blank lines"),
        ("sentence\tlabel\n", ": the file has a header and no rows", "header only"),
        ("text\tlabel\na\t1\n",
         ":1: the column 'sentence' is missing; the header has 'text', 'label'", "another name"),
        ("sentence\tgold\na\t1\n", ":1: the column 'label' is missing", "no label"),
        ("sentence\tlabel\tlabel\na\t1\t1\n", ":1: the column 'label' is named twice", "two"),
        ("sentence\tlabel\na\n", ":2: expected 2 columns, got 1", "a column is missing"),
        ("sentence\tlabel\na\t1\n\na\tb\t1\n", ":4: expected 2 columns, got 3", "a tab in a text"),
        ('sentence,label\n"a,1\n', ":2: malformed csv: unexpected end of data", "an open quote"),
        ("sentence,label\na,b,1\n", ":2: expected 2 columns, got 3", "a comma without quotes"),
        ('sentence,label\na,0\n"b\nc","1\n0"\n', ":3: the label '1\\n0' has a tab or a line end",
         "tables of predictions cannot hold it"),
        ("sentence\tlabel\na\t \n", ":2: the column 'label' is empty", "no label in a row"),
        ("sentence\tlabel\na\t0\na\t2\n", ":3: unknown label '2'; the labels are '0', '1'",
         "a label that was not trained"),
    ],
)  # fmt: skip
def test_bad_file(write, text, message, why):
    with pytest.raises(InputError, match=re.escape(f"file{message}")) as raised:
        read_table(write(text), labels=["1", "0"])
    assert "\n" not in str(raised.value), why


def test_json_lines_are_a_table(write):
    path = write(
        '{"id": 1, "label": "a", "sentence": "x, y"}\n{"id": 2, "sentence": "z", "label": 3}\n'
    )
    assert read_table(path).rows == [
        LabelledTexts(("x, y",), "a", 1),
        LabelledTexts(("z",), "3", 2, 1),
    ]


def test_keys_are_a_header_whatever_their_names(write):
    path = write('{"mood": "a", "words": "x"}\n')
    with pytest.raises(InputError, match="the column 'sentence' is missing; the header has 'mood'"):
        read_table(path, columns={2: ("label", "sentence")})


def test_a_part_may_have_several_files(tmp_path):
    (tmp_path / "b.tsv").write_text("label\tsentence\n1\tb\n")
    (tmp_path / "a,b.csv").write_text("sentence,label\na,0\n")
    for names in (f"{tmp_path}", f"{tmp_path}/*", f"{tmp_path}/?.tsv,{tmp_path}/a*"):
        found = [row.texts[0] for table in read_tables(names) for row in table.rows]
        assert sorted(found) == ["a", "b"], names
    assert [table.path for table in read_tables(f"{tmp_path}/a,b.csv")] == [f"{tmp_path}/a,b.csv"]
    (tmp_path / "b.tsv").write_text("sentence\nb\n")
    with pytest.raises(InputError, match=r"b\.tsv: either all files have labels or none"):
        read_tables(str(tmp_path), needs_labels=False)
