"""Lists whose texts a tokenizer spelled: read as words, and written back as they were."""

import dataclasses
import json

import pytest

from tests.data.nbest.test_files import nbest
from tta.data.nbest.files import read_nbest, write_nbest

FILES = [
    ("moses", "0 ||| it &apos;s &quot; x ||| lm= -9 ||| -4.0\n0 ||| it |0-1| ||| lm= 9 ||| -5.0\n"),
    ("kaldi", "u-1 ▁op en ▁it\nu-2 ▁op en\n"),
    ("plain", "<s> open it </s>\n<s> open </s>\n"),
    ("fairseq", "S-0\ta\nT-0\tit &apos;s\nH-0\t-0.5\tit &apos;s\nH-0\t-0.75\ti@@ t\n"),
    ("tsv", "u\topen the win@@ dow\t-1.5\nu\topen it\t-2.5\n"),
    ("csv", "id,text,reference\nu,it &apos;s,it &apos;s\nu,it is,it &apos;s\n"),
    ("srilm", "-1.5 -2.5 2 <s> the cat </s>\n-2.5 -3.5 2 <s> the hat </s>\n"),
    (
        "jsonl",
        '{"id": "u", "hypotheses": [{"text": "<|en|> it"}, {"text": "<|en|> its"}], '
        '"reference": "it &apos;s"}\n',
    ),
    ("responses", '{"alternatives": [{"transcript": "<s> it"}, {"transcript": "it"}]}\n'),
    ("nemo", '{"beams": [["▁it", -1.5], ["▁its", -2.5]], "pred_text": "▁it"}\n'),
    ("sockeye", '{"translation": "i@@ t", "translations": ["i@@ t"], "scores": [[1]]}\n'),
]  # fmt: skip


@pytest.mark.parametrize(("format", "text"), FILES)
def test_files_are_written_in_their_own_spelling(format, text, tmp_path):
    path, out = tmp_path / "lists", tmp_path / "out" / "lists"
    out.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    beam_size = 2 if format == "plain" else None
    file = read_nbest(path, format, beam_size=beam_size)
    assert file.notes
    assert not any(c in h.text for one in file.lists for h in one.hypotheses for c in "&@▁<|")
    write_nbest(out, file.lists, format)
    again = read_nbest(out, format, beam_size=beam_size)
    assert again.lists == file.lists
    if format not in ("sockeye", "srilm"):  # which write other numbers
        assert out.read_text(encoding="utf-8") == text
    if format == "fairseq":  # whose texts do not change
        return
    changed = [dataclasses.replace(h, text="new") for h in file.lists[0].hypotheses]
    write_nbest(out, [dataclasses.replace(file.lists[0], hypotheses=tuple(changed))], format, True)
    (one,) = read_nbest(out, format, beam_size=beam_size).lists
    assert [h.text for h in one.hypotheses] == ["new"] * len(changed)


def test_references_are_read_as_words_too(tmp_path):
    (tmp_path / "lists").write_text("u-1 it 's\nu-2 it is\n")
    (tmp_path / "refs").write_text("u it &apos;s\n")
    file = read_nbest(tmp_path / "lists", reference_file=tmp_path / "refs")
    assert file.lists == [nbest("u", ("it 's", None), ("it is", None), reference="it 's")]
    assert file.notes[0].startswith("references: escaped characters (&apos;) in 1 of 1 texts")


TAGGED = [{"text": "turn [noise] on", "score": -1.5}, {"text": "turn of", "score": -2.5}]


def test_lists_and_references_without_words_that_are_none_are_written_back_with_them(tmp_path):
    row = {"id": "u", "hypotheses": TAGGED, "reference": "<sil> turn on"}
    path, again = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    file = read_nbest(path)
    assert [h.text for h in file.lists[0].hypotheses] == ["turn on", "turn of"]
    assert file.lists[0].reference == "turn on"
    assert "1 [noise]" in file.notes[0]
    assert "1 <sil>" in file.notes[1]
    write_nbest(again, file.lists, "jsonl")
    assert json.loads(again.read_text(encoding="utf-8")) == row
    (one,) = read_nbest(path, keep_non_words=True).lists
    assert one.hypotheses[0].text == "turn [noise] on"
    assert one.reference == "<sil> turn on"


def test_in_translations_tags_are_words_unless_the_caller_says_otherwise(tmp_path):
    path = tmp_path / "a.nbest"
    path.write_text("0 ||| [music] on ||| lm= 1 ||| -1\n0 ||| on ||| lm= 1 ||| -2\n")
    assert read_nbest(path).lists[0].hypotheses[0].text == "[music] on"
    assert not read_nbest(path).notes
    assert read_nbest(path, keep_non_words=False).lists[0].hypotheses[0].text == "on"
