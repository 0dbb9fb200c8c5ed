"""The interface of all scorers: sentence scores, token scores, sentence vectors.

N texts, T tokens, D vector size. A new kind of scorer is a subclass of `Scorer` and one line in
`tta.scoring.scorers.load.KINDS`; docs/scorers.md shows one.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tta.choices import REDUCTIONS
from tta.data.text.words import is_letters, letter_runs
from tta.data.vocabulary.unknown_words import count_unknown
from tta.data.vocabulary.word_pieces import read_tokens
from tta.errors import InputError
from tta.modeling.formats.trained_models import BUILT_IN
from tta.names import VOCABULARY
from tta.scoring.scorers.arguments import (
    as_list,
    as_texts,
    check_choice,
    check_same_index,
    shortened,
)
from tta.scoring.scorers.comparison.alignment import WordPair
from tta.scoring.scorers.comparison.cosines import Comparison, CosineComparison
from tta.scoring.scorers.inference.signature import signature_line
from tta.scoring.scorers.pooling import of_length_1

SumsAndCounts = tuple[np.ndarray, np.ndarray]


class TokenScores(NamedTuple):
    """The T tokens of a text and their log-probabilities: [T] float64, natural log.

    Boundary tokens are included if they are scored.
    """

    tokens: list[str]
    log_probabilities: np.ndarray

    def to_dict(self) -> dict[str, list[Any]]:
        """What JSON can hold: {"tokens": [T] str, "log_probabilities": [T] float}."""
        return {"tokens": self.tokens, "log_probabilities": self.log_probabilities.tolist()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TokenScores":
        """From what `to_dict` gives."""
        return cls(values["tokens"], np.array(values["log_probabilities"], np.float64))


_COMMON = 3_000  # words of a language that are common, see `Scorer.is_common`

# White space, without the control characters that BERT removes from a text instead.
_BLANKS = re.compile(r"[^\S\x0b\x0c\x1c-\x1f\x85]+")


class AttentionMaps(NamedTuple):
    """The weights of the keys in all attentions of a model, for one text of T tokens.

    Attributes:
        tokens: the T tokens, begin and end token included.
        maps: [layers, heads, T, T] float32. Row i of a map has the weights of the tokens that token
            i attends to; they add up to 1, or are all 0 if there is no such token. The layers are
            in the order in which they are computed; in a cloze, the forward and the backward tower
            come first. A token of its query reads forward states before it and backward states
            after it: the weight of a token is that of its state.
    """

    tokens: list[str]
    maps: np.ndarray


class Scorer:
    """Scores and encodes texts. A method that a kind of model does not have raises an InputError.

    Every method takes texts as an ordered iterable of str: a list, a tuple, a generator, a
    one-dimensional NumPy array, a pandas Series. Anything else raises a TypeError, see `as_texts`.

    A subclass that scores overrides `score_tokens`, and `score_with_counts` if that is faster, and
    lists in `settings` what its scores depend on. A subclass that encodes overrides `encode`, or
    `_encode` after its checks, and lists its `representations`; `encode_words` gives the vectors of
    single words.

    Attributes:
        name: name of the model in signatures and errors.
        normalizer: "exact" if token scores are log-probabilities, "learned" if they approximate
            them.
        gives_log_probabilities: whether scores are sums of token scores of that kind. If not, they
            only compare texts: there are no token scores and no perplexity.
        representations: what `encode` can compute, the default first; () if it computes nothing.
        pair_representations: what `similarity` compares texts by, besides: two texts have a
            similarity, and one has no vector.
        tokenizer: `tta.data.vocabulary.tokenizer.Tokenizer`, or None.
        notes: what commands say of the model beside its signature.
        no_scores, no_log_probabilities, no_vectors, no_alignment, no_labels, no_model,
            no_attention: the error's text if it lacks them.
    """

    name: str = "model"
    normalizer: str = "exact"
    gives_log_probabilities: bool = True
    representations: tuple[str, ...] = ()
    pair_representations: tuple[str, ...] = ()
    tokenizer: Any = None
    notes: tuple[str, ...] = ()
    no_scores: str = "this kind of model gives no sentence scores"
    no_log_probabilities: str = (
        "its scores are not log-probabilities: they compare texts (tta rerank, tta score --pairs), "
        "and give no token scores and no perplexity"
    )
    no_vectors: str = "this kind of model has no sentence vectors"
    no_alignment: str = "aligning words needs a token table, which this kind of model has not"
    no_labels: str = "the model predicts no labels; tta classify fine-tunes one that does"
    no_model: str = "this kind of model has no Keras model"
    no_attention: str = "this kind of model gives no attention maps"
    _line: str | None = None

    def __repr__(self):
        return f"{type(self).__name__}({self.name!r})"

    @property
    def settings(self) -> Mapping[str, Any]:
        """{name: value} of all that the results depend on besides the texts, in reading order.

        It begins with "type". Values are as in `signature_line`: contents, such as weights, an
        n-gram table or a vocabulary, go in as they are, not as their size or their path.
        """
        return {}

    @property
    def signature(self) -> str:
        """What the results depend on, in one line: the name, the settings, the version.

        "" if the kind of model lists no settings; then its scores cannot be kept in a cache.
        """
        if self._line is not None:
            return self._line
        settings = self.settings  # has digests of all weights
        return signature_line(self.name, settings) if settings else ""

    @signature.setter
    def signature(self, line: str) -> None:
        """For a kind of model that writes the line itself."""
        self._line = line

    @property
    def model(self) -> Any:
        """The Keras model. Raises InputError if this kind of model has none."""
        raise self.lacks("model")

    def lacks(self, what: str) -> InputError:
        """The error for what the model does not have, with the text of `no_{what}`."""
        return InputError(getattr(self, f"no_{what}"), self.name)

    def check_log_probabilities(self) -> None:
        """Raises InputError if the scores are not log-probabilities."""
        if not self.gives_log_probabilities:
            raise self.lacks("log_probabilities")

    def score(
        self,
        texts: Iterable[str],
        reduction: str = "sum",
        progress: bool = False,
        prefixes: Iterable[str] | None = None,
    ) -> np.ndarray:
        """Scores texts.

        Args:
            texts: N str.
            reduction: "sum" of the tokens' log-probabilities, or their "mean".
            progress: whether to show a progress bar on standard error.
            prefixes: N str, what stands before each text, with a blank between. Then only the
                tokens of the text count, each given what the model reads: all others in a T-TA,
                those before in a uniLM.

        Returns:
            [N] float64, natural log, higher is better. A text without tokens scores 0.

        Raises:
            InputError: the model gives no scores, or cannot score one of the texts; or `prefixes`
                has another length than `texts`.
            TypeError: `texts` is not an ordered iterable of str.
        """
        check_choice("reduction", reduction, REDUCTIONS)
        if prefixes is None:
            sums, counts = self.score_with_counts(as_texts(texts), progress)
        else:
            check_same_index({"texts": texts, "prefixes": prefixes})
            sums, counts = self._continuations(as_texts(texts), as_texts(prefixes), progress)
        return sums if reduction == "sum" else sums / np.maximum(counts, 1)

    def _continuations(self, texts, prefixes, progress) -> SumsAndCounts:
        """As `score_with_counts`, of the tokens after the prefixes."""
        if len(texts) != len(prefixes):
            raise InputError(f"{len(texts)} texts have {len(prefixes)} prefixes: expected as many")
        joined, numbers = self._joined(prefixes, texts)
        scored = self.score_tokens(joined, progress)
        continuations = [
            row.log_probabilities[len(row.tokens) - number :]
            for row, number in zip(scored, numbers, strict=True)
        ]
        return np.array([np.sum(row) for row in continuations], np.float64), numbers

    def _num_tokens(self, texts) -> np.ndarray:
        """The numbers of tokens in `score_tokens`, without the begin token: [N] int64."""
        return np.array([len(row.tokens) for row in self.score_tokens(texts)], np.int64)

    def _joined(self, prefixes, texts) -> tuple[list[str], np.ndarray]:
        """Texts after their prefixes, and how many tokens the texts have, as `_num_tokens`."""
        pairs = zip(prefixes, texts, strict=True)
        return [" ".join(pair) for pair in pairs], self._num_tokens(texts)

    def perplexity(self, texts: Iterable[str], progress: bool = False) -> np.ndarray:
        """The perplexity of each text, per token: exp of minus the mean token score.

        For a model that scores each token given all others, this is the pseudo-perplexity (Salazar
        et al. 2020). The perplexity of a corpus weighs texts by their tokens: with
        `sums, counts = lm.score_with_counts(texts)`, it is `np.exp(-sums.sum() / counts.sum())`.

        Args:
            texts, progress: as in `score`.

        Returns:
            [N] float64, 1 or more, lower is better; NaN for a text without tokens.

        Raises:
            InputError: as `score`, or the scores are not log-probabilities, as those of the
                learned normalizer.
            TypeError: as `score`.
        """
        self.check_perplexity()
        sums, counts = self.score_with_counts(as_texts(texts), progress)
        with np.errstate(over="ignore"):  # infinity
            return np.exp(-sums / np.where(counts > 0, counts, np.nan))

    def check_perplexity(self) -> None:
        """Raises InputError if the scores are no exact log-probabilities."""
        self.check_log_probabilities()
        if self.normalizer != "exact":
            raise InputError(
                "a perplexity needs log-probabilities: load the model with normalizer='exact', "
                f"not {self.normalizer!r}",
                self.name,
            )

    def score_with_counts(self, texts: Iterable[str], progress: bool = False) -> SumsAndCounts:
        """As `score`: (sums [N] float64, natural log; numbers of scored tokens [N] int64)."""
        scored = [row.log_probabilities for row in self.score_tokens(as_texts(texts), progress)]
        sums = np.array([np.sum(values) for values in scored], np.float64)
        return sums, np.array([len(values) for values in scored], np.int64)

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """The log-probability of every token: a list of N `TokenScores`."""
        raise self.lacks("scores")

    def score_words(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """The log-probability of every word, the sum over its tokens: a list of N `TokenScores`.

        Words are what stands between blanks, as written: "don't," is one word. For words of several
        pieces, `pll_variant="within_word_l2r"` is the better score (docs/scoring.md).

        Raises:
            InputError, TypeError: as `score_tokens`.
        """
        listed = as_texts(texts)
        return self.by_words(listed, self.score_tokens(listed, progress))

    def by_words(self, texts: Sequence[str], scored: Sequence[TokenScores]) -> list[TokenScores]:
        """From the results of `score_tokens` of N texts to those of `score_words`."""
        words = [split_at_blanks(text) for text in texts]
        end = int(self._num_tokens([""])[0])  # whether the end token is scored
        lengths = self._word_lengths(texts, words)
        return [_add_up(*sentence, end) for sentence in zip(words, lengths, scored, strict=True)]

    def group_tokens(
        self,
        sentences: Sequence[Sequence[str]],
        scored: Sequence[TokenScores],
        texts: Sequence[str] | None = None,
    ) -> list[list[np.ndarray]]:
        """The token scores of each word: N lists of arrays [T_w] float64, natural log.

        Args:
            sentences: N lists of words, which make up the texts from left to right.
            scored: the results of `score_tokens` of these texts. Where their tokens do not fit the
                words, each word gets an equal share of the sum.
            texts: N str; None is the words with a blank between.
        """
        end = int(self._num_tokens([""])[0])
        if texts is None:
            texts = [" ".join(words) for words in sentences]
        lengths, groups = self._word_lengths(texts, sentences), []
        for words, counts, (tokens, values) in zip(sentences, lengths, scored, strict=True):
            ends = np.cumsum(counts)
            begin = len(tokens) - end - int(counts.sum())  # whether the begin token is scored
            if begin in (0, end):
                groups.append(np.split(values[begin : len(values) - end], ends)[:-1])
            else:
                groups.append([values.sum(keepdims=True) / len(words)] * len(words))
        return groups

    def _word_lengths(self, texts, sentences) -> list[np.ndarray]:
        """The number of tokens of each word of N texts: N arrays [W_n] int64."""
        end = int(self._num_tokens([""])[0])
        distinct = list(dict.fromkeys(word for sentence in sentences for word in sentence))
        counts = dict(zip(distinct, self._num_tokens(distinct) - end, strict=True))
        return [np.array([counts[word] for word in words], np.int64) for words in sentences]

    def count_unknown(self, texts: Iterable[str]) -> np.ndarray:
        """The number of tokens of each text that the model does not know: [N] int64.

        They are the words that the vocabulary cannot spell, such as those in another script; 0 for
        a model without a tokenizer.
        """
        listed = as_texts(texts)
        if self.tokenizer is None:
            return np.zeros(len(listed), np.int64)
        return count_unknown(self.tokenizer, listed)

    def is_common(self, word: str) -> bool:
        """Whether a word is one of the commonest of its language, or made of such and letters.

        They are the first 3,000 words of the vocabulary, of a small one a quarter: pieces are in
        the order of their frequency. A model without one takes that of the built-in model. A letter
        has a capital; other characters may be words, such as Chinese and Korean names.
        """
        parts = letter_runs(word.lower())
        return bool(parts) and all(part in self._common or _is_letter(part) for part in parts)

    @cached_property
    def _common(self) -> set[str]:
        tokens = self._ordered_tokens()
        starts = [token[1:] for token in tokens if token[:1] in ("\u0120", "\u2581")]
        words = [token for token in starts or tokens if len(token) > 1 and is_letters(token)]
        return {word.lower() for word in words[: min(_COMMON, len(words) // 4)]}

    def _ordered_tokens(self) -> Sequence[str]:
        of_model = self.tokenizer and self.tokenizer.vocabulary.tokens
        return of_model or [*read_tokens(BUILT_IN / VOCABULARY)]

    def score_blocks(
        self,
        blocks: Iterable[Iterable[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        """Scores a stream of blocks of texts, in bounded memory.

        Args:
            blocks: each as `texts` in `score`; a few are read ahead.
            tokens: whether to yield token scores.
            advance: called with the share of the present block (float) that was scored since the
                last call. The shares of a block sum to 1.

        Yields:
            For each block the result of `score_with_counts`, or of `score_tokens` if `tokens`.

        Raises:
            InputError: as those two methods. The `index` of a `SentenceError` is that in the block.
            TypeError: a block is not an ordered iterable of str.
        """
        for texts in map(as_texts, blocks):
            scored = self.score_tokens(texts) if tokens else self.score_with_counts(texts)
            if advance is not None:
                advance(1.0)
            yield scored

    def encode(
        self,
        texts: Iterable[str] | str,
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
        *,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = True,
        normalize_embeddings: bool = False,
    ) -> np.ndarray:
        """Turns texts into vectors.

        Args:
            texts: N str; or one, for a vector [D].
            representation: one of `representations`; None is the first. The class says what they
                are.
            pooling: how token vectors become the vector of the text: "mean", or another pooling
                that the kind of model has.
            progress: whether to show a progress bar on standard error.
            batch_size, show_progress_bar, convert_to_numpy, normalize_embeddings: the keywords of
                `SentenceTransformer.encode`, for code that calls both. Batches are made by
                tokens, so the first does nothing; the last one makes vectors of length 1.

        Returns:
            [N, D] float32; zeros for a text without tokens.

        Raises:
            InputError: the model has no vectors, or not this representation or pooling; or
                `convert_to_numpy` is False.
            TypeError: `texts` is not an ordered iterable of str.
        """
        representation = self.choose_representation(representation)
        if not convert_to_numpy:
            raise InputError("vectors are NumPy arrays: convert_to_numpy must be True", self.name)
        progress = progress or bool(show_progress_bar)
        listed = [texts] if isinstance(texts, str) else as_texts(texts)
        vectors = self._encode(listed, representation, pooling, progress)
        vectors = of_length_1(vectors) if normalize_embeddings else vectors
        return vectors[0] if isinstance(texts, str) else vectors

    def _encode(self, texts, representation, pooling, progress) -> np.ndarray:
        """As `encode`, of checked texts and of one of `representations`."""
        raise self.lacks("vectors")

    def encode_words(
        self,
        sentences: Iterable[Sequence[str]],
        representation: str | None = None,
        progress: bool = False,
    ) -> list[np.ndarray]:
        """Turns the words of sentences into vectors. A model with context reads whole sentences.

        Args:
            sentences: N lists of W_n str each, the words of a sentence in order.
            representation: one of `representations` that pools the vectors of several tokens; None
                is the first. The vector of a word is the mean over its own tokens.
            progress: whether to show a progress bar on standard error.

        Returns:
            N arrays [W_n, D] float32; zeros for a word without tokens.

        Raises:
            InputError: the model has no vectors of words, or not this representation.
            TypeError: `sentences` is not an ordered iterable of ordered iterables of str.
        """
        representation = self.choose_representation(representation)
        listed = as_list(sentences, "sentences", "lists of str")
        listed = [as_texts(words, f"sentences[{index}]") for index, words in enumerate(listed)]
        return self._encode_words(listed, representation, progress)

    def _encode_words(self, sentences, representation, progress) -> list[np.ndarray]:
        """As `encode_words`, of checked sentences and of one of `representations`."""
        raise self.lacks("vectors")

    def similarity(
        self,
        first: Iterable[str],
        second: Iterable[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> np.ndarray:
        """The similarity of each pair of texts: the cosine of their vectors, or of their words.

        Args:
            first, second: N str each; text i of `first` is compared with text i of `second`.
            representation: as in `encode`, or one of `pair_representations`.
            pooling, progress: as in `encode`.

        Returns:
            [N] float64, -1 to 1; 0 if one of the two vectors is zero.

        Raises:
            InputError: as `encode`, or `first` and `second` have different lengths.
            TypeError: one of them is not an ordered iterable of str.
        """
        check_same_index({"first": first, "second": second})
        first, second = as_texts(first, "first"), as_texts(second, "second")
        if len(first) != len(second):
            rule = f"first has {len(first)} texts, second has {len(second)}: expected pairs"
            raise InputError(rule)
        comparison = self.comparison(first + second, representation, pooling, progress)
        places = np.arange(len(first))
        return comparison.similarities(places, places + len(first))

    def similarity_matrix(
        self,
        first: Iterable[str],
        second: Iterable[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> np.ndarray:
        """The similarity of each of N texts to each of M: as `similarity`, [N, M] float64."""
        first, second = as_texts(first, "first"), as_texts(second, "second")
        comparison = self.comparison(first + second, representation, pooling, progress)
        places = np.arange(len(first) + len(second))
        return comparison.matrix(places[: len(first)], places[len(first) :])

    def comparison(
        self,
        texts: Sequence[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> Comparison:
        """What compares any of N texts with any other; arguments and errors as `similarity`."""
        representation = self.choose_comparison(representation)
        return CosineComparison(self.encode(texts, representation, pooling, progress))

    def comparison_signature(self, representation: str | None = None) -> str:
        """What similarities depend on, in one line."""
        return f"{self.signature}|similarity:cosine"

    def align(self, first: str, second: str) -> list[WordPair]:
        """The words of two texts, each with its nearest word in the other text.

        The sum of cosine times weight is the similarity `alignment`, if not one text alone negates.

        Args:
            first, second: one text each.

        Returns:
            `WordPair`s in the order of the first text's words; [] if a text has no words. Two words
            that are each other's nearest are one pair.

        Raises:
            InputError: the model has no `pair_representations`, or lacks what they need.
            TypeError: one of them is not a str.
        """
        raise self.lacks("alignment")

    def attention(self, texts: Iterable[str]) -> list[AttentionMaps]:
        """What each token of a text attends to, see `AttentionMaps`: one for each text.

        Raises InputError if the model gives no attention maps, or a text is too long for it.
        """
        raise self.lacks("attention")

    def predict(self, texts: Iterable[Any]) -> Any:
        """As `ClassifierModel.predict`; raises InputError if the model predicts no labels."""
        raise self.lacks("labels")

    def predict_probabilities(self, texts: Iterable[Any]) -> np.ndarray:
        """The probability of each label, [N, L]; as `predict`."""
        raise self.lacks("labels")

    def choose_representation(self, representation: str | None = None) -> str:
        """The representation, by default the first; InputError if there is none or not this."""
        return self._choose(representation, self.representations)

    def choose_comparison(self, representation: str | None = None) -> str:
        """As `choose_representation`; `pair_representations` are choices, too."""
        return self._choose(representation, (*self.representations, *self.pair_representations))

    def _choose(self, representation: str | None, choices: tuple[str, ...]) -> str:
        if not self.representations:
            raise self.lacks("vectors")
        if representation is None:
            return self.representations[0]
        check_choice("representation", representation, choices, self.name)
        return representation


def split_at_blanks(text: str) -> list[str]:
    """The words of a text between blanks, so that no token of a text has a part of two words."""
    return [word for word in _BLANKS.split(text) if word]


def _add_up(words, lengths, scored, end):
    """The `TokenScores` of words, from those of their tokens and the number of tokens of each."""
    tokens, values = scored
    begin = len(tokens) - int(lengths.sum()) - end  # whether the begin token is scored
    names = tokens[:begin] + words + tokens[len(tokens) - end :]
    counts = np.concatenate([np.ones(begin, int), lengths, np.ones(end, int)]).astype(int)
    word_of = np.repeat(np.arange(len(names)), counts)
    return TokenScores(names, np.bincount(word_of, values, len(names)))


def _is_letter(part):
    """Whether a part of a word is one letter of an alphabet with capitals."""
    return len(part) == 1 and part != part.upper()


def unknown_note(lm: Scorer, texts: Sequence[str], counts: Any = None) -> Iterator[str]:
    """Yields the notes of a model, and one if it does not know all words of N texts.

    `counts` is what `lm.count_unknown` says of them, [N] int64, if that is known.
    """
    yield from lm.notes
    counts = lm.count_unknown(texts) if counts is None else counts
    if counts.any():
        first = texts[int(np.flatnonzero(counts)[0])]
        yield (
            f"{lm.name}: words unknown to its vocabulary: {counts.sum():,}, in "
            f"{(counts > 0).sum():,} of {len(texts):,} texts, first {shortened(first)!r}"
        )


def split_rows(rows: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
    """Splits rows [sum of lengths, ...] into one array [length, ...] for each of the lengths."""
    return np.split(rows, np.cumsum(lengths)[:-1]) if len(lengths) else []
