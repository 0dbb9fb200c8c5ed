"""N-best files: what each format reads, and that writing gives it back."""

import dataclasses
import io
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tta.data.nbest import sources
from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.formats import FORMATS, load_format
from tta.data.nbest.formats.base import HEAD_ROWS, Source
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.data.nbest.notes import mixture_notes
from tta.data.nbest.sources import matching_formats, read_head
from tta.errors import InputError


def nbest(utterance_id, *hypotheses, reference=None):
    """A list of hypotheses, (text, score) or (text, score, features)."""
    hypotheses = [Hypothesis(*h[:2], features=dict(*h[2:])) for h in hypotheses]
    return NBestList(utterance_id, tuple(hypotheses), reference)


LOG10 = math.log(10)
EMPTY = nbest("e")
SCORED = [nbest("a-b", ("the cat", -1.5), ("the hat", -2.0)), nbest("c", ("", -3.0))]
UNSCORED = [nbest("a-b", ("the cat", None), ("the hat", None)), nbest("c", ("", None))]
WITH_REFERENCES = [
    dataclasses.replace(x, reference=r) for x, r in zip(SCORED, ("a cat", ""), strict=True)
]

# format, file, lists, why
FILES = [
    ("dict", '{"a-b": {"hyp_2": {"score": -2, "text": "the hat"}, "ref": "a cat",\n'
     '"hyp_1": {"score": -1.5, "text": "the cat"}},\n'
     '"c": {"hyp_1": {"score": "-3.0", "text": ""}, "ref": ""}}', WITH_REFERENCES,
     "ordered by number; integer and quoted scores"),
    ("dict", '{"a-b": {"hyp_1": {"text": "the cat"}, "hyp_2": {"text": "the hat", "score": null}},'
     '"c": {"hyp_1": {"text": ""}}}', UNSCORED, "no scores, no references"),
    ("jsonl", '{"id": "a-b", "hypotheses": [{"text": "the cat", "score": -1.5},'
     '{"text": "the hat", "score": -2}], "reference": "a cat"}\n\n'
     '{"reference": "", "hypotheses": [{"text": "", "score": -3}], "id": "c"}\n', WITH_REFERENCES,
     "one list a line, blank lines between"),
    ("jsonl", '{"utt_id": "a-b", "nbest": [{"score": -1.5, "text": "the cat"},'
     '{"score": -2.0, "text": "the hat"}], "ref": "a cat"}\n'
     '{"utterance_id": "c", "hyps": [{"score": -3.0, "text": ""}], "ref": ""}\n', WITH_REFERENCES,
     "other key names"),
    ("jsonl", '{"hyps": ["the cat", "the hat"]}\n{"hyps": [""]}',
     [nbest("0", ("the cat", None), ("the hat", None)), nbest("1", ("", None))],
     "plain strings, ids by index"),
    ("jsonl", '[{"id": "a-b", "nbest": [{"text": "the cat", "score": -1.5},'
     '{"text": "the hat", "score": -2}], "ref": "a cat"},\n'
     '{"id": "c", "nbest": [{"text": "", "score": -3}], "ref": ""}]', WITH_REFERENCES, "an array"),
    ("jsonl", '{\n"id": "a-b",\n"hyps": ["the cat", "the hat"]\n}\n{\n"id": "c",\n"hyps": [""]\n}',
     UNSCORED, "objects on several lines"),
    ("moses", "a-b ||| the cat ||| lm= -3.2 tm= -1.2 -0.3 ||| -1.5\n"
     "a-b ||| the hat ||| lm= -9 ||| -2 ||| 0=0 1=1\n" "c|||||||||-3\n",
     [nbest("a-b", ("the cat", -1.5, {"lm": -3.2, "tm_1": -1.2, "tm_2": -0.3}),
            ("the hat", -2.0, {"lm": -9.0})), *SCORED[1:]],
     "spaces are optional, a word alignment may follow"),
    ("moses", "a-b ||| the cat ||| -1.5 ||| 0-0 1-1 ||| [S [NP [DT the] [NN cat]]]\n"
     "a-b ||| the hat ||| -2.0 ||| 0-0 ||| (TOP (NP the hat))\n" "c ||| ||| -3.0 ||| |||\n", SCORED,
     "trees after the alignment"),
    ("moses", "a-b ||| the cat ||| -1.5\na-b ||| the hat ||| -2e0\nc ||| ||| -3\n", SCORED,
     "without features"),
    ("kaldi", "a-b-2 the hat\na-b-1  the\tcat \nc-1\n",
     [nbest("a-b", ("the\tcat", None), ("the hat", None)), nbest("c", ("", None))],
     "ordered by number, not by name; the id is split from the right"),
    ("hyporadise", '[{"id": "a-b", "input": ["the cat", "the hat"], "output": "a cat",\n'
     '"am_score": [-1.5, -2]}, {"id": "c", "input": [""], "output": "", "score": [-3]}]',
     WITH_REFERENCES, "two names of the score"),
    ("hyporadise",
     '[{"input": ["the cat", "the cat"], "output": "a"}, {"input": ["x"], "output": "b"}]',
     [nbest("0", ("the cat", None), ("the cat", None), reference="a"),
      nbest("1", ("x", None), reference="b")], "no scores, ids by index, repeated hypotheses stay"),
    ("json_rows", '{"utt_id": "a-b", "text": "the cat", "score": -1.5, "ref": "a cat"}\n'
     '{"utt_id": "a-b", "text": "the hat", "score": -2.0, "ref": "a cat"}\n'
     '{"utt_id": "c", "text": "", "score": -3.0, "ref": ""}\n', WITH_REFERENCES,
     "one hypothesis a line"),
    ("json_rows", '[{"rank": 1, "Uid": "a-b", "hyp": "the cat", "logprob": -1.5},'
     '{"rank": 2, "Uid": "a-b", "hyp": "the hat", "logprob": -2},'
     '{"rank": 1, "Uid": "c", "hyp": "", "logprob": -3}]', SCORED, "an array of rows, other names"),
    ("tsv", "a-b\tthe cat\t-1.5\na-b\tthe hat\t-2\nc\t\t-3\n", SCORED, "three columns"),
    ("espnet1",
     '{"utts": {"a-b": {"output": [{"name": "target1[1]", "text": "a cat", "score": -1.5,'
     '"rec_text": "the cat <eos>"}, {"text": "a cat", "rec_text": "the hat", "score": -2}]},'
     '"c": {"output": [{"text": "", "rec_text": "<eos>", "score": -3}]}}}', WITH_REFERENCES,
     "the end token is no word"),
    ("jsonl", '{"id": "a-b", "hyps": ["the cat", "the hat"], "scores": [-1.5, -2]}\n'
     '{"id": "c", "hyps": [""], "am_score": [-3]}\n', SCORED, "scores beside plain strings"),
    ("hyporadise",
     '[{"id": "a-b", "input": ["the cat", "the hat"], "score": null, "am_score": [-1.5, -2]},\n'
     '{"id": "c", "input": [""], "scores": [-3]}]', SCORED,
     "a score of null does not hide the others"),
    ("csv", "Score,n,ID,hypothesis,ref\n-1.5,1,a-b,the cat,a cat\n-2,2,a-b,the hat,\n\n-3,1,c,,\n",
     WITH_REFERENCES,
     "columns by name, in any order and case; a reference in the first row of a list"),
    ("csv", "id,text,score\nu,cat,-1\n", [nbest("u", ("cat", -1.0))],
     "not Kaldi's, where a row of one word starts with id-number"),
    ("csv", 'id,text\na-b,"the cat"\na-b,the hat\nc,""\n', UNSCORED, "quoted fields, no scores"),
    ("tsv", "text\tutt_id\tlogprob\nthe cat\ta-b\t-1.5\nthe hat\ta-b\t-2\n\tc\t-3\n", SCORED,
     "a header"),
    ("tsv", 'id\ttext\nq\t"the", he said\n', [nbest("q", ('"the", he said', None))],
     "quotes are text in tab-separated rows"),
    ("fairseq", "S-7\tdie Katze\nT-7\ta cat\n"
     "H-7\t-2.1640425613334453\tthe c@@ at\nD-7\t-2.1640425613334453\tthe cat\n"
     "H-7\t-2.8853900817779268\tthe hat\nD-7\t-2.8853900817779268\tthe hat\n"
     "S-0\t\nT-0\t\nH-0\t-4.328085122666891\t\nD-0\t-4.328085122666891\t\n",
     [dataclasses.replace(x, utterance_id=i) for x, i in zip(WITH_REFERENCES, "70", strict=True)],
     "base 2; the detokenized text"),
    ("espnet2",
     {"1best_recog/text": "a-b the cat\nc \n", "1best_recog/score": "a-b tensor(-1.5)\nc -3.0\n",
      "2best_recog/text": "a-b the hat\n",
      "2best_recog/score": "a-b tensor(-2., device='cuda:0')\n"}, SCORED,
     "an utterance with fewer hypotheses; scores of PyTorch"),
    ("espnet2", {"1best_recog/text": "a-b the cat\nc\n", "2best_recog/text": "\na-b  the hat \n"},
     UNSCORED, "no scores"),
    ("responses", '{"id": "a-b", "reference": "a cat", "results": [{"alternatives": ['
     '{"transcript": "the cat", "score": -1.5, "confidence": 0.9},'
     '{"transcript": "the hat", "score": -2}]}]}\n'
     '{"id": "c", "reference": "", "results": [{"alternatives": ['
     '{"transcript": "", "score": -3}]}]}\n',
     [dataclasses.replace(nbest("a-b", ("the cat", -1.5, {"confidence": 0.9}), ("the hat", -2.0)),
                          reference="a cat"), WITH_REFERENCES[1]],
     "Google's, with scores that were written; a confidence of the first one"),
    ("responses",
     '[{"utt_id": "a-b", "NBest": [{"Display": "the cat", "Lexical": "x", "Confidence": 0.9},'
     '{"Display": "the hat", "Lexical": "y", "Confidence": 0.8}]},\n'
     '{"utt_id": "c", "NBest": [{"Display": "", "Lexical": "", "Confidence": 0.1}]}]',
     [nbest("a-b", ("the cat", None, {"Confidence": 0.9}), ("the hat", None, {"Confidence": 0.8})),
      nbest("c", ("", None, {"Confidence": 0.1}))], "Azure's phrases in an array"),
    ("nemo", '{"audio_filepath": "/x/a-b.wav", "text": "a cat", "pred_text": "the cat",'
     '"beams": [["the cat", -1.5], ["the hat", -2]]}\n'
     '{"audio_filepath": "/x/c.wav", "text": "", "pred_text": "", "beams": [["", -3]]}\n',
     WITH_REFERENCES, "the reference is the text"),
    ("sockeye",
     '{"sentence_id": "a-b", "translations": ["the cat", "the hat"], "scores": [[1.5], [2]],'
     '"score": 1.5, "translation": "the cat"}\n'
     '{"sentence_id": "c", "translations": [""], "scores": [3.0]}\n', SCORED,
     "costs, alone or in arrays"),
    ("srilm", {"a-b": "-1 -2 2 <s> the cat </s>\n-2 -2 2 the hat\n", "c": "-1 -3 0\n"},
     [nbest("a-b", ("the cat", -3 * LOG10, {"am_score": -1.0, "lm_score": -2.0}),
            ("the hat", -4 * LOG10, {"am_score": -2.0, "lm_score": -2.0})),
      nbest("c", ("", -4 * LOG10, {"am_score": -1.0, "lm_score": -3.0}))],
     "a folder of files with logs of base 10"),
    ("jsonl",
     {"a-b.json": '{"hyps": ["the cat", "the hat"]}', "c.json": '{"hyps": [""]}',
      "notes.txt": "not JSON"}, UNSCORED, "a folder of files, which give the ids"),
    *(
        (format, text, [EMPTY, *SCORED[:1]], "an empty list is kept")
        for format, text in [
            ("dict", '{"e": {}, "a-b": {"hyp_1": {"text": "the cat", "score": -1.5}, "hyp_2":'
             '{"text": "the hat", "score": -2}}}'),
            ("jsonl", '{"id": "e", "hyps": []}\n'
             '{"id": "a-b", "hyps": ["the cat", "the hat"], "scores": [-1.5, -2]}'),
            ("hyporadise", '[{"id": "e", "input": []}, '
             '{"id": "a-b", "input": ["the cat", "the hat"], "score": [-1.5, -2]}]'),
            ("espnet1", '{"utts": {"e": {"output": []}, "a-b": {"output": [{"rec_text": "the cat",'
             '"score": -1.5}, {"rec_text": "the hat", "score": -2}]}}}'),
        ]
    ),
]  # fmt: skip


# A plain file needs the option of a beam size.
WITH_LISTS = [name for name in FORMATS if name != "plain"]


def rounded(lists):
    """Lists without the last digits of scores, which SRILM's base changes, and its features."""
    return [
        dataclasses.replace(
            one,
            hypotheses=tuple(
                dataclasses.replace(
                    h,
                    score=None if h.score is None else round(h.score, 9),
                    features={n: v for n, v in h.features.items() if n[:2] not in ("am", "lm")},
                )
                for h in one.hypotheses
            ),
        )
        for one in lists
    ]


def written(lists, format):
    """The file that `write_nbest` writes, or the files of the folder: {name: text}."""
    if load_format(format).is_folder or any("file" in (one.extra or {}) for one in lists):
        with tempfile.TemporaryDirectory() as folder:
            write_nbest(f"{folder}/out", lists, format)
            files = sorted(path for path in Path(folder, "out").rglob("*") if path.is_file())
            return {str(path.relative_to(f"{folder}/out")): path.read_text() for path in files}
    stream = io.StringIO()
    write_nbest(stream, lists, format)
    return stream.getvalue()


@pytest.mark.parametrize(("format", "text", "lists", "why"), FILES)
def test_files_are_detected_read_and_written_back(write, format, text, lists, why):
    path = write(text)
    file = read_nbest(path)
    assert (file.format, file.lists) == (format, lists), why
    assert read_nbest(path, format=format) == file
    once = written(file.lists, format)
    again = read_nbest(write(once))
    assert again.lists == lists, why
    assert written(again.lists, format) == once, "a second round changes nothing"


@pytest.mark.parametrize("format", WITH_LISTS)
def test_reranked_list_comes_back_best_first_with_its_new_scores(write, tmp_path, format):
    text = next(text for name, text, *_ in FILES if name == format)
    score_file = write("a-b-1 1.5\na-b-2 2\nc-1 3\n") if format == "kaldi" else None
    file = read_nbest(write(text), score_file=score_file)
    reranked = [
        dataclasses.replace(
            x,
            hypotheses=tuple(
                dataclasses.replace(h, score=h.score * 2 + i)
                for i, h in enumerate(reversed(x.hypotheses))
            ),
        )
        for x in file.lists
    ]
    target = tmp_path / "out"
    write_nbest(target, reranked, format)
    scores = f"{target}.scores" if format == "kaldi" else None
    back = read_nbest(target, score_file=scores)
    assert (back.format, rounded(back.lists)) == (format, rounded(reranked))
    if format != "srilm":
        assert [h.score for h in back.lists[0].hypotheses] == [-4.0, -2.0]
    assert back.lists[0].hypotheses[0].text == "the hat"


def test_the_names_of_formats_are_cheap_to_read():
    code = "import sys, tta.data.nbest.formats; print({'numpy', 'tensorflow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_the_table_has_every_format():
    assert {name for name, *_ in FILES} == set(WITH_LISTS)


@pytest.mark.parametrize("format", WITH_LISTS)
def test_formats_convert_to_each_other(write, format):
    lists = SCORED
    if format == "fairseq":  # ids are numbers
        lists = [dataclasses.replace(x, utterance_id=str(i)) for i, x in enumerate(SCORED)]
    if format == "srilm":  # one list, with the name of the file
        lists = [dataclasses.replace(SCORED[0], utterance_id="input0")]
    back = read_nbest(write(written(lists, format)), format=format).lists
    assert rounded(back) == rounded(UNSCORED if format == "kaldi" else lists)


@pytest.mark.parametrize(("format", "text", "lists", "why"), FILES)
def test_one_format_matches_a_file(write, format, text, lists, why):
    """`read_nbest` asks the formats of the same kind; no other format may match either."""
    path = write(text)
    if path.is_dir() and not load_format(format).is_folder:
        sources = [Source(file.read_text().splitlines()) for file in path.glob("*[!t]")]
    elif path.is_dir():
        sources = [Source((), folder=path)]
    else:
        sources = [Source(path.read_text().splitlines())]
        sources.append(Source(read_head(iter(sources[0].lines)), beam_size=2))
    for source in sources:
        assert [one.name for one in matching_formats(source)] == [format], why


def test_a_format_is_found_by_the_first_rows_that_are_not_blank():
    lines = ["", *map(str, range(99))]
    assert read_head(lines) == lines[: 1 + HEAD_ROWS]


def test_nemo_rows_are_split_by_the_beam_size(write):
    text = "the cat\t-1.5\nthe hat\t-2.0\n\t-1.0\nx\t-3.0\n"
    file = read_nbest(write(text), beam_size=2)
    assert file.lists == [
        nbest("0", ("the cat", -1.5), ("the hat", -2.0)),
        nbest("1", ("", -1.0), ("x", -3.0)),
    ]
    assert written(file.lists, "tsv") == text


@pytest.mark.parametrize(
    ("format", "document", "expected", "why"),
    [
        ("dict",
         {"a": {"hyp_1": {"text": "x", "n": 1}, "hyp_2": {"text": "y", "n": 2}, "lang": "en"}},
         {"a": {"hyp_1": {"text": "y", "n": 2}, "hyp_2": {"text": "x", "n": 1}, "lang": "en"}},
         "other keys of hypothesis and list"),
        ("dict",
         {"a": {"hyp_1": {"text": "x"}, "hyp_2": {"text": "ü"}, "odd": "\ud800", "n": None}},
         {"a": {"hyp_1": {"text": "ü"}, "hyp_2": {"text": "x"}, "odd": "\ud800", "n": None}},
         "half a surrogate pair, which UTF-8 cannot hold, as an escape"),
        ("hyporadise", [{"instruction": "pick", "input": ["x", "y"], "lm": [1, 2], "output": "r"}],
         [{"instruction": "pick", "input": ["y", "x"], "lm": [2, 1], "output": "r"}],
         "the instruction; a column follows its hypotheses"),
        ("jsonl", {"id": "a", "hyps": ["x", "y"], "scores": [-1.0, -2.0]},
         {"id": "a", "hyps": ["y", "x"], "scores": [-2.0, -1.0]}, "scores beside strings"),
        ("jsonl",
         {"id": "a", "hyps": [{"text": "x"}, {"text": "y"}], "scores": {"by": "am"}, "score": 1},
         {"id": "a", "hyps": [{"text": "y"}, {"text": "x"}], "scores": {"by": "am"}, "score": 1},
         "keys about the list that are called scores and score"),
        ("hyporadise", [{"input": ["x", "y"], "score": None, "am_score": [-1.0, -2.0]}],
         [{"input": ["y", "x"], "score": None, "am_score": [-2.0, -1.0]}],
         "the array that the scores were read from"),
        ("jsonl", {"utt_id": 7, "nbest": [{"text": "x", "n": 1}, {"text": "y"}], "lang": "en"},
         {"utt_id": 7, "nbest": [{"text": "y"}, {"text": "x", "n": 1}], "lang": "en"},
         "key names and a numeric id"),
        ("espnet1",
         {"utts": {"a": {"spk": 1, "output": [{"rec_text": "x"}, {"rec_text": "y <eos>"}]}}},
         {"utts": {"a": {"spk": 1,
                         "output": [{"rec_text": "y <eos>", "name": "target1[1]"},
                                    {"rec_text": "x", "name": "target1[2]"}]}}},
         "speaker and end token"),
    ],
)  # fmt: skip
def test_other_keys_of_a_json_file_are_kept(write, format, document, expected, why):
    (only,) = read_nbest(write(json.dumps(document))).lists
    swapped = dataclasses.replace(only, hypotheses=only.hypotheses[::-1])
    text = written([swapped], format)
    assert json.loads(text.encode()) == expected, why


@pytest.mark.parametrize("separator", [",", "\t"])
def test_other_columns_follow_their_hypothesis(write, separator):
    text = "n,text,id,ref\n1,x,a,r\n2,y,a,r\n".replace(",", separator)
    file = read_nbest(write(text))
    (only,) = file.lists
    x, y = (dataclasses.replace(h, score=-1.0) for h in only.hypotheses)
    swapped = dataclasses.replace(only, hypotheses=(y, x))
    expected = "n,text,id,ref,score\n2,y,a,r,-1.0\n1,x,a,r,-1.0\n".replace(",", separator)
    assert written([swapped], file.format) == expected


def test_a_text_with_the_separator_is_quoted_in_csv():
    lists = [nbest("a", ('x, "y"', -1.0), reference="z")]
    text = written(lists, "csv")
    assert text == 'id,text,score,reference\na,"x, ""y""",-1.0,z\n'


def test_reference_file_replaces_the_references_of_the_file(write):
    file = read_nbest(write('[{"input": ["x"], "output": "old"}]'), reference_file=write("new\n"))
    assert file.lists[0].reference == "new"
    assert json.loads(written(file.lists, "hyporadise"))[0]["output"] == "new"


def test_no_output_if_one_of_two_files_exists(tmp_path):
    (tmp_path / "out.scores").write_text("old")
    with pytest.raises(InputError, match=r"out\.scores: exists; pass overwrite=True"):
        write_nbest(tmp_path / "out", SCORED, "kaldi")
    assert [p.name for p in tmp_path.iterdir()] == ["out.scores"]


@pytest.mark.parametrize(
    ("format", "lists", "message", "why"),
    [
        ("moses", [nbest("a", ("x ||| y", -1.0))], "cannot hold 'x ||| y'", "separator in a text"),
        ("tsv", [nbest("a", ("x\ty", -1.0))], r"cannot hold 'x\\ty'", "separator in a text"),
        ("kaldi", [nbest("a", ("x\ny", -1.0))], r"cannot hold 'x\\ny'", "line break in a text"),
        ("kaldi", [nbest("a b", ("x", -1.0))], "ids have no space, got 'a b'", "space in an id"),
        ("moses", UNSCORED, "rows need a score, list 'a-b' has none", "a score is a field"),
        ("tsv", UNSCORED, "rows need a score, list 'a-b' has none", "a score is a column"),
        ("dict", [nbest("a", ("x", float("nan")))], "list 'a': score nan is not finite", "NaN"),
        ("xml", SCORED, "format must be espnet1 or .* not 'xml'", "no such format"),
        ("csv", [nbest("a", ("x\ny", -1.0))], r"cannot hold 'x\\ny'", "line break in a text"),
        ("fairseq", [nbest("7", ("x\ny", -1.0))], r"cannot hold 'x\\ny'", "line break in a text"),
        ("fairseq", SCORED, "fairseq ids are numbers, got 'a-b'", "ids are numbers"),
        ("fairseq", [nbest("7", ("x", None))], "rows need a score, list '7' has none", "no score"),
        ("espnet2", [nbest("a", ("x\ny", -1.0))], r"cannot hold 'x\\ny'", "line break in a text"),
        ("espnet2", [nbest("a b", ("x", -1.0))], "ids have no space, got 'a b'", "space in an id"),
        ("espnet2", [EMPTY], "list 'e': espnet2 cannot hold an empty list", "no lines"),
        *(
            (
                name,
                [EMPTY, *SCORED],
                f"list 'e': {name} cannot hold an empty list",
                "no rows",
            )
            for name in ("moses", "kaldi", "csv", "tsv", "fairseq")
        ),
    ],
)
def test_lists_that_cannot_be_written_leave_no_file(tmp_path, format, lists, message, why):
    with pytest.raises(InputError, match=message):
        write_nbest(tmp_path / "out", lists, format)
    assert not list(tmp_path.iterdir()), why


# The files that the project is developed with.
REAL_FILES = [
    ("asr_arctic/test.clean.json", None, "dict", 300, True),
    pytest.param(
        "asr_hyporadise/test_ls_clean.json", None, "hyporadise", 2620, False, marks=pytest.mark.slow
    ),
    ("asr_hyporadise/test_atis.json", None, "hyporadise", 809, True),
    pytest.param(
        *("mt_iwslt14_deen/test.nbest", "mt_iwslt14_deen/test.ref", "moses", None, True),
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("name", "references", "format", "count", "scored"), REAL_FILES)
def test_real_files(tta_data, tmp_path, name, references, format, count, scored):
    folder = tta_data / "nbest"
    reference_file = folder / references if references else None
    file = read_nbest(folder / name, reference_file=reference_file)
    assert file.format == format
    assert count in (None, len(file.lists))
    assert all(x.reference for x in file.lists)
    assert all((h.score is not None) == scored for x in file.lists for h in x.hypotheses)
    write_nbest(tmp_path / "out", file.lists, format)
    assert read_nbest(tmp_path / "out", reference_file=reference_file) == file
    assert not list(mixture_notes(file))


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("u-1 the cat sat on the mat\nu-2 the cat\n", True),
        ('{"id": 1, "nbest": ["the cat"]}\n', False),
    ],
)
def test_lines_of_one_hypothesis_have_a_bound(text, refused, tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "MAX_LINE_BYTES", 20)
    (tmp_path / "lists").write_text(text)
    if refused:
        with pytest.raises(InputError, match="lists:1: a line is longer than 20 bytes"):
            read_nbest(tmp_path / "lists", "kaldi")
    else:
        assert len(read_nbest(tmp_path / "lists").lists) == 1
