"""Bad N-best input: each row breaks one rule, and the error names it."""

import re

import pytest

from tta.data.nbest.files import read_nbest
from tta.errors import InputError

DEEP = '{"a": ' + "[" * 100_000 + "]" * 100_000 + "}"
HYP = '{"text": "x", "score": -1}'

# format (None: detected), file, the error after "input", why
BAD_FILES = [
    # any format
    (None, "", ": the file is empty", "no bytes"),
    (None, "\n \n", ": the file is empty", "blank lines only"),
    ("moses", "\n \n", ": the file holds no list", "blank lines only, format given"),
    (None, "a-1\t5\nb-1\t6\n", ": could be tsv or kaldi: name the format", "words or a score?"),
    ("xml", "0 ||| x ||| -1", ": format must be espnet1 or nemo or ", "no such format"),
    # dict
    ("hyporadise", '[\n{"input": ["a"], "output": "b"},\n{"input": }\n]\n',
     ":3: malformed JSON: Expecting value, column 11", "in a list"),
    (None, '{"a": {\n"hyp_1": ', ":2: malformed JSON: Expecting value, column 10", "cut short"),
    (None, f'{{"a": {{"hyp_1": {HYP}}}}} x', ":1: malformed JSON: Expecting value", "a rest"),
    ("dict", "[]", ":1: expected the document as an object, got []", "an array"),
    ("dict", "{}", ": the file holds no list", "no lists"),
    ("dict", '{"a": 1}', ": list 'a': expected a list as an object, got 1", "a number"),
    ("dict", '{\n"a": {"ref": "x"}}', ": all lists are empty", "no hypothesis"),
    (None, f'{{"a": {{"hyp_1": {HYP}}},\n"b": {{"nbest": ["x"], "n": 1}}}}',
     ":2: list 'b': expected keys \"hyp_1\", \"hyp_2\" ..., got ['nbest', 'n'] (read as dict)",
     "other keys, which do not make an empty list"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "Hyp_2": {HYP}}}}}',
     ":1: list 'a': a hypothesis is called hyp_N, got 'Hyp_2'",
     "a hypothesis under another name would be lost"),
    ("csv", "id,text,score,Score\nu,a,-1,-9\n", ":1: two columns are called score", "twice"),
    ("tsv", "u\ta\t-1_5\n", ":1: expected a finite number as score, got '-1_5'", "underscore"),
    (None, '{"text": "a"}\n{"alternatives": [{"text": "b", "confidence": 1}]}\n', ":1: no array",
     "one best text among lists would be lost"),
    (None, "id;text;score\nu;a;-1,5\n",
     ": no known format of N-best lists; it looks like a table of 3 columns, separated by "
     "semicolons: save it with commas or tabs, and with decimal points", "Excel"),
    ("dict", '{"a": {"hyp_1": "x"}}', ":1: list 'a': hyp_1: expected a hypothesis as an", "string"),
    ("dict", '{"a": {"hyp_1": {"score": 1}}}', ":1: list 'a': hyp_1: a hypothesis has no", "text"),
    ("dict", '{"a": {"hyp_1": {"text": 5}}}',
     ":1: list 'a': expected a hypothesis as a string, got 5", "a number as text"),
    ("dict", '{"a": {"hyp_1": {"text": "\\ud800"}}}',
     ":1: list 'a': a hypothesis holds half a surrogate pair: '\\ud800'", "UTF-8 cannot hold it"),
    *(
        (
            "dict",
            f'{{"a": {{"hyp_1": {HYP}}},\n"b": {{"hyp_1": {{"text": "x", "score": {score}}}}}}}',
            f":2: list 'b': hyp_1: expected a finite number as score, got {got}",
            why,
        )
        for score, got, why in [
            ("NaN", "nan", "not a number"),
            ("1e999", "inf", "infinite as float"),
            ("1" * 400, "1111", "infinite as float"),
            ('"high"', "'high'", "a word"),
            ("true", "True", "a truth value"),
        ]
    ),
    ("dict", '{"a": {"hyp_1": {"text": "x", "score": ' + "1" * 5000, ":1: malformed JSON", "huge"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}}},\n"a": {{}}}}', ":2: duplicate key 'a'", "id"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "hyp_1": {HYP}}}}}', ":1: duplicate key 'hyp_1'", "number"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "hyp_01": {HYP}}}}}',
     ":1: list 'a': duplicate hypothesis number 1", "the same number in other digits"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "hyp_2": {{"text": "y"}}}}}}',
     ":1: list 'a': expected a score for every hypothesis or for none, got 1 scores for 2",
     "one without a score"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}}},\n\n"b": {{"hyp_1": {{"text": "x"}}}}}}',
     ":3: list 'b': has no scores, but the lists before it have some", "a list without scores"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "ref": "x"}}, "b": {{"hyp_1": {HYP}}}}}',
     ":1: list 'b': has no reference, but the lists before it have one",
     "a list without a reference"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}}}, "b": {{"hyp_1": {HYP}, "ref": "x"}}}}',
     ":1: list 'b': has a reference, but the lists before it have none", "only one reference"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "ref": 1}}}}', ":1: list 'a': expected the ref", "number"),
    ("dict", f'{{"a": {{"hyp_1": {HYP}, "ref": "a {{ b / c }}"}}}}',
     ":1: list 'a': several readings in '{ b / c }'", "sclite's alternatives"),
    ("dict", f'{{"": {{"hyp_1": {HYP}}}}}', ":1: list '': expected an id, got an empty one", "id"),
    ("dict", DEEP, ":1: malformed JSON: nested too deeply", "a bomb"),
    # jsonl
    (None, f'{{"id": "a", "nbest": [{HYP}]}}\n{{', ":2: malformed JSON: Expecting prop", "cut"),
    (None, f'{{"id": "a", "nbest": [{HYP}]}}\n[1]', ":2: expected a list as an object", "array"),
    (None, f'{{"id": "a", "nbest": [{HYP}]}}\n\n{{"id": "b"}}', ":3: list 'b': expected",
     "no list"),
    (None, '{"id": "a", "nbest": []}', ": all lists are empty (read as jsonl)", "no hypotheses"),
    (None, '{"nbest": ["x", "y"], "scores": [-1]}',
     ':1: list 0: expected one number in "scores" per hypothesis, got 1 for 2 (read as jsonl)',
     "a score is missing"),
    (None, '{"nbest": ["x"], "scores": -1}', ':1: list 0: expected "scores" as an array, got -1',
     "one score for the list"),
    (None, f'{{"nbest": [{HYP}], "scores": [-1]}}',
     ':1: list 0: expected a hypothesis beside "scores" as a string, got {',
     "two scores for one hypothesis"),
    (None, '{"nbest": ["x", "y"], "score": [-1, null]}',
     ":1: list 0: expected a score for every hypothesis or for none", "half of the scores"),
    (None, '{"id": "a", "nbest": [3]}', ":1: list 'a': expected a hypothesis as an object", "3"),
    (None, f'{{"id": null, "nbest": [{HYP}]}}', ":1: list None: expected the id as a st", "null"),
    (None, f'{{"id": "1", "nbest": [{HYP}]}}\n{{"id": 1, "nbest": [{HYP}]}}',
     ":2: list 1: duplicate id '1'", "a number and its text are one id"),
    ("jsonl", DEEP, ":1: malformed JSON: nested too deeply", "a bomb"),
    # json_rows
    (None, "".join(f'{{"id": "{i}", "text": "a"}}\n' for i in "aba"), ":3: ", "rows apart"),
    # hyporadise
    (None, '[{"input": ["x"]}, \n7]',
     ": item 1: expected a list as an object, got 7 (read as hyporadise)", "a number"),
    (None, '[{"input": "x"}]', ":1: item 0: expected \"input\" as an array, got 'x'", "a string"),
    (None, '[{"input": []},\n{"input": []}]', ": all lists are empty (read as hyp",
     "no hypotheses"),
    (None, '[{"input": ["x"], "score": [1, 2]}]', ":1: item 0: expected one number", "two"),
    (None, '[{"input": ["x"], "am_score": [NaN]}]', ":1: item 0: expected a finite number", "NaN"),
    (None, '[{"input": ["x"], "output": "r"},\n{"input": ["x"]}]',
     ":2: item 1: has no reference, but the lists before it have one", "a reference is missing"),
    (None, '[{"id": "a", "input": ["x"]},\n{"id": "a", "input": ["x"]}]',
     ":2: item 1: duplicate id 'a'", "one id twice"),
    ("hyporadise", "[" * 100_000, ":1: malformed JSON: nested too deeply", "a bomb"),
    # espnet1
    (None, '{"utts": {"a": {}}}', ":1: list 'a': expected \"output\" as an array, got N",
     "no output"),
    (None, '{"utts": {"a": {"output": []}}}', ": all lists are empty (read as esp",
     "no hypotheses"),
    (None, '{"utts": {"a": {"output": [{}]}}}', ":1: list 'a': expected \"rec_text\" as a",
     "no text"),
    # moses
    ("moses", "0 ||| x ||| -1\n0 ||| x\n", ":2: expected id ||| text ||| features", "2 fields"),
    (None, "0 ||| a ||| b ||| c ||| d ||| -1", ":1: expected a finite number as feature", "a word"),
    (None, "0 ||| a ||| -1\n0 ||| a ||| lm= -x ||| -1", ":2: expected a finite number as",
     "a word"),
    (None, "0 ||| a ||| lm= 1 ||| nan= nan ||| -1", ":1: expected a finite number as feat", "NaN"),
    (None, "0 ||| a ||| = 1 ||| -1", ":1: expected the name of a feature before =, got '=", "none"),
    (None, "0 ||| a ||| tm= 1 2 tm_1= 3 ||| -1", ":1: duplicate feature 'tm_1'", "numbered"),
    (None, "0 ||| x ||| f ||| nan", ":1: expected a finite number as score, got 'nan'", "NaN"),
    (None, "0 ||| x ||| f ||| ", ":1: expected a finite number as score, got ''", "no score"),
    (None, " ||| x ||| -1", ":1: list '': expected an id, got an empty one", "no id"),
    (None, "0 ||| x ||| -1\n1 ||| x ||| -1\n\n0 ||| y ||| -1\n",
     ":4: list '0': duplicate id '0': the rows of one id must be adjacent", "rows of one id apart"),
    # kaldi
    (None, "a-1 x\na-2 y\nwords\n", ":3: expected utt-N words, got 'words'", "no number"),
    (None, "a-1 x\n-1 y\na-2 y", ":2: expected utt-N words, got '-1'", "no id"),
    (None, "a-1 x\na-2 y\na-1 z\n", ":3: duplicate hypothesis number 1 of 'a'", "twice"),
    (None, "a-1 x\na-01 z\n", ":2: duplicate hypothesis number 1 of 'a'", "the same number"),
    # tsv
    (None, "a\tx\t-1\na\ty\n", ":2: expected 3 columns, got 2", "a column is missing"),
    (None, "a\tx\t-1\na\ty\tz\t-1\n", ":2: expected 3 columns, got 4", "a tab in the text"),
    ("tsv", "a\tx\ty\t-1\n", ":1: expected id<TAB>text<TAB>score, or text", "four columns"),
    (None, "a\tx\t-1\na\ty\tinf\n", ":2: expected a finite number as score, got 'inf'", "infinite"),
    ("tsv", "a\tx\tscore\n", ":1: expected a finite number as score, got 'score'", "a word"),
    ("tsv", "id\ttext\tscore\n", ": the file holds no list", "a header only"),
    (None, "a\tx\t-1\nb\tx\t-1\na\ty\t-1\n", ":3: list 'a': duplicate id 'a'", "rows apart"),
    (None, "x\t-1\ny\t-2\n", ": text<TAB>score does not separate lists", "no beam size"),
    # fairseq
    (None, "H-0\t-1\tx\nH-x\t-1\ty\n", ":2: expected a line as H-0<TAB>score<TAB>text, got", "id"),
    (None, "H-0\t-1\tx\nS-0 y\n", ":2: expected a line as H-0<TAB>score<TAB>text, got 'S-0", "tab"),
    (None, "H-0\t-1\tx\nH-0\thigh\tx", ":2: expected a finite number as score, got 'high'", "word"),
    (None, "H-0\t-1\tx\nH-0\t-inf\tx", ":2: expected a finite number as score, got '-inf'", "inf"),
    (None, "H-0\t-1\tx\nP-0\t-1 y", ":2: expected a finite number as the score of a token", "word"),
    (None, "H-0\t-1\tx\nP-0\t", ":2: expected the scores of tokens, got 'P-0\\t'", "no tokens"),
    (None, "H-0\t-1\tx\nT-0\ta\nT-0\ta", ":3: a second T- line for a sentence", "twice"),
    (None, "H-0\t-1\tx\nD-0\t-1\tx\nD-0\t-1\tx", ":3: a second D- line for a hypothesis", "twice"),
    (None, "D-0\t-1\tx\nH-0\t-1\tx", ":1: the D- line is before the H- line of its h", "sorted"),
    (None, "P-1\t-1 -2\nD-1\t-1\tx", ":1: the P- line is before the D- line of its hyp", "sorted"),
    (None, "H-0\t-1\tx\nS-1\ty\n", ":2: list '1': has no hypothesis (read as fairseq)",
     "cut short"),
    (None, "H-0\t-1\tx\nP-0\t-1\n\nH-1\t-1\tx\n",
     ":4: list '1': expected the lines H- P- as before, got H- (read as fairseq)", "other scores"),
    (None, "T-0\tr\nH-0\t-1\tx\nH-1\t-1\tx\n",
     ":3: list '1': has no reference, but the lists before it have one", "a reference is missing"),
    ("fairseq", "S-0 \nx\n", ":1: expected a line as H-0<TAB>score<TAB>text, got", "spaces"),
    (None, "H-0 -0.5 x\n", ":1: expected a line as H-0<TAB>score<TAB>text, got", "spaces"),
    (None, "1-1 | INFO | fairseq_cli\n", ": the file holds no list (read as fairseq)",
     "a log only"),
    ("fairseq", "a log\n", ": the file holds no list", "no lines of sentences"),
    # csv, and tsv with a header
    (None, "id,text\na,x\na,x,y\n", ":3: expected 2 columns, got 3 (read as csv)", "a comma"),
    (None, "id\ttext\na\tx\na\n", ":3: expected 2 columns, got 1 (read as tsv)", "a column less"),
    (None, 'id,text\na,"x\ny"\n', ":2: malformed csv: unexpected end of data", "a line break"),
    (None, 'id,text\na,"x" y\n', ":2: malformed csv: ',' expected after '\"'", "half quoted"),
    (None, "id,text,score\na,x,\n", ":2: expected a finite number as score, got ''", "no score"),
    (None, "text,id\nx,a\nx,b\nx,a\n", ":4: list 'a': duplicate id 'a'", "rows apart"),
    ("csv", "a,x,-1\n", ":1: expected a header with the columns id and text, got", "no header"),
    (None, "id,text,ref\n\na,x,r\na,y,s\n", ":3: list 'a': expected one reference, got ['r', 's']",
     "two references"),
]  # fmt: skip

_TEXT = "plain text, one sentence per line (beam_size says how many lines are a list)"
_ARRAY = "a JSON array"

# File, what it looks like, the nearest format, what is missing. Nobody must read all formats to
# learn what is wrong.
UNKNOWN = [
    ("some words\nmore, words\n", _TEXT, "kaldi", "an id and a number, as in utt-1, at the start"),
    ("[noise] words\n[x]\n", _TEXT, "hyporadise", 'the key "input"'),
    ("utt1 some words\nutt1 more words\n", "an id and words on each line", "kaldi",
     "an id and a number"),
    ("utt1 some words\nutt-a2 more words\n", "an id and words on each line", "espnet2",
     "the folder; this file has one hypothesis for each id"),
    ('{"a": ["x", "y"], "b": ["z"]}', "a JSON object", "dict",
     'an object with the keys "hyp_1", "hyp_2" ... for'),
    ('{"id": "a", "text": "x", "score": -1}', "a JSON object", "jsonl", 'the key "hypotheses"'),
    ('{"a": 1}\n{"a": 2}\n', "JSON objects, one per line", "jsonl", 'the key "hypotheses"'),
    ('[{"id": "a", "texts": ["x"]}]', _ARRAY, "hyporadise", 'the key "input" of an object'),
    ('[["x", "y"], ["z"]]', _ARRAY, "hyporadise", 'the key "input" of an object'),
    ("words\n\t\n", _TEXT, "kaldi", "an id and a number"),
    ("<nbest>\n<hyp>x</hyp>\n", "XML or HTML", "kaldi", "an id and a number"),
    ("0 ||| x\n0 ||| y\n", "a table of 2 columns, separated by |||", "moses", "a third field"),
    ("a,x,-1\na,y,-2\n", "a table of 3 columns, separated by commas", "csv",
     "a header with the columns id and text, not 'a,x,-1'"),
    ("utt,phrase,score\na,x,-1\n", "a table of 3 columns, separated by commas", "csv",
     "a header with the columns id and text, not 'utt,phr"),
    ("a\tx\na\ty\n", "a table of 2 columns, separated by tabs", "tsv",
     "a number as score in the last of 2 or 3 columns, or a header"),
    ("a\t1\tx\t-1\na\t2\ty\t-2\n", "a table of 4 columns, separated by tabs", "tsv",
     "a number as score in the last of 2 or 3 columns"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("format", "text", "message", "why"),
    BAD_FILES,
    ids=[f"{row[0]}-{row[-1]}" for row in BAD_FILES],
)
def test_bad_file(write, format, text, message, why):
    with pytest.raises(InputError, match=re.escape(f"input0{message}")) as error:
        read_nbest(write(text), format=format)
    assert "\n" not in str(error.value), why
    assert len(str(error.value)) < 900, why


@pytest.mark.parametrize(("text", "appearance", "nearest", "missing"), UNKNOWN)
def test_an_unknown_file_names_the_nearest_format_and_what_is_missing(
    write, text, appearance, nearest, missing
):
    looks = f"it looks like {appearance}; the nearest is {nearest}, "
    message = f"input0: no known format of N-best lists; {looks}"
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read_nbest(write(text))
    assert f"; missing: {missing}" in str(error.value)
    assert len(error.value.rule) < 300


def test_a_format_that_was_named_is_not_said_again(write):
    path = write('[{"input": "x"}]')
    with pytest.raises(InputError, match=r"\(read as hyporadise\)$"):
        read_nbest(path)
    with pytest.raises(InputError, match=r"got 'x'$"):
        read_nbest(path, "hyporadise")


@pytest.mark.parametrize(
    ("costs", "message", "why"),
    [
        ("a-1 1\n", "input0:2: 'a-2' has no cost in .*costs", "an id without a cost"),
        ("a-1 1\na-2 2\nb-1 1\n", "costs:3: 'b-1' has a cost but no hypothesis", "a cost too many"),
        ("a-1 1\n\na-1 2\n", "costs:3: duplicate hypothesis number 1 of 'a'", "a cost twice"),
        ("a-1 1 2\n", "costs:1: expected utt-N cost, got 'a-1 1 2'", "two costs"),
        ("a-1\n", "costs:1: expected utt-N cost, got 'a-1'", "no cost"),
        ("a 1\n", "costs:1: expected utt-N words, got 'a'", "no number"),
        ("a-1 nan\n", "costs:1: expected a finite number as score, got 'nan'", "not a number"),
        ("", "costs: the file is empty", "empty"),
    ],
)
def test_bad_costs(write, costs, message, why):
    with pytest.raises(InputError, match=message):
        read_nbest(write("a-1 x\na-2 y\n"), score_file=write(costs, "costs"))


@pytest.mark.parametrize(
    ("options", "message", "why"),
    [
        ({"beam_size": 2}, "input0: expected a multiple of the beam size 2, got 3 rows", "a rest"),
        ({"beam_size": 0}, "the beam size must be at least 1, got 0", "no hypotheses"),
        ({"score_file": "x"}, "input0: the format tsv takes no score file", "scores are inside"),
        (
            {"beam_size": 3, "format": "dict"},
            "input0: the format dict takes no beam size",
            "the file says where a list ends",
        ),
    ],
)
def test_options_that_do_not_fit(write, options, message, why):
    with pytest.raises(InputError, match=message):
        read_nbest(write("x\t-1\ny\t-2\nz\t-3\n"), **options)
