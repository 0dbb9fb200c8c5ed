"""Fixed ranges of the inputs of products, for precision int8: one scale for all rows.

A range of K inputs is [2 + K] float32: its low and its high end, and what each input is divided by
before. Its weights are multiplied by that, so that channels with large inputs do not make the steps
of the others wide (Xiao et al. 2023, "SmoothQuant"). 0 stands for a channel that is computed apart,
in float32.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

# One channel of so many is computed apart, if inputs are not smoothed.
_APART = 64
# Larger inputs are cut off. With the largest input as the end of the range, steps are so wide that
# a score is off by three times as much.
_PERCENTILE = 99.995
LOGITS = "logits"  # the "product" that has a range if all logits are small
# exp of a number up to 88 is finite in float32, and so is the sum of as many as there are pieces.
_SMALL = 40.0


def fit(
    inputs: np.ndarray, weights: np.ndarray | None = None, probes: np.ndarray | None = None
) -> np.ndarray:
    """The range of rows of inputs [M, K].

    `probes` [L, K] are rows of which nothing is cut off. `weights` [K] are the largest of each
    channel, in all products of these inputs. None smoothes nothing, which would take longer; an
    activation makes a few channels large, which are computed apart.
    """
    rows = inputs if probes is None else np.concatenate([inputs, probes])
    largest = np.abs(rows).max(axis=0)
    if weights is None:
        divisors = np.ones(len(largest))
        divisors[np.argsort(largest)[len(largest) - len(largest) // _APART :]] = 0.0
    else:
        divisors = np.sqrt(np.maximum(largest, 1e-4) / np.maximum(weights, 1e-4))
        divisors /= np.exp(np.log(divisors).mean())
    smooth = rows[:, divisors > 0] / divisors[divisors > 0]
    low, high = np.percentile(smooth[: len(inputs)], (100 - _PERCENTILE, _PERCENTILE))
    of_probes = smooth[len(inputs) :]
    low, high = of_probes.min(initial=min(low, 0.0)), of_probes.max(initial=max(high, 0.0))
    return np.array([low, high, *divisors], np.float32)


def is_range_of(array: np.ndarray, weights: Mapping[str, np.ndarray], product: str) -> bool:
    """Whether an array is the range of a product's inputs, or the mark of `LOGITS`."""
    if product == LOGITS:
        return array.size == 0
    if product not in weights or array.dtype != np.float32:
        return False
    shape = weights[product].shape  # of a kernel [K, N], or of the token table [N, K]
    num_inputs = shape[0 if product.endswith("kernel") else -1]
    if array.shape != (2 + num_inputs,) or not np.isfinite(array).all():
        return False
    low, high, *divisors = array.tolist()
    return low <= 0.0 <= high and min(divisors) >= 0.0


def are_small(highest: np.ndarray) -> bool:
    """Whether the exponentials of logits need no maximum before: by the highest of each row."""
    return bool(np.abs(highest).max() < _SMALL)


def has_vnni() -> bool:
    """Whether sums of products of 8 bits have 32 bits on this processor; $TTA_VNNI=0 denies it."""
    if os.environ.get("TTA_VNNI") == "0":
        return False
    try:
        return bool(re.search(r"\bavx(512)?_vnni\b", Path("/proc/cpuinfo").read_text()))
    except OSError:  # not Linux
        from numpy._core._multiarray_umath import __cpu_features__ as features  # numpy 2

        return bool(features.get("AVX512VNNI"))
