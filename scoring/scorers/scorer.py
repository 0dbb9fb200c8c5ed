"""The interface of all scorers: sentence scores, token scores, sentence vectors.

N texts, T tokens, D vector size. A new kind of scorer is a subclass of `Scorer` and one line in
`tta.scoring.scorers.load.KINDS`; docs/scorers.md shows one.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tta.choices import REDUCTIONS
from tta.errors import InputError

SumsAndCounts = tuple[np.ndarray, np.ndarray]


class TokenScores(NamedTuple):
    """The T tokens of a text and their log-probabilities: [T] float64, natural log.

    Boundary tokens are included if they are scored.
    """

    tokens: list[str]
    log_probabilities: np.ndarray


class SentenceError(InputError):
    """A sentence breaks a rule. `index` counts from 0; the rule reads like "is too long"."""

    def __init__(self, rule: str, index: int):
        super().__init__(f"sentence {index + 1} {rule}")
        self.sentence_rule = rule
        self.index = index


class Scorer:
    """Scores and encodes texts. A method that a kind of model does not have raises an InputError.

    A subclass that scores overrides `score_tokens`, and `score_with_counts` if that is faster. A
    subclass that encodes overrides `encode` and lists its `representations`.

    Attributes:
        name: name of the model in signatures and errors.
        signature: what the results depend on, in one line: name, kind, contents, version.
        representations: what `encode` can compute, the default first; () if it computes nothing.
        no_scores, no_vectors: the error's text if it does not score or encode.
    """

    name = "model"
    signature = ""
    representations = ()
    no_scores = "this kind of model gives no sentence scores"
    no_vectors = "this kind of model has no sentence vectors"

    def score(
        self, texts: Sequence[str], reduction: str = "sum", progress: bool = False
    ) -> np.ndarray:
        """Scores texts.

        Args:
            texts: N str.
            reduction: "sum" of the tokens' log-probabilities, or their "mean".
            progress: whether to show a progress bar on standard error.

        Returns:
            [N] float64, natural log, higher is better. A text without tokens scores 0.

        Raises:
            InputError: the model gives no scores, or cannot score one of the texts.
        """
        check_choice("reduction", reduction, REDUCTIONS)
        sums, counts = self.score_with_counts(texts, progress)
        return sums if reduction == "sum" else sums / np.maximum(counts, 1)

    def score_with_counts(self, texts: Sequence[str], progress: bool = False) -> SumsAndCounts:
        """As `score`: (sums [N] float64, natural log; numbers of scored tokens [N] int64)."""
        scored = [one.log_probabilities for one in self.score_tokens(texts, progress)]
        sums = np.array([np.sum(values) for values in scored], np.float64)
        return sums, np.array([len(values) for values in scored], np.int64)

    def score_tokens(self, texts: Sequence[str], progress: bool = False) -> list[TokenScores]:
        """The log-probability of every token: a list of N `TokenScores`."""
        raise InputError(self.no_scores, self.name)

    def score_blocks(
        self,
        blocks: Iterable[list[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        """Scores a stream of blocks of texts, in bounded memory.

        Args:
            blocks: lists of str; a few are read ahead.
            tokens: whether to yield token scores.
            advance: called with the share of the present block (float) that was scored since the
                last call. The shares of a block sum to 1.

        Yields:
            For each block the result of `score_with_counts`, or of `score_tokens` if `tokens`.

        Raises:
            InputError: as those two methods. The `index` of a `SentenceError` is that in the block.
        """
        for texts in blocks:
            scored = self.score_tokens(texts) if tokens else self.score_with_counts(texts)
            if advance is not None:
                advance(1.0)
            yield scored

    def encode(
        self,
        texts: Sequence[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> np.ndarray:
        """Turns texts into vectors.

        Args:
            texts: N str.
            representation: one of `representations`; None is the first.
            pooling: how token vectors become the vector of the text: "mean", or another pooling
                that the kind of model has.
            progress: whether to show a progress bar on standard error.

        Returns:
            [N, D] float32; zeros for a text without tokens.

        Raises:
            InputError: the model has no vectors, or not this representation or pooling.
        """
        raise InputError(self.no_vectors, self.name)

    def choose_representation(self, representation: str | None = None) -> str:
        """The representation that `encode` computes; None is the first.

        Raises:
            InputError: the model has no vectors, or not this representation.
        """
        if not self.representations:
            raise InputError(self.no_vectors, self.name)
        if representation is None:
            return self.representations[0]
        check_choice("representation", representation, self.representations, self.name)
        return representation


def check_texts(texts: Sequence[str]) -> None:
    """Raises TypeError for a single string, which would be read as a list of letters."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("expected a list of sentences, not one string")


def check_choice(what: str, value: str, choices: Collection[str], name: str | None = None) -> None:
    """Raises an InputError, with the name of the model, unless a value is one of the choices."""
    if value not in choices:
        raise InputError(f"{what} must be {' or '.join(choices)}, not {value!r}", name)
