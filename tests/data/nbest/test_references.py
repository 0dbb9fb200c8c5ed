"""Reference files: by id, by line number or in order, and references that do not match."""

import json

import pytest

from tta.data.nbest.references.files import read_references
from tta.errors import InputError


@pytest.fixture
def write(tmp_path):
    def write(text):
        (tmp_path / "refs").write_text(text, encoding="utf-8")
        return tmp_path / "refs"

    return write


@pytest.mark.parametrize(
    ("references", "why"),
    [
        ("a cat\n\n", "in the order of the lists"),
        ("c\na-b a cat\n", "by id, in any order; an id alone is an empty reference"),
    ],
)
def test_references(write, references, why):
    assert read_references(write(references), ["a-b", "c"]) == ["a cat", ""], why


def test_numeric_ids_are_line_numbers(write):
    assert read_references(write("r0\nr\n"), ["1", "0"]) == ["r", "r0"]


def test_ids_from_one_do_not_shift_the_references(write):
    assert read_references(write("r\ns\n"), ["1", "2"]) == ["r", "s"]


@pytest.mark.parametrize(
    ("references", "message", "why"),
    [
        ("u1 x\nu2 y\n", "refs: list 'u3' has no reference", "an id is missing, by id"),
        ("u1 x\nu2 y\nu3 z\nu4 w\n", "refs:4: 'u4' has a reference but no list", "one too many"),
        ("u1 x\nu2 y\nu1 z\n", "refs:3: duplicate id 'u1', first on line 1", "an id twice"),
        ("v1 x\nv2 y\nv3 z\n", "refs: list 'u1' has no reference", "ids of another set"),
        ("the cat\nthe hat\n", "refs: expected one reference per list, got 2 for 3", "too few"),
        ("a\nb\nc\nd\n", "refs: expected one reference per list, got 4 for 3", "too many"),
        ("", "refs: the file is empty", "empty"),
    ],
)
def test_bad_references(write, references, message, why):
    with pytest.raises(InputError, match=message):
        read_references(write(references), ["u1", "u2", "u3"])


@pytest.mark.parametrize(
    ("references", "message", "why"),
    [
        ("a\nb\nc\nd\n", "refs:3: '2' has a reference but no list", "a hole in the ids"),
        ("a\nb\n", "refs: expected one reference per list, got 2 for 3", "too few"),
    ],
)
def test_bad_references_by_line_number(write, references, message, why):
    with pytest.raises(InputError, match=message):
        read_references(write(references), ["0", "1", "3"])


STM_LINE = "{0} 1 spk 0.0 1.5 <o,f0,male> {1}\n"
XML = '<?xml version="1.0"?><dataset><doc id="d"><src lang="de"><seg id="1">x</seg></src>{}</doc>'

LAYOUTS = [
    ("a cat (u1)\nthe dog (u2)\n", "trn"),
    ("a cat (spk1-u1)\nthe dog (spk2-u2)\n", "trn of ESPnet, with speakers"),
    ("the dog (u2)\na cat(u1)\n", "trn in another order"),
    (";; a comment\n" + STM_LINE.format("f", "a cat") + STM_LINE.format("f", "the dog"), "STM"),
    (
        "f 1 spk 0 1 a cat\nf 1 x 1 2 ignore_time_segment_in_scoring\nf 1 spk 2 3 the dog\n",
        "STM without labels, with a segment that is not scored",
    ),
    (
        '<refset setid="s" srclang="any" trglang="en" refid="r">\n<doc docid="d" sysid="ref">\n'
        "<seg id=1> a cat </seg>\n<seg id=2>\nthe\n dog</seg>\n</doc></refset>\n",
        "SGML of NIST",
    ),
    (
        XML.format('<ref translator="A"><seg id="1">a cat</seg><seg id="2">the dog</seg></ref>'),
        "XML of WMT, with the source",
    ),
    (
        '<refset><doc><seg id="1">a cat</seg></doc><doc><seg id="1">the dog</seg></doc></refset>',
        "SGML of two documents",
    ),
    (
        '{"audio_filepath": "/x/u2.wav", "text": "the dog"}\n{"audio_filepath": "u1.wav", "text": '
        '"a cat"}',
        "a manifest of NeMo, by the names of files",
    ),
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
]


@pytest.mark.parametrize(("references", "why"), LAYOUTS, ids=[row[1] for row in LAYOUTS])
def test_layouts(write, references, why):
    assert read_references(write(references), ["u1", "u2"]) == ["a cat", "the dog"], why


def test_texts_may_have_commas_and_brackets(write):
    lines = ["a, cat (x)", "the, dog (x)"]
    assert read_references(write("\n".join(lines)), ["u1", "u2"]) == lines


def test_names_of_files_are_no_ids_of_lists_that_are_numbered(write):
    manifest = '{"audio_filepath": "1.wav", "text": "a"}\n{"audio_filepath": "0.wav", "text": "b"}'
    assert read_references(write(manifest), ["0", "1"]) == ["a", "b"]
    assert read_references(write(manifest), ["vosk-0", "vosk-1"]) == ["a", "b"]
    assert read_references(
        write('{"id": "1", "text": "a"}\n{"id": "0", "text": "b"}'), ["0", "1"]
    ) == [
        "b",
        "a",
    ]


@pytest.mark.parametrize(
    ("references", "message", "why"),
    [
        ("a cat (v1)\nthe dog (v2)\n", "list 'u1' has no reference", "trn of another set"),
        (
            '{"id": "u1", "text": "a"}\n{"id": "u1", "text": "b"}',
            "refs:2: duplicate id 'u1'",
            "JSON",
        ),
        (
            '{"audio_filepath": "x.wav", "text": "a"}\n{"audio_filepath": "y.wav", "text": "b"}',
            "list 'ua' has no reference",
            "other files",
        ),
        ('{"duration": 1}', "refs:1: expected an object with a reference", "no text"),
        ('{"text": 1}', "refs:1: expected an object with a reference", "no text"),
        ('{"text": "a"}\n{"text": ', "refs:2: malformed JSON", "cut short"),
        (
            '{"id": "u1", "text": "a"}\n{"text": "b"}',
            "refs:2: expected an id as in other",
            "one id",
        ),
        ("<refset refid='a'></refset>", "expected one reference per list, got 0", "empty"),
        (
            '<refset refid="a"><seg>a</seg></refset><refset refid="b"><seg>a</seg></refset>',
            "2 reference sets: .*; expected one",
            "several references",
        ),
        ("<tstset><seg>a</seg></tstset>", "XML or SGML without <refset> or <ref>", "a system"),
        ("f 1 0.0 0.5 the\nf 1 0.5 0.2 dog 0.9\n", "this is a CTM, with one word per line", "CTM"),
        ("1\n00:00:01,000 --> 00:00:02,000\na cat\n", "these are subtitles", "SRT"),
        (
            "u1|The cat.|the cat\nu2|The dog.|the dog\n",
            "a table of 3 columns, separated by |",
            "LJ Speech, with two texts",
        ),
        (
            "u1\t0.5\ta cat\nu2\t1.5\tthe dog\n",
            "a table of 3 columns, separated by tabs",
            "no header",
        ),
        ("a cat\t-1\nthe dog\t-2\n", "a table of 2 columns, separated by tabs", "scores"),
    ],
)
def test_other_layouts_are_refused_by_name(write, references, message, why):
    with pytest.raises(InputError, match=message):
        read_references(write(references), ["ua", "ub"] if why == "other files" else ["u1", "u2"])


REFERENCES = ["turn on", "close it"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("u2 1 s 0.0 1.5 <o,f0> close it\nu1 1 s 0.0 1.5 <o,f0> turn on\n", "STM, by the file"),
        ("rec 1 s 0.0 1.5 <o,f0> turn on\nrec 1 s 1.5 2.5 <o> close it\n", "STM, in order"),
        ("turn on,u1\nclose it,u2\n", "the id in the last column"),
        ("close it\tu2\nturn on\tu1\n", "the id after a tab"),
        ('text\n"turn on"\nclose it\n', "one column of csv"),
        ('"text"\n"turn on"\n"close it"\n', "one column of csv with all in quotes"),
    ],
)
def test_ids_and_quotes_are_no_words(write, text, why):
    assert read_references(write(text), ["u1", "u2"]) == REFERENCES, why


def test_quotes_in_a_column_may_hold_commas(write):
    text = 'text\n"turn on, please"\nclose it\n'
    assert read_references(write(text), ["u1", "u2"]) == ["turn on, please", "close it"]
    text = 'text\nturn on, please\nsay "close, it"\n'
    assert read_references(write(text), ["u1", "u2"]) == ["turn on, please", 'say "close, it"']


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "turn { on / off / @ } (u1)\nclose it (u2)\n",
            ":1: several readings in '{ on / off / @ }'",
        ),
        ("turn (%uh) on (u1)\nclose it (u2)\n", r":1: several readings in '\(%uh\)'"),
        ("turn on (u1)\nclose (um) it (u2)\n", r":2: several readings in '\(um\)'"),
        ("turn on (u1)\nclose it (u1)\n", ":2: duplicate id 'u1', first on line 1"),
        ("x (spk-u1)\ny (spk-u2)\nz\n", r":3: expected `words \(id\)` as in other lines"),
        (XML.format('<ref><seg id="2">a</seg><seg id="1">b</seg></ref>'), ": segment 1 after"),
        ("a 1 s 0 1 turn on\nb 1 s 0 1 { it / that }\n", ":2: several readings"),
        ("u1,turn on, please\nu2,close it\n", ": the lines begin with ids of lists"),
        ("aa;turn on\nbb;close it\n", ": the lines begin with ids of lists"),
        ("u1 turn on\nu1 close it\n", ":2: duplicate id 'u1'"),
        ("u1,0.9,turn on\nu2,0.8,close it\n", ": a table of 3 columns"),
        ('#!MLF!#\n"*/u1.lab"\nturn\non\n.\n', ": this is an MLF of HTK"),
        ('File type = "ooTextFile"\nx\n', ": this is a TextGrid"),
    ],
)
def test_what_is_no_reference_is_refused_by_name(write, text, message):
    ids = ["aa", "bb"] if text.startswith("aa") else ["u1", "u2"]
    with pytest.raises(InputError, match=f"refs{message}"):
        read_references(write(text), ids)


@pytest.mark.parametrize(
    "text",
    [
        "u1 turn {0} on\nu2 close it\n",
        "turn {0} on\nclose it\n",
        "turn {0} on (u1)\nclose it (u2)\n",
        "u1 1 s 0 1 turn {0} on\nu2 1 s 0 1 close it\n",
        "id,text\nu1,turn {0} on\nu2,close it\n",
        "u1\tturn {0} on\nu2\tclose it\n",
        '{"id": "u1", "text": "turn {0} on"}\n{"id": "u2", "text": "close it"}\n',
        '{"u1": "turn {0} on", "u2": "close it"}\n',
        '<refset><doc><seg id="1">turn {0} on</seg><seg id="2">close</seg></doc></refset>',
    ],
)
@pytest.mark.parametrize("readings", ["{ um / uh / @ }", "{um/uh}", "{ a { b / c } }", "{/}"])
def test_alternatives_are_refused_in_every_layout(write, text, readings):
    with pytest.raises(InputError, match=r"several readings in .\{.*/.*\}., as for sclite"):
        read_references(write(text.replace("{0}", readings)), ["u1", "u2"])


def test_braces_and_bars_alone_are_no_alternatives(write):
    lines = ["turn {on} and/or {off}", "(close) it"]
    assert read_references(write("\n".join(lines)), ["u1", "u2"]) == lines


def test_names_of_audio_files_before_the_words(write):
    path = write("/x/b.wav the  cat\na.WAV\n")
    assert read_references(path, ["a", "b"]) == ["", "the  cat"]
    assert read_references(path, ["0", "1"]) == ["the  cat", ""], "ids that are indices: in order"
    assert read_references(write("b.flac\tx\na.flac\ty z\n"), ["a", "b"]) == ["y z", "x"]


RECOGS = "u1{0}:\tref=['a', 'cat']\nu1{0}:\thyp=['a']\nu2{0}:\tref=['it\\'s']\nu2{0}:\thyp=[]\n"


@pytest.mark.parametrize(
    ("recogs", "why"),
    [
        (RECOGS.format(""), "by the id of the cut"),
        (RECOGS.format("-0"), "the id of the cut is that of the utterance and a number"),
        (RECOGS.format("").replace("\t", " "), "a blank for the tab"),
        ("ref=['a', 'cat']\nhyp=['a']\nref=[\"it's\"]\nhyp=[]\n", "older files have no ids"),
    ],
)
def test_recogs_of_icefall(write, recogs, why):
    assert read_references(write(recogs), ["u1", "u2"]) == ["a cat", "it's"], why


def test_recogs_that_hold_no_words_are_refused(write):
    with pytest.raises(InputError, match=r"refs:1: expected a list of words, got \"\['a'\""):
        read_references(write("u1:\tref=['a'\nu1:\thyp=[]\n"), ["u1"])


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
    with pytest.raises(InputError, match="'u3' has a reference but no list"):
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
CASES = [(*row, key) for row in ENCODED for key in SIGNS if key not in CANNOT_HOLD.get(row[1], ())]


@pytest.mark.parametrize(("line", "why", "key"), CASES)
def test_ids_of_some_lists_may_have_any_sign(write, line, why, key):
    text = line(key, "a cat") + line("p:3", "the dog") + line("other", "no list has it")
    lists = ["p1", "p2", key, "p:3", "p5", "p6", "p7"]
    expected = [None, None, "a cat", "the dog", None, None, None]
    assert read_references(write(text), lists, partial=True) == expected, why


def test_an_object_of_some_ids_may_have_any_sign(write):
    text = json.dumps({key: f"text {i}" for i, key in enumerate(SIGNS)})
    expected = [None, *(f"text {i}" for i in range(len(SIGNS)))]
    assert read_references(write(text), ["none", *SIGNS], partial=True) == expected
