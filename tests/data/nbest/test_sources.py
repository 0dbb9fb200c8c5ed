"""What is said of a file or a folder that holds no N-best lists."""

import json
import re

import pytest

from tta.data.nbest.files import read_nbest, write_nbest
from tta.data.nbest.formats.kaldi import names_of_parts
from tta.data.text import json_text
from tta.errors import InputError

SEGMENT = {"id": 0, "start": 0.0, "end": 2.0, "text": " the cat", "tokens": [1], "avg_logprob": -1}
TIMES = {"timestamps": {"from": "00:00:00,000"}, "offsets": {"from": 0}, "text": " the cat"}
TRANSCRIPTS = {
    "openai-whisper": {"text": " the cat", "segments": [SEGMENT, SEGMENT], "language": "en"},
    "whisper.cpp": {"model": {"type": "tiny"}, "transcription": [TIMES], "result": {}},
    "segments of faster-whisper": [SEGMENT, {**SEGMENT, "id": 1}],
    "with its info": {"segments": [{"start": 0, "end": 1, "text": "a"}], "info": {}},
    "with its options": {"segments": [SEGMENT], "info": {"options": {"beam_size": 5}}},
    "OpenAI's interface": {"text": 'the "cat".'},
    "OpenAI's interface, with its price": {"text": "the cat", "usage": {"seconds": 4}},
    "a pipeline of transformers": {"text": "a", "chunks": [{"timestamp": [0, 1], "text": "a"}]},
    "several recordings": {"a.wav": {"text": "x", "segments": [SEGMENT]}},
}
TEXTS = {name: json.dumps(one) for name, one in TRANSCRIPTS.items()}
TEXTS["on several lines"] = json.dumps(TRANSCRIPTS["whisper.cpp"], indent=2)
TEXTS["JSON lines"] = "\n".join(json.dumps({**SEGMENT, "id": i}) for i in range(3))
TEXTS["subtitles, srt"] = "1\n00:00:00,000 --> 00:00:02,000\nthe cat\n"
TEXTS["subtitles, vtt"] = "WEBVTT\n\n00:00.000 --> 00:02.000\nthe cat\n"
TEXTS["lines of whisper.cpp, lrc"] = "[by:whisper.cpp]\n[00:00.00] the cat\n[00:02.50] a dog\n"
TEXTS["lines of faster-whisper"] = "[0.00s -> 2.00s]  the cat\n[2.00s -> 3.50s]  a dog\n"
TEXTS["Whisper's tsv"] = "start\tend\ttext\n0\t2000\tthe cat\n"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("in_folder", [False, True])
def test_transcripts_are_answered_by_the_way_to_alternatives(tmp_path, name, in_folder):
    (tmp_path / "one.json").write_text(TEXTS[name])
    with pytest.raises(InputError, match=r"one.json: this is a transcript.*tutorials/whisper.md"):
        read_nbest(tmp_path if in_folder else tmp_path / "one.json")


@pytest.mark.parametrize("text", ["[]", "{}", "[ ]\n", "[\n]\n"])
def test_a_file_without_lists(tmp_path, text):
    (tmp_path / "in").write_text(text)
    with pytest.raises(InputError, match="the file holds no list"):
        read_nbest(tmp_path / "in")


def test_a_folder_of_files_that_are_read_one_by_one_only(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\nu1,a\nu1,b\n")
    with pytest.raises(InputError, match=r"a.csv: a folder of files in the format csv is not read"):
        read_nbest(tmp_path)


COSTS = {"am": "u1-1 3\nu1-2 1.5\n", "lm": "u1-1 1\nu1-2 4\n"}


def test_costs_apart_are_summed_and_are_features(write):
    words = write("u1-1 a\nu1-2 b\n")
    paths = [write(text, name) for name, text in COSTS.items()]
    (one,) = read_nbest(words, score_file=paths).lists
    assert [h.score for h in one.hypotheses] == [-4.0, -5.5]
    assert [h.features for h in one.hypotheses] == [
        {"score_am": -3.0, "score_lm": -1.0},
        {"score_am": -1.5, "score_lm": -4.0},
    ]
    (one,) = read_nbest(words, score_file=paths[0]).lists
    assert [(h.score, h.features) for h in one.hypotheses] == [(-3.0, {}), (-1.5, {})]


@pytest.mark.parametrize(
    ("paths", "names"),
    [
        (["p/dev.ac", "p/dev.lm"], ["score_ac", "score_lm"]),
        (["exp/test/lm.txt.gz", "exp/test/ac.txt.gz"], ["score_lm", "score_ac"]),
        (["dev/am/cost", "dev/lm/cost"], ["score_am", "score_lm"]),
        (["dev.rank", "dev.distance"], ["score_rank", "score_distance"]),
        (["costs.2", "costs.1"], ["score_2", "score_1"]),
        (["costs", "costs.lm"], ["score_1", "score_2"]),
        (["costs"], ["score_1"]),
    ],
)
def test_score_files_are_named_by_what_their_names_do_not_share(paths, names):
    assert names_of_parts(paths) == names


@pytest.mark.parametrize(
    ("lm", "rule"),
    [
        ("u1-1 1\n", "'u1-2' has no cost in .*lm"),
        ("u1-1 1\nu1-2 4\nu1-3 2\n", "lm:3: 'u1-3' has a cost but no hypothesis"),
        (COSTS["am"], "lm: the same costs as in .*am: they would count twice"),
    ],
)
def test_each_file_of_costs_fits_the_lists(write, lm, rule):
    files = [write(COSTS["am"], "am"), write(lm, "lm")]
    with pytest.raises(InputError, match=rule):
        read_nbest(write("u1-1 a\nu1-2 b\n"), score_file=files)


@pytest.mark.parametrize(
    ("files", "expected", "why"),
    [
        (["a\nb\n", "\nc\n"], [("a", ()), ("b", ("c",))], "a blank second one is none"),
        (["\nb\n", "a\nb\n"], [("a", ()), ("b", ())], "a blank first one, and equal ones"),
        (["\nb\n", " \nc\n"], [("", ()), ("b", ("c",))], "all are blank: an empty reference"),
    ],
)
def test_a_blank_line_is_no_further_reference(write, files, expected, why):
    path = write("u1 ||| a ||| -1\nu2 ||| c ||| -1\n")
    lists = read_nbest(path, "moses", [write(text) for text in files]).lists
    assert [(x.reference, x.more_references) for x in lists] == expected, why


def test_some_lists_of_a_file_have_a_reference(tmp_path):
    rows = [{"id": "u1", "hypotheses": ["a"]}, {"id": "u2", "hypotheses": ["b"], "reference": "b"}]
    (tmp_path / "in").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_nbest(tmp_path / "in", partial_references=True).lists
    assert [one.reference for one in found] == [None, "b"]
    with pytest.raises(InputError, match="has a reference, but the lists before it have none"):
        read_nbest(tmp_path / "in")


def test_detection_and_reading_parse_a_document_once(tmp_path, monkeypatch):
    lists = {f"u{i}": {"hyp_1": {"text": "a", "score": -1}} for i in range(30)}
    (tmp_path / "in").write_text(json.dumps(lists, indent=1))
    objects = []

    def count(pairs):
        objects.append(pairs)
        return dict(pairs)

    monkeypatch.setattr(json_text, "_unique_keys", count)
    monkeypatch.setattr(json_text, "_DECODER", json.JSONDecoder(object_pairs_hook=count))
    assert len(read_nbest(tmp_path / "in").lists) == 30
    assert len(objects) == 1 + 2 * 30, "the document, and each list with its hypothesis"


JOBS = {
    "1/text": "u1-1 a\nu1-2 b\n",
    "2/text": "u2-1 c\nu2-2 d\n",
    "1/ac": "u1-1 3\nu1-2 1.5\n",
    "2/ac": "u2-1 2\nu2-2 4\n",
    "1/ref": "u1 a\n",
    "2/ref": "u2 d\n",
}


def write_jobs(folder, changed=()):
    for name, text in {**JOBS, **dict(changed)}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def read_jobs(folder):
    paths = (str(folder / "*" / name) for name in ("text", "ref", "ac"))
    return read_nbest(next(paths), None, *paths)


def test_a_glob_names_the_files_of_several_jobs(tmp_path):
    write_jobs(tmp_path)
    file = read_jobs(tmp_path)
    assert [(x.utterance_id, x.reference) for x in file.lists] == [("u1", "a"), ("u2", "d")]
    assert [h.score for x in file.lists for h in x.hypotheses] == [-3.0, -1.5, -2.0, -4.0]
    (tmp_path / "a.lists").write_text("a\nb\n")
    (tmp_path / "b.lists").write_text("c\nd")
    lists = read_nbest(tmp_path / "*.lists", "plain", beam_size=2).lists
    assert [[h.text for h in x.hypotheses] for x in lists] == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"2/text": "u2-1 c\n\nu2-1 d\n"}, "2/text:3: duplicate hypothesis number 1 of 'u2'"),
        ({"2/ac": "u2-1 2\nu2-2 x y\n"}, "2/ac:2: expected utt-N cost"),
        ({"1/text": "u1-1 a\nu1-x b\n"}, "1/text:2: "),
        ({"2/ref": "u1 a\n"}, "ref"),
        ({"2/ac": "u2-1 2\n"}, "2/text:2: 'u2-2' has no cost in "),
        ({"2/ac": "u2-1 2\nu2-2 4\nu3-1 5\n"}, "2/ac:3: 'u3-1' has a cost but no hypothesis"),
    ],
)
def test_an_error_in_a_file_of_a_glob_names_it_and_its_line(tmp_path, changed, rule):
    write_jobs(tmp_path, changed)
    with pytest.raises(InputError, match=re.escape(rule)):
        read_jobs(tmp_path)


SECOND = {  # a second file of each format: the first one, the second, what is read of both
    "jsonl": ('{"id": "u", "hyps": ["a"]}\n', '{"id": "v", "hyps": ["b"]}'),
    "dict": ('{"u": {"hyp_1": {"text": "a"}}}', '{\n"v": {"hyp_1": {"text": "b"}}}'),
    "json_rows": ('{"id": "u", "text": "a"}\n{"id": "u", "text": "x"}', '{"id": "v", "text": "b"}'),
    "csv": ("id,text\nu,a\nu,x\n", "id,text\nv,b\n"),
    "responses": (
        '{"alternatives": [{"transcript": "a"}]}', '{"alternatives": [{"transcript": "b"}]}'
    ),
    "srilm": ("-1 -1 1 a\n", "-1 -1 1 b\n"),
    "moses": ("0 ||| a ||| -1\n", "1 ||| b ||| -2\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_several_files_are_one_set_of_lists(write, tmp_path, name):
    paths = [write(text, file) for text, file in zip(SECOND[name], "uv", strict=True)]
    file = read_nbest(paths, name)
    assert [x.hypotheses[0].text for x in file.lists] == ["a", "b"]
    ids = ["0", "1"] if name == "moses" else ["u", "v"]
    assert [x.utterance_id for x in file.lists] == ids
    assert file == read_nbest(str(tmp_path / "[uv]"), name)
    assert [x.utterance_id for x in read_nbest(paths[::-1], name).lists] == ids[::-1]
    write_nbest(tmp_path / "out", file.lists, name)
    assert read_nbest(tmp_path / "out", name).lists == file.lists


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        (["id,text\nu,a\n", "text,id\nb,v\n"], "1: expected the columns in the order of the first"),
        (["id,text\nu,a\n", "id,text\nu,a\nv\n"], "1:3: expected 2 columns, got 1"),
        (['{"u": {"hyp_1": {"text": "a"}}}'] * 2, "duplicate id 'u'"),
        (['{"id": "u", "hyps": ["a"]}'] * 2, "1:1: list 'u': duplicate id"),
        (["0 ||| a ||| -1\n", "0 ||| b ||| -2\n"], "1:1: list '0': duplicate id '0': the rows"),
        (['{"id": "u", "text": "a"}\n{"id": "u", "text": "b"}'] * 2, "1:1: list 'u': duplicate id"),
        (["id,text\nu,a\nu,b\n", "id,text\nu,c\n"], "1:2: list 'u': duplicate id"),
        (["S-0\tx\nH-0\t-1\ta\nP-0\t-1\n", "S-0\tx\nH-0\t-1\tb\nP-0\t-1\n"], "1:1: list '0': dup"),
        (["u-1 the cat\nu-2 the hat\n", "u-3 the kat\n"], "1:1: duplicate id 'u': the rows of one"),
        (["u-1 the cat\nu-2 the hat\n", "v-1 a\n\nu-1 the kat\n"], "1:3: duplicate id 'u': the"),
        (['{"alternatives": [{"transcript": "a"}]}', "[3]"], "1:1: expected a record as an object"),
    ],
)  # fmt: skip
def test_an_error_in_a_second_file_names_it(write, texts, rule):
    with pytest.raises(InputError, match=re.escape(rule)):
        read_nbest([write(text) for text in texts])


@pytest.mark.parametrize("rows", ["{}", "{}\t-1"], ids=["plain", "tsv"])
def test_a_list_of_the_beam_size_is_in_one_file(tmp_path, rows):
    for name, texts in (("a", "abc"), ("b", "d")):
        (tmp_path / name).write_text("".join(rows.format(text) + "\n" for text in texts))
    with pytest.raises(InputError, match="/a:1: expected a multiple of the beam size 2, got 3"):
        read_nbest([tmp_path / "a", tmp_path / "b"], beam_size=2)


def test_several_files_are_no_folders_and_not_the_same(tmp_path):
    (tmp_path / "a").write_text('{"id": "u", "hyps": ["a"]}\n')
    for paths, rule in (
        ([tmp_path, tmp_path / "a"], f"{tmp_path}: a folder is read alone"),
        ([tmp_path / "a", "-"], "<stdin>: standard input is read alone"),
        ([tmp_path / "a"] * 2, f"{tmp_path / 'a'}: the file is given twice"),
    ):
        with pytest.raises(InputError, match=re.escape(rule)):
            read_nbest(paths)


def test_a_glob_that_matches_nothing(tmp_path):
    with pytest.raises(InputError, match=r"x\*: no file matches$"):
        read_nbest(tmp_path / "x*")


@pytest.mark.parametrize(
    ("hypotheses", "value", "reference", "more"),
    [
        ([["the", "cat"], ["a", "cat"]], ["the", "cat"], "the cat", ()),
        (["the cat", "a cat"], ["the", "cat"], "the cat", ()),
        (["cat", "hat"], ["cat", "hat"], "cat", ("hat",)),
        (["the cat", "a cat"], ["the cat", "a cat"], "the cat", ("a cat",)),
    ],
    ids=["tokens", "tokens beside texts", "several words", "several texts"],
)
def test_a_reference_may_be_a_list_of_tokens(tmp_path, hypotheses, value, reference, more):
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"cut_id": "c-7", "hyps": hypotheses, "ref": value}) + "\n")
    file = read_nbest(path)
    (nbest,) = file.lists
    assert (nbest.utterance_id, nbest.reference, nbest.more_references) == ("c-7", reference, more)
    write_nbest(tmp_path / "out.jsonl", file.lists, file.format)
    assert json.loads((tmp_path / "out.jsonl").read_text())["ref"] == value
