"""Reference files: by id, by line number or in order, and references that do not match."""

import pytest

from tta.data.nbest.references import read_references
from tta.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "refs").write_text(text, encoding="utf-8")
        return tmp_path / "refs"

    return write


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ("a cat\n\n", "in the order of the lists"),
        ("c\na-b a cat\n", "by id, in any order; an id alone is an empty reference"),
    ],
)
def test_references(write, references, why):
    assert read_references(write(references), ["a-b", "c"]) == ["a cat", ""], why


def test_numeric_ids_are_line_numbers(write):
    assert read_references(write("r0\nr\n"), ["1", "0"]) == ["r", "r0"]


def test_ids_from_one_do_not_shift_the_references(write):
    assert read_references(write("r\ns\n"), ["1", "2"]) == ["r", "s"]


@pytest.mark.parametrize(
    ("references", "message", "why"),
    [
        ("u1 x\nu2 y\n", "refs: list 'u3' has no reference", "an id is missing, by id"),
        ("u1 x\nu2 y\nu3 z\nu4 w\n", "refs:4: 'u4' has a reference but no list", "one too many"),
        ("u1 x\nu2 y\nu1 z\n", "refs:3: duplicate id 'u1', first on line 1", "an id twice"),
        ("v1 x\nv2 y\nv3 z\n", "refs: list 'u1' has no reference", "ids of another set"),
        ("the cat\nthe hat\n", "refs: expected one reference per list, got 2 for 3", "too few"),
        ("a\nb\nc\nd\n", "refs: expected one reference per list, got 4 for 3", "too many"),
        ("", "refs: the file is empty", "empty"),
    ],
)
def test_bad_references(write, references, message, why):
    with pytest.raises(InputError, match=message):
        read_references(write(references), ["u1", "u2", "u3"])


@pytest.mark.parametrize(
    ("references", "message", "why"),
    [
        ("a\nb\nc\nd\n", "refs:3: '2' has a reference but no list", "a hole in the ids"),
        ("a\nb\n", "refs: expected one reference per list, got 2 for 3", "too few"),
    ],
)
def test_bad_references_by_line_number(write, references, message, why):
    with pytest.raises(InputError, match=message):
        read_references(write(references), ["0", "1", "3"])
