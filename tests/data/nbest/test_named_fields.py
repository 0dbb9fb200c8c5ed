"""Fields of JSON that the caller names, in place of those that are looked for."""

import dataclasses
import json
import re

import pytest

from tests.fake_model import FakeModel
from tta.data.nbest.files import read_nbest, write_nbest
from tta.errors import InputError
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files

HYPOTHESES = [
    {"sentence_x": "a kat", "avg_logprob": -0.2, "score": -9},
    {"sentence_x": "a cat", "avg_logprob": -0.1, "score": -8},
]
WHISPER = [
    {"segments": [{"text": " a"}, {"text": " kat "}], "info": {"avg_logprob": -0.2}},
    {"segments": [{"text": " a"}, {"text": " cat"}], "info": {"avg_logprob": -0.1}},
]
OF_WHISPER = {"text_field": "segments[].text", "score_field": "info.avg_logprob"}
NAMED = {"text_field": "sentence_x", "score_field": "avg_logprob"}
OBJECT = {"u": {"hyp_1": HYPOTHESES[0], "hyp_2": HYPOTHESES[1], "ref": "a cat"}}
RESPONSE = {
    "alternatives": [
        {"transcript": one["sentence_x"], "avg_logprob": one["avg_logprob"]} for one in HYPOTHESES
    ]
}
ARRAYS = {"id": "u", "hypotheses": ["a kat", "a cat"], "means": [-0.2, -0.1], "scores": [-9, -8]}
BEAMS = [{"text": one["sentence_x"], "logp_mean": one["avg_logprob"]} for one in HYPOTHESES]

LAYOUTS = {  # the format, the documents of the file, and the fields
    "jsonl": ("jsonl", [{"id": "u", "hypotheses": HYPOTHESES}], NAMED),
    "arrays": ("jsonl", [ARRAYS], {"score_field": "means"}),
    "rows": ("json_rows", [{"id": "u", **one} for one in HYPOTHESES], NAMED),
    "rows with a path": ("json_rows", [{"id": "u", **one} for one in WHISPER], OF_WHISPER),
    "objects": ("dict", [OBJECT], NAMED),
    "responses": ("responses", [RESPONSE | {"id": "u"}], {"score_field": "avg_logprob"}),
    "nemo": ("nemo", [{"id": "u", "beams": BEAMS}], {"score_field": "logp_mean"}),
    "responses with any text": ("responses", [{"id": "u", "alternatives": HYPOTHESES}], NAMED),
    "nemo with any text": ("nemo", [{"id": "u", "beams": HYPOTHESES}], NAMED),
    "hyporadise": (
        "hyporadise", [[{"id": "u", "input": ["a kat", "a cat"], "m": [-0.2, -0.1]}]],
        {"score_field": "m"},
    ),
}  # fmt: skip


@pytest.fixture
def write(tmp_path):
    def write(*documents, name="lists.json"):
        (tmp_path / name).write_text("".join(json.dumps(one) + "\n" for one in documents))
        return str(tmp_path / name)

    return write


def hypotheses_of(path, **fields):
    (nbest,) = read_nbest(path, **fields).lists
    assert nbest.utterance_id == "u"
    return [(h.text, h.score) for h in nbest.hypotheses]


@pytest.mark.parametrize("name", LAYOUTS)
def test_named_fields_are_read_and_written_back(write, tmp_path, name):
    format, documents, fields = LAYOUTS[name]
    path = write(*documents)
    file = read_nbest(path, **fields)
    assert file.format == format
    assert hypotheses_of(path, **fields) == [("a kat", -0.2), ("a cat", -0.1)]
    (nbest,) = file.lists
    kat, cat = nbest.hypotheses
    reranked = dataclasses.replace(nbest, hypotheses=(dataclasses.replace(cat, score=-0.05), kat))
    write_nbest(tmp_path / "out.json", [reranked], format)
    assert hypotheses_of(tmp_path / "out.json", **fields) == [("a cat", -0.05), ("a kat", -0.2)]


PATHS = {
    "jsonl": {"id": "u", "hypotheses": WHISPER},
    "nemo": {"id": "u", "beams": WHISPER},
    "responses": {"id": "u", "results": [{"alternatives": WHISPER}]},
}


@pytest.mark.parametrize("format", PATHS)
def test_values_at_paths_are_written_back_to_the_paths(write, tmp_path, format):
    file = read_nbest(write(PATHS[format]), **OF_WHISPER)
    (nbest,) = file.lists
    assert file.format == format
    assert [(h.text, h.score) for h in nbest.hypotheses] == [("a kat", -0.2), ("a cat", -0.1)]
    write_nbest(tmp_path / "same.json", [nbest], format)
    assert json.loads((tmp_path / "same.json").read_text()) == PATHS[format]
    kat, cat = nbest.hypotheses
    hypotheses = (dataclasses.replace(cat, score=-0.05), dataclasses.replace(kat, text="the cat"))
    changed = dataclasses.replace(nbest, hypotheses=hypotheses)
    write_nbest(tmp_path / "out.json", [changed], format)
    expected = [
        WHISPER[1] | {"info": {"avg_logprob": -0.05}},
        WHISPER[0] | {"segments": [{"text": "the cat"}, {"text": ""}]},
    ]
    written = json.dumps(PATHS[format]).replace(json.dumps(WHISPER), json.dumps(expected))
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(written)
    (read_again,) = read_nbest(tmp_path / "out.json", **OF_WHISPER).lists
    assert [h.text for h in read_again.hypotheses] == ["a cat", "the cat"]


def test_a_name_with_a_point_is_written_back_to_its_field(write, tmp_path):
    hypotheses = [{"text": "a", "p.q": -1}, {"text": "b", "p.q": -2}]
    (nbest,) = read_nbest(write({"id": "u", "hypotheses": hypotheses}), score_field="p.q").lists
    write_nbest(tmp_path / "out.json", [nbest], "jsonl")
    written = json.loads((tmp_path / "out.json").read_text())
    assert written == {"id": "u", "hypotheses": hypotheses}


def test_a_score_that_is_not_named_is_a_feature(write):
    (nbest,) = read_nbest(write({"id": "u", "hypotheses": HYPOTHESES}), **NAMED).lists
    assert [h.features for h in nbest.hypotheses] == [{"score": -9.0}, {"score": -8.0}]


SEVERAL = {"segments": [{"text": "a", "score": -1}, {"text": "b", "score": -2}]}
TABLE = "id,text,avg_logprob\nu,a kat,-0.2\nu,a cat,-0.1\n"


@pytest.mark.parametrize(
    ("text", "fields", "message"),
    [
        (TABLE, {"score_field": "avg_logprob"},
         "score_field names a field of JSON, and the format is csv"),
        ("u-1 a kat\nu-2 a cat\n", {"text_field": "x"},
         "text_field names a field of JSON, and the format is kaldi"),
        (json.dumps({"id": "u", "hypotheses": HYPOTHESES}), {"text_field": "y"},
         ":1: list 'u': a hypothesis has no text 'y': {"),
        (json.dumps({"id": "u", "hypotheses": BEAMS}), {"score_field": "y"},
         ":1: list 'u': a hypothesis has no score 'y': {"),
        (json.dumps({"id": "u", "hypotheses": ["a", "b"]}), {"score_field": "y"},
         ":1: list 'u': a hypothesis has no score 'y': {"),
        (json.dumps({"id": "u", "hypotheses": [SEVERAL]}), {},
         "; text_field='segments[].text' joins those of its segments"),
        (json.dumps({"id": "u", "hypotheses": [SEVERAL]}),
         {"score_field": "segments[].score", "text_field": "segments[].text"},
         ":1: list 'u': a hypothesis has several scores 'segments[].score': {"),
        (json.dumps({"id": "u", "hypotheses": BEAMS}), {"score_field": "text"},
         ":1: list 'u': expected a finite number as 'text', got 'a kat'"),
        ('{"id": "u", "text": "a", "p": -1}\n{"id": "u", "text": "b"}\n', {"score_field": "p"},
         ":2: a hypothesis has no score 'p': {"),
    ],
)  # fmt: skip
def test_a_field_that_is_not_there_is_one_line(tmp_path, text, fields, message):
    (tmp_path / "lists").write_text(text)
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_nbest(tmp_path / "lists", **fields)
    assert str(caught.value).startswith(str(tmp_path / "lists"))


@pytest.mark.parametrize(
    ("name", "is_mean"),
    [("avg_logprob", True), ("mean_score", True), ("logp_per_token", True), ("meaning", False)],
)
def test_a_mean_per_token_is_noted(write, name, is_mean):
    path = write({"id": "u", "hypotheses": [{"text": "a", name: -1}, {"text": "b", name: -2}]})
    notes = read_nbest(path, score_field=name).notes
    assert len(notes) == is_mean
    assert all(f"{name} looks like a mean per token, which is no sum" in note for note in notes)


def test_fields_are_named_for_dev_and_test(write, tmp_path, monkeypatch):
    monkeypatch.setattr("tta.load", lambda model=None, **options: FakeModel())
    rows = [{"id": f"u{i}", "hypotheses": HYPOTHESES, "ref": "a cat"} for i in range(3)]
    scores = tmp_path / "scores.jsonl"
    config = RerankConfig(
        nbest_file=write(*rows), dev_nbest_file=write(*rows, name="dev.json"),
        scores_file=str(scores), **NAMED,
    )  # fmt: skip
    report = rerank_files(config)
    written = [json.loads(line) for line in scores.read_text().splitlines()]
    assert {(row["text"], row["first_pass_score"]) for row in written} == {
        ("a kat", -0.2), ("a cat", -0.1)
    }  # fmt: skip
    assert sum("looks like a mean per token" in note for note in report.notes) == 2
