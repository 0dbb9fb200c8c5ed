"""A language model over text: sentence scores, token scores and sentence vectors.

N sentences, B batch, T tokens, D hidden size, V vocabulary.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from tqdm import tqdm

import tta
from tta.choices import DTYPE_POLICIES, POOLINGS
from tta.errors import InputError
from tta.names import POOLING, VOCABULARY
from tta.scoring.scorers.inference.batches import make_batches, run_batches
from tta.scoring.scorers.inference.frozen import FrozenFunctions
from tta.scoring.scorers.inference.graph import REPRESENTATIONS, BatchGraph
from tta.scoring.scorers.inference.prefetch import prefetch
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.pooling import JOINT, PoolingStatistics, join
from tta.scoring.scorers.scorer import (
    Scorer,
    SumsAndCounts,
    TokenScores,
    as_sentences,
    as_texts,
    check_choice,
    signature_name,
    split_rows,
)

# Number of texts that are tokenized and sorted together; bounds memory.
BLOCK_TEXTS = 20_000

BATCH_TOKENS = 4096  # if the options give none

# With two batches in flight, one runs the parts that use a single core while the other keeps the
# remaining cores busy. Scores that take several passes overlap anyway; two would slow them down.
BATCHES_IN_FLIGHT = 2

UNLIMITED = 1 << 31  # the longest input of a model without position embeddings

_TextModel = TypeVar("_TextModel", bound="TextModel")


class TextModel(Scorer):
    """Scores and encodes text; `tta.load` makes one.

    The score of a T-TA is the pseudo-log-likelihood of the sentence: the sum over its pieces of the
    natural log-probability of each given all others, higher is better. The score of a biLM is the
    same, computed by masking one piece at a time. The score of a uniLM is the log-probability of
    the sentence, each piece given those before it.

    Attributes cannot be changed. A change of the model's weights takes effect in the next call.

    A model that was loaded from a directory can be pickled, as the directory and the options; it is
    loaded again where it is unpickled. This is not possible after `model` was used, because its
    weights may have changed.

    Args:
        model: `tta.modeling.models.language_model.LanguageModel`, or the model of another family.
        tokenizer: `tta.data.vocabulary.tokenizer.Tokenizer`. Without one (None), methods that take
            text raise an InputError.
        name: name of the model in signatures.
        options: how it reads and scores text. `precision` belongs to `model` and is ignored here.
        directory: the model directory, if there is one.
        is_shared: whether the caller keeps `model`, and may change its weights.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant.
    """

    no_scores = (
        "the model predicts vectors, not probabilities, so it gives no sentence scores; "
        "cosine:DIRECTORY reranks by the cosine of predicted and target vectors"
    )
    tokenizer: Any
    options: ScoreOptions
    directory: Path | None
    _model: Any
    _frozen: FrozenFunctions
    _is_shared: bool  # whether the caller may change the weights

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        name: str = "model",
        options: ScoreOptions | None = None,
        directory: Path | None = None,
        is_shared: bool = True,
    ):
        options, frozen = options or ScoreOptions(), FrozenFunctions(model)
        self.__dict__.update(_model=model, _frozen=frozen, tokenizer=tokenizer, name=name)
        self.__dict__.update(options=options, directory=directory, _is_shared=is_shared)
        if is_shared:
            frozen.watch()
        if options.normalizer == "learned" and not model.config.learned_normalizer:
            raise InputError(
                "the model has no learned normalizer: it was trained without "
                "--log_normalizer_weight"
            )
        if self._has_likelihood:
            self.likelihood  # noqa: B018 (checks the variant)

    def __setattr__(self, name, value):
        raise AttributeError(f"{name} cannot be changed; load the model again with other options")

    def __repr__(self):
        config = self._model.config
        normalizer = f"normalizer={self.normalizer}, " if self.gives_scores else ""
        return (
            f"{type(self).__name__}({self.name!r}, type={config.model_type}, "
            f"parameters={config.num_parameters:,}, {normalizer}precision={self._precision})"
        )

    def __reduce__(self):
        if self.directory is None:
            raise TypeError(f"cannot pickle the model {self.name}: it has no directory")
        if self._is_shared:
            raise TypeError(
                f"cannot pickle the model {self.name}: lm.model was used, so the weights may "
                "differ from those in its directory"
            )
        return type(self).from_directory, (self.directory.absolute(), self.options)

    @classmethod
    def from_directory(
        cls: type[_TextModel], directory: Path | str, options: ScoreOptions
    ) -> _TextModel:
        """Loads a model directory.

        Raises:
            InputError: a file is missing or damaged, files do not fit each other, or an option does
                not suit the model.
        """
        from tta.data.vocabulary.load import load_vocabulary, make_tokenizer
        from tta.data.vocabulary.word_pieces import Vocabulary
        from tta.modeling.formats.huggingface import is_padded
        from tta.modeling.formats.model_directory import load_model, vocabulary_path

        directory = Path(directory)
        path = vocabulary_path(directory)
        model = load_model(directory, DTYPE_POLICIES[options.precision])
        if options.precision == "bfloat16" and hasattr(model, "compute_output_in_float32"):
            model.compute_output_in_float32()
        config, tokenizer = model.config, None
        if path.exists():
            vocabulary = load_vocabulary(config.tokenizer, path)
            if isinstance(vocabulary, Vocabulary) and is_padded(
                directory, len(vocabulary), config.vocab_size
            ):
                vocabulary = vocabulary.padded(config.vocab_size)
            size, expected = len(vocabulary), config.vocab_size
            # A softmax over the most frequent words leaves out the others.
            if size < expected or (size > expected and config.tokenizer == "word_pieces"):
                unit = "pieces" if config.tokenizer == "word_pieces" else "words"
                rule = f"it has {size} {unit}, but vocab_size in the config is {expected}"
                raise InputError(rule, path)
            tokenizer = make_tokenizer(vocabulary, config.do_lower_case, config.open_vocabulary)
        return cls(model, tokenizer, directory.name, options, directory, is_shared=False)

    @property
    def model(self) -> Any:
        """The Keras model: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} ->
        {"hidden_states": [B, T, D], "logits": [B, T, V] float32, or another output of the head}.
        """
        self.__dict__["_is_shared"] = True
        self._frozen.watch()
        return self._model

    @classmethod
    def of(cls: type[_TextModel], lm: "TextModel") -> _TextModel:
        """A scorer of this class, with the model, the tokenizer and the options of another one."""
        return cls(lm._model, lm.tokenizer, lm.name, lm.options, lm.directory, is_shared=False)

    @property
    def model_type(self) -> str:
        """The family of the model."""
        return self._model.config.model_type

    @property
    def normalizer(self) -> str:
        """How scores are normalized: "exact" or "learned"."""
        if self.options.normalizer != "auto":
            return self.options.normalizer
        return "learned" if self._model.config.learned_normalizer else "exact"

    @property
    def gives_scores(self) -> bool:
        """Whether the model scores sentences: its family can, and its head gives probabilities."""
        return self._has_likelihood and self._model.head.gives_probabilities

    @property
    def predicts_vectors(self) -> bool:
        """Whether the model predicts the vectors of tokens (SemFit) instead of probabilities."""
        return self._has_likelihood and self._model.head.output_name == "fit"

    @property
    def _has_likelihood(self):
        from tta.modeling.config.model_types import MODEL_TYPES

        return MODEL_TYPES.load(self._model.config.model_type).likelihood is not None

    @cached_property
    def likelihood(self) -> Any:
        """The `tta.modeling.likelihood.base.Likelihood` of the model.

        Raises:
            InputError: models of this type give no scores, or not the variant.
        """
        from tta.modeling.likelihood import likelihood_of

        vocabulary = self.tokenizer and self.tokenizer.vocabulary
        model_type = self._model.config.model_type
        return likelihood_of(model_type, vocabulary, self.options.pll_variant, self.normalizer)

    @cached_property
    def graph(self) -> BatchGraph:
        """What the model computes for a batch of ids."""
        from tta.data.vectors.model_inputs import inputs_in

        likelihood = self.likelihood if self._has_likelihood else None
        inputs = None
        if self.tokenizer is not None:
            directory = self.__dict__.get("_inputs_directory", self.directory)
            inputs = inputs_in(directory or "", self._model.config, self.tokenizer)
        vocabulary = self.tokenizer and self.tokenizer.vocabulary
        return BatchGraph(self._model, likelihood, vocabulary, inputs)

    @property
    def window_size(self) -> int:
        """Maximum number of pieces in an input of the model."""
        return (self._model.config.max_position_embeddings or UNLIMITED) - 2

    @property
    def batch_tokens(self) -> int:
        """Number of tokens in a batch, padding included."""
        return self.options.batch_tokens or BATCH_TOKENS

    @property
    def representations(self):
        """The representations of the model, see `encode`."""
        missing = set()
        if self._has_likelihood and not self.likelihood.scores_first_token:
            missing.add("cls")  # the begin token sees no other token
        if not self.predicts_vectors:
            missing.add("fit")
        if getattr(self._model, "token_table", None) is None:
            missing.add("token")
        if "layers" not in getattr(self._encoder, "extra_outputs", ()):
            missing.add("layers")
        found = [name for name in REPRESENTATIONS if name not in missing]
        return (*found, JOINT) if "token" in found else tuple(found)

    @property
    def pooled_representations(self) -> tuple[str, ...]:
        """The representations that pool the vectors of several pieces."""
        names = (name for name in self.representations if name != JOINT)
        return tuple(name for name in names if REPRESENTATIONS[name][1] == {"text"})

    @cached_property
    def pooling_statistics(self) -> PoolingStatistics:
        """`PoolingStatistics` of the model directory.

        Raises:
            InputError: the directory has none, or they are damaged or belong to another model.
        """
        if self.directory is None:
            raise InputError(f"{self.name} is not a directory with {POOLING}")
        config = self._model.config
        sizes = {name: self.vector_size(name) for name in self.pooled_representations}
        return PoolingStatistics.load(
            self.directory / POOLING, config.vocab_size, config.hidden_size, sizes
        )

    def vector_size(self, representation: str) -> int:
        """Numbers in the vectors of a representation."""
        config, output = self._model.config, REPRESENTATIONS[representation][0]
        if representation == "fit":
            return config.head.target_size
        if self._encoder is None:
            return config.hidden_size
        return self._encoder.output_size("hidden_states" if output == "token_states" else output)

    @property
    def _encoder(self):
        return getattr(self._model, "encoder", None)

    @property
    def signature(self):
        """What a score depends on, in one line."""
        weights = hashlib.sha256()
        for name, value in self._model.named_weights().items():
            weights.update(name.encode() + np.asarray(value, np.float16).tobytes())
        boundary = "yes" if self.options.score_boundary_tokens else "no"
        return (
            f"model:{signature_name(self.name)}|type:{self._model.config.model_type}"
            f"|weights:{weights.hexdigest()[:8]}|vocab:{self._model.config.vocab_size}"
            f"|pll:{self.options.pll_variant}|normalizer:{self.normalizer}"
            f"|boundary_tokens:{boundary}|long:{self.options.long_sentences}"
            f"|precision:{self._precision}|log:natural|version:{tta.__version__}"
        )

    def score_with_counts(self, texts: Iterable[str], progress: bool = False) -> SumsAndCounts:
        """As `Scorer.score_with_counts`; tokens are word pieces.

        Raises:
            InputError: a sentence is too long and `long_sentences` is "refuse", the model has no
                vocabulary, or it gives no scores.
        """
        texts = as_texts(texts)
        return _sum_scores(self._scores(texts, progress), len(texts))

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        """As `Scorer.score_tokens`; raises as `score_with_counts`."""
        texts = as_texts(texts)
        return self._collect_tokens(self._scores(texts, progress), len(texts))

    def score_blocks(
        self,
        blocks: Iterable[Iterable[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        """As `Scorer.score_blocks`; a block is tokenized while the one before it is scored."""
        collect = self._collect_tokens if tokens else _sum_scores
        work, places = self._scoring(), self._scored_places()
        prepared = prefetch(
            lambda texts: (len(texts), self._batches(texts, 0, places)), map(as_texts, blocks)
        )
        for size, batches in prepared:
            function = self._frozen.get(*work)
            yield collect(run_batches(function, batches, self._in_flight, advance=advance), size)

    def encode(
        self,
        texts: Iterable[str],
        representation: str | None = None,
        pooling: str = "mean",
        progress: bool = False,
    ) -> np.ndarray:
        """Turns sentences into vectors, as `Scorer.encode`.

        Args:
            texts, progress: as in `Scorer.encode`.
            representation: "context" (default): the last layer's outputs at the sentence's pieces.
                In a T-TA, and in a biLM, where the piece is masked (unless maskless), the output at
                a piece gives its score and has not seen it. In a uniLM, the output at a piece has
                seen it and the pieces before it; its score comes from the output before.
                "fit" (SemFit only): the vectors that the model predicts for the pieces, none of
                which has seen its piece.
                "layers" (ELMo only): the outputs of all layers, side by side. In an ELMo, "context"
                and "layers" at a word have seen the word.
                "embed": the embedding layer's outputs. "token": rows of the token table, without
                positions. "cls", "eos": the last layer's output at the begin or end token. A
                sentence in windows has the begin token of its first window and the end token of
                its last. "joint": whitened "token" and "context" side by side, for comparing
                sentences, see `tta.scoring.scorers.pooling.join`; D is then larger.
            pooling: "mean" over the pieces, or "sif" or "whitened", see
                `tta.scoring.scorers.pooling`. "cls" and "eos" are single vectors and only have
                "mean"; "joint" has a pooling of its own, and only takes "mean" too.

        Returns:
            [N, D] float32; zeros for a text without pieces, except with "cls" and "eos".

        Raises:
            InputError: a sentence is too long and `long_sentences` is "refuse", the model has no
                vocabulary, or it does not have the representation or the pooling.
        """
        texts, representation = as_texts(texts), self.choose_representation(representation)
        self._check_pooling(representation, pooling)
        if representation == JOINT:
            token = TextModel.encode(self, texts, "token", "whitened")
            return join(token, TextModel.encode(self, texts, "context", "mean", progress))
        places, config = REPRESENTATIONS[representation][1], self._model.config
        piece_weights, whitening = np.ones(config.vocab_size, np.float32), None
        if pooling != "mean":
            piece_weights = self.pooling_statistics.piece_weights()
        if pooling == "whitened":
            whitening = self.pooling_statistics.whitenings[representation]
        work = self.graph.sums, representation, whitening
        sums = np.zeros((len(texts), self.vector_size(representation)))
        totals = np.zeros(len(texts))
        for batch, vectors in self._run(work, texts, places, progress, piece_weights):
            weights = batch.weights(piece_weights).sum(axis=1)
            for index, vector, weight in zip(batch.text_index, vectors, weights, strict=True):
                sums[index] += vector  # `np.add.at` takes 18 times as long
                totals[index] += weight
        return (sums / np.where(totals > 0, totals, 1.0)[:, None]).astype(np.float32)

    def encode_words(
        self,
        sentences: Iterable[Sequence[str]],
        representation: str | None = None,
        progress: bool = False,
    ) -> list[np.ndarray]:
        """As `Scorer.encode_words`: the mean over the pieces of each word.

        The model reads the words of a sentence with blanks between them. Representations are those
        of `encode`, without "cls", "eos" and "joint". In a T-TA, the "context" of a piece has not
        seen that piece, so the vector of a word has seen a word of several pieces in part, and a
        word of one piece not at all.

        Raises:
            InputError: as `encode`.
        """
        representation = self.choose_representation(representation)
        check_choice("representation", representation, self.pooled_representations, self.name)
        listed = as_sentences(sentences)
        texts = [" ".join(words) for words in listed]
        pieces: list[list[np.ndarray]] = [[] for _ in listed]
        work = self.graph.vectors, representation
        for batch, vectors in self._run(work, texts, {"text"}, progress):
            for row, index in enumerate(batch.text_index):
                pieces[index].append(vectors[row, batch.keep[row]])  # windows come in order
        _, lengths = self.tokenizer.tokenize_flat([word for words in listed for word in words])
        counts = split_rows(lengths, [len(words) for words in listed])
        return [_means(np.concatenate(p), c) for p, c in zip(pieces, counts, strict=True)]

    def piece_moments(
        self,
        texts: Iterable[str],
        representation: str,
        piece_weights: np.ndarray,
        progress: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The mean [D] and covariance [D, D] of the vectors of pieces, float64, for a `Whitening`.

        `piece_weights`, [V] float32 of 0 or more, weigh the pieces. The texts have at least one.
        """
        work = self.graph.moments, representation
        moments = np.zeros((self.vector_size(representation) + 1,) * 2)
        for _, added in self._run(work, as_texts(texts), {"text"}, progress, piece_weights):
            moments += added
        moments /= moments[-1, -1]  # the sum of the weights
        mean = moments[-1, :-1]
        return mean, moments[:-1, :-1] - np.outer(mean, mean)

    def _check_pooling(self, representation, pooling):
        poolings = POOLINGS if representation in self.pooled_representations else POOLINGS[:1]
        check_choice(f"pooling of {representation}", pooling, poolings, self.name)
        if pooling == "whitened" and representation not in self.pooling_statistics.whitenings:
            raise InputError(f"{POOLING} has no whitening of {representation}", self.name)

    def _scored_places(self):
        """The tokens that count in the score of a sentence, as `make_batches` takes them."""
        first = {"begin"} if self.likelihood.scores_first_token else set()
        return {"text", "end"} | first if self.options.score_boundary_tokens else {"text"}

    def _scoring(self):
        """What scores the tokens of a batch: arguments of `FrozenFunctions.get`."""
        self.check_scores()
        return (self.graph.scores,)

    def check_scores(self) -> None:
        """Raises InputError if the model gives no sentence scores."""
        self.likelihood  # noqa: B018 (an InputError if models of its type give none)
        if not self.gives_scores:
            raise InputError(self.no_scores, self.name)

    def _scores(self, texts, progress):
        return self._run(self._scoring(), texts, self._scored_places(), progress)

    def _run(self, work, texts, places, progress, piece_weights=None):
        """Runs `work`, arguments of `FrozenFunctions.get`, on texts; yields as `run_batches`."""
        starts = range(0, len(texts), BLOCK_TEXTS)
        # A single block has nothing to prepare ahead, and should not wait for a thread.
        prepare = prefetch if len(starts) > 1 else map
        blocks = prepare(
            lambda start: self._batches(texts[start : start + BLOCK_TEXTS], start, places), starts
        )
        with tqdm(
            total=len(texts),
            desc="scoring" if work[0] in (self.graph.scores, self.graph.cosines) else "encoding",
            unit=" sentences",
            unit_scale=True,
            dynamic_ncols=True,
            disable=not progress,
        ) as bar:
            for batches in blocks:
                function = self._frozen.get(*work)
                results = run_batches(function, batches, self._in_flight, piece_weights)
                for batch, result in results:
                    yield batch, result
                    bar.update(len(batch.text_index))

    @property
    def _precision(self):
        return "bfloat16" if self._model.compute_dtype == "bfloat16" else "float32"

    @property
    def _in_flight(self):
        one_pass = not self._has_likelihood or self.likelihood.takes_one_pass
        return BATCHES_IN_FLIGHT if one_pass else 1

    def _batches(self, texts, first_index, places):
        """`make_batches` with the tokenizer and sizes of the model."""
        if self.tokenizer is None:
            raise InputError(f"the model has no {VOCABULARY}: it takes ids (lm.model), not text")
        refuse_long, size = self.options.long_sentences == "refuse", self.window_size
        return make_batches(
            self.tokenizer, texts, first_index, places, size, self.batch_tokens, refuse_long
        )

    def _collect_tokens(self, results, size):
        """From (batch, scores [B, T]) to a list of `TokenScores`, one per text."""
        ids, scores = [[] for _ in range(size)], [[] for _ in range(size)]
        for batch, result in results:
            for row, index in enumerate(batch.text_index):
                keep = batch.keep[row]
                ids[index].append(batch.input_ids[row, keep])
                scores[index].append(result[row, keep])
        return [
            TokenScores(
                self.tokenizer.pieces(np.concatenate(pieces or [[]]).astype(int)),
                np.concatenate(values or [[]]).astype(np.float64),
            )
            for pieces, values in zip(ids, scores, strict=True)
        ]


def without_scores(signature: str) -> list[str]:
    """The parts of a signature, without those that only scores depend on; the version is last."""
    of_scores = ("pll", "normalizer", "boundary_tokens", "log")
    return [part for part in signature.split("|") if part.partition(":")[0] not in of_scores]


def _means(vectors, counts):
    """The means of the first counts[0] rows of [T, D], of the next counts[1], ...: [W, D]."""
    belongs = np.repeat(np.arange(len(counts)), counts) == np.arange(len(counts))[:, None]
    return belongs.astype(np.float32) @ vectors / np.maximum(counts, 1)[:, None].astype(np.float32)


def _sum_scores(results, size):
    """From (batch, scores [B, T]) to (sums [N] float64, number of scored tokens [N] int64)."""
    sums, counts = np.zeros(size), np.zeros(size, np.int64)
    for batch, scores in results:
        np.add.at(sums, batch.text_index, np.where(batch.keep, scores, 0.0).sum(axis=1))
        np.add.at(counts, batch.text_index, batch.keep.sum(axis=1))
    return sums, counts
