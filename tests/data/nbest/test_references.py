"""Reference files: by id, by line number or in order, and references that do not match."""

import json

import pytest

from tta.data.nbest.references.files import read_references
from tta.errors import InputError

STM_LINE = "{0} 1 spk 0.0 1.5 <o,f0,male> {1}\n"
XML = '<?xml version="1.0"?><dataset><doc id="d"><src lang="de"><seg id="1">x</seg></src>{}</doc>'

LAYOUTS = [
    ("a cat (u1)\nthe dog (u2)\n", "trn"),
    ("a cat (spk1-u1)\nthe dog (spk2-u2)\n", "trn of ESPnet, with speakers"),
    ("the dog (u2)\na cat(u1)\n", "trn in another order"),
    (";; a comment\n" + STM_LINE.format("f", "a cat") + STM_LINE.format("f", "the dog"), "STM"),
    ("f 1 spk 0 1 a cat\nf 1 x 1 2 ignore_time_segment_in_scoring\nf 1 spk 2 3 the dog\n",
     "STM without labels, with a segment that is not scored"),
    ('<refset setid="s" srclang="any" trglang="en" refid="r">\n<doc docid="d" sysid="ref">\n'
     "<seg id=1> a cat </seg>\n<seg id=2>\nthe\n dog</seg>\n</doc></refset>\n", "SGML of NIST"),
    (XML.format('<ref translator="A"><seg id="1">a cat</seg><seg id="2">the dog</seg></ref>'),
     "XML of WMT, with the source"),
    ('<refset><doc><seg id="1">a cat</seg></doc><doc><seg id="1">the dog</seg></doc></refset>',
     "SGML of two documents"),
    ('{"audio_filepath": "/x/u2.wav", "text": "the dog"}\n{"audio_filepath": "u1.wav", "text": '
     '"a cat"}', "a manifest of NeMo, by the names of files"),
    ('{"id": "u2", "ref": "the dog", "text": "x"}\n{"id": "u1", "ref": "a cat"}', "JSON lines"),
    ('[{"text": "a cat", "duration": 1},\n{"text": "the dog", "duration": 2}]', "in order"),
    ('{"u2": "the dog", "u1": "a cat"}', "an object of texts"),
    ('{"u2": {"ref": "the dog"}, "u1": {"ref": "a cat"}}', "an object of objects"),
    ('["a cat", "the dog"]', "an array of texts"),
    ("id,text\nu2,the dog\nu1,a cat\n", "a table"),
    ("wav_filename,wav_filesize,transcript\n/x/u2.wav,9,the dog\n/x/u1.wav,8,a cat\n", "files"),
    ("reference\tutt_id\nthe dog\tu2\na cat\tu1\n", "a table with tabs"),
    ("u2\tthe dog\nu1\ta cat\n", "id and text with a tab"),
    ("u2,the dog\nu1,a cat\n", "id and text with a comma"),
    ("u2|the dog\nu1|a cat\n", "id and text with a bar"),
    ("text\na cat\nthe dog\n", "a column with a header"),
    ("\ufeffa cat\r\nthe dog\r\n", "plain"),
]  # fmt: skip


@pytest.mark.parametrize(("references", "why"), LAYOUTS, ids=[row[1] for row in LAYOUTS])
def test_layouts(write, references, why):
    assert read_references(write(references), ["u1", "u2"]) == ["a cat", "the dog"], why


RECOGS = "u1{0}:\tref=['a', 'cat']\nu1{0}:\thyp=['a']\nu2{0}:\tref=['it\\'s']\nu2{0}:\thyp=[]\n"
MANIFEST = '{"audio_filepath": "1.wav", "text": "a"}\n{"audio_filepath": "0.wav", "text": "b"}'
PATHS = "/x/b.wav the  cat\na.WAV\n"
TEXTS = [  # lines of a file, the ids of the lists, their references, why
    ("a cat\n\n", "a-b c", ["a cat", ""], "in the order of the lists"),
    ("c\na-b a cat\n", "a-b c", ["a cat", ""], "by id, in any order; an id alone has no words"),
    ("r0\nr\n", "1 0", ["r", "r0"], "numbers are those of lines"),
    ("r\ns\n", "1 2", ["r", "s"], "numbers from 1"),
    ("a, cat (x)\nthe, dog (x)", "u1 u2", ["a, cat (x)", "the, dog (x)"], "commas and brackets"),
    ("{on} and/or {off}\n(x) it", "u1 u2", ["{on} and/or {off}", "(x) it"], "no alternatives"),
    (MANIFEST, "0 1", ["a", "b"], "names of files are no indices"),
    (MANIFEST, "vosk-0 vosk-1", ["a", "b"], "nor the numbers in ids"),
    ('{"id": "1", "text": "a"}\n{"id": "0", "text": "b"}', "0 1", ["b", "a"], "ids may be indices"),
    ("u2 1 s 0.0 1.5 <o,f0> the dog\nu1 1 s 0 1 <o> a cat\n", "u1 u2", ["a cat", "the dog"], "STM"),
    ("r 1 s 0.0 1.5 <o,f0> a cat\nr 1 s 1 2 <o> the dog\n", "u1 u2", ["a cat", "the dog"], "STM"),
    ("a cat,u1\nthe dog,u2\n", "u1 u2", ["a cat", "the dog"], "the id in the last column"),
    ("the dog\tu2\na cat\tu1\n", "u1 u2", ["a cat", "the dog"], "the id after a tab"),
    ('text\n"a cat"\nthe dog\n', "u1 u2", ["a cat", "the dog"], "one column of csv"),
    ('"text"\n"a cat"\n"the dog"\n', "u1 u2", ["a cat", "the dog"], "all in quotes"),
    ('text\n"a cat, please"\nthe dog\n', "u1 u2", ["a cat, please", "the dog"], "a comma"),
    ('text\na, b\nsay "c, d"\n', "u1 u2", ["a, b", 'say "c, d"'], "quotes inside a text"),
    (PATHS, "a b", ["", "the  cat"], "names of audio files before the words"),
    (PATHS, "0 1", ["the  cat", ""], "ids that are indices: in order"),
    ("b.flac\tx\na.flac\ty z\n", "a b", ["y z", "x"], "names of audio files before a tab"),
    (RECOGS.format(""), "u1 u2", ["a cat", "it's"], "recogs of icefall, by the id of the cut"),
    (RECOGS.format("-0"), "u1 u2", ["a cat", "it's"], "the id of the utterance and a number"),
    (RECOGS.format("").replace("\t", " "), "u1 u2", ["a cat", "it's"], "a blank for the tab"),
    ("ref=['a', 'cat']\nhyp=['a']\nref=[\"it's\"]\nhyp=[]\n", "u1 u2", ["a cat", "it's"],
     "older files have no ids"),
    ('{"audio": {"path": "x/cv_2.wav"}, "text": "b"}\n'
     '{"audio": {"path": "x/cv_1.wav"}, "text": "a"}', "cv_1 cv_2", ["a", "b"], "a nested path"),
    ('{"name": "cv_2", "text": "b"}\n{"name": "cv_1", "text": "a"}', "cv_1 cv_2", ["a", "b"],
     "any field whose values are the ids"),
    ('{"name": "x", "n": 1, "text": "a"}\n{"name": "y", "n": 0, "text": "b"}', "cv_1 cv_2",
     ["a", "b"], "fields that are no ids leave the order"),
    ('{"name": "x", "n": 1, "text": "a"}\n{"name": "y", "n": 0, "text": "b"}', "0 1",
     ["a", "b"], "indices may be anything"),
    ('{"id": "1", "audio": "x/u2.wav", "ref": "b"}\n{"id": "2", "audio": "u1.wav", "ref": "a"}',
     "u1 u2", ["a", "b"], "an id and a path"),
    ('[{"session_id": "u2", "words": "b"}, {"session_id": "u1", "words": "a"}]', "u1 u2",
     ["a", "b"], "the id that all lists have"),
    ("id,sentence_id,text\n1,u2,b\n2,u1,a\n", "u1 u2", ["a", "b"], "the second id of a table"),
    ("<s> b </s> (cv_2)\n<s> a </s> (cv_1)\n", "cv_1 cv_2", ["<s> a </s>", "<s> b </s>"],
     "marks of sentences are no SGML"),
    ("<unk> on the light\n<sil> close it\n", "u1 u2", ["<unk> on the light", "<sil> close it"],
     "nor are marks of recognisers"),
]  # fmt: skip


@pytest.mark.parametrize(("references", "ids", "expected", "why"), TEXTS)
def test_references(write, references, ids, expected, why):
    assert read_references(write(references), ids.split()) == expected, why


BAD = [  # lines of a file, the error after the name, why; for the lists u1 and u2
    ("u1 x\n", ": list 'u2' has no reference", "an id is missing"),
    ("u1 x\nu2 y\nu3 z\n", ":3: 'u3' has a reference but no list", "one too many"),
    ("u1 x\nu2 y\nu1 z\n", ":3: duplicate id 'u1', first on line 1", "an id twice"),
    ("v1 x\nv2 y\n", ": list 'u1' has no reference", "ids of another set"),
    ("the cat\n", ": expected one reference per list, got 1 for 2", "too few"),
    ("a\nb\nc\n", ": expected one reference per list, got 3 for 2", "too many"),
    ("", ": the file is empty", "empty"),
    ("a cat (v1)\nthe dog (v2)\n", ": list 'u1' has no reference", "trn of another set"),
    ('{"id": "u1", "text": "a"}\n{"id": "u1", "text": "b"}', ":2: duplicate id 'u1'", "JSON"),
    ('{"duration": 1}', ":1: expected an object with a reference", "no text"),
    ('{"text": 1}', ":1: expected an object with a reference", "no text"),
    ('{"text": "a"}\n{"text": ', ":2: malformed JSON", "cut short"),
    ('{"id": "u1", "text": "a"}\n{"text": "b"}', ":2: expected an id as in other", "one id"),
    ("<refset refid='a'></refset>", ": expected one reference per list, got 0", "empty"),
    ('<refset refid="a"><seg>a</seg></refset><refset refid="b"><seg>a</seg></refset>',
     ": .*2 reference sets: .*; expected one", "several references"),
    ("<corpus>\n<line>a</line>\n</corpus>\n", ": .*XML or SGML without", "other tags"),
    ("<tstset><seg>a</seg></tstset>", ": .*XML or SGML without <refset> or <ref>", "a system"),
    (XML.format('<ref><seg id="2">a</seg><seg id="1">b</seg></ref>'), ": segment 1 after", "order"),
    ("f 1 0.0 0.5 the\nf 1 0.5 0.2 dog 0.9\n", ": this is a CTM, with one word per line", "CTM"),
    ("1\n00:00:01,000 --> 00:00:02,000\na cat\n", ": these are subtitles", "SRT"),
    ("u1|A.|a\nu2|B.|b\n", r": a table of 3 columns, separated by \|", "LJ Speech has two texts"),
    ("u1\t0.5\ta\nu2\t1.5\tb\n", ": a table of 3 columns, separated by tabs", "no header"),
    ("a cat\t-1\nthe dog\t-2\n", ": a table of 2 columns, separated by tabs", "scores"),
    ("u1,0.9,turn on\nu2,0.8,close it\n", ": a table of 3 columns", "scores between"),
    ("turn { on / off / @ } (u1)\nx (u2)\n", ":1: several readings in '{ on / off / @ }'", "trn"),
    ("turn (%uh) on (u1)\nclose it (u2)\n", r":1: several readings in '\(%uh\)'", "optional"),
    ("turn on (u1)\nclose (um) it (u2)\n", r":2: several readings in '\(um\)'", "optional"),
    ("a 1 s 0 1 turn on\nb 1 s 0 1 { it / that }\n", ":2: several readings", "STM"),
    ("turn on (u1)\nclose it (u1)\n", ":2: duplicate id 'u1', first on line 1", "trn"),
    ("x (spk-u1)\ny (spk-u2)\nz\n", r":3: expected `words \(id\)` as in other lines", "trn"),
    ("u1,turn on, please\nu2,close it\n", ": the lines begin with ids of lists", "commas"),
    ("u1;turn on\nu2;close it\n", ": the lines begin with ids of lists", "another sign"),
    ('#!MLF!#\n"*/u1.lab"\nturn\non\n.\n', ": this is an MLF of HTK", "HTK"),
    ('File type = "ooTextFile"\nx\n', ": this is a TextGrid", "Praat"),
    ("u1:\tref=['a'\nu1:\thyp=[]\n", r":1: expected a list of words, got \"\['a'\"", "recogs"),
]  # fmt: skip


@pytest.mark.parametrize(("references", "message", "why"), BAD)
def test_what_is_no_reference_is_refused_by_name(write, references, message, why):
    with pytest.raises(InputError, match=f"input0{message}"):
        read_references(write(references), ["u1", "u2"])


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"u1.txt": "a cat\n", "u2.txt": "\n"}, "the id is the stem; an empty reference"),
        ({"u1.txt": "a\ncat\n", "u2.txt": "", "u1.wav": "\x00"}, "lines are joined; audio beside"),
        ({"u1.lab": "a cat", "u2.lab": "", ".hidden": "x"}, "another ending, and a hidden file"),
    ],
)
def test_a_folder_of_references(tmp_path, files, why):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert read_references(tmp_path, ["u1", "u2"]) == ["a cat", ""], why


def test_a_folder_with_another_reference_is_refused(tmp_path):
    for name in ("u1", "u3"):
        (tmp_path / f"{name}.txt").write_text("x\n")
    with pytest.raises(
        InputError, match="'u3' has a reference but no list; partial_references=True"
    ):
        read_references(tmp_path, ["u1"])


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ("u2 a cat\nu9 x\n", "Kaldi's; u9 has no list"),
        ("u2\ta cat\nu9\tx\n", "two columns"),
        ("a cat (u2)\n", "trn"),
        ("id,reference\nu2,a cat\n", "a table with a header"),
        ('{"id": "u2", "text": "a cat"}\n', "JSON lines"),
        ('{"audio_filepath": "x/u2.wav", "text": "a cat"}\n', "the stem of a file"),
        ('{"u2": "a cat"}', "one object"),
        ("u2 1 spk 0.0 1.5 a cat\n", "STM"),
        ("u2-0:\tref=['a', 'cat']\nu2-0:\thyp=[]\n", "recogs"),
    ],
)
def test_references_of_some_lists(write, references, why):
    ids = ["u1", "u2", "u3", "u4", "u5"]
    expected = [None, "a cat", None, None, None]
    assert read_references(write(references), ids, partial=True) == expected, why
    with pytest.raises(InputError):
        read_references(write(references), ids)


def test_references_of_no_list_are_refused(write):
    with pytest.raises(InputError, match="no list has a reference; the first list is 'u1'"):
        read_references(write("v1 a\nv2 b\nv3 c\nv4 d\nv5 e\n"), ["u1", "u2"], partial=True)


# Ids with what separates cells, words or tags elsewhere.
SIGNS = ["call:1", "a|1", "it's", "a(1", "a;1", "a,1", "stra\u00dfe", '"a"', "{a}", "a b", "a\\b"]
ENCODED = [
    (lambda key, text: f"{key} {text}\n", "Kaldi's"),
    (lambda key, text: f"{key}\t{text}\n", "two columns"),
    (lambda key, text: '"{}",{}\n'.format(key.replace('"', '""'), text), "csv, in quotes"),
    (lambda key, text: f"{text} ({key})\n", "trn"),
    (lambda key, text: json.dumps({"id": key, "text": text}) + "\n", "JSON lines, in ASCII"),
    (lambda key, text: json.dumps({"utt": {"name": key}, "text": text}) + "\n", "any field"),
]
CANNOT_HOLD = {"trn": ("a(1", "a b"), "Kaldi's": ("a b",)}


@pytest.mark.parametrize(("line", "why"), ENCODED)
def test_ids_of_some_lists_may_have_any_sign(write, line, why):
    expected = [None, None, "a cat", "the dog", None, None, None]
    for key in sorted({*SIGNS} - {*CANNOT_HOLD.get(why, ())}):
        text = line(key, "a cat") + line("p:3", "the dog") + line("other", "no list has it")
        lists = ["p1", "p2", key, "p:3", "p5", "p6", "p7"]
        assert read_references(write(text), lists, partial=True) == expected, key
