"""States that several tokens of a batch have in common, computed once.

A causal state depends on the tokens up to its own. Sentences that begin alike, as those of an
N-best list, have the states of the beginning in common. The products of a block then run over the
distinct states, and attention, whose masks are of sentences, over all tokens.

B batch, T tokens, U distinct states, D hidden size, N heads, H = D / N.
"""


class Distinct:
    """Between the tokens [B, T] of a batch and their distinct states.

    Args:
        k: the kit.
        given: (index, tokens), integers: the distinct state of each token [B, T], and a token of
            each distinct state [U], counted over the batch. None: no states are shared.
    """

    def __init__(self, k, given=None):
        self._k, self._given = k, given

    def of(self, x, size):
        """The states of tokens [B, T, ...], `size` numbers each, as distinct ones: [1, U, size]."""
        if self._given is None:
            return x
        return self._k.take(self._k.flat(x, size), self._given[1])[None]

    def spread(self, x):
        """The distinct states [1, U, D] of all tokens: [B, T, D]."""
        return x if self._given is None else self._k.take(x[0], self._given[0])

    def spread_heads(self, x):
        """The heads of distinct states [1, N, U, H] of all tokens: [B, N, T, H]."""
        if self._given is None:
            return x
        return self._k.transpose(self._k.take(x[0], self._given[0], axis=1), (1, 0, 2, 3))
