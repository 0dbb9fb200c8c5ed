"""Attention masks over a kit: [B or 1, Q or 1, S] bool, True = may attend.

`is_real` [B, T] bool is True at real tokens; `queries` are the positions [Q] of the queries; T
tokens are the keys.
"""

from tta.modeling.functions.kit import Array, Kit


def tokens(k: Kit, is_real: Array):
    """0, 1, ... to T - 1."""
    return k.arange(k.size(is_real, 1))


def others(k: Kit, is_real: Array, queries: Array):
    """T-TA's mask: all real tokens except the query's own (paper, section 4.2.1): [B, Q, T]."""
    return not_self(k, queries, k.size(is_real, 1)) & is_real[:, None]


def not_self(k: Kit, queries: Array, count: Array):
    """All of `count` tokens except the query's own: [1, Q, T]."""
    return (~k.equal(queries[:, None], k.arange(count)[None]))[None]


def up_to(k: Kit, is_real: Array, queries: Array):
    """A left-to-right model's mask: real tokens up to and including the query's: [B, Q, T]."""
    return (queries[:, None] >= tokens(k, is_real)[None])[None] & is_real[:, None]


def from_on(k: Kit, is_real: Array, queries: Array):
    """A right-to-left model's mask: real tokens from the query's on: [B, Q, T]."""
    return (queries[:, None] <= tokens(k, is_real)[None])[None] & is_real[:, None]


def everything(k: Kit, is_real: Array):
    """BERT's mask: all real tokens for every query: [B, 1, T]."""
    return is_real[:, None]


def in_word(k: Kit, word_ids: Array, queries: Array):
    """Whether a token belongs to the word of the query's: [B, Q, T].

    `word_ids` [B, T] are equal at all pieces of a word and different at all other real tokens.
    """
    return k.equal(k.take(word_ids, queries, axis=1)[:, :, None], word_ids[:, None])


def words_of(k: Kit, ids: Array, continues: Array):
    """The `word_ids` of ids [B, T]; `continues` [V] bool is whether a piece continues a word.

    In a window that begins inside a word, the rest of that word counts as part of the begin token,
    whose score is not used there.
    """
    return k.cumsum(k.integer(~k.take(continues, ids)), 1)


def without_later_pieces(k: Kit, mask: Array, word_ids: Array, queries: Array):
    """A mask without the later pieces of the query's word (Kauf and Ivanova 2023): [B, Q, T]."""
    is_later = (queries[:, None] < tokens(k, word_ids)[None])[None]
    return mask & ~(is_later & in_word(k, word_ids, queries))


def last_hidden(k: Kit, is_real: Array, queries: Array, word_ids: Array | None = None):
    """The last token that the prediction of a token must not know: [B or 1, Q].

    It is the token itself; with `word_ids`, the last piece of its word.
    """
    if word_ids is None:
        return queries[None]
    same = in_word(k, word_ids, queries) & is_real[:, None]
    return k.maximum(queries[None], k.max(k.where(same, tokens(k, is_real), 0), -1))


def two_sided(k: Kit, is_real: Array, queries: Array, last: Array):
    """The mask of a query that reads two streams, one after the other: [B, Q, 2T].

    Query i sees the forward states of real tokens before token i, and the backward states of those
    after its last hidden token, `last` [B or 1, Q]. A state has seen all tokens in its direction up
    to its own, so it knows none of the hidden tokens.
    """
    keys = tokens(k, is_real)
    is_before = (keys[None] < queries[:, None])[None] & is_real[:, None]
    is_after = (keys[None, None] > last[:, :, None]) & is_real[:, None]
    return k.concatenate([is_before, is_after], -1)
