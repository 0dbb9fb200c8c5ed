"""Ways to run a Beam pipeline in tests."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Named, for DirectRunner hands over to another program, which it downloads, where it can.
IN_PROCESS = ["--runner=FnApiRunner"]
TWO_PROCESSES = [*IN_PROCESS, "--direct_running_mode=multi_processing", "--direct_num_workers=2"]
# A job server and workers that talk as Flink's and Spark's do: errors come back as text.
JOB_SERVER = ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"]


@pytest.fixture
def workers_find_tta(monkeypatch):
    """Lets processes that Beam starts import the package from this checkout."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(ROOT)
