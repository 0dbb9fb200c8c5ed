"""What the machine offers."""

import os


def num_cores() -> int:
    """The number of cores that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
