"""Plain lines and tables without ids: a wrong number of hypotheses per list is noticed."""

import pytest

from tests.data.nbest.test_files import write  # noqa: F401
from tta.data.nbest.files import read_nbest
from tta.data.nbest.references import read_references
from tta.errors import InputError

LISTS = [
    ["open the window", "open the windows", "open a window", "opened the window"],
    ["shut it right now", "shot it right now", "shut at right now", "shut it right"],
    [
        "what time is the train",
        "what time was the train",
        "what time is a train",
        "what time is it",
    ],
    ["please call my mother", "please call my brother", "please tall my mother", "call my mother"],
    ["my name is joe brown", "my name was joe brown", "my name is jo brown", "the name is joe"],
    ["it rains in the north", "it reigns in the north", "it rains in north", "it rained up north"],
]


def lines(size, count, table=False):
    end = "\t-1.5" if table else ""
    return "".join(f"{text}{end}\n" for one in LISTS[:count] for text in one[:size])


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize(
    ("size", "count", "given"),
    [
        *((3, 2, 2), (2, 6, 3), (2, 6, 4), (4, 3, 2), (4, 6, 2), (4, 6, 3), (3, 4, 6), (4, 6, 8)),
        *((2, 6, 6), (3, 4, 12), (3, 4, 1)),
    ],
)
def test_a_wrong_beam_size_is_refused(write, size, count, given, table):  # noqa: F811
    path = write(lines(size, count, table))
    with pytest.raises(InputError, match=r"beam size|in common"):
        read_nbest(path, beam_size=given)
    format = "tsv" if table else "plain"
    read = read_nbest(path, format, beam_size=given).lists
    assert {len(one.hypotheses) for one in read} == {given}


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize(("size", "count"), [(2, 2), (2, 6), (3, 2), (4, 1), (4, 2), (4, 6)])
def test_the_right_beam_size_is_read(write, size, count, table):  # noqa: F811
    read = read_nbest(write(lines(size, count, table)), beam_size=size).lists
    assert [[h.text for h in one.hypotheses] for one in read] == [
        one[:size] for one in LISTS[:count]
    ]


def test_short_and_empty_texts_say_nothing(write):  # noqa: F811
    read = read_nbest(write("yes\nyet\nno\n\nstop\n\n"), beam_size=2).lists
    assert [[h.text for h in one.hypotheses] for one in read] == [
        ["yes", "yet"],
        ["no", ""],
        ["stop", ""],
    ]


def test_hypotheses_of_sphinx_are_no_plain_lines(write):  # noqa: F811
    text = "turn on (u1 -7066)\nclose it (u2 -123.5)\n"
    with pytest.raises(InputError, match="no known format"):
        read_nbest(write(text), beam_size=2)
    assert read_references(write(text), ["u1", "u2"]) == ["turn on", "close it"]
