"""What of a batch is computed: queries that a sentence needs, and each distinct state once.

B batch, T tokens, U distinct states, D hidden size, N heads, H = D / N.
"""

from collections.abc import Sequence

from tta.modeling.functions.kit import Array, Kit


class Queries:
    """Which positions [Q] an encoder computes whose queries no other query reads.

    Args:
        k: the kit.
        ids: [B, T].
        wanted: [B, T] bool, the tokens that count; None is all.
    """

    def __init__(self, k: Kit, ids: Array, wanted: Array | None = None):
        self._k, self._asked = k, None
        self.positions = k.arange(k.size(ids, 1))
        if wanted is not None:
            self._asked = k.any(wanted, 0)  # [T]
            self.positions = k.nonzero(self._asked)

    def of(self, x: Array):
        """[B, T, D] -> [B, Q, D]."""
        return x if self._asked is None else self._k.take(x, self.positions, axis=1)

    def spread(self, x: Array):
        """[B, Q, D] -> [B, T, D]: zeros at the positions that nobody asked for."""
        return x if self._asked is None else spread(self._k, x, self._asked, axis=1, rank=3)


def spread(k: Kit, x: Array, is_there: Array, axis: int, rank: int):
    """Puts the entries of an axis where `is_there` [n] bool is True, and zeros elsewhere."""
    rows = k.where(is_there, k.cumsum(k.integer(is_there), 0), 0)
    return k.take(k.pad(x, [(int(i == axis), 0) for i in range(rank)]), rows, axis)


class Distinct:
    """Between the tokens [B, T] of a batch and their distinct states, which are computed once.

    A causal state depends on the tokens up to its own. Sentences that begin alike, as those of an
    N-best list, have the states of the beginning in common. The products of a block then run over
    the distinct states, and attention, whose masks are of sentences, over all tokens.

    Args:
        k: the kit.
        given: (index, tokens), integers: the distinct state of each token [B, T], and a token of
            each distinct state [U], counted over the batch. None: no states are shared.
    """

    def __init__(self, k: Kit, given: Sequence[Array] | None = None):
        self._k, self._given = k, given

    def of(self, x: Array, size: int):
        """The states of tokens [B, T, ...], `size` numbers each, as distinct ones: [1, U, size]."""
        if self._given is None:
            return x
        return self._k.take(self._k.flat(x, size), self._given[1])[None]

    def spread(self, x: Array):
        """The distinct states [1, U, D] of all tokens: [B, T, D]."""
        return x if self._given is None else self._k.take(x[0], self._given[0])

    def spread_heads(self, x: Array):
        """The heads of distinct states [1, N, U, H] of all tokens: [B, N, T, H]."""
        if self._given is None:
            return x
        return self._k.transpose(self._k.take(x[0], self._given[0], axis=1), (1, 0, 2, 3))
