"""Files of minimal pairs: the layouts, and malformed files."""

import gzip
import json
import lzma
import re

import pytest

from tta.data.pairs.minimal_pairs import MinimalPair, read_minimal_pairs
from tta.errors import InputError

GOOD, BAD = 'The "cats"  sleep, {now}.', "The cats sleeps."
JSON = json.dumps({"sentence_good": GOOD, "sentence_bad": BAD, "UID": "a", "n": [1]})


@pytest.fixture
def write(tmp_path):
    def write(data):
        path = tmp_path / "pairs"
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    return write


@pytest.mark.parametrize(
    ("data", "fields", "lines", "why"),
    [
        (f"{JSON}\n{JSON}\n", {"UID": "a", "n": [1]}, [1, 2], "JSON lines"),
        (f"\n  {JSON}\r\n \n{JSON}", {"UID": "a", "n": [1]}, [2, 4], "blank lines, no last end"),
        (f"{GOOD}\t{BAD}\n", {}, [1], "columns"),
        (f"\ufeff{GOOD}\t{BAD}\n\n{GOOD}\t{BAD}", {}, [1, 3], "a byte order mark, a blank line"),
        (f"sentence_good\tsentence_bad\n{GOOD}\t{BAD}\n", {}, [2], "a header"),
        (f"UID\tsentence_bad\tsentence_good\tn\na\t{BAD}\t{GOOD}\t\n", {"UID": "a", "n": ""}, [2],
         "a header with the columns in another order, and an empty cell"),
        ('UID,sentence_good,sentence_bad\na,"The ""cats""  sleep, {now}.",The cats sleeps.\n',
         {"UID": "a"}, [2], "csv"),
        (f"Sentence_Good\tSENTENCE_BAD \tUID\n{GOOD}\t{BAD}\ta\n", {"UID": "a"}, [2],
         "names in upper and lower case"),
        (JSON.replace("sentence_good", "Sentence_Good"), {"UID": "a", "n": [1]}, [1],
         "a key in upper and lower case"),
        (gzip.compress(f"{JSON}\n".encode(), mtime=0), {"UID": "a", "n": [1]}, [1], "gzip"),
        (lzma.compress(f"{GOOD}\t{BAD}\n".encode()), {}, [1], "xz"),
    ],
)  # fmt: skip
def test_layouts(write, data, fields, lines, why):
    path = write(data)
    expected = [MinimalPair(GOOD, BAD, fields, str(path), line) for line in lines]
    assert read_minimal_pairs(path) == expected, why


def test_a_first_row_with_one_name_of_the_header_is_a_pair(write):
    (pair,) = read_minimal_pairs(write(f"sentence_good\t{BAD}\n"))
    assert (pair.good, pair.bad) == ("sentence_good", BAD)


LAYOUTS = (
    "JSON objects, a header with sentence_good and sentence_bad, between commas or tabs, or "
    "2 columns separated by tabs"
)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("", ": the file is empty"),
        ("\n \n", ": the file has no pairs"),
        ("sentence_good\tsentence_bad\n", ": the file has no pairs"),
        ("good,bad\na,b\n", ":1: expected the columns sentence_good and sentence_bad, got"),
        ("good,bad,condition\na,b,c\n",
         f":1: expected {LAYOUTS}, got 1: 'good,bad,condition'"),
        ("Good_Sentence,bad-sentence\na,b\n", ":1: expected the columns sentence_good and"),
        ("sentence_good\tbad\na\tb\n", ":1: expected the columns sentence_good and"),
        ("Sentence_Good,SENTENCE_BAD,sentence_good\na,b,c\n",
         ":1: two columns are named 'sentence_good'"),
        ('{"sentence_good": "a", "Sentence_Good": "b"}\n',
         ":1: two columns are named 'sentence_good'"),
        ("id,grammatical,ungrammatical\n1,a,b\n", ":1: expected the columns sentence_good and"),
        (f"{JSON}\n{JSON[:-1]}\n", ":2: malformed JSON: Expecting ',' delimiter, column "),
        (f"{JSON}\n{GOOD}\t{BAD}\n", ":2: malformed JSON: Expecting value, column 1"),
        (f"{JSON}\n[1]\n", ":2: expected a pair as an object, got [1]"),
        ('{"a": 1, "a": 2}\n', ":1: duplicate key 'a'"),
        ('\n{"sentence_good": "a"}\n', ':2: the pair has no "sentence_bad"'),
        ('{"sentence_bad": "a", "good": "b"}\n', ':1: the pair has no "sentence_good"'),
        ('{"sentence_good": "a", "sentence_bad": 3}\n',
         ':1: expected "sentence_bad" as a string, got 3'),
        ('{"sentence_good": "a", "sentence_bad": "\\ud800"}\n',
         ":1: \"sentence_bad\" holds half a surrogate pair: '\\ud800'"),
        (f"{GOOD}\n", f":1: expected {LAYOUTS}, got 1: 'The "),
        ("sentence_good;sentence_bad\na;b\n",
         f":1: expected {LAYOUTS}, got 1: 'sentence_good;sentence_bad'; semicolons separate no"),
        ("[\n", f":1: expected {LAYOUTS}, got 1: '['"),
        ("good\tbad\na\tb\n", ":1: expected the columns sentence_good and sentence_bad, got"),
        ("a\tb\nc\n", ":2: expected 2 columns separated by tabs, got 1: 'c'"),
        ("a\tb\n\nc\td\te\n", ":3: expected 2 columns separated by tabs, got 3: "),
        ("sentence_good\tsentence_bad\tUID\na\tb\n",
         ":2: expected 3 columns separated by tabs, got 2: "),
        ("x\tsentence_good\tsentence_bad\tx\n1\ta\tb\t2\n", ":1: two columns are named 'x'"),
        (b"a\tb\n\xff\tb\n", ":2: expected UTF-8, got byte 0xff"),
    ],
)  # fmt: skip
def test_a_malformed_file_is_refused_with_its_line(write, data, message):
    path = write(data)
    with pytest.raises(InputError, match=f"^{re.escape(f'{path}{message}')}"):
        read_minimal_pairs(path)


@pytest.mark.parametrize(
    "text",
    ["a\t\n", '{"sentence_good": "a", "sentence_bad": ""}\n', "sentence_good,sentence_bad\na,\n"],
)
def test_a_sentence_may_be_empty(write, text):
    [pair] = read_minimal_pairs(write(text))
    assert (pair.good, pair.bad) == ("a", "")
