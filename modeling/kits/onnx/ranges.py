"""Fixed ranges of the inputs of products, for precision int8: one scale for all rows.

K inputs, N outputs, M rows.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

# One channel of so many is computed apart, if inputs are not smoothed.
_APART = 64
# Larger inputs are cut off. With the largest input as the end of the range, steps are so wide that
# a score is off by three times as much.
_PERCENTILE = 99.995
LOGITS = "logits"  # the "product" whose range is that of the largest logit of each row
# exp of a number up to 88 is finite in float32, and so is the sum of as many as there are pieces.
_SMALL = 40.0


@dataclass(frozen=True)
class InputRange:
    """The range of the inputs of a product.

    Attributes:
        low, high: ends of the range, of inputs that were divided by `smoothing`.
        smoothing: [K] float32; None divides by nothing. The weights are multiplied by it, so that
            channels with large inputs do not make the steps of the others wide (Xiao et al. 2023,
            "SmoothQuant").
        apart: channels, integers, whose products are computed in float32 instead.
    """

    low: float
    high: float
    smoothing: np.ndarray | None = None
    apart: np.ndarray | None = None

    def steps(self) -> dict[str, np.ndarray]:
        """The width of a step, [] float32, and the uint8 that means 0, []."""
        width = np.float32(max(self.high - self.low, 1e-30) / 255)
        zero = np.clip(np.rint(-self.low / width), 0, 255).astype(np.uint8)
        return {"step": np.asarray(width), "zero": zero}


def fit(inputs: np.ndarray, weights: np.ndarray | None = None) -> InputRange:
    """The range of rows of inputs [M, K].

    `weights` [K] are the largest of each channel, in all products of these inputs. None smoothes
    nothing, which would take longer; an activation makes a few channels large, which are computed
    apart.
    """
    smoothing = apart = None
    largest = np.abs(inputs).max(axis=0)
    if weights is not None:
        smoothing = np.sqrt(np.maximum(largest, 1e-4) / np.maximum(weights, 1e-4))
        smoothing = (smoothing / np.exp(np.log(smoothing).mean())).astype(np.float32)
        inputs = inputs / smoothing
    elif count := len(largest) // _APART:
        apart = np.sort(np.argsort(largest)[-count:])
        inputs = np.delete(inputs, apart, axis=1)
    low, high = np.percentile(inputs, (100 - _PERCENTILE, _PERCENTILE))
    return InputRange(min(float(low), 0.0), max(float(high), 0.0), smoothing, apart)


def logits_are_small(ranges: Mapping[str, InputRange]) -> bool:
    """Whether the exponentials of logits need no maximum before them."""
    found = ranges.get(LOGITS)
    return found is not None and -_SMALL < found.low <= found.high < _SMALL


def has_vnni() -> bool:
    """Whether sums of products of 8 bits have 32 bits on this processor; $TTA_VNNI=0 denies it."""
    if os.environ.get("TTA_VNNI") == "0":
        return False
    try:
        return bool(re.search(r"\bavx(512)?_vnni\b", Path("/proc/cpuinfo").read_text()))
    except OSError:  # not Linux
        from numpy._core._multiarray_umath import __cpu_features__ as features  # numpy 2

        return bool(features.get("AVX512VNNI"))
