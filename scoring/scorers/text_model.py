"""A language model over text: sentence scores, token scores and sentence vectors.

N sentences, B batch, T tokens, D hidden size. Results come back in the order of the sentences, and
do not depend on what a sentence was batched with.
"""

import hashlib
from functools import cached_property
from pathlib import Path

import numpy as np
from tqdm import tqdm

import tta
from tta.errors import InputError
from tta.scoring.scorers.batches import make_batches
from tta.scoring.scorers.pooling import POOLINGS, STATISTICS, PoolingStatistics
from tta.scoring.scorers.prefetch import prefetch
from tta.scoring.scorers.scorer import Scorer, TokenScores, check_texts

BUILT_IN = Path(tta.__file__).parent / "small"

# Texts that are tokenized and sorted at a time: memory does not grow with their number.
BLOCK_TEXTS = 20_000

# Batches that the model is at at a time: one does what only one core can do while another keeps the
# others busy. (Not where scores take many passes: those overlap by themselves, and lose by it.)
BATCHES_AT_ONCE = 2

# The work of scoring, see `TextModel._function`.
SCORES = ("scores",)

# Representation -> the output that it takes, and where in a sentence it takes it.
REPRESENTATIONS = {
    "context": ("token_states", {"text"}),
    "embed": ("embedding_output", {"text"}),
    "token": ("token_embeddings", {"text"}),
    "cls": ("hidden_states", {"begin"}),
    "eos": ("hidden_states", {"end"}),
}


class TextModel(Scorer):
    """Scores and encodes text; `tta.load` makes one.

    A T-TA's score is the sentence's pseudo-log-likelihood: the sum over its pieces of the natural
    log-probability of each given all others, higher is better. A biLM's is the same by masking one
    piece at a time; a uniLM's is the log-probability of the sentence, each piece given those before
    it.

    Args:
        model: `tta.modeling.models.language_model.LanguageModel`.
        tokenizer: `tta.data.vocabulary.tokenizer.Tokenizer`, or None: then text methods raise.
        name: what the model is called in signatures.
        score_boundary_tokens: whether begin and end tokens count in scores. They are context for
            the others either way.
        long_sentences: "window", sentences with more pieces than the model takes are read in
            overlapping windows; "refuse", they are an error. They are never cut.
        batch_tokens: tokens in a batch, padding included.
        pll_variant: what a piece's score is computed from: "original"; "within_word_l2r", without
            the later pieces of its word; "maskless" (biLM, BERT), with the piece itself in sight.
            See docs/scoring.md.
        normalizer: "exact", log-probabilities; "learned", without the sum over the vocabulary, for
            models that were trained with a `log_normalizer_weight`; "auto", learned for those and
            exact for the others.

    Attributes:
        model: the Keras model: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} ->
            {"hidden_states": [B, T, D], "logits": [B, T, V] float32}.
        signature: what a score depends on, in one line.
    """

    def __init__(
        self,
        model,
        tokenizer,
        name="model",
        score_boundary_tokens=False,
        long_sentences="window",
        batch_tokens=4096,
        pll_variant="original",
        normalizer="auto",
    ):
        if long_sentences not in ("window", "refuse"):
            raise ValueError(f"long_sentences must be window or refuse, not {long_sentences!r}")
        from tta.modeling.objectives.objectives import objective_of

        self.model = model
        self.tokenizer = tokenizer
        self.name = name
        self.score_boundary_tokens = score_boundary_tokens
        self.long_sentences = long_sentences
        self.batch_tokens = batch_tokens
        self.pll_variant = pll_variant
        if normalizer == "auto":
            normalizer = "learned" if model.config.log_normalizer_weight else "exact"
        model.normalize_by(normalizer)
        self.objective = tokenizer and objective_of(model.config.model_type, tokenizer.vocabulary)
        if self.objective:
            self.objective.check_variant(pll_variant)
        one_pass = not self.objective or self.objective.takes_one_pass(pll_variant)
        self._batches_at_once = BATCHES_AT_ONCE if one_pass else 1
        self.directory = None
        self._compiled = {}

    @classmethod
    def from_directory(cls, directory=None, precision="float32", **options):
        """Loads a model directory; None is the built-in model.

        Args:
            directory: path; see `tta.load`.
            precision: "float32", or "bfloat16" for products (sums stay float32).
            **options: as in the constructor.

        Raises:
            InputError: a file is missing or damaged, or files do not fit each other.
        """
        if precision not in ("float32", "bfloat16"):
            raise ValueError(f"precision must be float32 or bfloat16, not {precision!r}")
        from tta.data.vocabulary.word_pieces import Vocabulary
        from tta.modeling.formats import model_directory

        directory = BUILT_IN if directory is None else Path(directory)
        dtype = "mixed_bfloat16" if precision == "bfloat16" else "float32"
        vocab_path = directory / model_directory.VOCABULARY
        vocabulary = Vocabulary.from_file(vocab_path) if vocab_path.exists() else None
        model = model_directory.load_model(directory, dtype)
        if vocabulary is None:
            return cls(model, None, directory.name, **options)
        if len(vocabulary) != model.config.vocab_size:
            raise InputError(
                f"it has {len(vocabulary)} pieces, the config's vocab_size is "
                f"{model.config.vocab_size}",
                vocab_path,
            )
        from tta.data.vocabulary.tokenizer import Tokenizer

        tokenizer = Tokenizer(vocabulary, model.config.do_lower_case)
        lm = cls(model, tokenizer, directory.name, **options)
        lm.directory = directory
        return lm

    @property
    def representations(self):
        """`REPRESENTATIONS`; without cls where the begin token sees no other token."""
        if self.objective and not self.objective.scores_first_token:
            return tuple(name for name in REPRESENTATIONS if name != "cls")
        return tuple(REPRESENTATIONS)

    @property
    def pooled_representations(self):
        """Those of `REPRESENTATIONS` that pool the pieces of a text."""
        return tuple(name for name, (_, places) in REPRESENTATIONS.items() if places == {"text"})

    @cached_property
    def pooling_statistics(self):
        """`PoolingStatistics` of the model directory.

        Raises:
            InputError: it has none, or they are damaged or another model's.
        """
        if self.directory is None:
            raise InputError(f"{self.name} is no directory with {STATISTICS}")
        config = self.model.config
        path = self.directory / STATISTICS
        return PoolingStatistics.load(path, config.vocab_size, config.hidden_size)

    @property
    def signature(self):
        weights = hashlib.sha256()
        for name, value in self.model.named_weights().items():
            weights.update(name.encode() + np.asarray(value, np.float16).tobytes())
        precision = "bfloat16" if self.model.compute_dtype == "bfloat16" else "float32"
        boundary = "yes" if self.score_boundary_tokens else "no"
        return (
            f"model:{self.name}|type:{self.model.config.model_type}"
            f"|weights:{weights.hexdigest()[:8]}|vocab:{self.model.config.vocab_size}"
            f"|pll:{self.pll_variant}|normalizer:{self.model.normalizer}"
            f"|boundary_tokens:{boundary}|long:{self.long_sentences}"
            f"|precision:{precision}|log:natural|version:{tta.__version__}"
        )

    def score_with_counts(self, texts, progress=False):
        """As `Scorer.score_with_counts`; tokens are word pieces.

        Raises:
            InputError: a sentence is too long and `long_sentences` is "refuse", or the model has
                no vocabulary.
        """
        return _sum_scores(self._run(SCORES, texts, self._scored_places(), progress), len(texts))

    def score_tokens(self, texts, progress=False):
        """As `Scorer.score_tokens`; raises as `score_with_counts`."""
        results = self._run(SCORES, texts, self._scored_places(), progress)
        return self._collect_tokens(results, len(texts))

    def score_blocks(self, blocks, tokens=False, advance=None):
        """As `Scorer.score_blocks`: a block is tokenized while the model is at the one before."""
        collect = self._collect_tokens if tokens else _sum_scores
        places = self._scored_places()
        prepared = prefetch(lambda texts: (len(texts), self._batches(texts, 0, places)), blocks)
        for size, batches in prepared:
            yield collect(self._results(SCORES, batches, advance=advance), size)

    def encode(self, texts, representation=None, pooling="mean", progress=False):
        """Turns sentences into vectors (paper, section 4.3).

        Args:
            texts: N str.
            representation: "context" (default), the last layer's outputs at the sentence's pieces,
                each made as its score is (a biLM's where it is masked, unless maskless), or
                "embed", the embedding layer's; "token", the pieces' rows of the token table,
                wherever they stand; "cls", the last layer's output at the begin token, or "eos", at
                the end token. A sentence read in windows has the begin token of its first and the
                end token of its last.
            pooling: "mean" over the pieces, "sif" or "whitened", see `tta.scoring.scorers.pooling`; cls and
                eos are one vector each, and have the first alone.
            progress: whether to show a progress bar on standard error.

        Returns:
            [N, D] float32; zeros for a text without a piece, but for cls and eos.

        Raises:
            InputError: as `score_with_counts`; the model does not have the representation, or no
                statistics for the pooling.
        """
        representation = self.choose_representation(representation)
        self._check_pooling(representation, pooling)
        places = REPRESENTATIONS[representation][1]
        piece_weights, whitening = np.ones(self.model.config.vocab_size, np.float32), None
        if pooling != "mean":
            piece_weights = self.pooling_statistics.piece_weights()
        if pooling == "whitened":
            whitening = self.pooling_statistics.whitenings[representation]
        work = ("sums", representation, whitening)
        sums = np.zeros((len(texts), self.model.config.hidden_size))
        totals = np.zeros(len(texts))
        for batch, vectors in self._run(work, texts, places, progress, piece_weights):
            weights = batch.weights(piece_weights).sum(axis=1)
            for index, vector, weight in zip(batch.text_index, vectors, weights, strict=True):
                sums[index] += vector  # (`np.add.at` takes 18 times as long.)
                totals[index] += weight
        return (sums / np.where(totals > 0, totals, 1.0)[:, None]).astype(np.float32)

    def piece_moments(self, texts, representation, piece_weights, progress=False):
        """What a `Whitening` is fitted on: the mean and the covariance of the pieces' vectors.

        Args:
            texts: str, with at least one piece in all.
            representation: one of `pooled_representations`.
            piece_weights: [V] float32, how much each piece counts; 0 or more.
            progress: whether to show a progress bar on standard error.

        Returns:
            (mean [D], covariance [D, D]), float64.
        """
        places, moments = REPRESENTATIONS[representation][1], 0.0
        work = ("moments", representation)
        for _, added in self._run(work, texts, places, progress, piece_weights):
            moments += added.astype(np.float64)
        moments /= moments[-1, -1]  # the sum of the weights
        mean = moments[-1, :-1]
        return mean, moments[:-1, :-1] - np.outer(mean, mean)

    def _check_pooling(self, representation, pooling):
        poolings = POOLINGS if representation in self.pooled_representations else POOLINGS[:1]
        if pooling not in poolings:
            raise InputError(
                f"pooling must be {' or '.join(poolings)} for {representation}, not {pooling!r}",
                self.name,
            )
        if pooling == "whitened" and representation not in self.pooling_statistics.whitenings:
            raise InputError(f"{STATISTICS} has no whitening of {representation}", self.name)

    def _scored_places(self):
        """Which tokens of a sentence count in its score: see `_batches`."""
        if not self.score_boundary_tokens:
            return {"text"}
        first = {"begin"} if self.objective and self.objective.scores_first_token else set()
        return {"text", "end"} | first

    def _run(self, work, texts, places, progress, piece_weights=None):
        """Yields (batch, result of the work, see `_function`).

        `piece_weights`, [V] float32, say how much each piece counts.
        """
        check_texts(texts)
        starts = range(0, len(texts), BLOCK_TEXTS)
        # One block has nothing to be prepared ahead, and a sentence should not wait for a thread.
        prepare = prefetch if len(starts) > 1 else map
        blocks = prepare(
            lambda start: self._batches(texts[start : start + BLOCK_TEXTS], start, places), starts
        )
        with tqdm(
            total=len(texts),
            unit=" sentences",
            unit_scale=True,
            disable=not progress,
            desc="scoring" if work == SCORES else "encoding",
            dynamic_ncols=True,
        ) as bar:
            for batches in blocks:
                for batch, result in self._results(work, batches, piece_weights):
                    yield batch, result
                    bar.update(len(batch.text_index))

    def _results(self, work, batches, piece_weights=None, advance=None):
        """Yields (batch, result) of a block's batches, and tells `advance` each one's share."""
        function = self._function(work)

        def run(batch):
            weights = batch.weights(piece_weights)
            return function(batch.input_ids, batch.padding_mask, weights).numpy()

        size = sum(batch.input_ids.size for batch in batches)
        at_once = min(self._batches_at_once, len(batches))
        results = prefetch(run, batches, at_once) if at_once > 1 else map(run, batches)
        for batch, result in zip(batches, results, strict=True):
            yield batch, result
            if advance is not None:
                advance(batch.input_ids.size / size)

    def _batches(self, texts, first_index, places):
        """`make_batches`, with the model's own tokenizer and sizes."""
        if self.tokenizer is None:
            raise InputError("the model has no vocab.txt: it takes ids (lm.model), not text")
        length = self.model.config.max_position_embeddings
        refuse = self.long_sentences == "refuse"
        return make_batches(
            self.tokenizer, texts, first_index, places, length, self.batch_tokens, refuse
        )

    def _collect_tokens(self, results, size):
        """From (batch, scores [B, T]) to a list of `TokenScores`, one a text."""
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

    def _function(self, work):
        """The model's part of the work, compiled once for all shapes.

        ("scores",): [B, T] each token's. ("sums", representation, whitening): [B, D], each
        sentence's vectors times their weights. ("moments", representation): [D + 1, D + 1], the
        second moments of all vectors with a 1 behind them; so the last row has their sum.
        """
        if work not in self._compiled:
            import tensorflow as tf

            from tta.scoring.scorers.frozen import frozen

            name, *arguments = work
            function = {"scores": self._scores, "sums": self._sums, "moments": self._moments}[name]
            shape = [None, None]
            self._compiled[work] = frozen(
                lambda ids, mask, weights: function(
                    {"input_ids": ids, "padding_mask": mask}, weights, *arguments
                ),
                [
                    tf.TensorSpec(shape, tf.int32),
                    tf.TensorSpec(shape, tf.bool),
                    tf.TensorSpec(shape, tf.float32),
                ],
                self.model,
            )
        return self._compiled[work]

    def _scores(self, inputs, weights):
        return self.token_scores(inputs, weights > 0)

    def _sums(self, inputs, weights, representation, whitening):
        import tensorflow as tf

        vectors = self._vectors(inputs, weights, representation)
        if whitening is not None:
            vectors = whitening(vectors)
        return tf.reduce_sum(vectors * weights[..., None], axis=1)

    def _moments(self, inputs, weights, representation):
        import tensorflow as tf

        vectors = self._vectors(inputs, weights, representation)
        vectors = tf.concat([vectors, tf.ones_like(vectors[..., :1])], axis=-1)
        rows = tf.reshape(vectors, [-1, vectors.shape[-1]])
        return tf.matmul(rows, rows * tf.reshape(weights, [-1, 1]), transpose_a=True)

    def _vectors(self, inputs, weights, representation):
        """[B, T, D] float32, a representation's at every token."""
        import tensorflow as tf

        key = REPRESENTATIONS[representation][0]
        if key == "token_states":
            vectors = self.token_states(inputs, weights > 0)
        elif key == "token_embeddings":
            vectors = tf.gather(self.model.token_table.value, inputs["input_ids"])
        else:
            vectors = self.model.encode(inputs, training=False)[key]
        return tf.cast(vectors, tf.float32)

    def token_scores(self, inputs, wanted=None):
        """The model's own part of scoring, in a graph or out of one.

        Args:
            inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.
            wanted: [B, T] bool, the tokens whose scores are asked for; None is all.

        Returns:
            [B, T] float32, natural log-probability of every token, by `pll_variant`.
        """
        inputs = self._with_words(inputs)
        return self.objective.token_scores(self.model, inputs, self.pll_variant, wanted)

    def token_states(self, inputs, wanted=None):
        """As `token_scores`, the last layer's outputs that the scores are made of: [B, T, D]."""
        inputs = self._with_words(inputs)
        return self.objective.token_states(self.model, inputs, self.pll_variant, wanted)

    def _with_words(self, inputs):
        if self.pll_variant != "within_word_l2r":
            return inputs
        return inputs | {"word_ids": self._word_ids(inputs["input_ids"])}

    def _word_ids(self, input_ids):
        """[B, T] int32, the same at all pieces of a word: a piece of "##" goes on with a word.

        (Where a window begins inside a word, that part of it counts as the begin token's, whose
        score is not taken from such a window.)
        """
        import tensorflow as tf

        continues = tf.gather(self.tokenizer.vocabulary.continues_word, input_ids)
        return tf.cumsum(tf.cast(~continues, tf.int32), axis=1)


def _sum_scores(results, size):
    """From (batch, scores [B, T]) to (sums [N] float64, scored tokens [N] int64)."""
    sums, counts = np.zeros(size), np.zeros(size, np.int64)
    for batch, scores in results:
        np.add.at(sums, batch.text_index, np.where(batch.keep, scores, 0.0).sum(axis=1))
        np.add.at(counts, batch.text_index, batch.keep.sum(axis=1))
    return sums, counts
