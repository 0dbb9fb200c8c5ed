"""Scripts of examples/engines/ with a worker that is killed: no row is lost or doubled.

`$TTA_ENGINES` is the Python of an environment with the engines; default: this one.
"""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tta
from tests.commands import ROOT, environment

pq = pytest.importorskip("pyarrow.parquet")
import pyarrow as pa  # noqa: E402

PYTHON = os.environ.get("TTA_ENGINES", sys.executable)
FILES, ROWS = 8, 1200
WORDS = ["the", "cat", "sat", "on", "a", "mat", "while", "dogs", "ran", "home", "from", "an", "old"]


def write_input(folder):
    draw = np.random.default_rng(0)
    folder.mkdir()
    for number in range(FILES):
        texts = [" ".join(draw.choice(WORDS, 4 + i % 9)) for i in range(ROWS)]
        ids = range(number * ROWS, (number + 1) * ROWS)
        pq.write_table(pa.table({"id": ids, "text": texts}), folder / f"part-{number}.parquet")


def descendants(pid):
    """(process id, command line) of the processes below one, parents first."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it has ended
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    for one in found[1:]:
        try:
            line = Path(f"/proc/{one}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        yield one, line


# script -> (packages, the command line of a worker, needs a program)
ENGINES = {
    "dask_score.py": ("dask.dataframe, distributed", r"multiprocessing.*spawn_main", None),
    "pyspark_score.py": ("pyspark, pandas", r"pyspark[./](python/)?.*daemon", "java"),
    "ray_score.py": ("ray.data", r"^ray::.*(Score|Map)", None),
}


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it reads /proc")
@pytest.mark.parametrize("script", ENGINES)
def test_a_killed_worker_costs_no_row(script, tmp_path):
    packages, worker, program = ENGINES[script]
    if subprocess.run([PYTHON, "-c", f"import {packages}"], capture_output=True).returncode:
        pytest.skip(f"needs {packages}")
    if program and subprocess.run(["which", program], capture_output=True).returncode:
        pytest.skip(f"needs {program}")
    write_input(tmp_path / "in")
    path = ROOT / "examples/engines" / script
    run = subprocess.Popen(
        [PYTHON, path, tmp_path / "in", tmp_path / "out"],
        env=environment(PYTHONPATH=str(ROOT), PYSPARK_PYTHON=PYTHON, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        text=True,
    )
    killed, end = None, time.monotonic() + 300
    while run.poll() is None and killed is None and time.monotonic() < end:
        time.sleep(0.05)
        if any((tmp_path / "out").rglob("*part*")) or any((tmp_path / "out").rglob("*.parquet")):
            workers = [one for one, line in descendants(run.pid) if re.search(worker, line)]
            if workers:
                killed = workers[-1]
                os.kill(killed, signal.SIGKILL)
    log = run.communicate(timeout=300)[0]
    assert killed is not None, log
    assert run.returncode == 0, log
    found = pq.read_table(tmp_path / "out").sort_by("id").to_pydict()
    expected = pq.read_table(tmp_path / "in").sort_by("id").to_pydict()
    assert found["id"] == expected["id"]
    assert found["text"] == expected["text"]
    scores = tta.load(engine="onnxruntime").score(expected["text"])
    np.testing.assert_allclose(found["score"], scores, rtol=1e-5, atol=1e-4)
