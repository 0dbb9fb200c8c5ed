"""The positions of queries: those that a sentence of the batch needs, or all."""


class Queries:
    """Which positions [Q] an encoder computes whose queries no other query reads.

    Args:
        k: the kit.
        ids: [B, T].
        wanted: [B, T] bool, the tokens that count; None is all.
    """

    def __init__(self, k, ids, wanted=None):
        self._k, self._asked = k, None
        self.positions = k.arange(k.size(ids, 1))
        if wanted is not None:
            self._asked = k.any(wanted, 0)  # [T]
            self.positions = k.nonzero(self._asked)

    def of(self, x):
        """[B, T, D] -> [B, Q, D]."""
        return x if self._asked is None else self._k.take(x, self.positions, axis=1)

    def spread(self, x):
        """[B, Q, D] -> [B, T, D]: zeros at the positions that nobody asked for."""
        return x if self._asked is None else spread(self._k, x, self._asked, axis=1, rank=3)


def spread(k, x, is_there, axis, rank):
    """Puts the entries of an axis where `is_there` [n] bool is True, and zeros elsewhere."""
    rows = k.where(is_there, k.cumsum(k.integer(is_there), 0), 0)
    return k.take(k.pad(x, [(int(i == axis), 0) for i in range(rank)]), rows, axis)
