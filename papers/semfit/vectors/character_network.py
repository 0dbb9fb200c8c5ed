"""The trained network over characters of an ELMo, as a file: it makes the vector of any word.

Peters et al. 2018, section 3.2, as `tta.papers.semfit.inputs.CharacterInput`: a table of
characters, convolutions with relu and the maximum over the word, highway layers, a dense layer.
`characters.safetensors` has its weights, under the names of that layer's. NumPy computes it,
because few words are new.

N words, C characters of a word, F filters, m dimensions of a vector.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from safetensors.numpy import save

from tta.checked_files import read_tensors
from tta.errors import InputError
from tta.names import CHARACTER_NETWORK
from tta.papers.semfit.vectors.target_vectors import NewWordVectors

_BLOCK_WORDS = 64
_TABLE, _PROJECTION = "characters", "projection"


class CharacterNetwork(NewWordVectors):
    """The network in a folder.

    Args:
        directory: has `characters.safetensors`.

    Attributes:
        path: of the file.
        size: m.

    Raises:
        InputError: the file is missing or damaged, or its arrays are not such a network.
    """

    def __init__(self, directory: Path | str):
        self.path = Path(directory) / CHARACTER_NETWORK
        arrays = read_tensors(self.path, "no such file; tta create-vectors writes it")
        for name, array in arrays.items():
            if array.dtype not in (np.float16, np.float32) or not np.isfinite(array).all():
                rule = f"{name} must be finite numbers of type float16 or float32"
                raise InputError(rule, self.path)
        self._weights = {name: array.astype(np.float32) for name, array in arrays.items()}
        self._filters = _layers(arrays, r"filters_\d")
        self._highways = _layers(arrays, r"highway_\d")
        self._check_shapes()
        self.size: int = self._weights[f"{_PROJECTION}/kernel"].shape[1]

    def _check_shapes(self):
        """Raises InputError unless the arrays are those of a network, and fit each other."""
        shapes = {name: array.shape for name, array in self._weights.items()}
        width = dict(enumerate(shapes.get(_TABLE, ()))).get(1, 0)
        expected, number = {_TABLE: (NUM_CHARACTERS, width)}, 0
        for layer in self._filters:
            length, _, count = (*shapes.get(f"{layer}/kernel", ()), 0, 0, 0)[:3]
            good = 1 <= length <= WORD_CHARACTERS
            expected |= {f"{layer}/kernel": (length if good else 1, width, count)}
            expected |= {f"{layer}/bias": (count,)}
            number += count
        for layer in self._highways:
            for part in ("transform", "gate"):
                expected |= {f"{layer}/{part}/kernel": (number, number)}
                expected |= {f"{layer}/{part}/bias": (number,)}
        size = (shapes.get(f"{_PROJECTION}/bias") or (0,))[0]
        expected |= {f"{_PROJECTION}/kernel": (number, size), f"{_PROJECTION}/bias": (size,)}
        if shapes != expected or not (width and number and size):
            wrong = sorted(n for n in shapes | expected if shapes.get(n) != expected.get(n))
            what = f": {wrong[0]} does not fit" if wrong else ""
            raise InputError(f"not the network over characters of an ELMo{what}", self.path)

    def vectors(self, words: Sequence[str]) -> np.ndarray:
        blocks = range(0, len(words), _BLOCK_WORDS)
        vectors = [self._of_block(words[start : start + _BLOCK_WORDS]) for start in blocks]
        return np.concatenate([np.zeros((0, self.size), np.float32), *vectors])

    def _of_block(self, words):
        w = self._weights
        characters = np.stack([spell(word.encode()) for word in words])
        x = w[_TABLE][characters]  # [N, C, numbers of a character]
        maxima = []
        for layer in self._filters:
            kernel = w[f"{layer}/kernel"]  # [width, numbers of a character, filters]
            windows = sliding_window_view(x, len(kernel), axis=1)  # [N, C - width + 1, .., width]
            responses = np.tensordot(windows, kernel, axes=([3, 2], [0, 1])).max(axis=1)
            maxima.append(np.maximum(responses + w[f"{layer}/bias"], 0))
        x = np.concatenate(maxima, axis=1)
        for layer in self._highways:
            gate = x @ w[f"{layer}/gate/kernel"] + w[f"{layer}/gate/bias"]
            new = x @ w[f"{layer}/transform/kernel"] + w[f"{layer}/transform/bias"]
            gate = 0.5 + 0.5 * np.tanh(0.5 * gate)  # the sigmoid, without overflow
            x = gate * x + (1 - gate) * np.maximum(new, 0)
        return x @ w[f"{_PROJECTION}/kernel"] + w[f"{_PROJECTION}/bias"]


def _layers(names, pattern):
    """The layers of a kind in order: their numbers have one digit."""
    layers = {name.partition("/")[0] for name in names}
    return sorted(layer for layer in layers if re.fullmatch(pattern, layer))


def network_bytes(weights: Mapping[str, np.ndarray]) -> bytes:
    """The contents of `characters.safetensors`: weights as `CharacterInput` names them, in float16.

    Raises InputError if float16 cannot hold a number.
    """
    with np.errstate(over="ignore"):
        arrays = {name: np.ascontiguousarray(a, np.float16) for name, a in weights.items()}
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise InputError(f"weight {name} has a number that float16 cannot hold")
    return save(arrays)


# The characters of a word: bytes are 0 to 255.
WORD_CHARACTERS = 50  # a word; its first 48 bytes between a begin and an end
BEGIN_SENTENCE, END_SENTENCE, BEGIN_WORD, END_WORD, PAD_CHARACTER = range(256, 261)
NUM_CHARACTERS = 262  # different values: 0, the padding of a batch, then all of the above plus 1


def spell(characters: bytes | list[int]) -> np.ndarray:
    """The numbers of a word: [50] int32, 1 to 261.

    Its first 48 characters stand between the begin and the end of a word; padding follows.
    """
    spelled = np.full(WORD_CHARACTERS, PAD_CHARACTER, np.int32)
    middle = list(characters)[: WORD_CHARACTERS - 2]
    spelled[: len(middle) + 2] = [BEGIN_WORD, *middle, END_WORD]
    return spelled + 1
