"""What every model is to the commands: sentence scores, token scores, sentence vectors.

N texts, T tokens, D vector size. A kind of model is a subclass of `Scorer` and a line in
`tta.scoring.scorers.load.KINDS`; docs/scorers.md shows one.
"""

from typing import NamedTuple

import numpy as np

from tta.errors import InputError


class TokenScores(NamedTuple):
    """One text's tokens and their log-probabilities.

    Attributes:
        tokens: list of T str; boundary tokens are among them where they are scored.
        log_probabilities: [T] float64, natural log.
    """

    tokens: list
    log_probabilities: np.ndarray


class SentenceError(InputError):
    """What is wrong with one of the sentences that a model was given.

    Args:
        rule: what was expected of the sentence and found, to be put after its name.
        index: its place among those given, from 0.
    """

    def __init__(self, rule, index):
        super().__init__(f"sentence {index + 1} {rule}")
        self.sentence_rule = rule
        self.index = index


class Scorer:
    """The face of all models; what a kind of model cannot do raises `InputError`, in one line.

    A subclass that scores overrides `score_tokens`, and `score_with_counts` where that is faster;
    one that encodes overrides `encode` and names its `representations`.

    Attributes:
        name: what the model is called in signatures and errors, str.
        signature: what its results depend on, in one line: name, kind, contents, version.
        representations: what `encode` makes vectors of, its default first; () where it makes none.
        no_scores, no_vectors: why it does not score or encode, for the error.
    """

    name = "model"
    signature = ""
    representations = ()
    no_scores = "this kind of model gives no sentence scores"
    no_vectors = "this kind of model has no sentence vectors"

    def score(self, texts, reduction="sum", progress=False):
        """Scores texts.

        Args:
            texts: N str.
            reduction: "sum" of the tokens' log-probabilities, or their "mean".
            progress: whether to show a progress bar on standard error.

        Returns:
            [N] float64, natural log, higher is better. A text without a token scores 0.

        Raises:
            InputError: the model gives no scores, or not of these texts.
        """
        if reduction not in ("sum", "mean"):
            raise ValueError(f"reduction must be sum or mean, not {reduction!r}")
        sums, counts = self.score_with_counts(texts, progress)
        return sums if reduction == "sum" else sums / np.maximum(counts, 1)

    def score_with_counts(self, texts, progress=False):
        """As `score`: (sums [N] float64, natural log; scored tokens [N] int64)."""
        scored = [one.log_probabilities for one in self.score_tokens(texts, progress)]
        sums = np.array([np.sum(values) for values in scored], np.float64)
        return sums, np.array([len(values) for values in scored], np.int64)

    def score_tokens(self, texts, progress=False):
        """Log-probabilities of the single tokens: a list of N `TokenScores`."""
        raise InputError(self.no_scores, self.name)

    def score_blocks(self, blocks, tokens=False, advance=None):
        """Scores blocks of texts as they come: a stream of any length, in bounded memory.

        Args:
            blocks: an iterable of lists of str, drawn a few blocks ahead.
            tokens: whether the tokens' scores are wanted, too.
            advance: called with the share of a block (float) that has been scored since the last
                call, as often as a progress bar may want; a block's shares sum to 1.

        Yields:
            Of each block what `score_with_counts` gives, or with `tokens` what `score_tokens` does.

        Raises:
            InputError: as those two; `SentenceError` has the place in the block.
        """
        for texts in blocks:
            scored = self.score_tokens(texts) if tokens else self.score_with_counts(texts)
            if advance is not None:
                advance(1.0)
            yield scored

    def encode(self, texts, representation=None, pooling="mean", progress=False):
        """Turns texts into vectors.

        Args:
            texts: N str.
            representation: one of `representations`; None is the first.
            pooling: how the tokens' vectors become the text's, "mean" or what the kind offers.
            progress: whether to show a progress bar on standard error.

        Returns:
            [N, D] float32; zeros for a text without a token.

        Raises:
            InputError: the model has no vectors, or not this representation or pooling.
        """
        raise InputError(self.no_vectors, self.name)

    def choose_representation(self, representation=None):
        """The representation that `encode` gives: the first where None is asked for.

        Raises:
            InputError: the model has no vectors, or not this representation.
        """
        if not self.representations:
            raise InputError(self.no_vectors, self.name)
        if representation is None:
            return self.representations[0]
        if representation not in self.representations:
            known = " or ".join(self.representations)
            raise InputError(f"representation must be {known}, not {representation!r}", self.name)
        return representation


def check_texts(texts):
    """Fails where one string is given for a list: it would be read letter by letter.

    Raises:
        TypeError: so it is.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("expected a list of sentences, not one string")


def check_pooling(pooling, name):
    """Fails where a model that only averages is asked for another pooling.

    Raises:
        InputError: so it is.
    """
    if pooling != "mean":
        raise InputError(f"pooling must be mean, not {pooling!r}", name)
