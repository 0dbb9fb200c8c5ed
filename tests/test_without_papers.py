"""The core and its tests do without papers/: a copy of the repository has none."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.commands import ROOT, environment

# An editable installation would find tta.papers elsewhere.
RUN = """
import sys
sys.modules["tta.papers"] = None
import pytest
sys.exit(pytest.main(sys.argv[1:]))
"""

# Tests of the tree as a whole, its pages and its packages.
OF_ALL = ("imports", "types", "docs", "packaging")


def repository_files():
    """The paths of the repository's files, relative to its root."""
    if (ROOT / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
    found = []
    for folder, folders, names in os.walk(ROOT):
        here = os.path.relpath(folder, ROOT)
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in (".git", "__pycache__")]
        found += [os.path.normpath(os.path.join(here, name)) for name in names + links]
    return found


@pytest.mark.slow
def test_the_tests_of_the_core_pass_without_papers(tmp_path):
    root = tmp_path / "core"
    for name in repository_files():
        if name.split("/")[0] != "papers" and name != "tta/papers":
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name, follow_symlinks=False)
    assert not (root / "tta/papers").exists()
    (tmp_path / "run.py").write_text(RUN)
    done = subprocess.run(
        [sys.executable, tmp_path / "run.py", "-q", "-n", "2", "-p", "no:cacheprovider"]
        + [f"--ignore=tests/test_{name}.py" for name in OF_ALL],
        cwd=root,
        capture_output=True,
        text=True,
        env=environment(PYTHONPATH=str(root)),
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    (passed,) = re.findall(r"(\d+) passed", done.stdout.splitlines()[-1])
    assert int(passed) >= 3_000
