"""TF_CONFIG: which machines train together, and which of them this is."""

import contextlib
import json
import os

from tta.errors import InputError


def is_chief(distribution_strategy: str) -> bool:
    """Whether this process is the chief: the first worker or the only one. Only the chief writes.

    It is known without TensorFlow, before the workers connect. TF_CONFIG is read for the strategy
    "multi_worker_mirrored" only. Raises InputError if TF_CONFIG is missing or malformed.
    """
    if distribution_strategy != "multi_worker_mirrored":
        return True
    return worker_index(os.environ.get("TF_CONFIG", "")) == 0


def worker_index(text: str) -> int:
    """The index of this worker, from the value of TF_CONFIG; InputError if it is malformed."""
    with contextlib.suppress(KeyError, TypeError, ValueError):
        config = json.loads(text)
        workers, task = config["cluster"]["worker"], config["task"]
        index = task["index"]
        if (
            list(config["cluster"]) == ["worker"]
            and isinstance(workers, list)
            and all(isinstance(worker, str) and _has_port(worker) for worker in workers)
            and len(set(workers)) == len(workers)
            and task["type"] == "worker"
            and type(index) is int
            and 0 <= index < len(workers)
        ):
            return index
    raise InputError(
        'the environment variable TF_CONFIG must be {"cluster": {"worker": ["host:port", '
        '...]}, "task": {"type": "worker", "index": 0}}, where index is the position of this '
        f"machine in the list, from 0 on, not {text or 'empty'}"
    )


def _has_port(address: str) -> bool:
    host, _, port = address.rpartition(":")
    return bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16
