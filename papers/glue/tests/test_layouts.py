"""Tables without a header, further columns that are optional, and rows that are left out."""

import pytest

from tta.errors import InputError
from tta.papers.glue.data.tables import read_table

COLUMNS = {2: ("label", "sentence"), 3: ("label", "sentence1", "sentence2")}


def read(tmp_path, text, *arguments, **options):
    path = tmp_path / "table.tsv"
    path.write_text(text)
    return read_table(path, *arguments, **{"columns": COLUMNS} | options)


def contents(table):
    return [(row.label, *row.texts, row.line) for row in table.rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("good\tfine day\nbad\tno\n", [("good", "fine day", 1), ("bad", "no", 2)]),
        ("\ngood\tfine\tday\n", [("good", "fine", "day", 2)]),
        ("sentence\tlabel\nfine day\tgood\n", [("good", "fine day", 2)]),
        ("x\tlabel\tsentence2\tsentence1\n-\tgood\tday\tfine\n", [("good", "fine", "day", 2)]),
        ("sentence,label\nfine day,good\n", [("good", "fine day", 2)]),
        ("category\tso fine\n", [("category", "so fine", 1)]),
        ('good\t"fine" day\n', [("good", '"fine" day', 1)]),
    ],
)
def test_a_first_line_with_names_of_columns_is_a_header(text, expected, tmp_path):
    assert contents(read(tmp_path, text)) == expected


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("a\n", ":1: expected label TAB sentence or label TAB sentence1 TAB sentence2, got 1"),
        ("a\tb\tc\td\n", ":1: expected label TAB sentence or"),
        ("Category\tText\na\tb\n", ":1: the column 'sentence' is missing; the header has 'Cat"),
        ("good, they said\n", ":1: expected label TAB sentence or"),
    ],
)
def test_a_wrong_layout_is_one_line(text, rule, tmp_path):
    with pytest.raises(InputError) as error:
        read(tmp_path, text)
    assert rule in str(error.value)


def test_a_file_without_labels(tmp_path):
    columns = {1: ("sentence",), 2: ("label", "sentence")}
    options = {"columns": columns, "needs_labels": False}
    table = read(tmp_path, "fine day\n", ("sentence",), **options)
    assert (contents(table), table.has_labels) == ([("", "fine day", 1)], False)
    table = read(tmp_path, "good\tfine day\n", ("sentence",), **options)
    assert (contents(table), table.has_labels) == ([("good", "fine day", 1)], True)
    table = read(tmp_path, "index\tsentence\n0\tfine day\n", ("sentence",), **options)
    assert (contents(table), table.has_labels) == ([("", "fine day", 2)], False)
    table = read(tmp_path, '"Fine," they said.\n', ("sentence",), **options)
    assert contents(table) == [("", '"Fine," they said.', 1)]
    with pytest.raises(InputError, match="1: the column 'sentence' is missing; the header has 'te"):
        read(tmp_path, "text\nfine day\n", ("sentence",), **options)
    with pytest.raises(InputError, match="the column 'label' is missing"):
        read(tmp_path, "fine day\n", ("sentence",), columns=columns)


def test_rows_are_left_out_only_where_that_is_asked_for(tmp_path):
    text = "label\tsentence\na\tb\nc\nd\t\ne\tf\n"
    table = read(tmp_path, text, skips_rows=True)
    assert (contents(table), table.num_skipped) == ([("a", "b", 2), ("e", "f", 5)], 2)
    with pytest.raises(InputError, match=":3: expected 2 columns, got 1"):
        read(tmp_path, text)
    with pytest.raises(InputError, match=":2: unknown label 'a'; the labels are 'x'"):
        read(tmp_path, text, None, "label", ["x"], skips_rows=True)


def test_rows_without_labels_are_left_out_only_if_they_cannot_be_read(tmp_path):
    """They are predicted. Each row keeps its number."""
    text = "id\tsentence\n7\tb\nc\n9\t\n9\tf\n"
    table = read(tmp_path, text, skips_rows=True, needs_labels=False)
    assert (contents(table), table.num_skipped) == ([("", "b", 2), ("", "", 4), ("", "f", 5)], 1)
    assert [row.number for row in table.rows] == [0, 2, 3]


@pytest.mark.parametrize(
    ("labels", "known", "has_labels", "why"),
    [
        (["-1", "-1"], ["0", "1"], False, "the label of test parts"),
        (["-1", "-1"], ["-1", "1"], True, "a label of the training part"),
        (["-1", "1"], None, True, "another one beside it"),
    ],
)
def test_a_label_that_stands_for_none(tmp_path, labels, known, has_labels, why):
    text = "label\tsentence\n" + "".join(f"{label}\tx\n" for label in labels)
    table = read(tmp_path, text, None, "label", known, needs_labels=False)
    assert table.has_labels == has_labels, why
    assert [row.label for row in table.rows] == (labels if has_labels else ["", ""]), why
