"""Splits text into word pieces in TensorFlow operations, which TF Serving has.

N texts, T_n tokens of text n.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf
import tensorflow_text as tf_text

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.unknown_words import UNSEEN_CHARACTER_PRICE
from tta.errors import InputError


class EncodedTexts(NamedTuple):
    """Inputs of a model as ids.

    Attributes:
        input_ids: `tf.RaggedTensor` [N, T_n] int32.
        lengths: [N] int32, the tokens that each input had before it was cut.
    """

    input_ids: Any
    lengths: Any


class GraphTokenizer:
    """Does what a `Tokenizer` does, with TensorFlow Text's FastBertTokenizer.

    TF Serving has this operation only. It differs from BERT in a few characters (docs/serving.md).

    Raises:
        InputError: TensorFlow Text rejects the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.vocabulary = vocabulary = tokenizer.vocabulary
        # The operation's lower case decomposes letters and deletes marks, also the vocabulary's.
        letters = "".join(vocabulary.letters)
        parts = unicodedata.normalize("NFD", letters)
        has_marks = parts != letters or any(unicodedata.category(c) == "Mn" for c in parts)
        keeps = has_marks and tokenizer.normalization in (STRIP_LATIN, KEEP_ACCENTS)
        folds = tokenizer.lower_case and not keeps
        self._keeps_marks = tokenizer.lower_case and keeps
        codes = sorted(map(ord, vocabulary.letters))
        self._letters = "[" + "".join(f"\\x{{{code:X}}}" for code in codes) + "]"
        try:
            self._splitter = tf_text.FastBertTokenizer(
                vocab=list(vocabulary.tokens),
                unknown_token=vocabulary.tokens[vocabulary.unk_id],
                lower_case_nfd_strip_accents=folds,
                token_out_type=tf.int32,  # pyright: ignore[reportArgumentType]
            )
            self._normalizer = tf_text.FastBertNormalizer(folds)
        except (RuntimeError, ValueError, tf.errors.OpError) as error:
            raise InputError(f"not a usable vocabulary: {error}", vocabulary.path) from error

    def tokenize(self, texts: Any) -> Any:
        """Splits texts [N] string: a `tf.RaggedTensor` [N, None] int32 without begin and end."""
        return self._splitter.tokenize(self._cased(texts))

    def spelling_costs(self, texts: Any, letter_price: float) -> Any:
        """As `SpellingCosts`: the cost of each piece of texts [N], 0 if known, in nats.

        Returns a `tf.RaggedTensor` [N, None] float32.
        """
        texts = self._cased(texts)
        split: Any = self._splitter.tokenize_with_offsets(texts)
        ids, starts, stops = split
        positions = tf.where(ids.values == self.vocabulary.unk_id)
        starts, stops = (tf.gather_nd(one.values, positions) for one in (starts, stops))
        texts = tf.gather(texts, tf.gather_nd(ids.value_rowids(), positions))
        words = self._normalizer.normalize(tf.strings.substr(texts, starts, stops - starts))
        words = tf.strings.strip(words)
        sizes = tf.strings.length(words, "UTF8_CHAR")
        others = tf.strings.regex_replace(words, self._letters, "")
        others = tf.strings.length(others, "UTF8_CHAR")
        letters = tf.cast(sizes - others, tf.float32)
        costs = letters * letter_price + tf.cast(others, tf.float32) * UNSEEN_CHARACTER_PRICE
        return ids.with_values(tf.scatter_nd(positions, costs, tf.shape(ids.values, tf.int64)))

    def _cased(self, texts):
        return tf.strings.lower(texts, "utf-8") if self._keeps_marks else texts

    def encode_texts(self, texts: Sequence[Any], max_seq_length: int) -> EncodedTexts:
        """One or two string tensors [N] as the inputs of a classifier, cut as BERT cuts them."""
        pieces = [self.tokenize(one) for one in texts]
        num_boundaries = 1 + len(pieces)
        lengths = tf.add_n([tf.cast(one.row_lengths(), tf.int32) for one in pieces])
        size = max(0, max_seq_length - num_boundaries)
        if len(pieces) == 1:
            trimmed = [pieces[0][:, :size]]
        else:
            # Of two equally long texts, the trimmer cuts its first one, BERT the second.
            trimmed = tf_text.ShrinkLongestTrimmer(size).trim(pieces[::-1])[::-1]
        ids, _ = tf_text.combine_segments(trimmed, self.vocabulary.bos_id, self.vocabulary.eos_id)
        return EncodedTexts(ids, num_boundaries + lengths)
