"""Files of sentence pairs: the layouts, and malformed files."""

import re

import pytest

from tta.data.pairs.sts import SentencePair, read_sts
from tta.errors import InputError

PAIRS = [SentencePair('A "hard" hat.', "A hat, hard.", 5.0), SentencePair("Züge", "b", 0.25)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('g\tf\t2012\t1\t5.000\tA "hard" hat.\tA hat, hard.\n'
         "g\tf\t2012\t2\t.25\tZüge\tb\ts\tt\n", "STS-B's original; some rows name their sources"),
        ("pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
         '1\tA "hard" hat.\tA hat, hard.\t5\tNEUTRAL\n2\tZüge\tb\t0.25\tNEUTRAL\n', "SICK"),
        ('index\tsentence1\tsentence2\tscore\n0\tA "hard" hat.\tA hat, hard.\t5\n'
         "1\tZüge\tb\t0.25\n", "a header as GLUE's"),
        ('"A ""hard"" hat.","A hat, hard.",5.0\n\nZüge,b,0.25\n', "csv, a blank line"),
        ('sentence1,sentence2,score\n"A ""hard"" hat.","A hat, hard.",5\nZüge,b,.25',
         "csv, header"),
        ('idx,Sentence1,Sentence2,label\n0,"A ""hard"" hat.","A hat, hard.",5\n1,Züge,b,.25',
         "Hugging Face's label, and upper case"),
        ('sentence1\tsentence2\tlabel\tscore\nA "hard" hat.\tA hat, hard.\tyes\t5\n'
         "Züge\tb\tno\t0.25\n", "score before label"),
        ('{"sentence1": "A \\"hard\\" hat.", "sentence2": "A hat, hard.", "score": 5}\n'
         '\n{"idx": 1, "score": "0.25", "sentence2": "b", "sentence1": "Züge"}\n', "JSON lines"),
        ('{"Sentence_A": "A \\"hard\\" hat.", "Sentence_B": "A hat, hard.", "label": 5.0}\n'
         '{"Sentence_A": "Züge", "Sentence_B": "b", "label": 0.25}\n', "other names of keys"),
    ],
)  # fmt: skip
def test_layouts(write, text, why):
    assert read_sts(write(text)) == PAIRS, why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('A "hard" hat.\tA hat, hard.\nZüge\tb\n', "two columns"),
        ('"A ""hard"" hat.","A hat, hard."\nZüge,b\n', "csv"),
        (
            "index\tsentence1\tsentence2\tgenre\n"
            '1\tA "hard" hat.\tA hat, hard.\tx\n2\tZüge\tb\tx\n',
            "a header without a score, as GLUE's test part",
        ),
    ],
)
def test_layouts_without_gold_scores(write, text, why):
    expected = [SentencePair(pair.first, pair.second, None) for pair in PAIRS]
    assert read_sts(write(text)) == expected, why


@pytest.mark.parametrize("text", ["a,b,1\n,b,2\na, ,3\n", "a\tb\t1\n\tb\t2\na\t \t3\n"])
def test_a_sentence_may_be_empty(write, text):
    pairs = [SentencePair("a", "b", 1.0), SentencePair("", "b", 2.0), SentencePair("a", "", 3.0)]
    assert read_sts(write(text)) == pairs


def test_csv_field_over_two_lines(write):
    assert read_sts(write('"a\nb",c,1\n')) == [SentencePair("a\nb", "c", 1.0)]


EXPECTED = (
    "sentence, sentence and perhaps a score; or a header that names sentence1, sentence2 and "
    "perhaps relatedness_score or score or similarity_score or label; or STS-B's seven columns"
)


@pytest.mark.parametrize(
    ("text", "message", "why"),
    [
        ("", ": the file is empty", "no bytes"),
        ("\n\n", ": the file is empty", "blank lines"),
        ("sentence1,sentence2,score\n", ": the file has a header and no pairs", "header only"),
        ("just a line\n", ":1: expected sentence, sentence and perhaps a score", "plain text"),
        ("a\tb\tc\td\n", f":1: expected {EXPECTED}; got 4 columns", "four columns"),
        ("sentence1;sentence2\na;b\n",
         f":1: expected {EXPECTED}; got 1 columns; semicolons separate no columns", "semicolons"),
        ("text1,text2,judgment\na,b,1\n",
         ":1: expected a finite number as score, got 'judgment' (the layout: sentence, sentence",
         "a header with other names"),
        ("sentence1,sentence2,label\na,b,entailment\n",
         ":2: expected a finite number as score, got 'entailment'", "a label that is a word"),
        ("premise\thypothesis\na\tb\n", ":1: expected sentence, sentence", "a header, no score"),
        ("sentence1,sentence2,score,score\na,b,1,2\n", ":1: two columns are called score", "twice"),
        ("a,b\na,b,1\n", ":2: expected 2 columns, got 3", "only some have a score"),
        ("a,b,1\na,b\n", ":2: expected 3 columns, got 2", "a column is missing"),
        ("a,b,1\na,b,c,1\n", ":2: expected 3 columns, got 4", "a comma that is not quoted"),
        ("g\tf\ty\t1\t5\ta\tb\ng\tf\ty\t1\t5\ta\n", ":2: expected 7 or 8 or 9 columns", "six"),
        ("a,b,1\na,b,high\n", ":2: expected a finite number as score, got 'high'", "a word"),
        ("a,b,nan\n", ":1: expected a finite number as score, got 'nan'", "not a number"),
        ("a,b,inf\n", ":1: expected a finite number as score, got 'inf'", "infinite"),
        ("a,b,1\n\na, ,x\n", ":3: expected a finite number as score, got 'x'", "after a blank"),
        ('a,b,1\n"a,b,1\n', ":2: malformed csv: unexpected end of data", "an open quote"),
        ('a,b,1\n"a"x,b,1\n', ":2: malformed csv: ',' expected after '\"'", "text after a quote"),
        ('{"premise": "a", "hypothesis": "b"}\n',
         f": expected {EXPECTED}; got the keys premise, hypothesis", "other keys"),
        ('{"sentence1": "a", "sentence2": "b"}\n{"sentence1": "a"}\n', ":2: the key 'sentence2'",
         "a key less"),
        ('{"sentence1": "a", "sentence2": "b"}\nc\td\n', ":2: malformed JSON", "columns"),
        ('{"sentence1": "a", "sentence1": "b"}\n', ":1: duplicate key 'sentence1'", "twice"),
        ('{"sentence1": "\\ud800", "sentence2": "b"}\n', ":1: a text holds half a surrogate pair",
         "UTF-8 cannot hold it"),
        ('{"sentence1": %s}\n' % ("9" * 5000), ":1: malformed JSON: Exceeds the limit", "digits"),
        ('{"sentence1": %s}\n' % ("[" * 20000 + "]" * 20000), ":1: malformed JSON: ", "a bomb"),
        ('{"sentence1": "a", "sentence2": "b"}\n[1]\n', ":2: expected a row as an object, got",
         "an array"),
    ],
)  # fmt: skip
def test_bad_file(write, text, message, why):
    with pytest.raises(InputError, match=re.escape(f"file{message}")):
        read_sts(write(text))


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="nowhere: no such file"):
        read_sts(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "count", "low", "high"),
    [
        ("stsb-en-dev.csv", 1500, 0, 5),
        ("stsb-en-test.csv", 1379, 0, 5),
        ("SICK_train.txt", 4500, 1, 5),
        ("SICK_test_annotated.txt", 4927, 1, 5),
    ],
)
def test_real_files(tta_data, name, count, low, high):
    pairs = read_sts(tta_data / "sts" / name)
    assert len(pairs) == count
    assert all(low <= pair.gold <= high for pair in pairs)
