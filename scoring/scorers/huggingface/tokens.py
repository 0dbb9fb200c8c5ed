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
    """The tokens of texts.

    Args:
        tokenizer: one of transformers. A fast one knows where its tokens stand. Of another one, a
            token stands in a word between blanks.
    """

    def __init__(self, tokenizer: Any):
        self._read = tokenizer

    def ids(self, text: str) -> list[int]:
        """The ids of the T tokens of a text."""
        return self._read(text, add_special_tokens=False)["input_ids"]

    @cached_property
    def added(self) -> list[int]:
        """The ids that the tokenizer adds before a text."""
        found = self._read("a", return_special_tokens_mask=True)
        pairs = zip(found["input_ids"], found["special_tokens_mask"], strict=True)
        return [number for number, _ in takewhile(lambda pair: pair[1], pairs)]

    def begin(self, token: str | None = None) -> list[int]:
        """The ids that a causal model reads before a text.

        They are those that the tokenizer adds; if it adds none, its begin token, or else its end
        token. If the chat template writes this one around the turns of a chat, it is `SEPARATOR`,
        where there is one.

        Args:
            token: another one, which the user names.

        Raises:
            InputError: the tokenizer does not have the token, or has none that begins a text.
        """
        known = self._read.get_vocab()
        if token is None and self.added:
            return self.added
        if token is None:
            token = self._read.bos_token or self._read.eos_token
            if token is None:
                rule = "a causal model needs a begin or an end token; begin_token names another one"
                raise InputError(rule)
            if SEPARATOR in known and token in str(self._read.chat_template):
                token = SEPARATOR
        if token not in known:
            raise InputError(f"begin_token must be a token of the tokenizer, not {token!r}")
        return [known[token]]

    def word_lengths(self, text: str, words: Sequence[str]) -> np.ndarray:
        """The number of tokens of each of W words, in their order in a text: [W] int64.

        A token belongs to the word in which it ends, and a blank to the word after it.
        """
        ends = []
        for word in words:
            ends.append(text.index(word, ends[-1] if ends else 0) + len(word))
        spans = self._spans(text)
        counts = _ended(spans, ends)
        counts[-1:] = len(spans)
        return np.diff(counts, prepend=0)

    def num_after(self, text: str, place: int) -> int:
        """The number of tokens of a text that end after its first `place` characters."""
        spans = self._spans(text)
        return len(spans) - int(_ended(spans, [place])[0])

    def spelling_costs(self, text: str) -> np.ndarray:
        """What spelling each unknown token costs, in nats, 0 for other tokens: [T] float64."""
        ids = self.ids(text)
        costs, last = np.zeros(len(ids)), None
        if self.unknown_id in ids:
            for place, (number, span) in enumerate(zip(ids, self._spans(text), strict=True)):
                if number == self.unknown_id and span != last:
                    word, last = self._normalized(text[slice(*span)]), span
                    costs[place] = spelling_cost(word, self._letters, UNKNOWN_PRICE)
        return costs

    @cached_property
    def unknown_id(self) -> int | None:
        """The id of the unknown token, None if there is none: as in GPT-2, which spells all."""
        unknown = self._read.unk_token_id
        return None if unknown == self._read.eos_token_id else unknown

    def _spans(self, text) -> list[tuple[int, int]]:
        """The first character of each token, and the one after its last; its word's, if slow."""
        if self._read.is_fast:
            found = self._read(text, add_special_tokens=False, return_offsets_mapping=True)
            return found["offset_mapping"]
        ids, spans, end = self.ids(text), [], 0
        for word in split_at_blanks(text):
            start = text.index(word, end)
            end = start + len(word)
            pairs = zip(self.ids(text[:end]), ids, strict=False)
            count = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            spans += [(start, end)] * (count - len(spans))
        return spans + (spans[-1:] or [(0, len(text))]) * (len(ids) - len(spans))

    @cached_property
    def _letters(self) -> frozenset[str]:
        """The characters of all tokens but the special ones."""
        tokens = self._read.get_vocab().keys() - set(self._read.all_special_tokens)
        return frozenset(c for token in tokens for c in token.removeprefix("##") or token)

    def _normalized(self, word):
        """A word as its tokens spell it."""
        normalizer = self._read.backend_tokenizer.normalizer if self._read.is_fast else None
        word = word if normalizer is None else normalizer.normalize_str(word)
        return word.strip(" ▁")  # which SentencePiece writes for a blank


def _ended(spans, ends):
    """The number of tokens whose last character stands before each of some places."""
    return np.searchsorted(np.maximum.accumulate([max(end - 1, 0) for _, end in spans]), ends)
