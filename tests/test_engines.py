"""Scripts of examples/engines/ with a worker that is killed: no row is lost or doubled.

`$TTA_ENGINES` is the Python of an environment with the engines; default: this one.
"""

import json
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
from tests.commands import ROOT, environment, run_command

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


TWO_WORKERS = ("--direct_running_mode=multi_processing", "--direct_num_workers=2")


@pytest.mark.slow
@pytest.mark.tensorflow
def test_two_beam_workers_write_the_files_of_one_machine(tmp_path):
    if subprocess.run([PYTHON, "-c", "import apache_beam"], capture_output=True).returncode:
        pytest.skip("needs apache_beam")
    words = json.loads((ROOT / "examples/asr.test.json").read_text()).values()
    texts = [one["text"] for nbest in words for one in nbest.values() if isinstance(one, dict)]
    for part in range(3):  # more than a chunk each; repeated ones, and an empty file
        (tmp_path / f"{part}.txt").write_text("\n".join(texts * (5 * part)))
    given = [f"{tmp_path}/*.txt", ROOT / "tta/small/vocab.txt"]
    script = ROOT / "examples/engines/beam_create_tfrecords.py"
    run = [PYTHON, script, *given, tmp_path / "beam", *TWO_WORKERS]
    done = subprocess.run(
        run, env=environment(PYTHONPATH=str(ROOT)), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    flags = zip(("input_file", "vocab_file"), given, strict=True)
    flags = [f"--{name}={value}" for name, value in flags]
    done = run_command("tta-create-tfrecords", *flags, f"--output_dir={tmp_path / 'one'}")
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
        for name in ("one", "beam")
    )
    assert sum(name.endswith(".tfrecord") for name in ours) == 65
    assert theirs == ours


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
