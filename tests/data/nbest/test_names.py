"""The names of ids, texts, references and scores: the same ones in every reader, written back."""

import dataclasses
import json
import re

import pytest

from tests.data.nbest.test_files import nbest, written
from tta.data.nbest.fields import id_of
from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.references.files import read_references
from tta.errors import InputError

IDS = [
    *("id", "ID", "Id", "uid", "utt", "utt_id", "uttid", "utt-id", "uttId", "utterance_id"),
    *("utterance", "key", "segment_id", "segmentId", "sentence_id", "sent_id", "wav_id", "clip_id"),
    *("custom_id", "sample_id", "session_id", "recording_id", "audio_id", "file_id", "idx"),
]
FILES = ["audio_filepath", "audio", "wav", "path", "file", "file_name", "audio_file", "wav_path"]
NAMES = [(name, "s7") for name in IDS] + [(name, "/x/s7.wav") for name in FILES]

LISTS = [
    {"hypotheses": [{"text": "a cat"}, {"text": "a hat"}]},
    {"input": ["a cat", "a hat"]},
    {"alternatives": [{"transcript": "a cat"}, {"transcript": "a hat"}]},
    {"beams": [["a cat", -1.5], ["a hat", -2]]},
]


@pytest.mark.parametrize(("name", "value"), NAMES)
def test_every_reader_knows_every_name_of_an_id(write, name, value):
    texts = [json.dumps({name: value, **one}) for one in LISTS]
    texts += [f"{name},text,score\n" + "".join(f"{value},{t},-1\n" for t in ("a cat", "a hat"))]
    texts += ["".join(json.dumps({name: value, "text": t}) + "\n" for t in ("a cat", "a hat"))]
    for text in texts:
        file = read_nbest(write(text))
        assert [one.utterance_id for one in file.lists] == ["s7"], text
        again = written(file.lists, file.format)
        assert value in again
        assert '"s7"' not in again or value == "s7"
    for text in (json.dumps({name: value, "text": "a"}), f"{name},text\n{value},a\n"):
        assert read_references(write(text), ["s7"]) == ["a"], text


def test_what_is_no_id():
    assert id_of({"source": "Das ist gut.", "text": "x"}) == (None, False)
    assert id_of({"source": "x/y.wav"}) == ("y", True)
    assert id_of({"session_id": "a.b"}) == ("a.b", True)
    assert id_of({"audio": {"array": [1]}, "file": ""}) == (None, False)
    assert id_of({"id": None, "utt": "u"}) == ("u", False)
    assert id_of({"id": [1]}) == ([1], False)
    assert id_of({"key": "b", "ID": 3}) == (3, False)


def test_lists_of_one_recording_get_an_index(write):
    row = '{"audio": "m.wav", "hyps": ["a"]}\n'
    assert [one.utterance_id for one in read_nbest(write(3 * row)).lists] == ["m", "m-1", "m-2"]
    with pytest.raises(InputError, match="duplicate id 'm"):
        read_nbest(write(2 * row.replace("audio", "id")))


@pytest.mark.parametrize("name", ["score", "logprob", "log_prob", "logProb", "log-likelihood"])
def test_every_reader_knows_every_name_of_a_score(write, name):
    rows = [{"text": "a cat", name: -1.5}, {"text": "a hat", name: -2.0}]
    texts = [
        json.dumps({"id": "u", "nbest": rows}),
        json.dumps({"u": {"hyp_1": rows[0], "hyp_2": rows[1]}}),
        json.dumps({"utts": {"u": {"output": [{"rec_text": r["text"], **r} for r in rows]}}}),
        json.dumps([{"id": "u", **row} for row in rows]),
        f"id,text,{name}\nu,a cat,-1.5\nu,a hat,-2.0\n",
        json.dumps({"id": "u", "input": ["a cat", "a hat"], name: [-1.5, -2.0]}),
        json.dumps({"id": "u", "alternatives": [{"transcript": r["text"], **r} for r in rows]}),
    ]
    for text in texts:
        (one,) = read_nbest(write(text)).lists
        assert [(h.text, h.score) for h in one.hypotheses] == [("a cat", -1.5), ("a hat", -2.0)]


@pytest.mark.parametrize("name", ["text", "sentence", "transcript", "hypothesis", "predText"])
def test_every_reader_knows_every_name_of_a_text(write, name):
    rows = [{name: "a cat", "score": -1.5}, {name: "a hat", "score": -2.0}]
    texts = [
        json.dumps({"id": "u", "n_best": rows, "gt": "a"}),
        json.dumps({"u": {"hyp_1": rows[0], "hyp_2": rows[1], "ref": "a"}}),
        json.dumps([{"id": "u", "target": "a", **row} for row in rows]),
        f"id,{name},score,ground-truth\nu,a cat,-1.5,a\nu,a hat,-2.0,a\n",
    ]
    for text in texts:
        file = read_nbest(write(text))
        assert file.lists == [nbest("u", ("a cat", -1.5), ("a hat", -2.0), reference="a")], text
        assert '"text"' not in written(file.lists, file.format) or name == "text"


SHAPES = [
    ('["a cat", "a hat"]', [None, None], "texts"),
    ('[["a cat", -1.5], ["a hat", -2.0]]', [-1.5, -2.0], "text and score"),
    ('[["▁a", "▁c", "at"], ["▁a", "▁hat"]]', [None, None], "tokens"),
    ('[["▁a", "▁c", "at"], ["▁a", "▁hat"]], "scores": [-1.5, -2.0]', [-1.5, -2.0], "CTranslate2"),
    ('[["a", "cat"], []], "scores": [-1.5, -2.0]', [-1.5, -2.0], "an empty one"),
    ('[["a cat", "-1.5"], ["a hat", "-2.0"]]', [-1.5, -2.0], "numbers as text"),
    ('["a cat", "a hat"], "hypothesis": ["x", "y"]', [None, None], "texts of other systems"),
    (
        '[["a cat", null, [["a", [0, 1]]], -1.5, -3.5], ["a hat", null, [], -2.0, -4.5]]',
        [-1.5, -2.0],
        "pyctcdecode",
    ),
]


@pytest.mark.parametrize(("array", "scores", "why"), SHAPES, ids=[row[2] for row in SHAPES])
def test_hypotheses_of_other_shapes_are_written_back_in_them(write, array, scores, why):
    text = f'{{"id": "u", "hypotheses": {array}}}\n'
    file = read_nbest(write(text))
    (one,) = file.lists
    texts = ["a cat", "" if why == "an empty one" else "a hat"]
    assert [(h.text, h.score) for h in one.hypotheses] == [*zip(texts, scores, strict=True)]
    expected = re.sub('"(-[0-9.]+)"', r"\1", text)
    assert written(file.lists, "jsonl") == expected
    features = [{"lm_score": -3.5}, {"lm_score": -4.5}] if why == "pyctcdecode" else [{}, {}]
    assert [h.features for h in one.hypotheses] == features


def test_an_array_of_texts_is_no_hypothesis(write):
    with pytest.raises(InputError, match="expected a finite number as score, got 'a hat'"):
        read_nbest(write('{"id": "u", "hypotheses": [["a cat", "a hat"]]}'))


def choice(text, *logprobs):
    return {"message": {"role": "assistant", "content": text},
            "logprobs": {"content": [{"token": "x", "logprob": p} for p in logprobs]}}  # fmt: skip


RESPONSES = [
    ({"alternative": [{"transcript": "a", "confidence": 0.9}, {"transcript": "b"}], "final": True},
     [None, None], "file", "SpeechRecognition"),
    ({"result": [{"alternative": [{"transcript": "a"}, {"transcript": "b"}], "final": True}],
      "result_index": 0}, [None, None], "file", "SpeechRecognition, the answer"),
    ({"id": "chatcmpl-1", "choices": [choice("a", -0.5, -1.0), choice("b", -2.0)]},
     [-1.5, -2.0], "chatcmpl-1", "OpenAI"),
    ({"custom_id": "u1", "id": "1", "response": {"body": {"choices": [choice("a"), choice("b")]}}},
     [None, None], "u1", "OpenAI's batches"),
    ({"choices": [{"text": " a", "logprobs": {"token_logprobs": [-1, -0.5]}},
                  {"text": "b", "logprobs": {"token_logprobs": [-2]}}]},
     [-1.5, -2.0], "file", "completions"),
    ({"choices": [{"text": "a", "logprobs": {"token_logprobs": [None, -0.5]}}, {"text": "b"}]},
     [None, None], "file", "no score of the first token"),
    ({"request_id": "7", "outputs": [{"index": 0, "text": "a", "cumulative_logprob": -1.5},
                                     {"index": 1, "text": "b", "cumulative_logprob": -2.0}]},
     [-1.5, -2.0], "7", "vLLM"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "scores", "key", "why"), RESPONSES, ids=lambda x: str(x)[:20])
def test_responses(tmp_path, record, scores, key, why):
    (tmp_path / "file.json").write_text(json.dumps(record))
    file = read_nbest(tmp_path / "file.json")
    (one,) = file.lists
    assert (one.utterance_id, [(h.text, h.score) for h in one.hypotheses]) == (
        key, [*zip("ab", scores, strict=True)],
    ), why  # fmt: skip
    write_nbest(tmp_path / "same", file.lists, file.format)
    assert json.loads((tmp_path / "same").read_text()) == record
    hypotheses = (dataclasses.replace(h, score=-7.0 - i) for i, h in enumerate(one.hypotheses))
    new = dataclasses.replace(one, hypotheses=tuple(hypotheses))
    write_nbest(tmp_path / "new.json", [new], file.format)
    again = read_nbest(tmp_path / "new.json").lists[0]
    assert [(h.text, h.score) for h in again.hypotheses] == [("a", -7.0), ("b", -8.0)]


ONE_BEST = [
    "path,sentence\na.mp3,turn on the light\nb.mp3,close the door now\n",
    "audio,text\nm.wav,turn on the light\nm.wav,close that door now\nn.wav,a\n",
    '{"audio": "m.wav", "text": "turn on the light"}\n{"audio": "m.wav", "text": "a small dog"}\n',
]


@pytest.mark.parametrize("text", ONE_BEST)
def test_manifests_are_no_lists(write, text):
    with pytest.raises(InputError, match=r"one hypothesis|little in common"):
        read_nbest(write(text))


SEVERAL = [
    ("references", ["a cat", "the cat"], ("a cat", ("the cat",))),
    ("reference", ["a cat", "the cat", "a cat"], ("a cat", ("the cat",))),  # one of them twice
    ("ref", ["a cat"], ("a cat", ())),
    ("references", "a cat", ("a cat", ())),
    ("references", [], (None, ())),
    ("references", ["", "a cat", "the cat", " "], ("a cat", ("the cat",))),  # blank ones are none
    ("references", ["", ""], ("", ())),
    ("refs", ["a cat", "the cat"], ("a cat", ("the cat",))),
    ("groundTruths", ["a cat", "the cat"], ("a cat", ("the cat",))),
    ("gold_references", ["a cat", "the cat"], ("a cat", ("the cat",))),
    ("ref-transcripts", ["a cat"], ("a cat", ())),
    ("targets", [1, 2], (None, ())),  # no texts
    ("prefs", ["a cat", "the cat"], (None, ())),
    ("references", ["\u2581a \u2581c at", "\u2581the \u2581c at"], ("a cat", ("the cat",))),
]


@pytest.mark.parametrize(("name", "value", "expected"), SEVERAL)
def test_a_reference_may_be_several(write, name, value, expected):
    texts = [json.dumps({"id": "u", name: value, **one}) for one in LISTS if "beams" not in one]
    rows = [{"id": "u", "text": text, name: value} for text in ("a cat", "a hat")]
    for text in [*texts, "".join(json.dumps(row) + "\n" for row in rows)]:
        file = read_nbest(write(text))
        (one,) = file.lists
        assert (one.reference, one.more_references) == expected, text
        if expected[1]:
            again = written(file.lists, file.format).replace("\n", "")
            assert json.dumps(value, ensure_ascii=False) in again


def test_several_references_go_to_another_format_and_a_file_replaces_them(write, tmp_path):
    path = write('{"id": "u", "choices": [{"text": "a"}, {"text": "b"}], "references": ["a", "b"]}')
    again = written(read_nbest(path).lists, "jsonl")
    assert json.loads(again)["reference"] == ["a", "b"]
    (tmp_path / "ref").write_text("c\n")
    (one,) = read_nbest(path, reference_file=tmp_path / "ref").lists
    assert (one.reference, one.more_references) == ("c", ())
