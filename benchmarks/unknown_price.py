"""Measures what unknown words should cost: the prices of `tta.data.vocabulary.unknown_words`.

    python -m benchmarks.unknown_price --input_file=part.txt

Letters: words that occur once in the text, and that the vocabulary can spell, cost a number of nats
per character, each piece predicted without the later pieces of its word. Other characters: those
that no piece has are coded by their frequencies in one half of the text, mixed with a uniform
distribution over Unicode; the share of the mixture that is best on the other half counts.
"""

import math
import re
from collections import Counter
from dataclasses import dataclass

import numpy as np

import tta
from tta import cli
from tta.data.text.lines import TextReader, expand_globs
from tta.scoring.scorers.options import OneModel
from tta.settings import RAW_TEXT, Config, setting

UNICODE = 150_000  # characters of Unicode


@dataclass(frozen=True, kw_only=True)
class PriceConfig(Config):
    """The text, and how much of it is scored."""

    input_file: list[str] = setting(..., RAW_TEXT)
    num_scored: int = setting(1500, "Lines that are scored for the price of letters.", 1)


def letter_price(lm, lines: list[str], num_scored: int) -> tuple[float, int]:
    """The nats per character of words that occur once, NaN without any, and their number."""
    counts = Counter(word for line in lines for word in _words(line))
    scored = lines[:: max(1, len(lines) // num_scored)][:num_scored]
    nats = letters = words = 0
    for tokens, scores in lm.score_tokens(scored):
        for word, score in _joined(tokens, scores):
            if word.isalpha() and counts[word] == 1:
                nats, letters, words = nats - score, letters + len(word), words + 1
    return nats / letters if letters else math.nan, words


def character_price(tokenizer, lines: list[str]) -> tuple[float, int]:
    """The nats per character that no piece has, NaN without any, and the number of these."""
    letters = tokenizer.vocabulary.letters
    known, coded = (
        Counter(
            character
            for line in half
            for word in tokenizer.unknown_words(line)
            for character in word
            if character not in letters
        )
        for half in _halves(lines)
    )
    total = coded.total()
    if not (total and known):
        return math.nan, total
    prices = [
        -sum(
            count * math.log(share / UNICODE + (1 - share) * known[character] / known.total())
            for character, count in coded.items()
        )
        / total
        for share in np.linspace(0.01, 0.99, 99)
    ]
    return min(prices), total


def _halves(lines):
    """Blocks of a thousand lines in turn, so that few documents are in both halves."""
    return [[line for n, line in enumerate(lines) if n // 1000 % 2 == half] for half in (0, 1)]


def _words(line):
    return re.findall(r"[^\W\d_]+", line.lower())


def _joined(tokens, scores):
    """Yields (word, score) of word pieces."""
    word, total = "", 0.0
    for token, score in zip(tokens, scores, strict=True):
        if not token.startswith("##"):
            if word:
                yield word, total
            word, total = "", 0.0
        word, total = word + token.removeprefix("##"), total + score
    if word:
        yield word, total


def main(model: OneModel, config: PriceConfig) -> None:
    """Prints both prices."""
    lm = tta.load(model.name, pll_variant="within_word_l2r")
    lines = list(TextReader(expand_globs(config.input_file)))
    price, count = character_price(lm.tokenizer, lines)
    print(f"characters that no piece has: {price:.2f} nats, of {count:,} in half of the text")
    price, count = letter_price(lm, lines, config.num_scored)
    print(f"letters: {price:.2f} nats, of {count:,} words that occur once")


run = cli.command(main, OneModel, PriceConfig)
