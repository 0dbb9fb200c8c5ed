"""The folders of ESPnet 2, and folders of lists as such: whole or absent, one line per error."""

import dataclasses
import io
import os
import re

import pytest

from tta.data.nbest.files import open_nbest_output, read_nbest, write_nbest
from tta.errors import InputError

FOLDER = {
    "1best_recog/text": "u2 the cat\nu1 a hat\n",
    "1best_recog/score": "u2 tensor(-1.5)\nu1 -2.5\n",
    "1best_recog/token": "u2 the _c at\nu1 a hat\n",
    "1best_recog/token_int": "u2 7 8 9\nu1 5 6\n",
    "2best_recog/text": "u2 the hat\n",
    "2best_recog/score": "u2 tensor(-3.)\n",
    "2best_recog/token": "u2 the hat\n",
    "2best_recog/token_int": "u2 7 6\n",
}


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def test_a_written_folder_has_the_same_layout(write, tmp_path):
    file = read_nbest(write(FOLDER))
    assert [one.utterance_id for one in file.lists] == ["u2", "u1"], "in the order of the file"
    write_nbest(tmp_path / "out", file.lists, "espnet2")
    floats = {"1best_recog/score": "u2 -1.5\nu1 -2.5\n", "2best_recog/score": "u2 -3.0\n"}
    assert contents(tmp_path / "out") == FOLDER | floats
    assert read_nbest(tmp_path / "out") == file

    swapped = [dataclasses.replace(x, hypotheses=x.hypotheses[::-1]) for x in file.lists]
    write_nbest(tmp_path / "swapped", swapped, "espnet2")
    assert (tmp_path / "swapped/1best_recog/token").read_text() == "u2 the hat\nu1 a hat\n"
    assert read_nbest(tmp_path / "swapped").lists == swapped


@pytest.mark.parametrize(
    ("change", "message", "why"),
    [
        ({"1best_recog/text": "u1 a\nu2 b\nu1 c\n"},
         "1best_recog/text:3: duplicate id 'u1', first on line 1", "a text twice"),
        ({"2best_recog/score": "u2 1\n\nu2 2\n"},
         "2best_recog/score:3: duplicate id 'u2', first on line 1", "a score twice"),
        ({"2best_recog/text": "u2 x\nu3 y\n"},
         "2best_recog/text:2: 'u3' is not in 1best_recog/text",
         "a second hypothesis without a first"),
        ({"1best_recog/score": "u2 1\n"}, "1best_recog/text:2: 'u1' has no score in ", "no score"),
        ({"2best_recog/score": "u2 1\nu1 1\n"}, "2best_recog/score:2: 'u1' has a score but no text",
         "a score too many"),
        ({"2best_recog/score": "u2 tensor(nan)\n"},
         "2best_recog/score:1: expected a finite number as score, got 'nan'", "not a number"),
        ({"2best_recog/score": "u2 tensor([1, 2])\n"},
         "2best_recog/score:1: expected a finite number as score, got '[1'", "several numbers"),
        ({"2best_recog/score": None},
         "2best_recog: has no file score, but 1best_recog has a file score", "scores of some"),
        ({"1best_recog/score": None},
         "2best_recog: has a file score, but 1best_recog has no file score", "scores of some"),
        ({"2best_recog/text": None}, "2best_recog/text: no such file", "tokens only"),
        ({"4best_recog/text": "u2 x\n"}, "input0: 3best_recog is missing, but 4best_recog is there",
         "a gap"),
        ({"1best_recog/text": b"u1 \xff\n"}, "1best_recog/text:1: expected UTF-8", "bytes"),
    ],
)  # fmt: skip
def test_bad_folders(write, change, message, why):
    folder = write({k: v for k, v in FOLDER.items() if change.get(k, "") is not None})
    for name, text in change.items():
        if text is not None:
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InputError) as error:
        read_nbest(folder)
    assert message in str(error.value), why


def jobs(*numbers):
    """{file: text} of parallel jobs, whose ids have the number of the job."""
    return {
        f"output.{job}/{name}": re.sub(r"\bu\d", rf"\g<0>-{job}", text)
        for job in numbers
        for name, text in FOLDER.items()
    }


def test_the_folders_of_parallel_jobs_are_read_as_one(write, tmp_path):
    file = read_nbest(write(jobs(*range(1, 12))))
    names = [f"{name}-{job}" for job in range(1, 12) for name in ("u2", "u1")]
    assert [one.utterance_id for one in file.lists] == names, "output.10 comes after output.9"
    assert file.lists[:2] == read_nbest(write(jobs(1))).lists
    write_nbest(tmp_path / "out", file.lists, "espnet2")
    assert read_nbest(tmp_path / "out") == file
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "1best_recog",
        "2best_recog",
    ]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (jobs(1, 3), "input0: output.2 is missing, but output.3 is there"),
        ({f"output.{job}/1best_recog/text": "u1 a\n" for job in (1, 2)},
         "output.2: list 'u1': another output folder has a list of this id"),
        (jobs(1, 2) | {"output.2/3best_recog/text": "u9 a\n"},
         "output.2/3best_recog: has no file score"),
        ({f"output.{job}/1best_recog/text": f"u{job} a\n" for job in (1, 2)}
         | {"output.1/1best_recog/score": "u1 -1\n"}, "score"),
    ],
    ids=["gap", "duplicate", "error in a job", "scores of some jobs"],
)  # fmt: skip
def test_bad_folders_of_jobs(write, files, message):
    with pytest.raises(InputError) as error:
        read_nbest(write(files))
    assert message in str(error.value)


def test_an_empty_folder_of_lists(write):
    with pytest.raises(InputError, match=r"input0: the folder holds no list \(read as espnet2\)"):
        read_nbest(write({"1best_recog/text": ""}))


@pytest.mark.parametrize(
    ("files", "missing"),
    [
        ({}, "1best_recog/text"),
        ({"text": "u1 a\n", "score": "u1 -1\n"}, "1best_recog/text"),
        ({"1best_recog/token": "u1 a\n"}, "1best_recog/text"),
        (
            {"logdir/output.1/1best_recog/text": "u1 a\n"},
            "1best_recog/text; logdir/output.1 has it",
        ),
    ],
)
def test_a_folder_of_something_else(write, files, missing):
    with pytest.raises(InputError) as error:
        read_nbest(write(files))
    rule = (
        "no known format of N-best lists; it looks like a folder; the nearest is espnet2, a folder"
    )
    assert error.value.rule.startswith(rule)
    assert error.value.rule.endswith(f"; missing: {missing}")


def test_a_format_that_is_not_of_this_kind(write, tmp_path):
    (tmp_path / "file").write_text("0 ||| a ||| -1\n")
    with pytest.raises(InputError, match=r"file: espnet2 lists are a folder with 1best.*, not a f"):
        read_nbest(tmp_path / "file", "espnet2")
    with pytest.raises(InputError, match=r"<stdin>: espnet2 lists are a folder .*, not a file"):
        read_nbest("-", "espnet2")
    with pytest.raises(InputError, match="input0: moses lists are a file: expected a file, got"):
        read_nbest(write(FOLDER), "moses")
    with pytest.raises(InputError, match="input0: the format espnet2 takes no beam size"):
        read_nbest(tmp_path / "input0", beam_size=2)
    with pytest.raises(InputError, match="espnet2 lists are a folder, not a stream"):
        write_nbest(io.StringIO(), [], "espnet2")
    with pytest.raises(InputError, match="expected a folder to write, got standard output"):
        write_nbest("-", [], "espnet2")


@pytest.fixture
def lists(write):
    return read_nbest(write(FOLDER)).lists


def test_an_existing_folder_is_replaced_only_on_request(lists, tmp_path):
    out = tmp_path / "out"
    write_nbest(out, lists, "espnet2")
    with pytest.raises(InputError, match="out: exists; pass overwrite=True to replace it"):
        write_nbest(out, lists[:1], "espnet2")
    assert read_nbest(out).lists == lists
    write_nbest(out, lists[1:], "espnet2", overwrite=True)
    assert read_nbest(out).lists == lists[1:]
    assert not (out / "2best_recog").exists(), "nothing of the old folder is left"
    assert sorted(os.listdir(tmp_path)) == ["input0", "out"]


@pytest.mark.parametrize(
    "name", ["thesis.tex", "logdir/x", "1best_recog/notes", "2best_recog_spk1/x"]
)
def test_a_folder_with_other_files_is_never_replaced(lists, tmp_path, name):
    out = tmp_path / "out"
    write_nbest(out, lists, "espnet2")
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).write_text("years of work")
    with pytest.raises(InputError, match=f"out: has {name.split('/x')[0]}, which is not of N-best"):
        write_nbest(out, lists, "espnet2", overwrite=True)
    assert (out / name).read_text() == "years of work"


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_file_or_a_missing_parent_is_an_error(lists, tmp_path, overwrite):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="file: expected a folder to write, got a file"):
        write_nbest(tmp_path / "file", lists, "espnet2", overwrite)
    with pytest.raises(InputError, match=r"no/out: no such folder: .*no$"):
        write_nbest(tmp_path / "no/out", lists, "espnet2", overwrite)


@pytest.mark.parametrize(
    ("format", "names"), [("espnet2", ["out"]), ("kaldi", ["out", "out.scores"])]
)
def test_open_output_appears_at_the_end(lists, tmp_path, format, names):
    """The output is opened before the slow work, which may fail, and written after it."""
    with pytest.raises(KeyboardInterrupt), open_nbest_output(tmp_path / "out", format):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == ["input0"]
    with open_nbest_output(tmp_path / "out", format) as write_lists:
        assert not (tmp_path / "out").exists()
        write_lists(lists)
        assert not (tmp_path / "out").exists()
    assert sorted(os.listdir(tmp_path)) == ["input0", *names]
    with pytest.raises(InputError, match="exists"), open_nbest_output(tmp_path / "out", format):
        pytest.fail("an existing output is an error before the slow work")
