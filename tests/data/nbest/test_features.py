"""Features: further scores of the first system, in every format that can have them."""

import dataclasses
import json
import pickle

import pytest

from tests.data.nbest.test_files import written
from tta.data.nbest.files import read_nbest
from tta.data.nbest.lists import Hypothesis
from tta.errors import InputError

LM, PROB = {"lm_score": -3.0}, {"lm_score": -4.5, "avg_logprob": -0.25}
PARTS = {"am_score": -1.0, "att_score": -2.5, "lm_score": -4.0}


# Format, file, (score, features) of each hypothesis, why
FILES = [
    ("moses", "0 ||| a ||| lm= -3 tm= -1 -0.5 ||| -4\n0 ||| b ||| lm= 2e0 ||| -5 ||| 0-0\n",
     [(-4, {"lm": -3.0, "tm_1": -1.0, "tm_2": -0.5}), (-5, {"lm": 2.0})],
     "names with one and several values"),
    ("moses", "0 ||| a ||| -3 7 ||| -4\n0 ||| b ||| 1 F0= 2 ||| -5\n",
     [(-4, {"feature_1": -3.0, "feature_2": 7.0}), (-5, {"feature_1": 1.0, "F0": 2.0})],
     "numbers without a name"),
    ("moses", "0 ||| a ||| lm= 1 ||| tm= 2 ||| 3 ||| -4 ||| 0-0 1-1\n0|||b|||lm= 1|||tm= 2|||-5\n",
     [(-4, {"lm": 1.0, "tm": 2.0, "feature_1": 3.0}), (-5, {"lm": 1.0, "tm": 2.0})],
     "several columns, with and without an alignment"),
    ("moses", "0 ||| a ||| Lm=-3 d: 1 2 p:k=4 ||| -4\n0 ||| b ||| tm= 1 d= 2 tm= 3 ||| -5\n",
     [(-4, {"Lm": -3.0, "d_1": 1.0, "d_2": 2.0, "p:k": 4.0}),
      (-5, {"tm_1": 1.0, "tm_2": 3.0, "d": 2.0})], "other ways to write names; a name twice"),
    ("dict",
     {"u": {"hyp_1": {"text": "a", "score": -1} | LM, "hyp_2": {"text": "b", "score": -2} | PROB}},
     [(-1, LM), (-2, PROB)], "a hypothesis may have a feature that others lack"),
    ("jsonl",
     {"hyps": [{"text": "a", "score": -1, "ctc": -7, "lm": 2}, {"text": "b", "score": -2} | PROB]},
     [(-1, {"ctc": -7.0, "lm": 2.0}), (-2, PROB)], "fields of objects"),
    ("jsonl",
     {"hyps": [{"text": "a", "score": -1, "scores": {"decoder": -2, "x": 3, "s": "t"}},
               {"text": "b", "score": -2, "features": {"x": "4"}, "lm_score": -3, "scores": [1]}]},
     [(-1, {"decoder": -2.0, "x": 3.0}), (-2, {"x": 4.0, "lm_score": -3.0})],
     "nested objects, in which any number is a feature"),
    ("jsonl",
     {"hyps": ["a", "b"], "scores": [-1, -2], "lm_scores": [-3, None], "text": [1, 2], "n": [1]},
     [(-1, {"lm_scores": -3.0}), (-2, {})], "arrays beside plain strings"),
    ("jsonl",
     {"hyps": [{"text": "a", "score": -1, "id": 1, "start": 0.5, "n": 2, "rank": 1, "wer": 0.5},
               {"text": "b", "score": -2, "wer_score": 0, "is_score": True, "prob": None,
                "lm": "x"}]}, [(-1, {}), (-2, {})],
     "no scores: ids, times, measures, booleans, null, a name"),
    ("hyporadise",
     [{"input": ["a", "b"], "score": [-1, -2], "am_score": [3, "4"], "no_speech_prob": [0, 1]}],
     [(-1, {"am_score": 3.0, "no_speech_prob": 0.0}),
      (-2, {"am_score": 4.0, "no_speech_prob": 1.0})], "arrays"),
    ("espnet1",
     {"utts": {"u": {"output": [{"rec_text": "a", "score": -1, "lm_score": -3, "text": "r"}]}}},
     [(-1, LM)], "fields of outputs"),
    ("csv", "id,text,score,LM_score,n,avg_logprob\nu,a,-1,-3,7,\nu,b,-2,-4.5,8,-0.25\n",
     [(-1, LM), (-2, PROB)], "columns, in lower case; an empty cell"),
    ("tsv", "id\ttext\tscore\tlm_score\nu\ta\t-1\t-3\n", [(-1, LM)], "columns with tabs"),
    ("jsonl", {"hyps": ["a", {"text": "b", "scores": {"x": 3}}], "lm_prob": [0, 1]},
     [(None, {}), (None, {"x": 3.0})],
     "strings beside objects: the array is not of the hypotheses"),
    # Without a total score
    ("csv", "id,text,am_score\nu,a,-1\n", [(-1, {})], "the acoustic score alone is the score"),
    ("csv", "id,text,am_score,logprob\nu,a,-1,-5\n", [(-1, {"logprob": -5.0})], "as before"),
    ("csv", "id,text,ctc_score\nu,a,-1\n", [(-1, {})], "that of another recogniser, too"),
    ("csv", "id,text,lm_score\nu,a,-3\n", [(None, LM)], "that of the language model is not"),
    ("csv", "id,text,am_score,att_score,lm_score\nu,a,-1,-2.5,-4\n", [(-7.5, PARTS)], "the sum"),
    ("csv", "id,text,am_score,lm_score,logprob\nu,a,-1,-3,-9\n", [(-9, {"am_score": -1.0} | LM)],
     "a total after parts"),
    ("jsonl", {"hyps": ["a"], "am_score": [-1]}, [(-1, {})], "alone"),
    ("jsonl", {"hyps": ["a"], "lm_score": [-3]}, [(None, LM)], "not a score"),
    ("jsonl", {"hyps": ["a"], "am_score": [-1], "att_score": [-2.5], "lm_score": [-4]},
     [(-7.5, PARTS)], "sum"),
    ("jsonl", {"hyps": [{"text": "a"} | PARTS]}, [(-7.5, PARTS)], "sum"),
    ("jsonl", {"hyps": [{"text": "a", "am_score": -1}]}, [(-1, {})], "alone"),
    ("jsonl", {"hyps": [{"text": "a", "score": None, "scores": PARTS}]}, [(-7.5, PARTS)], "nested"),
    ("hyporadise", [{"input": ["a"], "lm_score": [-3]}], [(None, LM)], "not a score"),
    ("hyporadise", [{"input": ["a"]} | {k: [v] for k, v in PARTS.items()}], [(-7.5, PARTS)], "sum"),
    ("hyporadise", [{"input": ["a"], "score": None} | {k: [v] for k, v in PARTS.items()}],
     [(-7.5, PARTS)], "sum beside null"),
    ("dict", {"u": {"hyp_1": {"text": "a"} | PARTS}}, [(-7.5, PARTS)], "sum"),
    ("espnet1", {"utts": {"u": {"output": [{"rec_text": "a"} | PARTS]}}}, [(-7.5, PARTS)], "sum"),
    ("espnet1", {"utts": {"u": {"output": [{"rec_text": "a", "am_score": -1}]}}}, [(-1, {})],
     "alone"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text", "expected", "why"), FILES)
def test_features_are_read_and_stay_with_their_hypothesis(write, format, text, expected, why):
    """New scores and a new order change neither features nor where the score is read from."""
    file = read_nbest(write(text if isinstance(text, str) else json.dumps(text)))
    (only,) = file.lists
    assert file.format == format
    assert [(h.score, dict(h.features)) for h in only.hypotheses] == expected, why
    new = [dataclasses.replace(h, score=float(i)) for i, h in enumerate(only.hypotheses)]
    reranked = dataclasses.replace(only, hypotheses=tuple(reversed(new)))
    for one in (only, reranked):
        assert read_nbest(write(written([one], format)), format).lists == [one], why


def test_features_of_a_hypothesis():
    one = Hypothesis("a", -1.0)
    assert one.features == {}
    assert one.features is not Hypothesis("a", -1.0).features
    two = Hypothesis("a", -1.0, features={"lm": -2.0})
    assert one != two
    assert dataclasses.replace(two, score=-9.0).features == {"lm": -2.0}
    assert hash(one) == hash(two)
    assert pickle.loads(pickle.dumps(two)) == two


OBJECT = '{"hyps": [{"text": "a", "score": -1, %s}]}'
BAD = [
    (OBJECT % '"lm_score": "high"', ":1: list 0: expected a number as 'lm_score', got 'high'"),
    (OBJECT % '"prob": NaN', ":1: list 0: expected a finite number as 'prob', got nan"),
    (OBJECT % '"prob": "inf"', ":1: list 0: expected a finite number as 'prob', got 'inf'"),
    (OBJECT % '"scores": {"x": 1e999}', ":1: list 0: expected a finite number as 'x', got inf"),
    (OBJECT % ('"lm": ' + "1" * 400), ":1: list 0: expected a finite number as 'lm', got 1111"),
    (OBJECT % '"lm": 1, "scores": {"lm": 2}', ":1: list 0: duplicate feature 'lm'"),
    ('{"hyps": ["a", "b"], "scores": [-1, -2], "lm_score": [-1]}',
     ':1: list 0: expected one number in "lm_score" per hypothesis, got 1 for 2'),
    ('[{"input": ["a", "b"], "am_score": [-1, -2], "lm_score": [-1]}]',
     ':1: item 0: expected one number in "lm_score" per hypothesis, got 1 for 2'),
    ('{"hyps": [{"text": "a"}], "lm_score": [-1]}',
     ':1: list 0: expected a hypothesis beside "lm_score" as a string'),
    ("id,text,lm_score\nu,a,-1\nu,b,x\n", ":3: expected a number as 'lm_score', got 'x'"),
    ("id,text,lm_prob\nu,a,-1\nu,b,nan\n", ":3: expected a finite number as 'lm_prob', got 'nan'"),
    ("id,text,am_score,ctc_score,lm_score\nu,a,-1,-2,-3\nv,b,-1,-2,\n",
     ":3: the score is am_score + ctc_score, but am_score + ctc_score + lm_score in the hypo"),
    ('{"hyps": [{"text": "a", "am_score": -1, "lm_score": -2}, {"text": "b", "am_score": -1}]}',
     ":1: list 0: the score is am_score, but am_score + lm_score in the hypothesis before it"),
    ('{"hyps": [{"text": "a", "score": -1}, {"text": "b", "am_score": -1}]}',
     ":1: list 0: the score is am_score, but score in the hypothesis before it"),
    ('[{"input": ["a"], "am_score": [-1], "lm_score": [-2]},\n{"input": ["a"], "score": [-1]}]',
     ":2: item 1: the score is score, but am_score + lm_score in the hypothesis before it"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_features(write, text, message):
    with pytest.raises(InputError) as error:
        read_nbest(write(text))
    assert f"input0{message}" in str(error.value)
