"""`--flagfile`: which value of a flag counts, what a file may hold, and what is refused."""

import pytest
from absl import flags

from tests.commands import run_command
from tta.cli import ListFlag
from tta.cli.flag_files import GivenTwiceError, parse_flags

FILES = {
    "a": "# of a\n--steps=1\n--model=a\n--share=.1,.2\n--cased\n",
    "b": "--steps=2\n--model=b1\n--model=b2\n",
    "other": "--name=x\n",
    "around": "--steps=3\n--flagfile=a\n",
    "before": "--flagfile=a\n--model=c\n--steps=4\n",
    "apart": "--steps\n5\n--flagfile\na\n--model\nd\n",
    "comments": "  # of all\n// too\n\n--steps=6 # six\n--name=n#1\t# a name\n-model=m // one\n"
    "--texts=http://x#y\n",
    "quiet": "\ufeff--name=ä ö\r\n--texts=t\r\n",
    "texts": "--texts=t1\n--texts=t2\n",
    "words": "--steps=1\nw1\n",
    "end": "--steps=1\n--\n--steps\n",
    "twice": "--steps=1\n--steps=1\n",
    "unknown": "--stebs=1\n",
}


@pytest.fixture
def values(tmp_path, monkeypatch):
    """Flags of each kind; the working directory has `FILES`."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = flags.FlagValues()
    made.set_gnu_getopt(True)
    flags.DEFINE_integer("steps", None, "", flag_values=made)
    flags.DEFINE_string("name", None, "", flag_values=made)
    flags.DEFINE_bool("cased", False, "", flag_values=made)
    flags.DEFINE_alias("number", "steps", flag_values=made)
    flags.DEFINE_multi_string("model", None, "", flag_values=made)
    flags.DEFINE_multi_string("texts", None, "", flag_values=made)
    share = ListFlag(flags.ListParser(), flags.CsvListSerializer(","), "share", ["1"], "")
    flags.DEFINE_flag(share, flag_values=made)
    return made


COUNTS = [  # arguments, the values that count, why
    ("--flagfile=a", {"steps": 1, "model": ["a"], "share": [".1", ".2"], "cased": True}, "alone"),
    ("--flagfile=a --steps=9 --nocased", {"steps": 9, "cased": False}, "flags after a file"),
    ("--flagfile=a --number=9", {"steps": 9, "model": ["a"]}, "by another name"),
    ("--steps=9 --flagfile=a", {"steps": 1}, "a file after flags"),
    ("--flagfile=a --model=x --model=y", {"model": ["x", "y"]}, "a list after a file"),
    ("--flagfile=a --share=.5 --share=.6", {"share": [".5", ".6"]}, "a list of one flag"),
    ("--model=x --flagfile=a", {"model": ["a"]}, "a file after a list"),
    ("--model=x --flagfile=other --model=y", {"model": ["x", "y"]}, "a file without the list"),
    ("--model=x --flagfile=a --model=y", {"model": ["y"]}, "a list around a file that has it"),
    ("--flagfile=a --flagfile=b", {"steps": 2, "model": ["b1", "b2"], "cased": True}, "two files"),
    ("--flagfile=b --flagfile=a", {"steps": 1, "model": ["a"]}, "two files, the other way round"),
    ("--flagfile=a --flagfile=a", {"steps": 1, "model": ["a"]}, "a file twice"),
    ("--flagfile=around", {"steps": 1, "model": ["a"]}, "a file at the end of a file"),
    ("--flagfile=before", {"steps": 4, "model": ["c"], "cased": True}, "and at its begin"),
    ("-flagfile apart", {"steps": 1, "model": ["d"]}, "values apart from names"),
    ("--flagfile=before --model=x", {"steps": 4, "model": ["x"]}, "after files in files"),
    ("--flagfile=comments", {"steps": 6, "name": "n#1", "model": ["m"]}, "comments after flags"),
    ("--flagfile=comments", {"texts": ["http://x#y"]}, "no comments"),
    ("--flagfile=quiet", {"name": "ä ö", "texts": ["t"]}, "a byte order mark, and Windows's lines"),
    ("--flagfile=texts", {"texts": ["t1", "t2"]}, "a list"),
    ("--flagfile=texts x y", {"texts": ["x", "y"]}, "arguments without a flag"),
    ("--texts=x y", {"texts": ["x", "y"]}, "arguments beside their flag"),
    ("--flagfile=words", {"texts": ["w1"], "steps": 1}, "arguments without a flag in a file"),
    ("--flagfile=end --steps=7", {"texts": ["--steps"], "steps": 7}, "-- ends the flags of a file"),
    ("-- --flagfile=a", {"texts": ["--flagfile=a"], "steps": None}, "-- ends flags"),
    ("--undefok=stebs --flagfile=unknown", {"steps": None}, "a flag that may be unknown"),
    ("--flagfile=twice --steps=3", None, "twice in a file, and replaced"),
    ("--steps=1 --flagfile=a --steps=2", None, "twice on the command line, around a file"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected", "why"), COUNTS)
def test_the_value_that_comes_last_counts(values, arguments, expected, why):
    argv = ["tta", *arguments.split()]
    if expected is None:
        with pytest.raises(GivenTwiceError, match="--steps is given more than once"):
            parse_flags(values, argv, positional="texts")
        return
    parse_flags(values, argv, positional="texts")
    assert {name: values[name].value for name in expected} == expected, why


REFUSED = [  # a file, the arguments of tta rerank, exit status, the line on standard error
    (b"--beam_size=1\n--beam_size=2", "--flagfile=f", 1, "f: --beam_size is given more than once"),
    (b"--beam_size=one", "--flagfile=f", 2, "f: flag --beam_size=one: invalid literal for int()"),
    (b"--beam_size", "--flagfile=f --metric=cer", 2, "f: Missing value for flag --beam_size"),
    (b"--stebs=1", "--flagfile=f", 2, "f: Unknown command line flag 'stebs'"),
    (b"--do_train", "--flagfile=f", 2, "f: --do_train is a flag of BERT's"),
    (b"word", "--flagfile=f", 2, "f: unexpected argument 'word': every option is a --flag=value"),
    (b"--format=\xe4", "--flagfile=f", 2, "f: expected flags in UTF-8"),
    (b"--flagfile=./f", "--flagfile=f", 2, "./f: a file of flags that reads itself"),
    (b"--flagfile=g", "--flagfile=f", 2, "g: cannot be read: No such file or directory"),
    (b"--flagfile", "--flagfile=f", 2, "f: --flagfile needs the name of a file"),
    (b"", "--flagfile", 2, "--flagfile needs the name of a file"),
    (b"", "--flagfile=.", 2, ".: cannot be read: Is a directory"),
]


@pytest.mark.parametrize(("text", "arguments", "status", "line"), REFUSED)
def test_wrong_files_are_one_line(tmp_path, monkeypatch, text, arguments, status, line):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_bytes(text)
    ended = run_command("tta-rerank", "--nbest_file=x", *arguments.split())
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (status, "", 1)
    assert ended.stderr.startswith(f"error: {line}")
