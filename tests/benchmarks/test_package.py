"""The benchmarks are a package: each is a module that runs by its name."""

import importlib.util
import re
import subprocess
import sys

import pytest

from benchmarks import ROOT


def test_benchmarks_leave_the_import_path_alone():
    files = [*ROOT.glob("benchmarks/**/*.py")]
    assert files
    assert [path.name for path in files if "sys.path" in path.read_text(encoding="utf-8")] == []


def test_commands_in_docs_name_modules():
    texts = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("pretrained/*/README.md")]
    texts += [*ROOT.glob("benchmarks/**/*.py"), *ROOT.glob("benchmarks/**/*.sh")]
    named, missing = set(), []
    for path in texts:
        text = path.read_text(encoding="utf-8")
        if re.search(r"python\W+benchmarks/", text):
            missing.append(f"{path.name}: a path after python")
        named |= set(re.findall(r"-m (benchmarks(?:\.\w+)+)", text))
    missing += [name for name in named if importlib.util.find_spec(name) is None]
    assert len(named) > 20
    assert missing == []


HELP = """
import os, runpy, sys, traceback
import numpy, rapidfuzz, scipy.optimize, scipy.stats, tokenizers, tta.cli  # once for all of them
for name in sys.argv[1:]:
    if not os.fork():
        sys.argv, status = [name, "--help"], 0
        try:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        os._exit(status)  # which clears nothing away
    elif os.waitstatus_to_exitcode(os.wait()[1]) not in (0, 1):
        print(name, "fails")
"""


@pytest.mark.tensorflow
def test_every_command_has_help():
    """absl ends --help with status 1, as an exception; so the traceback is what tells."""
    files = [p for p in ROOT.glob("benchmarks/**/*.py") if "__main__" in p.read_text("utf-8")]
    names = [".".join(p.relative_to(ROOT).with_suffix("").parts) for p in files]
    done = subprocess.run(
        [sys.executable, "-c", HELP, *names], capture_output=True, text=True, cwd=ROOT
    )
    assert len(names) > 20
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout.count("--") > len(names)
