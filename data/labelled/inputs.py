"""Texts and pairs of texts to the input of a classifier: begin token, texts, separators.

    [CLS] a [SEP]
    [CLS] a [SEP] b [SEP]

N examples, T_n tokens of example n.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.data.vocabulary.tokenizer import Tokenizer


class EncodedTexts(NamedTuple):
    """Examples as ids.

    Attributes:
        input_ids: `tf.RaggedTensor` [N, T_n] int32.
        lengths: [N] int32, the tokens that each example had before it was cut.
    """

    input_ids: Any
    lengths: Any


def encode_texts(tokenizer: Tokenizer, texts: Sequence[Any], max_seq_length: int) -> EncodedTexts:
    """Makes the ids of examples, eagerly or inside a `tf.function`.

    An input that is too long is cut: pieces are removed from the end of the longer text, one at a
    time, as in BERT's run_classifier. So a short question is kept whole beside a long answer.

    Args:
        tokenizer: the model's.
        texts: one or two string tensors [N], or lists of N str: the first texts, and the second.
        max_seq_length: the largest number of tokens, boundary tokens included.
    """
    import tensorflow as tf
    import tensorflow_text as tf_text

    vocabulary = tokenizer.vocabulary
    pieces = [tokenizer.tokenize(tf.convert_to_tensor(one, tf.string)) for one in texts]
    num_boundaries = 1 + len(pieces)
    lengths = num_boundaries + tf.add_n([tf.cast(one.row_lengths(), tf.int32) for one in pieces])
    size = max(0, max_seq_length - num_boundaries)
    if len(pieces) == 1:
        trimmed = [pieces[0][:, :size]]
    else:
        # Of two equally long texts, the trimmer cuts the first one it is given, BERT the second.
        trimmed = tf_text.ShrinkLongestTrimmer(size).trim(pieces[::-1])[::-1]
    ids, _ = tf_text.combine_segments(trimmed, vocabulary.bos_id, vocabulary.eos_id)
    return EncodedTexts(ids, lengths)


def encode_rows(
    tokenizer: Tokenizer, texts: Sequence[Sequence[str]], max_seq_length: int
) -> tuple[list[np.ndarray], np.ndarray]:
    """As `encode_texts`: ids of each example, N arrays [T_n] int32, and whether it was cut, [N]."""
    ids, lengths = encode_texts(tokenizer, texts, max_seq_length)
    rows = np.split(ids.values.numpy(), ids.row_splits.numpy()[1:-1])[: len(lengths)]
    return rows, lengths.numpy() > max_seq_length
