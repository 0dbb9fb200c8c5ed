"""Training an autoencoder on two devices of one process."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment

pytestmark = pytest.mark.tensorflow


def test_replicas():
    script = Path(__file__).with_name("two_replicas.py")
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, env=environment(), check=False
    )
    assert done.stdout.splitlines() == ["ok a_vae_draws_samples_of_its_own_on_each_replica"], (
        done.stderr
    )
