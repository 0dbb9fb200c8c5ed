"""A language model over text: sentence scores, token scores and sentence vectors.

N sentences, D vector size. What a network computes comes from an engine (`tta.scoring.engines`);
`Runtime` runs it on texts. Scores of texts are made of it here, vectors in `TextVectors`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from tta.atomic import check_absent, copy_present, whole_folder
from tta.data.text.files import file_digest
from tta.data.vocabulary.unknown_words import SpellingCosts
from tta.modeling.formats.hub import model_name
from tta.names import INPUT_FILES, POOLING, VOCABULARY
from tta.scoring.engines.base import BatchFunction, Engine
from tta.scoring.engines.load import load_engine, tensorflow_engine
from tta.scoring.scorers.arguments import SentenceError, as_texts
from tta.scoring.scorers.inference.runtime import Results
from tta.scoring.scorers.inference.signature import digest
from tta.scoring.scorers.inference.text_vectors import TextVectors
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import AttentionMaps, SumsAndCounts, TokenScores

_TextModel = TypeVar("_TextModel", bound="TextModel")


def _read_only(path: str) -> Any:
    """A property that is an attribute of an attribute."""
    return property(attrgetter(path))


class TextModel(TextVectors):
    """Scores and encodes text; `tta.load` makes one.

    The score of a T-TA is the pseudo-log-likelihood of the sentence: the sum over its pieces of the
    natural log-probability of each given all others, higher is better. The score of a biLM is the
    same, computed by masking one piece at a time. The score of a uniLM is the log-probability of
    the sentence, each piece given those before it.

    Representations:
        context (default): the last layer's outputs at the sentence's pieces. In a T-TA, and in a
            biLM, where the piece is masked (unless maskless), the output at a piece gives its score
            and has not seen it. In a uniLM, the output at a piece has seen it and the pieces before
            it; its score comes from the output before.
        fit (SemFit only): the vectors that the model predicts for the pieces, none of which has
            seen its piece.
        layers (ELMo only): the outputs of all layers, side by side. In an ELMo, "context" and
            "layers" at a word have seen the word.
        embed: the embedding layer's outputs.
        token: rows of the token table, without positions.
        cls, eos: the last layer's output at the begin or end token. A sentence in windows has the
            begin token of its first window and the end token of its last.
        joint: whitened "token" and "context" side by side, for comparing sentences, see
            `tta.scoring.scorers.pooling.join`; D is then larger.

    Representations of pairs, for `similarity` and `similarity_matrix`; `align` shows the words:
        aligned: 0.6 times "alignment", and 0.4 times the cosine of the means of all words.
        alignment: the mean of the cosines of each word and its nearest in the other text; rare
            words weigh more. See `tta.scoring.scorers.comparison.alignment`.

    Poolings are "mean" over the pieces, "sif" and "whitened", see `tta.scoring.scorers.pooling`.
    "cls" and "eos" are single vectors and only have "mean"; "joint" has a pooling of its own, and
    only takes "mean" too. The vector of a text without pieces is zeros, except with "cls" and
    "eos". Words of a sentence are read with blanks between them, and have the representations
    without "cls", "eos" and "joint". In a T-TA, the "context" of a piece has not seen that piece,
    so the vector of a word has seen a word of several pieces in part, and a word of one piece not
    at all.

    A sentence that is too long raises an InputError if `long_sentences` is "refuse".

    A change of the model's weights takes effect in the next call.

    A model that was loaded from a directory can be pickled, as the directory and the options; it is
    loaded again where it is unpickled. This is not possible after `model` was used, because its
    weights may have changed.

    Args:
        model: an `Engine`, or a Keras model, which TensorFlow runs.
        tokenizer: of a Keras model. Without one (None), methods that take text raise an InputError.
        name: name of the model in signatures.
        options: how it reads and scores text. `precision` and `engine` belong to `model` and are
            ignored here; so are `pll_variant` and `normalizer` if it is an engine.
        directory: the model directory, if there is one.
        is_shared: whether the caller keeps the Keras model, and may change its weights.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant.

    Attributes (read-only):
        name, normalizer: as in `Scorer`.
        directory: the model directory, or None.
        options: how the model reads and scores text.
        engine: what runs the network.
        likelihood: of a `TensorFlowEngine`; other engines have none.
        tokenizer: None if the model has no vocabulary.
        config, model_type: the `ModelConfig` of the model, and its family.
        gives_scores, predicts_vectors: as in `Engine`.
        served: its module for TensorFlow Serving, called with the model, or the place of it; None
            is that of language models (`tta.scoring.exports.serving`).
        window_size, batch_tokens: as in `Runtime`.
        representations, pooled_representations, pooling_statistics: as in `TextVectors`.
    """

    served: Any = None

    name: str = _read_only("_name")
    directory: Path | None = _read_only("_directory")
    options: ScoreOptions = _read_only("_options")
    engine: Engine = _read_only("_engine")
    likelihood: Any = _read_only("engine.likelihood")
    tokenizer: Any = _read_only("engine.tokenizer")
    normalizer: str = _read_only("engine.normalizer")
    gives_scores: bool = _read_only("engine.gives_scores")
    predicts_vectors: bool = _read_only("engine.predicts_vectors")
    config: Any = _read_only("engine.config")
    model_type: str = _read_only("config.model_type")

    def __init__(
        self,
        model: Any,
        tokenizer: Any = None,
        name: str = "model",
        options: ScoreOptions | None = None,
        directory: Path | str | None = None,
        is_shared: bool = True,
    ):
        options = options or ScoreOptions()
        if not isinstance(model, Engine):
            model = tensorflow_engine().of(
                model, tokenizer, options, directory=directory, is_shared=is_shared
            )
        self._name, self._directory = name, None if directory is None else Path(directory)
        self._engine, self._options = model, options

    def __repr__(self):
        normalizer = f"normalizer={self.normalizer}, " if self.gives_scores else ""
        return (
            f"{type(self).__name__}({self.name!r}, type={self.model_type}, "
            f"parameters={self.config.num_parameters:,}, {normalizer}"
            f"precision={self.engine.precision})"
        )

    def __reduce__(self):
        if self.directory is None:
            raise TypeError(f"cannot pickle the model {self.name}: it has no directory")
        if self.engine.is_shared:
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

        Raises InputError if a file is missing or damaged, files do not fit each other, or an option
        does not suit the model.
        """
        engine = load_engine(directory, options)
        return cls(engine, None, model_name(directory), options, directory)

    @classmethod
    def of(cls: type[_TextModel], lm: "TextModel") -> _TextModel:
        """A scorer of this class, with the model, the tokenizer and the options of another one."""
        return cls(lm.engine, None, lm.name, lm.options, lm.directory)

    @property
    def model(self) -> Any:
        """The Keras model: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} ->
        {"hidden_states": [B, T, D], "logits": [B, T, V] float32, or another output of the head}.

        TensorFlow computes from the first use on, scores and vectors, too: a caller may change the
        weights of the Keras model. Raises InputError if TensorFlow is not installed, or does not
        have the precision.
        """
        if self.engine.in_tensorflow is not None:
            self._engine = self.engine.in_tensorflow()
        return self.engine.model

    @property
    def no_scores(self) -> str:
        """Why the model gives no sentence scores, if it gives none."""
        if not self.predicts_vectors:
            return f"a model of type {self.model_type} gives no sentence scores"
        return (
            "the model predicts vectors, not probabilities, so it gives no sentence scores; "
            "cosine:DIRECTORY reranks by the cosine of predicted and target vectors"
        )

    @property
    def settings(self):
        """As `Scorer.settings`; all digests are the same for every engine."""
        engine, options = self.engine, self.options
        contents = {
            "type": self.model_type,
            "weights": engine.weights_digest(),
            "config": digest(self.config.to_dict()),
            "vocab": digest(self.tokenizer and self.tokenizer.settings),
        }
        if files := engine.input_files():
            contents["vectors"] = digest([file_digest(path) for path in files])
        if engine.ranges:
            contents["ranges"] = digest(engine.ranges)
        if engine.device != "cpu":
            contents["device"] = engine.device
        return contents | {
            "pll": options.pll_variant,
            "normalizer": self.normalizer,
            "boundary_tokens": options.score_boundary_tokens,
            "unknown": options.unknown,
            "long": options.long_sentences,
            "precision": engine.precision,
            "engine": engine.name,
            "log": "natural",
        }

    def token_function(self) -> Callable[[], BatchFunction]:
        """Gives what scores the tokens of a batch: [B, T] float32. InputError without scores."""
        self.check_scores()
        return self.engine.token_scores

    def check_scores(self) -> None:
        """Raises InputError if the model gives no sentence scores."""
        if not self.gives_scores:
            raise self.lacks("scores")

    def score_with_counts(self, texts: Iterable[str], progress: bool = False) -> SumsAndCounts:
        """As `Scorer.score_with_counts`; tokens are word pieces.

        Raises InputError if a sentence is too long and `long_sentences` is "refuse", the model has
        no vocabulary, or it gives no scores.
        """
        listed = as_texts(texts)
        return _sums(self._scored(listed, progress), len(listed))

    def score_tokens(self, texts: Iterable[str], progress: bool = False) -> list[TokenScores]:
        self.check_log_probabilities()
        listed = as_texts(texts)
        return self._tokens(self._scored(listed, progress), len(listed))

    def attention(self, texts: Iterable[str]) -> list[AttentionMaps]:
        """As `Scorer.attention`. A biLM reads the texts as they are, without a mask token."""
        pieces = self.text_tokenizer.encode(as_texts(texts))
        return [self._attention_maps(number, ids) for number, ids in enumerate(pieces)]

    def _attention_maps(self, number, pieces):
        if len(pieces) > self.window_size:
            rule = f"has {len(pieces):,} pieces; attention maps have at most {self.window_size:,}"
            raise SentenceError(rule, number)
        vocabulary = self.text_tokenizer.vocabulary
        ids = np.array([[vocabulary.bos_id, *pieces, vocabulary.eos_id]], np.int32)
        layers = self.engine.attention(ids, np.ones(ids.shape, bool))
        maps = np.stack([_of_tokens(weights[0], ids.shape[1]) for weights in layers])
        return AttentionMaps(self.text_tokenizer.pieces(ids[0]), maps)

    def _num_tokens(self, texts):
        lengths = self.text_tokenizer.tokenize_flat(texts)[1]
        return lengths + int(self.options.score_boundary_tokens)  # the end token

    def save(self, directory: Path | str) -> None:
        """Writes the model to a new folder, which `tta.load` reads: weights in float32.

        Raises InputError if the folder exists or cannot be written, or there is no vocabulary.
        """
        from tta.modeling.formats.model_directory import save_model

        tokenizer, source = self.text_tokenizer, self.directory
        with whole_folder(directory, partial(check_absent, directory)) as folder:
            tokenizer.vocabulary.save(folder / VOCABULARY)
            if source is not None:
                copy_present(source, folder, (POOLING, *INPUT_FILES))
            card = f"# {Path(directory).name}\n\nWritten by `lm.save`: {self.signature}\n"
            save_model(self.model, folder, card)

    def score_blocks(
        self,
        blocks: Iterable[Iterable[str]],
        tokens: bool = False,
        advance: Callable[[float], None] | None = None,
    ) -> Iterator[Any]:
        """As `Scorer.score_blocks`; a block is tokenized while the one before it is scored."""
        self.check_log_probabilities()
        collect, text_blocks = self._tokens if tokens else _sums, map(as_texts, blocks)
        outputs = self.run_blocks(self.token_function(), text_blocks, self._positions, advance)
        return (collect(self._priced(results, texts), len(texts)) for texts, results in outputs)

    @property
    def _positions(self) -> set[str]:
        """The tokens that count in the score of a sentence, as `make_batches` takes them."""
        if not self.options.score_boundary_tokens:
            return {"text"}
        return {"text", "end"} | ({"begin"} if self.engine.scores_first_token else set())

    def _scored(self, texts: list[str], progress: bool) -> Results:
        """Yields (batch, scores [B, T] float32)."""
        make = self.token_function()
        results = self.run(make, texts, self._positions, progress, "scoring")
        return self._priced(results, texts)

    def _priced(self, results: Results, texts: Sequence[str]) -> Results:
        """The results, less the costs of unknown words."""
        if self.options.unknown != "price" or not self.gives_log_probabilities:
            yield from results
            return
        unk_id = self.text_tokenizer.vocabulary.unk_id
        left = {}  # index of a text -> the costs of its unknown words in the windows to come
        for batch, scores in results:
            rows, columns = np.nonzero(batch.keep & (batch.input_ids == unk_id))
            if len(rows):
                scores = np.array(scores)
            for row, column in zip(rows, columns, strict=True):
                index = batch.text_index[row]
                if index not in left:
                    left[index] = iter(self._costs.of_text(texts[index]))
                scores[row, column] -= next(left[index])
            yield batch, scores

    @cached_property
    def _costs(self) -> SpellingCosts:
        return SpellingCosts(self.text_tokenizer, self.config.unknown_price)

    def _tokens(self, results: Results, size: int) -> list[TokenScores]:
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


def _of_tokens(weights, length):
    """The weights of the keys [N, T, S] as those of T tokens, [N, T, T]: see `AttentionMaps`."""
    parts = [weights[..., start : start + length] for start in range(0, weights.shape[-1], length)]
    return np.sum(parts, axis=0)


def _sums(results, size):
    """From (batch, scores [B, T]) to (sums [N] float64, number of scored tokens [N] int64)."""
    sums, counts = np.zeros(size), np.zeros(size, np.int64)
    for batch, scores in results:
        np.add.at(sums, batch.text_index, np.where(batch.keep, scores, 0.0).sum(axis=1))
        np.add.at(counts, batch.text_index, batch.keep.sum(axis=1))
    return sums, counts


def without_scores(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those that only scores depend on."""
    of_scores = ("pll", "normalizer", "boundary_tokens", "unknown", "log")
    return {name: value for name, value in settings.items() if name not in of_scores}
