"""The README's block that trains a tiny model, run as a user copies it."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tta.commands import COMMANDS

ROOT = Path(__file__).resolve().parent.parent


def training_block():
    """The first ```bash block under "Train your own model"."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## Train your own model\n")[1]
    return re.search(r"^```bash\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)[1]


def write_commands(folder):
    """`python` and the installed commands, all run by this Python."""
    folder.mkdir()
    modules = {"python": "", **{name: f" -m {module}" for name, module in COMMANDS.items()}}
    for name, module in modules.items():
        path = folder / name
        path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{module} "$@"\n')
        path.chmod(0o755)


def test_the_training_block_goes_from_text_to_reranked_lists(tmp_path):
    write_commands(tmp_path / "bin")
    clone = tmp_path / "clone"  # so that nothing is written into the repository
    clone.mkdir()
    for name in ("configs", "examples", "run_pretraining.py", "run_rerank.py"):
        (clone / name).symlink_to(ROOT / name)
    ended = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", training_block()],
        cwd=clone,
        env=os.environ
        | {
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert (clone / "runs/try/model/model.weights.h5").exists()
    assert "held-out nll" in ended.stderr
    tables = ended.stdout.split("examples/asr.test.json:")
    assert "examples/asr.dev.json: 60 lists" in tables[0]
    assert re.search(r"^reranked +\d", tables[1], re.MULTILINE)
