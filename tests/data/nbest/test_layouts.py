"""Ranks, plural names, and layouts of JSON: what is read, and what is written back."""

import json

import pytest

from tests.data.nbest.test_files import written
from tta.data.nbest.files import read_nbest
from tta.errors import InputError


@pytest.mark.parametrize("name", ["rank", "position", "beam", "index", "n", "hyp_id"])
@pytest.mark.parametrize("ranks", [(2, 0, 1), (3, 1, 2), ("hyp_3", "hyp_1", "hyp_2")])
def test_ranks_order_hypotheses_without_scores(write, name, ranks):
    rows = [{"text": t, name: rank} for t, rank in zip("cab", ranks, strict=True)]
    texts = [
        json.dumps({"id": "u", "hypotheses": rows}) + "\n",
        json.dumps([{"utt": "u", **row} for row in rows]),
        f"utt,text,{name}\n" + "".join(f"u,{row['text']},{row[name]}\n" for row in rows),
        json.dumps({"id": "u", "hypotheses": [*"cab"], name: list(ranks)}) + "\n",
        json.dumps({"id": "u", "alternatives": [{"transcript": r["text"], **r} for r in rows]}),
    ]
    for text in texts:
        (one,) = read_nbest(write(text)).lists
        assert [h.text for h in one.hypotheses] == [*"abc"], text
        assert not any(h.features for h in one.hypotheses)
    scored = [{**row, "score": -1.0} for row in rows]
    (one,) = read_nbest(write(json.dumps({"id": "u", "hypotheses": scored}))).lists
    assert [h.text for h in one.hypotheses] == [*"cab"], "scores come before ranks"


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("n", (5, 4, 6), "cab"),
        ("rank", (7, 1, 3), "abc"),
        ("rank", (1, 1, 2), "cab"),
        ("rank", (1, None, 2), "cab"),
        ("size", (3, 1, 2), "cab"),
    ],
)
def test_what_is_a_rank(write, name, values, expected):
    rows = [{"text": t, name: value} for t, value in zip("cab", values, strict=True)]
    (one,) = read_nbest(write(json.dumps({"hypotheses": rows}))).lists
    assert "".join(h.text for h in one.hypotheses) == expected


@pytest.mark.parametrize(
    ("arrays", "scores"),
    [
        ({"am_scores": [-5, -1], "lm_scores": [-3, -1]}, [-8, -2]),
        ({"am_scores": [-5, -1]}, [-5, -1]),
        ({"ctc_scores": [-5, -1], "att_scores": [-2, -1]}, [-7, -2]),
        ({"lm_scores": [-5, -1]}, [None, None]),
        ({"log_probs": [-5, -1]}, [-5, -1]),
        ({"log_probabilities": [-5, -1]}, [-5, -1]),
        ({"total_scores": [-5, -1]}, [-5, -1]),
    ],
)
def test_plural_names_are_read_as_the_singular(write, arrays, scores):
    file = read_nbest(write(json.dumps({"id": "u", "hypotheses": ["a", "b"], **arrays})))
    assert [h.score for h in file.lists[0].hypotheses] == scores
    assert read_nbest(write(written(file.lists, file.format))).lists == file.lists


PAIR = {"texts": ["a b", "c"], "scores": [-1.0, -2.0]}
BEAMS = [{"text": "a b", "score": -1.0}, {"text": "c", "score": -2.0}]
TWO = [{"id": "u", **PAIR}, {"id": "v", **PAIR}]
FILES = [{"file": f"x/{i}.wav", "beams": BEAMS} for i in "uv"]
LINES = "{}\n{}\n"
LAYOUTS = [
    (LINES.format(*map(json.dumps, TWO)), ["u", "v"], "texts and scores"),
    (json.dumps(TWO) + "\n", ["u", "v"], "in an array"),
    (LINES.format(*map(json.dumps, [PAIR, PAIR])), ["0", "1"], "without ids"),
    (json.dumps({"texts": [["a b", "c"]] * 2, "scores": [[-1.0, -2.0]] * 2, "by": "x"}) + "\n",
     ["0", "1"], "the pair of tta.integrations"),
    (LINES.format(*map(json.dumps, FILES)), ["u", "v"], "beams that are objects"),
    (json.dumps(FILES) + "\n", ["u", "v"], "beams in an array"),
    (LINES.format(*(json.dumps({"utt": i, "asr": {"best": "a b", "n_best": BEAMS}}) for i in "uv")),
     ["u", "v"], "inside an object"),
    (LINES.format(*(json.dumps({"out": {"asr": {"id": i, "hyps": BEAMS}}}) for i in "uv")),
     ["u", "v"], "inside two objects, with the id"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "ids", "why"), LAYOUTS, ids=[row[2] for row in LAYOUTS])
def test_layouts_are_read_and_written_back(write, text, ids, why):
    file = read_nbest(write(text))
    found = [[(h.text, h.score) for h in one.hypotheses] for one in file.lists]
    assert found == [[("a b", -1.0), ("c", -2.0)]] * 2, why
    named = [one.utterance_id.rpartition("-")[2] for one in file.lists]
    assert named == ids
    again = written(file.lists, file.format)
    if why == "without ids":
        again = again.replace('"id": "0", ', "")
    assert [json.loads(x) for x in again.splitlines()] == [json.loads(x) for x in text.splitlines()]


def test_two_lists_inside_a_line_are_refused(write):
    text = json.dumps({"id": "u", "a": {"hyps": BEAMS}, "b": {"hyps": BEAMS}})
    with pytest.raises(InputError, match=r"lists inside \['a', 'b'\]: expected one"):
        read_nbest(write(text))
