"""The one tokenizer of the project: data preparation, scoring and serving all split words so."""

import numpy as np

from tta.errors import InputError


class Tokenizer:
    """Splits text into word pieces with TensorFlow Text's FastBertTokenizer.

    Text never turns into a padding, begin, end or mask id: "[MASK]" in a text is five letters
    between brackets. Those ids are added by number only. A word that has no pieces becomes the
    unknown id.

    Args:
        vocabulary: a `tta.data.vocabulary.word_pieces.Vocabulary`.
        lower_case: whether to lower-case the text and strip its accents first.

    Raises:
        InputError: the vocabulary is one that TensorFlow Text cannot take.
    """

    def __init__(self, vocabulary, lower_case=True):
        # Here and not above: it takes seconds, and flags and errors should not wait for it.
        import tensorflow as tf
        import tensorflow_text as tf_text

        self.vocabulary = vocabulary
        self.lower_case = lower_case
        try:
            self._splitter = tf_text.FastBertTokenizer(
                vocab=list(vocabulary.tokens),
                unknown_token=vocabulary.tokens[vocabulary.unk_id],
                lower_case_nfd_strip_accents=lower_case,
                token_out_type=tf.int32,
            )
        except (RuntimeError, ValueError, tf.errors.OpError) as error:
            raise InputError(f"not a usable vocabulary: {error}", vocabulary.path) from error

    def tokenize(self, texts):
        """Splits texts, eagerly or inside a `tf.function` and its SavedModel.

        Args:
            texts: a string tensor [N], or a list of N str or (UTF-8) bytes.

        Returns:
            A `tf.RaggedTensor` [N, None] int32, without begin and end ids.
        """
        return self._splitter.tokenize(texts)

    def tokenize_flat(self, texts):
        """Splits a list of N texts into one flat array: the fast way for many.

        Args:
            texts: a list of N str or bytes.

        Returns:
            ids, the pieces of all texts one after another, int32 [sum of lengths], and
            lengths, int64 [N].

        Raises:
            InputError: a text is no valid Unicode (half a surrogate pair, from broken JSON).
        """
        if not texts:
            return np.zeros(0, np.int32), np.zeros(0, np.int64)
        try:
            texts = [text.encode() if isinstance(text, str) else text for text in texts]
        except UnicodeEncodeError as error:
            raise InputError(f"not valid Unicode: {error.object!r}") from None
        ragged = self.tokenize(texts)
        return ragged.values.numpy(), np.diff(ragged.row_splits.numpy())

    def encode(self, texts):
        """Splits texts into ids without begin and end.

        Args:
            texts: a list of N str.

        Returns:
            A list of N int32 arrays [T_n]; empty ones for texts without a piece.
        """
        ids, lengths = self.tokenize_flat(texts)
        return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []

    def encode_with_specials(self, texts):
        """As `encode`, with the begin and end ids around each text.

        Returns:
            A list of N int32 arrays [T_n + 2].
        """
        begin, end = self.vocabulary.bos_id, self.vocabulary.eos_id
        return [np.concatenate([[begin], ids, [end]], dtype=np.int32) for ids in self.encode(texts)]

    def pieces(self, ids):
        """The pieces (list of str) behind ids, special ones included.

        Raises:
            InputError: an id is not in the vocabulary.
        """
        size = len(self.vocabulary)
        for number in ids:
            if not 0 <= number < size:
                raise InputError(f"id {number} is not in a vocabulary of {size}")
        return [self.vocabulary.tokens[number] for number in ids]

    def decode(self, ids):
        """Joins ids to text (str): specials but the unknown left out, spaces between words.

        Case, accents and the spaces around punctuation are not brought back.
        """
        hidden = self.vocabulary.special_ids - {self.vocabulary.unk_id}
        pieces = self.pieces([number for number in ids if number not in hidden])
        return " ".join(pieces).replace(" ##", "")
