"""What a tokenizer of transformers makes of a text: its tokens, where they stand, what begins it.

T tokens of a text, without those that the tokenizer adds; W words.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np

from tta.data.vocabulary.unknown_words import spelling_cost
from tta.errors import InputError
from tta.modeling.config.language_model import UNKNOWN_PRICE
from tta.scoring.scorers.scorer import split_at_blanks

# Stands between texts in the training of many models whose begin token belongs to chats.
SEPARATOR = "<|endoftext|>"


class TextTokens:
    """The tokens of texts, by a tokenizer of transformers."""

    def __init__(self, tokenizer: Any):
        self._read = tokenizer

    def ids(self, text: str) -> list[int]:
        """The ids of the T tokens of a text."""
        return self._read(text, add_special_tokens=False)["input_ids"]

    @cached_property
    def added(self) -> list[int]:
        """The ids that the tokenizer adds before a text."""
        encoding = self._read("a", return_special_tokens_mask=True)
        pairs = zip(encoding["input_ids"], encoding["special_tokens_mask"], strict=True)
        return [number for number, _ in takewhile(lambda pair: pair[1], pairs)]

    def begin(self, token: str | None = None) -> list[int]:
        """The ids that a causal model reads before a text: of a token that the user names.

        By default, they are those that the tokenizer adds, or else its begin or end token. If its
        chat template has this token, which then begins or ends a turn, it is `SEPARATOR` instead.
        Raises InputError if the tokenizer does not have the token, or has none that begins a text.
        """
        vocabulary = self._read.get_vocab()
        if token is None:
            if self.added:
                return self.added
            token = self._read.bos_token or self._read.eos_token
            if token is None:
                rule = "a causal model needs a begin or an end token; begin_token names another one"
                raise InputError(rule)
            if SEPARATOR in vocabulary and token in str(self._read.chat_template):
                token = SEPARATOR
        if token not in vocabulary:
            raise InputError(f"begin_token must be a token of the tokenizer, not {token!r}")
        return [vocabulary[token]]

    def word_lengths(self, text: str, words: Sequence[str]) -> np.ndarray:
        """The number of tokens of each of W words, in their order in a text: [W] int64.

        A token belongs to the word in which it ends, and a blank to the word after it.
        """
        ends, spans = [], self._spans(text)
        for word in words:
            ends.append(text.index(word, ends[-1] if ends else 0) + len(word))
        last = np.maximum.accumulate([max(end - 1, 0) for _, end in spans])  # characters
        counts = np.searchsorted(last, ends)
        counts[-1:] = len(spans)
        return np.diff(counts, prepend=0)

    @cached_property
    def begins(self) -> list[bool]:
        """Whether a word, or the end, begins with a token, of each id of the vocabulary.

        Raises InputError if no token has the mark of a blank before it.
        """
        tokens = self._read.convert_ids_to_tokens(range(len(self._read)))
        begins_word = [str(token).startswith(("Ġ", "▁")) for token in tokens]
        if not any(begins_word):
            raise InputError("whole_words needs a tokenizer whose tokens say where words begin")
        special = set(self._read.all_special_tokens)
        return [
            is_begin or token in special
            for is_begin, token in zip(begins_word, tokens, strict=True)
        ]

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, None if there is none: as in GPT-2, which spells all."""
        unknown = self._read.unk_token_id
        return None if unknown == self._read.eos_token_id else unknown

    def spelling_costs(self, text: str) -> np.ndarray:
        """What spelling each unknown token costs, in nats, 0 for other tokens: [T] float64."""
        ids = self.ids(text)
        costs, last = np.zeros(len(ids)), None
        if self.unknown_id in ids:
            normalizer = self._read.backend_tokenizer.normalizer if self._read.is_fast else None
            for place, (number, span) in enumerate(zip(ids, self._spans(text), strict=True)):
                if number == self.unknown_id and span != last:
                    word, last = text[slice(*span)], span
                    word = word if normalizer is None else normalizer.normalize_str(word)
                    word = word.strip(" ▁")  # which SentencePiece writes for a blank
                    costs[place] = spelling_cost(word, self._letters, UNKNOWN_PRICE)
        return costs

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The characters of all tokens but the special ones."""
        tokens = self._read.get_vocab().keys() - set(self._read.all_special_tokens)
        return frozenset(c for token in tokens for c in token.removeprefix("##") or token)

    def _spans(self, text) -> list[tuple[int, int]]:
        """The first character of each token and the one after its last, or its word's if slow."""
        if self._read.is_fast:
            encoding = self._read(text, add_special_tokens=False, return_offsets_mapping=True)
            return encoding["offset_mapping"]
        ids, spans, end = self.ids(text), [], 0
        for word in split_at_blanks(text):
            start = text.index(word, end)
            end = start + len(word)
            pairs = zip(self.ids(text[:end]), ids, strict=False)
            count = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            spans += [(start, end)] * (count - len(spans))
        return spans + (spans[-1:] or [(0, len(text))]) * (len(ids) - len(spans))
