"""The tokenizer: data preparation, scoring and serving all split text into the same pieces."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError


class Tokenizer:
    """Splits text into word pieces with TensorFlow Text's FastBertTokenizer.

    Text never becomes a padding, begin, end or mask id: "[MASK]" in a text is four letters between
    brackets. These ids are only added by number. A word that cannot be split into pieces becomes
    the unknown id.

    If `lower_case` is true, text is lower-cased and its accents are stripped first.

    Raises:
        InputError: TensorFlow Text rejects the vocabulary.
    """

    def __init__(self, vocabulary: Vocabulary, lower_case: bool = True):
        # Imported here because it takes seconds; flags and errors should not wait for it.
        import tensorflow as tf
        import tensorflow_text as tf_text

        self.vocabulary = vocabulary
        self.lower_case = lower_case
        try:
            self._splitter = tf_text.FastBertTokenizer(
                vocab=list(vocabulary.tokens),
                unknown_token=vocabulary.tokens[vocabulary.unk_id],
                lower_case_nfd_strip_accents=lower_case,
                token_out_type=tf.int32,  # pyright: ignore[reportArgumentType]
            )
        except (RuntimeError, ValueError, tf.errors.OpError) as error:
            raise InputError(f"not a usable vocabulary: {error}", vocabulary.path) from error

    def tokenize(self, texts: Any) -> Any:
        """Splits texts, eagerly or inside a `tf.function`, without adding begin and end ids.

        The texts are a string tensor [N], or N str or (UTF-8) bytes. Returns a `tf.RaggedTensor`
        [N, None] int32.
        """
        return self._splitter.tokenize(texts)

    def tokenize_flat(self, texts: Sequence[str | bytes]) -> tuple[np.ndarray, np.ndarray]:
        """Splits N texts into one flat array, which is fast for many texts.

        Returns the ids of all texts one after another, int32 [sum of lengths], and the lengths,
        int64 [N].

        Raises:
            InputError: a text is not valid Unicode (half a surrogate pair, from broken JSON).
        """
        if not texts:
            return np.zeros(0, np.int32), np.zeros(0, np.int64)
        try:
            texts = [text.encode() if isinstance(text, str) else text for text in texts]
        except UnicodeEncodeError as error:
            raise InputError(f"not valid Unicode: {error.object!r}") from None
        ragged = self.tokenize(texts)
        return ragged.values.numpy(), np.diff(ragged.row_splits.numpy())

    def encode(self, texts: Sequence[str | bytes]) -> list[np.ndarray]:
        """Splits N texts into N int32 arrays [T_n] of ids, without begin and end."""
        ids, lengths = self.tokenize_flat(texts)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Looks up the pieces of ids, special tokens included.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        tokens = self.vocabulary.tokens
        ids = list(ids)
        for number in ids:
            if not 0 <= number < len(tokens):
                raise InputError(f"id {number} is not in a vocabulary of {len(tokens)}")
        return [tokens[number] for number in ids]
