"""Plain lines and tables without ids: a wrong number of hypotheses per list is noticed."""

import pytest

from tta.data.nbest.files import read_nbest
from tta.data.nbest.references.files import read_references
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
def test_a_wrong_beam_size_is_refused(write, size, count, given, table):
    path = write(lines(size, count, table))
    with pytest.raises(InputError, match=r"beam size|in common"):
        read_nbest(path, beam_size=given)
    format = "tsv" if table else "plain"
    read = read_nbest(path, format, beam_size=given).lists
    assert {len(one.hypotheses) for one in read} == {given}


@pytest.mark.parametrize("table", [False, True])
@pytest.mark.parametrize(("size", "count"), [(2, 2), (2, 6), (3, 2), (4, 1), (4, 2), (4, 6)])
def test_the_right_beam_size_is_read(write, size, count, table):
    read = read_nbest(write(lines(size, count, table)), beam_size=size).lists
    assert [[h.text for h in one.hypotheses] for one in read] == [
        one[:size] for one in LISTS[:count]
    ]


def test_hypotheses_of_sphinx_are_no_plain_lines(write):
    text = "turn on (u1 -7066)\nclose it (u2 -123.5)\n"
    with pytest.raises(InputError, match="no known format"):
        read_nbest(write(text), beam_size=2)
    assert read_references(write(text), ["u1", "u2"]) == ["turn on", "close it"]


def test_blank_lines_between_lists_are_no_hypotheses(write):
    text = "turn on the light\nturn on the lights\n\nclose the door\nclosed the door\n\n"
    with pytest.raises(InputError, match="a blank line follows every 2 lines"):
        read_nbest(write(text), beam_size=2)
    assert len(read_nbest(write(text), beam_size=3).lists) == 2
    assert len(read_nbest(write(text), "plain", beam_size=2).lists) == 3


UTTERANCES = [
    ("audio,start,text,score\nm.wav,0,a,-1\nm.wav,0,b,-2\nm.wav,7,c,-1\n", "m.wav at 0'.*at 7"),
    ("file,text,score\nx/m.wav,a,-1\ny/m.wav,b,-2\n", "'x/m.wav' and 'y/m.wav'"),
    ('{"wav": "m", "offset": 0, "text": "a"}\n{"wav": "m", "offset": 7, "text": "b"}\n', "m at 7"),
]


@pytest.mark.parametrize(("text", "message"), UTTERANCES)
def test_utterances_of_one_recording_are_not_mixed(write, text, message):
    with pytest.raises(InputError, match=f"{message}.* may be two utterances"):
        read_nbest(write(text), "json_rows" if text[0] == "{" else None)
    first = text.splitlines()[0]
    assert read_nbest(write(text.replace("7", "0").replace("y/", "x/"))).lists[0].hypotheses, first


def test_json_rows_may_have_different_keys(write):
    rows = '{"id": 1, "text": "a b", "x": [1]}\n{"id": 1, "sentence": "a b", "x": [2], "y": 1}\n'
    with pytest.raises(InputError, match="text may be the hypothesis, or the reference of 'x'"):
        read_nbest(write(rows), "json_rows")
    (one,) = read_nbest(write(rows.replace("[1]", "2").replace("[2]", "3")), "json_rows").lists
    assert [h.text for h in one.hypotheses] == ["a b", "a b"]
