"""The served graph: a `TextModel` over raw strings, in TensorFlow operations only.

It must compute what `TextModel` computes; tests compare them.

N texts, B windows in a batch, T tokens, D hidden size, V vocabulary. A sentence of n pieces has
n + 2 positions: its begin token at 0, its pieces at 1 to n, its end token at n + 1.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import tensorflow as tf

from tta.scoring.exports.serving.graph_tokenizer import GraphTokenizer
from tta.scoring.scorers.text_model import TextModel

# Well-formed UTF-8: all code points except surrogates. (RE2 does not match malformed bytes.)
UTF8 = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"


class Windows(NamedTuple):
    """The windows of many sentences; each attribute is [W] int64.

    Attributes:
        text_index: the sentence, 0 to N - 1.
        start, stop: the pieces that the window reads.
        keep_start, keep_stop: the positions whose results are taken from it. In all windows of a
            sentence together, these parts cover every position once, boundary tokens included.
    """

    text_index: tf.Tensor
    start: tf.Tensor
    stop: tf.Tensor
    keep_start: tf.Tensor
    keep_stop: tf.Tensor


class Batch(NamedTuple):
    """Windows of similar length.

    Attributes:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.
        text_index: [B] int64.
        position: [B, T] int64, position of each token in its sentence.
        keep: [B, T] bool, the tokens whose results are taken from the window.
    """

    inputs: dict[str, tf.Tensor]
    text_index: tf.Tensor
    position: tf.Tensor
    keep: tf.Tensor


class ServedModel(tf.Module):
    """The signatures of a `TextModel`, ready for `tf.saved_model.save`. Texts are UTF-8.

    Args:
        lm: a model with a tokenizer, whose type gives scores.
    """

    def __init__(self, lm: TextModel):
        super().__init__(name="tta")
        self.lm, self.engine = lm, cast(Any, lm.engine)  # a `TensorFlowEngine`
        self.tokenizer = GraphTokenizer(lm.tokenizer)
        # A SavedModel keeps the variables of its module. (Those of Keras wrap them.)
        self.saved_variables = [variable.value for variable in lm.model.weights]
        self._scored: Callable[[tf.Tensor], tuple[Any, Any]] = self._scored_texts

    def signatures(self) -> dict[str, Callable[..., dict[str, Any]]]:
        """{name: `tf.function` with named inputs and outputs}; `serving_default` is `score`."""
        texts = [tf.TensorSpec([None], tf.string, "texts")]
        # One graph, which two signatures call.
        self._scored = tf.function(self._scored_texts, input_signature=texts, autograph=False)
        functions = {
            method.__name__: tf.function(method, input_signature=texts, autograph=False)
            for method in (self.score, self.score_tokens, self.encode)
        }
        return functions | {"serving_default": functions["score"]}

    def warmup_inputs(self, texts: tf.Tensor) -> dict[str, dict[str, tf.Tensor]]:
        """{signature: inputs} of requests that TF Serving runs before it accepts others."""
        return {name: {"texts": texts} for name in ("score", "score_tokens", "encode")}

    def score(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `TextModel.score_with_counts`, for texts [N].

        Returns {"scores": [N] float64, natural log, "num_tokens": [N] int64}.
        """
        scores = self._counted(self._scored(texts)[1])
        return {
            "scores": tf.reduce_sum(tf.cast(scores, tf.float64), axis=1),
            "num_tokens": scores.row_lengths(),
        }

    def score_tokens(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `TextModel.score_tokens`, for texts [N], padded to the longest one.

        Returns {"pieces": [N, T] string, padded with "", "log_probabilities": [N, T] float32,
        natural log, padded with 0, "lengths": [N] int64}.
        """
        sentences, scores = self._scored(texts)
        scores = self._counted(scores)
        vocabulary = tf.constant(self.lm.tokenizer.vocabulary.tokens)
        return {
            "pieces": tf.gather(vocabulary, self._counted(sentences)).to_tensor(""),
            "log_probabilities": scores.to_tensor(0.0),
            "lengths": scores.row_lengths(),
        }

    def encode(self, texts: tf.Tensor) -> dict[str, tf.Tensor]:
        """As `TextModel.encode` of texts [N] by default: {"vectors": [N, D] float32}."""
        sentences = self._tokenize(texts)
        unk_id = self.lm.tokenizer.vocabulary.unk_id
        is_known = tf.cast(sentences != unk_id, tf.int64)
        counts = tf.reduce_sum(is_known, axis=1) - 2

        def add(sums, batch):
            hidden = self.engine.states(batch.inputs, batch.keep)
            keep = batch.keep & (batch.inputs["input_ids"] != unk_id)
            vectors = tf.where(keep[..., None], tf.cast(hidden, tf.float32), 0.0)  # [B, T, D]
            return tf.tensor_scatter_nd_add(
                sums, batch.text_index[:, None], tf.reduce_sum(vectors, axis=1)
            )

        size = self.lm.model.encoder.output_size("hidden_states")
        zeros = tf.zeros([tf.size(texts), size])
        sums = self._for_each_batch(sentences, add, zeros)
        return {"vectors": sums / tf.cast(tf.maximum(counts, 1), tf.float32)[:, None]}

    def _tokenize(self, texts):
        """[N] string -> RaggedTensor [N, n + 2] int32 of ids, boundary tokens included."""
        pieces = self.tokenizer.tokenize(check_texts(texts))
        if self.lm.options.long_sentences == "refuse":
            longest = tf.reduce_max(tf.concat([pieces.row_lengths(), [0]], axis=0))
            require(
                longest <= self.lm.window_size,
                f"the model takes {self.lm.window_size} pieces, a text has",
                longest,
            )
        vocabulary = self.lm.tokenizer.vocabulary
        begin = tf.fill([pieces.nrows(), 1], vocabulary.bos_id)
        end = tf.fill([pieces.nrows(), 1], vocabulary.eos_id)
        return tf.concat([begin, pieces, end], axis=1)

    def _scored_texts(self, texts):
        """The ids of texts [N], and the log-probability of every position that counts.

        Both are RaggedTensors [N, n + 2], of int32 and float32, boundary tokens included.
        """
        sentences = self._tokenize(texts)
        first = sentences.row_starts()

        def fill(scores, batch):
            values = self.engine.scores(batch.inputs, batch.keep)
            slots = tf.gather(first, batch.text_index)[:, None] + batch.position  # [B, T]
            return tf.tensor_scatter_nd_update(
                scores, slots[batch.keep][:, None], values[batch.keep]
            )

        zeros = tf.zeros([tf.size(sentences.values)])
        boundary = self.lm.options.score_boundary_tokens
        scores = self._for_each_batch(sentences, fill, zeros, boundary)
        if self.lm.options.unknown == "price":
            price = self.lm.config.unknown_price
            costs = self.tokenizer.spelling_costs(check_texts(texts), price)
            nothing = tf.zeros([costs.nrows(), 1])
            scores -= tf.concat([nothing, costs, nothing], axis=1).values
        return sentences, sentences.with_values(scores)

    def _counted(self, sentences):
        """The positions of a RaggedTensor [N, n + 2] that count in a score."""
        if not self.lm.options.score_boundary_tokens:
            return sentences[:, 1:-1]
        return sentences if self.lm.likelihood.scores_first_token else sentences[:, 1:]

    def _for_each_batch(self, sentences, work, result, boundary=False):
        """Repeats result = work(result, `Batch`) for all batches of sentences, longest first.

        A batch has at most `batch_tokens` tokens, so that memory is bounded for requests of any
        size. `boundary` says whether the results of begin and end tokens are taken.
        """
        lengths = sentences.row_lengths() - 2
        windows = split_windows(lengths, self.lm.window_size)
        if not boundary:
            end = tf.gather(lengths, windows.text_index) + 1
            windows = windows._replace(
                keep_start=tf.maximum(windows.keep_start, 1),
                keep_stop=tf.minimum(windows.keep_stop, end),
            )
        longest_first = tf.argsort(windows.start - windows.stop, stable=True)
        windows = Windows(*(tf.gather(field, longest_first) for field in windows))
        num_windows = tf.size(windows.start)

        def step(first, result):
            width = windows.stop[first] - windows.start[first] + 2
            rows = tf.maximum(1, self.lm.batch_tokens // tf.cast(width, tf.int32))
            part = Windows(*(field[first : first + rows] for field in windows))
            return first + rows, work(result, self._batch(sentences, part, width))

        return tf.while_loop(
            lambda first, _: first < num_windows, step, [0, result], parallel_iterations=1
        )[1]

    def _batch(self, sentences, windows, width):
        """Pads windows to a `Batch` of `width` columns."""
        vocabulary = self.lm.tokenizer.vocabulary
        column = tf.range(width)[None]  # [1, T]
        end = (windows.stop - windows.start + 1)[:, None]  # [B, 1], the end token's column
        position = windows.start[:, None] + column  # [B, T]
        slots = tf.gather(sentences.row_starts(), windows.text_index)[:, None] + position
        ids = tf.gather(sentences.values, tf.where(column < end, slots, 0))
        ids = tf.where(column == 0, vocabulary.bos_id, ids)
        ids = tf.where(column == end, vocabulary.eos_id, ids)
        ids = tf.where(column > end, vocabulary.pad_id, ids)
        keep = (position >= windows.keep_start[:, None]) & (position < windows.keep_stop[:, None])
        inputs = {"input_ids": ids, "padding_mask": column <= end}
        return Batch(inputs, windows.text_index, position, keep)


def split_windows(lengths: tf.Tensor, size: int) -> Windows:
    """As `tta.scoring.scorers.inference.windows.split_windows`, for many sentences at once.

    Args:
        lengths: [N] int64, number of pieces in each sentence.
        size: maximum number of pieces in a window, at least 1.

    Returns:
        `Windows`, in the order of the sentences.
    """
    stride = max(1, size // 2)
    surplus = tf.maximum(lengths - size, 0)
    counts = 1 + (surplus + stride - 1) // stride  # [N], windows of each sentence
    text_index = tf.repeat(tf.range(tf.size(lengths, tf.int64)), counts)  # [W]
    lengths, surplus, last = (tf.gather(x, text_index) for x in (lengths, surplus, counts - 1))
    first_window = tf.gather(tf.cumsum(counts, exclusive=True), text_index)
    number = tf.range(tf.size(text_index, tf.int64)) - first_window  # 0, 1, ... in each sentence

    def start_of(number):
        return tf.minimum(number * stride, surplus)

    start = start_of(number)
    cut_before = (start_of(number - 1) + start + size) // 2  # the middle of their overlap
    cut_after = (start + start_of(number + 1) + size) // 2
    return Windows(
        text_index,
        start,
        tf.minimum(start + size, lengths),
        tf.where(number > 0, cut_before + 1, 0),
        tf.where(number == last, lengths + 2, cut_after + 1),
    )


def check_texts(texts: Any) -> Any:
    """The texts [N] string of a request; ends the request if they are not texts."""
    # A server does not check shapes, and a scalar crashes the tokenizer (SIGSEGV).
    texts = tf.ensure_shape(texts, [None])
    good = tf.strings.regex_full_match(texts, UTF8)
    require(tf.reduce_all(good), "not valid UTF-8, texts (from 0):", tf.where(~good)[:, 0])
    return texts


def require(condition: Any, rule: str, value: Any) -> Any:
    """Ends the request with INVALID_ARGUMENT and the rule unless the condition holds.

    Returns the operation that does so.
    """
    return tf.debugging.Assert(condition, [f"tta: {rule}", value], summarize=8)
