"""Responses of services and results of decoders in JSON: what is read, and what is written back."""

import dataclasses
import json
from functools import partial

import pytest

from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.formats import FORMATS
from tta.data.nbest.formats.documents.json_format import JsonFormat
from tta.data.nbest.formats.documents.layouts import Layout
from tta.data.nbest.formats.documents.table import Tool
from tta.data.nbest.formats.documents.times import channel_of
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError


def google(*texts, **more):
    return {"alternatives": [{"transcript": text} for text in texts], **more}


# what it is, the records, {id: texts}
RECORDS = [
    ("Google: results are segments", [{"results": [google("a", "b"), google("c")]}],
     {"file-0": ["a", "b"], "file-1": ["c"]}),
    ("Google: a record each",
     [{"id": "x", "results": [google("a")]}, {"id": "y", "results": [google("b")]}],
     {"x": ["a"], "y": ["b"]}),
    ("Google: a long operation",
     [{"name": "1", "done": True, "response": {"results": [google("a", resultEndTime="1s")]}}],
     {"file": ["a"]}),
    ("Google: streamed",
     [{"results": [google("x", isFinal=False)]}, {"results": [google("a", isFinal=True)]}],
     {"file": ["a"]}),
    ("Google: streamed, names of protobuf",
     [{"results": [google("x", is_final=False), google("a", is_final=True)]}], {"file": ["a"]}),
    ("Google: a batch of version 2",
     [{"results": {"gs://b/u1.wav": {"transcript": {"results": [google("a")]}},
                   "gs://b/u2.wav": {"inlineResult": {"transcript": {"results": [google("b")]}}}}}],
     {"u1": ["a"], "u2": ["b"]}),
    ("Google: silence",
     [{"id": "x", "results": [google("a")]}, {"id": "y", "totalBilledTime": "1s"}],
     {"x": ["a"], "y": []}),
    ("Google: an empty text is left out",
     [{"id": "x", "results": [{"alternatives": [{}]}]}, {"results": [google("a")]}],
     {"x": [""], "file": ["a"]}),
    ("Amazon: words are no lists",
     [{"jobName": "j",
       "results": {"transcripts": [{"transcript": "a c"}],
                   "segments": [{"start_time": "0.1", **google("a ", "b ")}, google("c ")],
                   "items": [{"alternatives": [{"confidence": "0.9", "content": "a"}]}]}}],
     {"j-0": ["a", "b"], "j-1": ["c"]}),
    ("Amazon: streamed",
     [{"Transcript": {"Results": [{"IsPartial": True, "Alternatives": [{"Transcript": "x"}]}]}},
      {"Transcript": {"Results": [{"IsPartial": False, "Alternatives": [{"Transcript": "a"}]}]}}],
     {"file": ["a"]}),
    ("Azure: a phrase",
     [{"RecognitionStatus": "Success", "DisplayText": "A.",
       "NBest": [{"Confidence": 0.9, "Lexical": "a", "ITN": "a", "MaskedITN": "a", "Display": "A."},
                 {"Confidence": 0.5, "Lexical": "b", "ITN": "b", "MaskedITN": "b",
                  "Display": "B."}]}], {"file": ["A.", "B."]}),
    ("Azure: without display texts", [{"Id": "i", "NBest": [{"Lexical": "a", "Confidence": 0.9}]}],
     {"i": ["a"]}),
    ("Azure: a batch",
     [{"source": "https://x/u1.wav",
       "combinedRecognizedPhrases": [{"channel": 0, "lexical": "a b"}],
       "recognizedPhrases": [{"channel": 0, "nBest": [{"lexical": "a", "confidence": 0.9}]},
                             {"channel": 0, "nBest": [{"lexical": "b", "confidence": 0.8}]}]}],
     {"u1-0": ["a"], "u1-1": ["b"]}),
    ("Deepgram",
     [{"metadata": {"request_id": "r"},
       "results": {"channels": [{"alternatives": [{"transcript": "a", "confidence": 0.9,
                                                   "words": [{"word": "a", "confidence": 0.8}]}]},
                                {"alternatives": [{"transcript": "", "confidence": 0.0,
                                                   "words": []}]}]}}],
     {"file-0": ["a"], "file-1": [""]}),
    ("Deepgram, streamed",
     [{"is_final": False, "channel": google("x")}, {"is_final": True, "channel": google("a")}],
     {"file": ["a"]}),
    ("IBM Watson: alternatives of words",
     [{"result_index": 0,
       "results": [{"final": True, **google("a", "b"),
                    "word_alternatives": [{"alternatives": [{"confidence": 1, "word": "a"}]}]}]}],
     {"file": ["a", "b"]}),
    ("Vosk",
     [{"partial": ""},
      {"alternatives": [{"confidence": 297.0, "text": "a"}, {"confidence": 296.0, "text": "b"}]},
      {"alternatives": [{"confidence": 1.0, "text": ""}]}], {"file-0": ["a", "b"], "file-1": [""]}),
    ("gst-kaldi",
     [{"status": 0, "segment": 0, "id": "s",
       "result": {"final": False, "hypotheses": [{"transcript": "x"}]}},
      {"status": 0, "segment": 0, "id": "s",
       "result": {"final": True,
                  "hypotheses": [{"transcript": "a", "likelihood": -3.0, "confidence": 0.9},
                                 {"transcript": "b", "likelihood": -4.0}]}},
      {"status": 0, "segment": 1, "id": "s",
       "result": {"final": True, "hypotheses": [{"transcript": "c", "likelihood": 1.0}]}}],
     {"s-0": ["a", "b"], "s-1": ["c"]}),
    ("kaldi-gstreamer-server by HTTP",
     [{"status": 0, "id": "s", "hypotheses": [{"utterance": "a"}]}], {"s": ["a"]}),
    ("NeMo",
     [{"audio_filepath": "/x/u1.wav", "text": "r", "pred_text_m": "a",
       "beams": [["a", -1.0], ["b", -2.0]]}], {"u1": ["a", "b"]}),
    ("NeMo: segments of one file",
     [{"audio_filepath": "u.wav", "offset": i, "beams": [["a", -1.0]]} for i in (0, 1)],
     {"u-0": ["a"], "u-1": ["a"]}),
    ("Sockeye",
     [{"sentence_id": 1, "translation": "a", "score": 1.0, "translations": ["a", "b"],
       "scores": [[1.0], [2.0]]}], {"1": ["a", "b"]}),
    ("NeMo: a path of Windows has a stem",
     [{"audio_filepath": "C:\\x\\u.1.wav", "beams": [["a", -1.0]]}], {"u.1": ["a"]}),
    ("Sockeye's nbest", [{"translations": ["a", "b"], "scores": [1.0, 2.0]}], {"file": ["a", "b"]}),
]  # fmt: skip


def write(folder, records, style="lines"):
    path = folder / "file.json"
    if style == "array":
        path.write_text(json.dumps(records))
    else:
        indent = {"lines": None, "indented": 2}[style]
        path.write_text("".join(json.dumps(one, indent=indent) + "\n" for one in records))
    return path


@pytest.mark.parametrize("style", ["lines", "array", "indented"])
@pytest.mark.parametrize(("what", "records", "lists"), RECORDS, ids=[row[0] for row in RECORDS])
def test_reads_and_writes_back(tmp_path, what, records, lists, style):
    file = read_nbest(write(tmp_path, records, style))
    found = {one.utterance_id: [h.text for h in one.hypotheses] for one in file.lists}
    assert found == lists
    assert read_nbest(tmp_path / "file.json", file.format) == file
    (tmp_path / "out").mkdir()
    write_nbest(tmp_path / "out" / "file.json", file.lists, file.format)
    again = read_nbest(tmp_path / "out" / "file.json")
    assert again == file, "nothing changes"


def reranked(path):
    """A file whose lists are reversed, with new scores, written and read as JSON."""
    file = read_nbest(path)
    lists = [
        dataclasses.replace(
            one,
            hypotheses=tuple(
                dataclasses.replace(h, score=-float(i))
                for i, h in enumerate(reversed(one.hypotheses), 1)
            ),
        )
        for one in file.lists
    ]
    out = path.with_suffix(".out")
    write_nbest(out, lists, file.format, overwrite=True)
    assert [one.hypotheses for one in read_nbest(out, file.format).lists] == [
        one.hypotheses for one in lists
    ]
    return [json.loads(line) for line in out.read_text().splitlines()]


def record(what):
    return next(records for name, records, _ in RECORDS if name == what)


def test_the_best_text_of_a_record_follows(tmp_path):
    (phrase,) = reranked(write(tmp_path, record("Azure: a phrase")))
    assert phrase["DisplayText"] == "B."
    assert [h["Lexical"] for h in phrase["NBest"]] == ["b", "a"]
    (nemo,) = reranked(write(tmp_path, record("NeMo")))
    assert (nemo["pred_text_m"], nemo["text"]) == ("b", "r")
    nemo |= {"pred_text": "b", "pred_text_other": "z"}
    (nemo,) = reranked(write(tmp_path, [nemo]))
    assert (nemo["pred_text"], nemo["pred_text_m"], nemo["pred_text_other"]) == ("a", "a", "z")
    (sockeye,) = reranked(write(tmp_path, record("Sockeye")))
    assert sockeye == {
        "sentence_id": 1, "translation": "b", "score": 1.0,
        "translations": ["b", "a"], "scores": [[1.0], [2.0]],
    }  # fmt: skip
    (amazon,) = reranked(write(tmp_path, record("Amazon: words are no lists")))
    assert amazon["results"]["transcripts"] == [{"transcript": "b c"}]
    assert amazon["results"]["segments"][0]["start_time"] == "0.1"
    batch = record("Azure: a batch")
    batch[0]["recognizedPhrases"][0]["nBest"].append({"lexical": "z", "confidence": 0.1})
    (azure,) = reranked(write(tmp_path, batch))
    assert azure["combinedRecognizedPhrases"] == [{"channel": 0, "lexical": "z b"}]


@pytest.mark.parametrize("whole", [-1, "a", {"a": 1}, [-1], [None], [{"channel": []}]])
def test_texts_of_the_whole_audio_that_are_none_stay(tmp_path, whole):
    batch = record("Azure: a batch")
    batch[0]["combinedRecognizedPhrases"] = whole
    batch[0]["recognizedPhrases"][0]["nBest"].append({"lexical": "z", "confidence": 0.1, "itn": 5})
    (azure,) = reranked(write(tmp_path, batch))
    assert azure["combinedRecognizedPhrases"] == whole


def test_alternatives_inside_hypotheses_are_no_lists(tmp_path):
    inner = {"text": "a", "score": -1.0, "words": [{"alternatives": [{"text": "x"}]}]}
    file = read_nbest(write(tmp_path, [{"id": "u", "hypotheses": [inner]}]))
    assert (file.format, file.lists[0].hypotheses) == ("jsonl", (Hypothesis("a", -1.0),))


def test_results_of_sherpa_onnx_repeat_their_first_hypothesis(tmp_path):
    row = {"text": "a", "tokens": ["a"], "hypotheses": [
        {"text": "a", "tokens": ["a"], "score": -1.0}, {"text": "b", "tokens": ["b"], "score": -2.0}
    ]}  # fmt: skip
    (written,) = reranked(write(tmp_path, [row]))
    assert (written["text"], written["tokens"]) == ("b", ["b"])


def test_other_segments_of_a_record_are_kept_and_missing_lists_removed(tmp_path):
    results = [google("a"), google("x", isFinal=False), google("b")]
    file = read_nbest(write(tmp_path, [{"results": results, "requestId": "1"}]))
    write_nbest(tmp_path / "out", file.lists[1:], "responses")
    assert json.loads((tmp_path / "out").read_text()) == {"results": results[1:], "requestId": "1"}


def vosk(*alternatives):
    return {"alternatives": [{"text": text, "confidence": c} for text, c in alternatives]}


def of_google(*alternatives):
    texts = [{"transcript": text, "confidence": c} for text, c in alternatives]
    return {"results": [{"alternatives": texts}]}


@pytest.mark.parametrize(
    ("record", "scores", "features", "why"),
    [
        (vosk(("a", 0.9), ("b", 0.1)), [None, None], [0.9, 0.1], "shares"),
        (vosk(("a", 297.0), ("b", 0.1)), [297.0, 0.1], [None, None], "no shares"),
        (of_google(("a", 0.9), ("b", 0.0)), [None, None], [0.9, None], "a 0 after it is not set"),
    ],
)
def test_confidences_are_features_and_scores_only_if_they_are_no_shares(
    tmp_path, record, scores, features, why
):
    (one,) = read_nbest(write(tmp_path, [record])).lists
    assert [h.score for h in one.hypotheses] == scores, why
    assert [h.features.get("confidence") for h in one.hypotheses] == features, why


def test_a_folder_of_responses(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "u2.json").write_text(json.dumps({"results": [google("a", "b")]}, indent=1))
    (folder / "u1.json").write_text("{}")  # silence
    (folder / "u3.json").write_text(json.dumps({"results": [google("c"), google("d")]}))
    (folder / "u2.wav").write_bytes(b"RIFF")
    file = read_nbest(folder)
    found = {one.utterance_id: [h.text for h in one.hypotheses] for one in file.lists}
    assert found == {"u1": [], "u2": ["a", "b"], "u3-0": ["c"], "u3-1": ["d"]}
    assert (file.format, file.names) == ("responses", ("u1.json", "u2.json", "u3.json"))
    write_nbest(tmp_path / "out", file.lists, file.format)
    assert read_nbest(tmp_path / "out") == file
    assert (tmp_path / "out/u2.json").read_text() == (folder / "u2.json").read_text() + "\n"
    write_nbest(tmp_path / "out", file.lists, file.format, overwrite=True)
    (tmp_path / "out/mine").touch()
    with pytest.raises(InputError, match="has mine, which is not of N-best lists"):
        write_nbest(tmp_path / "out", file.lists, file.format, overwrite=True)


@pytest.mark.parametrize(
    ("records", "message", "why"),
    [
        ([{"results": [google("a")]}, {"x": 1}], ":2: no array .* in {'x': 1}", "no list"),
        ([google("a"), {"beams": [["b", 1]]}], "could be nemo or responses: name", "two tools"),
        ([{"translations": ["a", "b"], "scores": [[1.0]]}],
         'expected one number in "scores" per hypothesis, got 1 for 2', "a score is missing"),
        ([{"beams": [["a", "high"]]}], "expected a finite number as score, got 'high'", "a word"),
        ([{"results": {"transcripts": [{"transcript": "a"}]}}], "ask the service for alt",
         "no lists"),
    ],
)  # fmt: skip
def test_bad_records(tmp_path, records, message, why):
    with pytest.raises(InputError, match=message):
        read_nbest(write(tmp_path, records))


@pytest.mark.parametrize(
    "values",
    [9, {"a": 1}, "-1", True, [10**400, -1], [1e308, 1e308, -1], [float("inf"), float("-inf")]],
    ids=lambda value: str(value)[:20],
)
def test_log_probabilities_of_tokens_without_a_sum_are_one_error(tmp_path, values):
    choices = [("a", [-1, -2]), ("b", values)]
    found = [{"text": text, "logprobs": {"token_logprobs": v}} for text, v in choices]
    (tmp_path / "u.json").write_text(json.dumps({"choices": found}))
    with pytest.raises(InputError, match="expected a finite number as score, got"):
        read_nbest(tmp_path / "u.json")


@pytest.mark.parametrize("depth", [25, 900])
@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("format", ["responses", "jsonl", "hyporadise"])
def test_what_is_nested_deeply_is_written_back(tmp_path, depth, indent, format):
    lists = {
        "responses": {"alternatives": [{"transcript": "a"}, {"transcript": "b"}]},
        "jsonl": {"hypotheses": [{"text": "a"}, {"text": "b"}]},
        "hyporadise": {"input": ["a", "b"]},
    }[format]
    deep = "[" * depth + "]" * depth
    text = json.dumps({"id": "u", "note": 0, **lists}, indent=indent if format != "jsonl" else None)
    (tmp_path / "u.json").write_text(text.replace("0", deep, 1))
    file = read_nbest(tmp_path / "u.json", format)
    write_nbest(tmp_path / "v.json", file.lists, format)
    assert deep in "".join((tmp_path / "v.json").read_text().split())


def test_writing_changes_no_record_that_was_read(tmp_path):
    record = {
        "results": {
            "transcripts": [{"transcript": "a"}],
            "segments": [{"alternatives": [{"transcript": "a"}, {"transcript": "b"}]}],
        }
    }
    (tmp_path / "u.json").write_text(json.dumps(record))
    (one,) = read_nbest(tmp_path / "u.json").lists
    turned = dataclasses.replace(one, hypotheses=one.hypotheses[::-1])
    write_nbest(tmp_path / "v.json", [turned], "responses")
    assert json.loads((tmp_path / "v.json").read_text()) != record
    write_nbest(tmp_path / "w.json", [one], "responses")
    assert json.loads((tmp_path / "w.json").read_text()) == record


def test_a_row_of_the_table_is_a_format(tmp_path, monkeypatch):
    layout = Layout("guesses", ("said",), ("cost",), best="top", sign=-1)
    tool = Tool((layout,), {"id": None, "top": None, "guesses": [{"said": ""}]}, anywhere=True)
    monkeypatch.setitem(FORMATS, "mine", partial(JsonFormat, tool=tool))
    guesses = [{"cost": 1.5, "said": "a", "n": [1]}, {"cost": 2.5, "said": "b"}]
    row = {"id": "u", "top": "a", "parts": [{"guesses": guesses, "ref": "r"}], "other": {"x": None}}
    path = write(tmp_path, [row])
    (one,) = read_nbest(path, "mine").lists
    assert one == NBestList("u", (Hypothesis("a", -1.5), Hypothesis("b", -2.5)), "r")
    turned = dataclasses.replace(one, hypotheses=one.hypotheses[::-1])
    write_nbest(tmp_path / "out", [turned, dataclasses.replace(turned, extra=None)], "mine")
    old, new = map(json.loads, (tmp_path / "out").read_text().splitlines())
    assert old == row | {"parts": [{"guesses": guesses[::-1], "ref": "r"}]}
    assert new["guesses"] == guesses[::-1]
    assert (new["id"], new["top"], new["reference"]) == ("u", "b", "r")


@pytest.mark.parametrize("inner", [True, False])
def test_a_new_reference_replaces_the_old_one(tmp_path, inner):
    row = {"id": "u", "results": [google("a", "b")]}
    (row["results"][0] if inner else row)["ref"] = "old"
    (one,) = read_nbest(write(tmp_path, [row])).lists
    write_nbest(tmp_path / "out", [dataclasses.replace(one, reference="new")], "responses")
    assert json.loads((tmp_path / "out").read_text()) == json.loads(
        json.dumps(row).replace("old", "new")
    )


@pytest.mark.parametrize(
    ("path", "channel"),
    [(("alternatives",), "1"), (("channels", 0, "x"), "1"), (("channels", 1, "x"), "2")],
)
def test_channels_are_counted_from_1(path, channel):
    record = {"channels": [{"x": []}, {"x": []}], "alternatives": []}
    assert channel_of(record, path) == channel
