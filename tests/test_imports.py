"""Who may import whom, and what a command may do before it must wait for TensorFlow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("flags", "data", "modeling", "scoring", "tta")
HEAVY = ("tensorflow", "tensorflow_text", "keras")
COMMANDS = (
    "run_pretraining.py",
    "run_rerank.py",
    "run_sts.py",
    "data/run_beam_create_tfrecords.py",
    "data/run_create_vocab.py",
    "data/run_create_tfrecords.py",
    "scoring/run_beam_score.py",
    "scoring/run_export.py",
    "scoring/run_fit_pooling.py",
    "scoring/run_score.py",
)

# Room -> the parts of the package that its modules may import: arrows point down only.
ARROWS = {
    "flags": {"flags"},
    "data": {"data", "errors", "atomic"},
    "modeling": {"modeling", "errors", "atomic"},
    "scoring": {"scoring", "modeling", "data", "errors", ""},  # "": tta itself, its version
    "tta": {"errors", "_quiet", "scoring"},
    # "": tta.load
    "command": {"cli", "flags", "scoring", "modeling", "data", "errors", "atomic", ""},
}
# The rest of modeling/ is keras.ops alone, so that it runs on Keras's other backends.
USE_TENSORFLOW = {"checkpoint.py", "distribution.py", "trainer.py"}


def imports(path):
    """(line, dotted name) of every import in a file, wherever it stands; "." where relative."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, "." * node.level + f"{node.module or ''}.{alias.name}"


def files():
    """(room, path) of every module of the package; run_*.py are the room "command"."""
    for path in sorted(ROOT.glob("run_*.py")):
        yield "command", path
    for room in ROOMS:
        for path in sorted((ROOT / room).glob("**/*.py")):
            yield ("command" if path.name.startswith("run_") else room), path


def test_the_rooms_are_all_there():
    assert {room for room, _ in files()} == {*ROOMS, "command"}
    assert {str(p.relative_to(ROOT)) for room, p in files() if room == "command"} == set(COMMANDS)


def test_imports_point_down_only_and_are_absolute():
    wrong = []
    for room, path in files():
        for line, name in imports(path):
            first, _, rest = name.partition(".")
            part = rest.partition(".")[0]
            if first == "tta":
                good = part in ARROWS[room]
            elif room == "flags":
                good = first == "absl" or first in sys.stdlib_module_names
            else:
                good = name[0] != "." and first not in ROOMS
            if not good:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {room} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_modeling_is_tensorflow_free_but_for_a_few_files_and_data_knows_no_keras():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {name}"
        for room, path in files()
        for line, name in imports(path)
        for first in [name.partition(".")[0]]
        if (
            (room == "modeling" and first in ("tensorflow", "tensorflow_text"))
            and path.name not in USE_TENSORFLOW
        )
        or (room == "data" and first == "keras")
        or first in ("jax", "torch")
    ]
    assert not wrong, "\n".join(wrong)


def poisoned(code, *arguments):
    """Runs code in a process in which TensorFlow and Keras cannot be imported."""
    start = f"import runpy, sys; sys.modules.update({{name: None for name in {HEAVY}}})\n"
    return subprocess.run(
        [sys.executable, "-c", start + code, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )


RUN = "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"


def test_import_tta_is_light():
    code = (
        "import tta; print(tta.__version__, sorted({'numpy', 'absl', 'h5py'} & set(sys.modules)))"
    )
    ended = poisoned(code)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split(maxsplit=1)[1] == "[]\n"


@pytest.mark.parametrize(
    "command", ["data/run_beam_create_tfrecords.py", "scoring/run_beam_score.py"]
)
def test_a_command_without_its_package_says_what_to_install(command):
    files = [f"--{name}=x" for name in ("output_dir", "input_file", "vocab_file", "nbest_file")]
    files = [files[0], *(files[1:3] if "create" in command else files[3:])]
    code = f"sys.path.insert(0, ''); sys.modules['apache_beam'] = None\n{RUN}"
    ended = poisoned(code, command, *files)
    assert ended.returncode == 1
    assert ended.stderr == "error: Apache Beam is missing: pip install 'tta-lm[beam]'\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_wrong_flags_do_not_wait_for_tensorflow(command):
    told = poisoned(f"sys.path.insert(0, '')\n{RUN}", command, "--help")
    assert told.returncode == 0, told.stderr
    assert "--" in told.stdout
    wrong = poisoned(f"sys.path.insert(0, '')\n{RUN}", command, "--no_such_flag=1")
    assert wrong.returncode == 2, wrong.stderr
    assert wrong.stderr.startswith("error: ")
    assert wrong.stderr.count("\n") == 1
    assert "no_such_flag" in wrong.stderr
