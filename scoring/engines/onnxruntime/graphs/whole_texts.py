"""Texts as parts of an ONNX graph: long ones in windows, and what unknown words cost.

B sentences, T tokens, W windows, S tokens of a window, C characters.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor, arange, concatenate, where


@dataclass(frozen=True, eq=False)
class Windows:
    """The windows of a batch of sentences, begin and end token included.

    Attributes:
        shape: B and T, [1] int64 each.
        sentence: [W] int64, the sentence of each window.
        position: [W, S] int64, the position in its sentence of each token.
        keep: [W, S] bool, the tokens whose results are taken from the window.
    """

    shape: tuple[Tensor, Tensor]
    sentence: Tensor
    position: Tensor
    keep: Tensor

    @property
    def _places(self):
        """[W, S] int64, of each token in a flat batch."""
        return self.sentence.expand(1) * self.shape[1] + self.position

    def rows(self, x: Tensor) -> Tensor:
        """The windows of x [B, T]: [W, S]."""
        return x.reshape(-1).take(self._places)

    def join(self, values: Tensor, *sizes: int) -> Tensor:
        """The results of all sentences from those of the windows: [W, S, ...] -> [B, T, ...].

        `sizes` are those of the further axes. Padding has zeros.
        """
        kept = self.keep.reshape(-1).positions()
        places = self._places.reshape(-1).take(kept).expand(1)
        found = values.reshape(-1, *sizes).take(kept)
        batch, tokens = self.shape
        graph = values.graph
        shape = concatenate([batch * tokens, *(graph.constant([size]) for size in sizes)], 0)
        zeros = graph.operator("ConstantOfShape", shape)
        joined = graph.operator("ScatterND", zeros, places, found)
        return joined.reshape(batch, tokens, *sizes)


def split_windows(mask: Tensor, size: int, wanted: Tensor | None = None) -> Windows:
    """As `tta.scoring.scorers.inference.windows.split_windows`, for a batch.

    Args:
        mask: [B, T] bool, True at real tokens.
        size: number of pieces in a window, at most.
        wanted: [B] int64, the only position of each sentence that is asked for; None is all. Each
            sentence then has one window.
    """
    larger, smaller = (partial(mask.graph.operator, kind) for kind in ("Max", "Min"))
    stride, (batch, tokens) = max(1, size // 2), (mask.size(0), mask.size(1))
    length = mask.cast(np.int64).sum(1, keepdims=True) - 2  # [B, 1], pieces
    surplus = larger(length - size, 0)
    largest = surplus.reshape(-1).pad([(0, 1)]).max(0, keepdims=True)  # 0 for an empty batch
    number = arange((largest + (stride - 1)) // stride + 1)
    starts = [smaller((number + shift) * stride, surplus) for shift in (-1, 0, 1)]  # [B, N]
    before, start, after = (larger(one, 0) for one in starts)
    # The middles of the overlaps with the window before and the one after, as positions.
    first = where(number > 0, (before + start + size) // 2 + 1, 0)
    is_last = start.equals(surplus)
    stop = where(is_last, length + 2, (start + after + size) // 2 + 1)
    is_window = (before < surplus) | number.equals(0)
    if wanted is not None:
        is_window = is_window & (first <= wanted.expand(1)) & (wanted.expand(1) < stop)
    chosen = is_window.reshape(-1).positions()
    sentence = chosen // number.size(0)
    start, first, stop = (x.reshape(-1).take(chosen).expand(1) for x in (start, first, stop))
    column = arange(smaller(tokens, size + 2))
    end = larger(length, size).take(sentence) + 1
    position = where(column.equals(size + 1), end, start + column)
    position = where(column.equals(0), 0, position)
    keep = (first <= position) & (position < stop)
    return Windows((batch, tokens), sentence, position, keep)


def unknown_costs(
    ids: Tensor, characters: Tensor, unk_id: int, pages: Tensor, prices: Tensor
) -> Tensor:
    """What unknown words cost, 0 at other tokens: [B, T] int32 -> [B, T] float32, in nats.

    Args:
        ids: the tokens.
        characters: [B, T, C] int32, the code points of each token in the normalized text, padded
            with 0.
        unk_id: the unknown token.
        pages, prices: of `tta.data.vocabulary.spelling.SpellingCosts.pages`.
    """
    code, size = characters.cast(np.int64), 256
    page = pages.take(code // size).cast(np.int64)
    price = prices.reshape(-1).take(page * size + characters.graph.operator("Mod", code, size))
    is_unknown = ids.cast(np.int64).equals(unk_id)
    return where(is_unknown, price.sum(-1), 0.0)
