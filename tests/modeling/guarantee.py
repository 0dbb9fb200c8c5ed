"""The check of the guarantee: no output knows its own token, and every other token matters.

Every comparison is between two batches of one shape that differ in nothing but tokens, row by row,
so that "the same" can mean every bit.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import VOCAB_SIZE, tiny_config

# Rows of this type take a third of the time, so they run with the tests of TensorFlow.
BFLOAT16 = pytest.param("mixed_bfloat16", marks=pytest.mark.tensorflow)
DTYPES = ["float32", BFLOAT16]
HIDDEN_SIZE = tiny_config().hidden_size


def outputs_of(model):
    """(ids, mask) -> hidden states and logits, side by side: [B, T, D + V] float32."""

    def outputs(ids, mask, *words):
        inputs = {"input_ids": ids, "padding_mask": mask}
        found = model(inputs | ({"word_ids": words[0]} if words else {}))
        return tf.concat([tf.cast(found["hidden_states"], tf.float32), found["logits"]], axis=-1)

    return outputs


def graph_of(model, *more):
    """The same as a graph of unknown shape; `more`: types of inputs after ids and mask."""
    return tf.function(
        outputs_of(model),
        input_signature=[tf.TensorSpec([None, None], t) for t in (tf.int32, tf.bool, *more)],
        autograph=False,
    )


def with_each_token_replaced(length, width, seed):
    """A sentence [T] `width` times, the same with token i replaced in row i, and its mask."""
    rng = np.random.default_rng([seed, length, width])
    before = np.tile(rng.integers(0, VOCAB_SIZE, width), (width, 1)).astype(np.int32)
    after = before.copy()
    i = np.arange(width)
    after[i, i] = (before[i, i] + rng.integers(1, VOCAB_SIZE, width)) % VOCAB_SIZE
    return before, after, np.broadcast_to(i < length, (width, width))


def check(outputs, length, width, word_ids=None):
    """Replaces each token, looks at each position; `word_ids` [width] hide later pieces, too."""
    before, after, mask = with_each_token_replaced(length, width, seed=width)
    words = () if word_ids is None else (np.tile(word_ids, (width, 1)),)
    first, second = (outputs(ids, mask, *words).numpy() for ids in (before, after))
    assert np.isfinite(first).all()
    same = first == second  # [replaced, at, D + V]
    same_at_all, same_state = same.all(axis=-1), same[..., :HIDDEN_SIZE].all(axis=-1)

    def where(replaced, at):
        return f"length {length}, words {word_ids}, token {replaced} replaced, looked at {at}"

    for pair in itertools.product(range(width), range(length)):
        replaced, at = pair
        if replaced == at:
            assert same_at_all[pair], f"self-unknown broken: {where(*pair)}"
        elif replaced >= length:
            assert same_at_all[pair], f"padding matters: {where(*pair)}"
        elif word_ids is not None and word_ids[replaced] == word_ids[at] and replaced > at:
            assert same_at_all[pair], f"later piece of the word seen: {where(*pair)}"
        else:
            assert not same_state[pair], f"does not matter: {where(*pair)}"
