"""Files of named entities in CoNLL columns."""

import re

import pytest

from tta.errors import InputError
from tta.papers.glue.data.conll import TaggedSentence, read_conll, stray_tags

EXPECTED = [
    TaggedSentence(["Ann", "Lee", "sat"], ["B-person", "I-person", "O"], 1),
    TaggedSentence(["Rome", "Oslo"], ["B-location", "B-location"], 7),
]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "Ann\tB-person\nLee\tI-person\nsat\tO\n\n\n\nRome\tB-location\nOslo\tB-location\n",
            "tabs, blank lines, two entities of one type in a row",
        ),
        (
            "Ann NNP B-NP B-person\nLee NNP I-NP I-person\nsat VBD O O\n\n"
            "-DOCSTART- -X- -X- O\n \nRome NNP B-NP B-location\nOslo NNP I-NP B-location",
            "CoNLL-2003, blanks, a mark of a document, no last line end",
        ),
    ],
)
def test_layouts(write, text, why):
    assert read_conll(write(text)) == EXPECTED, why


def test_a_token_may_contain_blanks_between_tabs(write):
    assert read_conll(write("a\u00a0b c\tO\n"))[0].tokens == ["a\u00a0b c"]


def test_a_tag_that_continues_an_entity_of_another_type_is_read_and_listed(write):
    path = write("a\tB-x\n\nb\tO\nc\tB-y\nd\tI-x\ne\tI-x\nf\tI-y\n")
    sentences = read_conll(path)
    assert sentences[1].tags == ["O", "B-y", "I-x", "I-x", "I-y"]
    assert stray_tags(sentences) == [5, 7]
    assert stray_tags(EXPECTED) == []


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("", ": the file is empty", "no bytes"),
        ("\n\n", ": the file has no sentences", "blank lines"),
        ("Ann\n", ":1: expected a token and a tag, got 1: 'Ann'", "no tag"),
        ("a O\n\nb\tx\tO\n", ":3: expected 2 columns, got 3", "another number of columns"),
        ("a x O\nb O\n", ":2: expected 3 columns, got 2", "a column is missing"),
        ("a\tperson\n", ":1: expected a tag as O, B-type or I-type, got 'person'", "no prefix"),
        ("a\tB-\n", ":1: expected a tag as O, B-type or I-type, got 'B-'", "no type"),
        ("a\tS-x\n", ":1: expected a tag as O, B-type or I-type, got 'S-x'", "IOBES"),
        (
            "a\tI-x\n",
            ":1: I-x continues no entity: in IOB2, an entity begins with B-x",
            "IOB1, at the begin of a sentence",
        ),
        ("a\tO\nb\tI-x\n", ":2: I-x continues no entity", "IOB1, after O"),
        ("a\tB-x\n\nb\tI-x\n", ":3: I-x continues no entity", "in the next sentence"),
    ],
)
def test_bad_file(write, text, message, why):
    with pytest.raises(InputError, match=re.escape(f"file{message}")) as raised:
        read_conll(write(text))
    assert "\n" not in str(raised.value), why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1\tAnna\tB-PER\tO\n2\tging\tO\tO\n\n1\tDort\tO\tO\n", "GermEval: each sentence from 1"),
        ("0 Anna B-PER\n1 ging O\n\n2 Dort O\n", "the whole file from 0"),
        ("1\tvom\tO\n1-2\tvon dem\tO\n2.1\tx\tO\n", "CoNLL-U: ranges and empty nodes"),
    ],
)
def test_a_column_of_numbers_before_the_tokens_is_refused(write, text, why):
    with pytest.raises(InputError, match=r":1: the first column must have the tokens"):
        read_conll(write(text))
