"""Splits text into word pieces in TensorFlow operations, which TF Serving has. N texts."""

import unicodedata
from functools import cache
from typing import Any

import tensorflow as tf
import tensorflow_text as tf_text

from tta.choices import KEEP_ACCENTS, STRIP_LATIN
from tta.data.vocabulary.tokenizer import Tokenizer, max_word_length
from tta.data.vocabulary.unknown_words import UNSEEN_CHARACTER_PRICE
from tta.errors import InputError

_CODES = 0x30000  # no later character has a case or is composed
_MOST_MARKS = 3  # that compose with one letter


class GraphTokenizer:
    """Does what a `Tokenizer` does, with TensorFlow Text's FastBertTokenizer.

    TF Serving has no other operation for this. The operation folds characters as normalization
    "nfkc" does; the rules of the others are applied before it. Raises InputError if TensorFlow Text
    rejects the vocabulary.
    """

    def __init__(self, tokenizer: Tokenizer):
        self.vocabulary = vocabulary = tokenizer.vocabulary
        self._normalization = tokenizer.normalization
        is_nfkc = tokenizer.normalization == "nfkc"
        folds = tokenizer.lower_case and is_nfkc
        self._rules = None if is_nfkc else _rules(tokenizer.normalize)
        codes = sorted(map(ord, vocabulary.letters))
        self._letters = "[" + "".join(f"\\x{{{code:X}}}" for code in codes) + "]"
        self._longest = max_word_length(vocabulary)
        try:
            self._splitter = tf_text.FastBertTokenizer(
                vocab=list(vocabulary.tokens),
                max_bytes_per_word=4 * self._longest,  # of UTF-8
                unknown_token=vocabulary.tokens[vocabulary.unk_id],
                lower_case_nfd_strip_accents=folds,
                token_out_type=tf.int32,  # pyright: ignore[reportArgumentType]
            )
            self._normalizer = tf_text.FastBertNormalizer(folds)
        except (RuntimeError, ValueError, tf.errors.OpError) as error:
            raise InputError(f"not a usable vocabulary: {error}", vocabulary.path) from error

    def tokenize(self, texts: Any) -> Any:
        """Splits texts [N] string: a `tf.RaggedTensor` [N, None] int32 without begin and end."""
        return self._split(self._normalized(texts))[0]

    def spelling_costs(self, texts: Any, letter_price: float) -> Any:
        """As `SpellingCosts`: the cost of each piece of texts [N], 0 if known, in nats.

        Returns a `tf.RaggedTensor` [N, None] float32.
        """
        texts = self._normalized(texts)
        ids, words = self._split(texts)
        positions = tf.where(ids.values == self.vocabulary.unk_id)
        words = self._normalizer.normalize(tf.gather_nd(words.values, positions))
        words = tf.strings.strip(words)
        sizes = tf.strings.length(words, "UTF8_CHAR")
        unknown = tf.strings.regex_replace(words, self._letters, "")
        unknown = tf.strings.length(unknown, "UTF8_CHAR")
        letters = tf.cast(sizes - unknown, tf.float32)
        costs = letters * letter_price + tf.cast(unknown, tf.float32) * UNSEEN_CHARACTER_PRICE
        return ids.with_values(tf.scatter_nd(positions, costs, tf.shape(ids.values, tf.int64)))

    def _split(self, texts):
        """The ids of normalized texts, and the text of each: RaggedTensors [N, None]."""
        split: Any = self._splitter.tokenize_with_offsets(texts)
        ids, starts, stops = split
        texts = tf.gather(texts, ids.value_rowids())
        parts = tf.strings.substr(texts, starts.values, stops.values - starts.values)
        # A word that is too long is one unknown token.
        continues = tf.gather(tf.constant(self.vocabulary.continues_word), ids.values)
        first = tf.where(~continues)[:, 0]
        word = tf.cumsum(tf.cast(~continues, tf.int64)) - 1
        count = tf.size(first, tf.int64)
        size = tf.strings.length(parts, "UTF8_CHAR")
        is_long = tf.math.unsorted_segment_sum(size, word, count) > self._longest
        last = tf.math.unsorted_segment_max(stops.values, word, count)
        begin = tf.gather(starts.values, first)
        whole = tf.strings.substr(tf.gather(texts, first), begin, last - begin)
        is_long = tf.gather(is_long, word)
        ids = ids.with_values(tf.where(is_long, self.vocabulary.unk_id, ids.values))
        parts = tf.where(is_long, tf.gather(whole, word), parts)
        keep = ids.with_values(~(is_long & continues))
        return tuple(tf.ragged.boolean_mask(x, keep) for x in (ids, ids.with_values(parts)))

    def _normalized(self, texts):
        """As `Tokenizer.normalize`, but for what the operation does itself."""
        if self._rules is None:
            return texts
        texts = tf.strings.regex_replace(texts, r"[^\PC\t\n\r]|\x{FFFD}", "")
        if self._normalization == STRIP_LATIN:
            texts = tf.strings.regex_replace(texts, r"([\p{Latin}\p{Greek}])\p{Inherited}+", r"\1")
        changed, became = self._rules
        characters = tf.strings.unicode_split(texts, "UTF-8")
        place, is_changed = _find(changed, tf.strings.unicode_decode(texts, "UTF-8").values)
        values = tf.where(is_changed, tf.gather(tf.constant(became), place), characters.values)
        texts = tf.strings.reduce_join(characters.with_values(values), axis=-1)
        return _composed(texts) if self._normalization in (STRIP_LATIN, KEEP_ACCENTS) else texts


def _rules(normalize):
    """The code points that a tokenizer changes, sorted, and the text that each becomes."""
    changes = {}
    for character in map(chr, range(_CODES)):
        is_mark = unicodedata.category(character) == "Mn"
        if is_mark or unicodedata.normalize("NFD", character.lower()) != character:
            changes[ord(character)] = normalize(character).strip()  # blanks around ideographs
    return list(changes), list(changes.values())


@cache
def _pairs():
    """Pairs of code points that compose, each as one number, sorted, and what they become."""
    composed = {}
    for character in map(chr, range(_CODES)):
        *first, last = unicodedata.normalize("NFD", character)
        first = unicodedata.normalize("NFC", "".join(first))
        if len(first) == 1 and unicodedata.normalize("NFC", first + last) == character:
            composed[ord(first) * _CODES + ord(last)] = ord(character)
    pairs = sorted(composed)
    return pairs, [composed[pair] for pair in pairs]


def _composed(texts):
    """The texts in NFC, if the marks of each letter are in Unicode's order."""
    codes = tf.strings.unicode_decode(texts, "UTF-8")
    pairs, composed = _pairs()
    for _ in range(_MOST_MARKS):
        row = tf.concat([tf.cast(codes.values, tf.int64), [0]], 0)
        same_text = tf.concat([codes.value_rowids(), [-1]], 0)
        place, is_pair = _find(pairs, row[:-1] * _CODES + row[1:])
        is_pair &= same_text[:-1] == same_text[1:]
        values = tf.where(is_pair, tf.gather(tf.constant(composed), place), codes.values)
        keep = tf.concat([[True], ~is_pair], 0)[:-1]
        codes = tf.ragged.boolean_mask(codes.with_values(values), codes.with_values(keep))
    return tf.strings.unicode_encode(codes, "UTF-8")


def _find(keys, values):
    """The places of values in sorted keys, and whether they are there."""
    keys = tf.constant(keys, values.dtype)
    place = tf.minimum(tf.searchsorted(keys, values), tf.size(keys) - 1)
    return place, tf.gather(keys, place) == values
