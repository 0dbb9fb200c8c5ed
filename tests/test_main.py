"""`tta COMMAND`: every command under one name, and its completion in a shell."""

import os
import shutil
import subprocess

import pytest

import tta
from tests.commands import python
from tta.commands import COMMANDS
from tta.errors import install

# Without TensorFlow and NumPy, which neither the overview nor wrong commands wait for.
LIGHT = """
import sys
sys.modules.update(tensorflow=None, keras=None, numpy=None)
from tta.__main__ import run
run()
"""


def test_help_lists_every_command_with_what_it_does():
    shown = python(LIGHT, "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    for name in COMMANDS:
        assert f"\n  {name.removeprefix('tta-')} " in shown.stdout
    assert f"  {'rerank':16}  Reranks N-best lists" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a command is required"),
        (["rernk"], "no command is named 'rernk'; did you mean rerank?"),
        (["--nbest_file=x"], "no command is named '--nbest_file=x'"),
        (
            ["beam-score", "--nbest_file=x"],
            "tta beam-score is gone: a script does it on Apache Beam, see docs/scaling.md",
        ),
    ],
)
def test_a_wrong_command_is_one_line(arguments, message):
    ended = python(LIGHT, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"error: {message} (tta --help lists the commands)\n"


def test_the_arguments_go_to_the_command_and_its_status_comes_back():
    shown = python(LIGHT, "rerank", "--help")
    assert shown.stdout.startswith("Reranks N-best lists")
    ended = python(LIGHT, "score", "--no_such_flag=1")
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert python(LIGHT, "--version").stdout == f"tta-lm {tta.__version__}\n"


COMPLETE = """
source "$1"
COMP_WORDS=(tta {words})
COMP_CWORD={last}
$(complete -p tta | sed "s/.*-F \\([^ ]*\\).*/\\1/")
printf "%s\\n" "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("shell") / "tta"
    made = python(LIGHT, "completion", "--shell=bash")
    assert (made.returncode, made.stderr) == (0, "")
    path.write_text(made.stdout)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["rer"], {"rerank"}),
        (["rerank", "--dev_nb"], {"--dev_nbest_file"}),
        (["rerank", "--decision", "m"], {"max", "mbr"}),
        (["score", "--noper"], {"--noperplexity"}),
    ],
)
def test_bash_completes_commands_flags_and_choices(script, words, found):
    code = COMPLETE.format(words=" ".join(words), last=len(words))
    done = subprocess.run(
        ["bash", "-c", code, "bash", script],
        capture_output=True,
        text=True,
        check=True,
        cwd=script.parent,
        env=os.environ,
    )
    assert set(done.stdout.split()) == found


def test_every_shell_gets_a_script_with_every_command(script):
    shown = [name.removeprefix("tta-") for name in COMMANDS]
    for shell in ("zsh", "tcsh"):
        made = python(LIGHT, "completion", f"--shell={shell}")
        assert made.returncode == 0, made.stderr
        assert all(name in made.stdout for name in shown)


def test_without_shtab_one_line_says_what_to_install():
    without = LIGHT.replace("import sys", "import sys; sys.modules['shtab'] = None")
    ended = python(without, "completion")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == f"error: completion needs shtab: {install('completion')}\n"
