"""TF_CONFIG: which machines train together, and which of them this is."""

import json
import os

from tta.errors import InputError

TF_CONFIG = "TF_CONFIG"


def is_chief(distribution_strategy):
    """Whether this process is the one that writes: the first worker, or the only one.

    Args:
        distribution_strategy: as `--distribution_strategy`; TF_CONFIG is read where it asks for
            several workers.

    Raises:
        InputError: TF_CONFIG is missing or not as TensorFlow wants it.
    """
    if distribution_strategy != "multi_worker_mirrored":
        return True
    return worker_index(os.environ.get(TF_CONFIG, "")) == 0


def worker_index(text):
    """The index of this worker among all, int.

    Args:
        text: the value of TF_CONFIG.

    Raises:
        InputError: it is not of the form that the error shows.
    """
    try:
        config = json.loads(text)
        workers, task = config["cluster"]["worker"], config["task"]
        index = task["index"]
        good = (
            list(config["cluster"]) == ["worker"]
            and isinstance(workers, list)
            and all(isinstance(worker, str) and _has_port(worker) for worker in workers)
            and len(set(workers)) == len(workers)
            and task["type"] == "worker"
            and type(index) is int
            and 0 <= index < len(workers)
        )
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise InputError(
            f'the environment variable {TF_CONFIG} must be {{"cluster": {{"worker": ["host:port", '
            '...]}, "task": {"type": "worker", "index": 0}}, with the index of this machine in the '
            f"list from 0 on, not {text or 'empty'}"
        )
    return index


def _has_port(address):
    host, _, port = address.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16
