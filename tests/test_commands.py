"""Every command: its flags, its defaults, and that wrong flags do not wait for TensorFlow."""

import functools
import gzip
import importlib
import json
import os
import re
import shlex
import subprocess
import sys

import pytest

import tta
from tests.commands import ROOT, python, run_command
from tta import cli
from tta.commands import COMMANDS
from tta.data.text.files import open_output
from tta.settings import Limits, fields

# Runs a command without TensorFlow and Keras, or without any large package.
POISONED = """
import runpy, sys
sys.modules.update(tensorflow=None, tensorflow_text=None, keras=None)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""
LIGHT = POISONED.replace("tensorflow=None", "numpy=None, scipy=None, tensorflow=None", 1)


def configs_of(module, monkeypatch):
    """The configs that a command passes to `tta.cli.run`."""
    found = []
    monkeypatch.setattr("tta.cli.run", lambda main, *configs, **_: found.extend(configs))
    importlib.import_module(module).run()
    return found


@functools.cache
def help_of(module):
    """What --help prints where no large package is installed."""
    shown = python(LIGHT, module, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    return shown.stdout


def test_every_file_in_flags_is_a_command():
    names = {f"tta.flags.{path.stem}" for path in (ROOT / "flags").glob("*.py")}
    ours = {module for module in COMMANDS.values() if not module.startswith("tta.papers.")}
    assert names - {"tta.flags.__init__"} == ours


@pytest.mark.parametrize("module", COMMANDS.values())
def test_help_shows_every_setting_the_required_ones_first(module, monkeypatch):
    shown = help_of(module)
    assert shown.startswith(importlib.import_module(module).__doc__)
    settings = [field for one in configs_of(module, monkeypatch) for field in fields(one)]
    for field in (*settings, *fields(Limits)):
        name = f"[no]{field.name}" if field.kind is bool else field.name
        assert re.search(rf"^  --{re.escape(name)}\b", shown, re.MULTILINE), name
    groups = shown.partition("\nRequired flags:\n")[2]
    first = re.findall(r"^  --(\w+)", groups.partition("\n\n")[0], re.MULTILINE)
    assert first == [field.name for field in settings if field.required]


def test_h_is_help():
    assert python(LIGHT, "tta.flags.rerank", "-h").stdout == help_of("tta.flags.rerank")


def example_of(module):
    """The example in the help of a command, as a list of arguments."""
    about = importlib.import_module(module).__doc__
    (example,) = re.findall(r"\n\nExamples?:\n\n    tta ((?:\\\n|.)*)\n", about)
    return shlex.split(example.replace("\\\n", ""))


@pytest.mark.parametrize(("name", "module"), COMMANDS.items())
def test_help_begins_with_what_the_command_does_and_a_valid_example(name, module):
    assert importlib.import_module(module).__doc__.partition("\n")[0].endswith(".")
    command, *arguments = example_of(module)
    assert f"tta-{command}" == name
    checked = run_command(name, "--only_check_args", *arguments)
    assert (checked.returncode, checked.stderr) == (0, "")
    assert run_command(name, "--only_check_args", *arguments, "--no_such=a").returncode == 2


@pytest.mark.parametrize(("name", "module"), COMMANDS.items())
def test_a_model_may_be_repeated_where_help_says_so(name, module):
    is_promised = "Repeat the flag" in help_of(module)
    assert is_promised == (name in ("tta-rerank", "tta-sts", "tta-probe"))
    if "  --model=" in help_of(module):
        others = [flag for flag in example_of(module)[1:] if not flag.startswith("--model=")]
        twice = run_command(name, "--only_check_args", "--model=a", "--model=b", *others)
        assert twice.returncode == (0 if is_promised else 1), twice.stderr


@pytest.mark.parametrize("flag", ["--help", "--helpfull", "--version"])
def test_help_into_a_closed_pipe_is_silent(flag):
    reading, writing = os.pipe()
    os.close(reading)
    run = [sys.executable, "-m", "tta.flags.rerank", flag]
    ended = subprocess.run(run, stdout=writing, stderr=subprocess.PIPE, cwd=ROOT)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_version_and_refuses_an_unknown_flag_in_one_line(name):
    assert run_command(name, "--version") == (0, f"tta-lm {tta.__version__}\n", "")
    ended = run_command(name, "--no_such_flag=1")
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)
    assert ended.stderr.startswith("error: ")
    assert "no_such_flag" in ended.stderr


@pytest.mark.parametrize(
    ("arguments", "rule"),
    [
        ([], "--config_file and --output_dir are required"),
        (["--config_file=x"], "--output_dir is required"),
    ],
)
def test_missing_flags_are_named_in_one_sentence(arguments, rule):
    ended = python(LIGHT, "tta.flags.pretraining", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"error: {rule} (--help lists the flags)\n"


@pytest.mark.parametrize(("name", "module"), COMMANDS.items())
def test_flags_have_the_defaults_of_the_configs(name, module, monkeypatch):
    one_of_several = {  # else an error: see the config
        "tta-score": ["input_file"],
        "tta-adapt": ["input_file"],
        "tta-pretrain": ["input_file"],
        "tta-classify": ["train_file", "dev_file"],
    }.get(name, [])

    def needed(config):
        return [f.name for f in fields(config) if f.required or f.name in one_of_several]

    run, made = cli.run, []
    expected = configs_of(module, monkeypatch)
    monkeypatch.setattr(cli, "run", lambda main, *given, **more: run(keep, *given, **more))

    def keep(*given):
        made.extend(one for one in given if not isinstance(one, list))

    ended = run_command(name, *(f"--{flag}=x" for one in expected for flag in needed(one)))
    assert ended.returncode == 0, ended.stderr
    assert [type(config) for config in made] == expected
    for config in made:
        assert config == type(config)(**{flag: getattr(config, flag) for flag in needed(config)})


CODE = """
from dataclasses import dataclass
from tta import cli
from tta.settings import Config, setting

@dataclass(frozen=True, kw_only=True)
class Small(Config):
    steps: int = setting(3, "Steps.", 1)
    rates: list[float] | None = setting(None, "Rates.", 0)
    names: list[str] | None = setting(None, "Names.", repeated=True)
    kinds: list[str] | None = setting(None, "Kinds.", choices=("a", "b"))
    kind: str = setting("a", "Kind.", choices=("a", "b"), alias="sort")

def main(config):
    import json
    print(json.dumps([vars(config)]))

cli.run(main, Small)
"""


def test_flags_become_a_config_in_which_repeated_lists_are_joined():
    arguments = ["--rates=1", "--rates=2,.5", "--names=x,y", "--names=z", "--kinds=b,a"]
    ended = python(CODE, *arguments, "--sort=b")
    config = {"steps": 3, "rates": [1.0, 2.0, 0.5], "names": ["x,y", "z"], "kinds": ["b", "a"]}
    assert json.loads(ended.stdout) == [config | {"kind": "b"}], ended.stderr


@pytest.mark.parametrize("size", [1, 100_000])
@pytest.mark.parametrize(
    ("redirect", "character", "message"),
    [
        (">&-", "e", "standard output is closed"),
        (">/dev/full", "e", "standard output: No space left on device"),
        (">/dev/null", r"\ud800", r"'\ud800' cannot be written as utf-8"),
    ],
)
def test_output_that_cannot_be_written_is_one_line(redirect, character, message, size):
    code = f"from tta import cli\ndef main():\n    print('{character}' * {size})\ncli.run(main)"
    ended = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {redirect}', sys.executable, code],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stderr) == (1, f"error: {message}\n")


def test_a_full_device_is_named(tmp_path):
    with pytest.raises(OSError, match="/dev/full"), open_output("/dev/full") as file:
        file.write("a")


@pytest.mark.parametrize("closed", ["2>&-", "2>&- <&-"])
def test_with_closed_standard_error_a_command_works(tmp_path, closed):
    """And no file gets its number, to which TensorFlow writes."""
    code = (
        "import os, sys; from tta import cli; from tta.data.text.files import open_output\n"
        "def main():\n"
        f"    with open_output({str(tmp_path / 'a')!r}) as file: os.write(2, b'log')\n"
        "    print('done')\n"
        "    print('note', file=sys.stderr)\n"
        "cli.run(main)"
    )
    ended = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, code], cwd=ROOT, capture_output=True
    )
    assert (ended.returncode, ended.stdout) == (0, b"done\n")
    assert (tmp_path / "a").read_bytes() == b""


def test_full_memory_is_one_line():
    ended = python("from tta import cli\ndef main():\n    bytearray(1 << 62)\ncli.run(main)")
    assert (ended.returncode, ended.stderr) == (1, "error: out of memory\n")


def test_the_bound_of_archives_is_a_flag_of_every_command(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b" " * (1 << 26)))
    code = (
        "from tta import cli; from tta.data.text.files import open_input\n"
        "def main():\n"
        f"    with open_input({str(tmp_path / 'a.gz')!r}) as file: print(len(file.read()))\n"
        "cli.run(main)"
    )
    ended = python(code)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.endswith("unpack it, or raise --max_unpack_ratio\n")
    assert python(code, "--max_unpack_ratio=2000").stdout == f"{1 << 26}\n"
