"""The graph that is served: `TextModel` over raw strings in TensorFlow operations alone.

N texts, B windows in a batch, T tokens, D hidden size, V vocabulary. A sentence of n pieces has
n + 2 positions: its begin token at 0, its pieces at 1 to n, its end token at n + 1.

It lies in scoring/ and not in modeling/: raw strings, windows and the rule of reranking are what
this room knows. What is served must be what `TextModel` and `reranking` compute; the tests compare
them.
"""

from typing import NamedTuple

import tensorflow as tf

# Well-formed UTF-8: every code point but surrogates. (RE2 matches no malformed byte.)
UTF8 = r"[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]*"

# White space as str.split takes it; TensorFlow's own split knows ASCII's alone.
SPACE = (
    r"[\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}"
    r"\x{205F}\x{3000}]"
)


class Windows(NamedTuple):
    """The windows of many sentences, as `tta.scoring.scorers.windows.split_windows` cuts each; [W] int64.

    Attributes:
        text_index: the sentence, 0 to N - 1.
        start, stop: the pieces that the window reads.
        answer_start, answer_stop: the positions that it answers for; over the windows of a sentence
            they cover all positions once, the boundary tokens' too.
    """

    text_index: tf.Tensor
    start: tf.Tensor
    stop: tf.Tensor
    answer_start: tf.Tensor
    answer_stop: tf.Tensor


class Batch(NamedTuple):
    """Windows of about one length.

    Attributes:
        inputs: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}.
        text_index: [B] int64.
        position: [B, T] int64, each token's position in its sentence.
        answers: [B, T] bool, whether the window answers for the token.
    """

    inputs: dict
    text_index: tf.Tensor
    position: tf.Tensor
    answers: tf.Tensor


class ServedModel(tf.Module):
    """The signatures of a `TextModel`, ready for `tf.saved_model.save`.

    Args:
        lm: `tta.scoring.scorers.text_model.TextModel` with a tokenizer.
        reduction: "sum" or "mean" of a hypothesis's token scores, for `rerank`.
    """

    def __init__(self, lm, reduction="sum"):
        super().__init__(name="tta")
        self.lm = lm
        self.reduction = reduction
        # What a SavedModel keeps: variables that hang on a module. (Keras's own wrap them.)
        self.saved_variables = [variable.value for variable in lm.model.variables]

    def signatures(self):
        """{name: `tf.function` with named inputs and outputs}; `serving_default` is `score`."""
        texts = [tf.TensorSpec([None], tf.string, "texts")]
        hypotheses = [
            tf.TensorSpec([None], tf.string, "hypotheses"),
            tf.TensorSpec([None], tf.float32, "first_pass_scores"),
            tf.TensorSpec([], tf.float32, "lm_weight"),
            tf.TensorSpec([], tf.float32, "length_bonus"),
        ]
        inputs = {
            self.score: texts,
            self.score_tokens: texts,
            self.encode: texts,
            self.rerank: hypotheses,
        }
        functions = {
            method.__name__: tf.function(method, input_signature=specs, autograph=False)
            for method, specs in inputs.items()
        }
        return functions | {"serving_default": functions["score"]}

    def score(self, texts):
        """As `TextModel.score_with_counts`.

        Args:
            texts: [N] string, UTF-8.

        Returns:
            {"scores": [N] float64, natural log, "num_tokens": [N] int64}.
        """
        sentences = self._tokenize(texts)
        scores = self._counted(self._token_scores(sentences))
        return {
            "scores": tf.reduce_sum(tf.cast(scores, tf.float64), axis=1),
            "num_tokens": scores.row_lengths(),
        }

    def score_tokens(self, texts):
        """As `TextModel.score_tokens`, padded to the longest text.

        Args:
            texts: [N] string, UTF-8.

        Returns:
            {"pieces": [N, T] string, padded with "", "log_probabilities": [N, T] float32, natural
            log, padded with 0, "lengths": [N] int64}.
        """
        sentences = self._tokenize(texts)
        scores = self._counted(self._token_scores(sentences))
        vocabulary = tf.constant(self.lm.tokenizer.vocabulary.tokens)
        return {
            "pieces": tf.gather(vocabulary, self._counted(sentences)).to_tensor(""),
            "log_probabilities": scores.to_tensor(0.0),
            "lengths": scores.row_lengths(),
        }

    def encode(self, texts):
        """As `TextModel.encode`: the mean of the last layer over the pieces.

        Args:
            texts: [N] string, UTF-8.

        Returns:
            {"vectors": [N, D] float32}.
        """
        sentences = self._tokenize(texts)
        lengths = sentences.row_lengths() - 2

        def add(sums, batch):
            hidden = self.lm.token_states(batch.inputs)
            last = tf.gather(lengths, batch.text_index)[:, None]
            keep = batch.answers & (batch.position > 0) & (batch.position <= last)
            vectors = tf.where(keep[..., None], tf.cast(hidden, tf.float32), 0.0)  # [B, T, D]
            return tf.tensor_scatter_nd_add(
                sums, batch.text_index[:, None], tf.reduce_sum(vectors, axis=1)
            )

        zeros = tf.zeros([tf.size(lengths), self.lm.model.config.hidden_size])
        sums = self._for_each_batch(sentences, add, zeros)
        return {"vectors": sums / tf.cast(tf.maximum(lengths, 1), tf.float32)[:, None]}

    def rerank(self, hypotheses, first_pass_scores, lm_weight, length_bonus):
        """As `tta.scoring.combining.scored_lists`, for one list.

        Args:
            hypotheses: [N] string, UTF-8.
            first_pass_scores: [N] float32, natural log, higher is better; all equal where there
                are none.
            lm_weight: [] float32, 0 to 1.
            length_bonus: [] float32, natural log, per word.

        Returns:
            {"order": [N] int32, indices into `hypotheses`, best first, "combined_scores": [N]
            float64, in the order of `hypotheses`}.
        """
        # A server does not look at shapes: without these, numbers that came as rows, or two lists
        # that the server put into one batch, would be taken for one list.
        hypotheses = tf.ensure_shape(hypotheses, [None])
        lm_weight = tf.cast(tf.ensure_shape(lm_weight, []), tf.float64)
        length_bonus = tf.cast(tf.ensure_shape(length_bonus, []), tf.float64)
        first_pass = tf.cast(tf.ensure_shape(first_pass_scores, [None]), tf.float64)
        _require(
            (lm_weight >= 0) & (lm_weight <= 1),
            "lm_weight lies between 0 and 1, got",
            lm_weight,
        )
        _require(
            tf.size(hypotheses) == tf.size(first_pass),
            "every hypothesis has a first-pass score; hypotheses and scores:",
            tf.stack([tf.size(hypotheses), tf.size(first_pass)]),
        )
        scored = self.score(hypotheses)
        lm, counts = scored["scores"], scored["num_tokens"]
        if self.reduction == "mean":
            lm /= tf.cast(tf.maximum(counts, 1), tf.float64)
        # A hypothesis without a scored token has nothing to be judged by; see `ScoredLists.build`.
        judged = counts > 0
        lowest = tf.reduce_min(tf.where(judged, lm, float("inf")))
        lm = tf.where(judged, lm, tf.where(tf.math.is_inf(lowest), tf.zeros_like(lowest), lowest))
        combined = (1 - lm_weight) * first_pass + lm_weight * lm
        combined += length_bonus * tf.cast(count_words(hypotheses), tf.float64)
        combined = tf.debugging.check_numerics(
            combined, "first_pass_scores and length_bonus are finite numbers"
        )
        order = tf.argsort(combined, direction="DESCENDING", stable=True)
        return {"order": order, "combined_scores": combined}

    def _tokenize(self, texts):
        """[N] string -> RaggedTensor [N, n + 2] int32 of ids, boundary tokens included."""
        # A server does not look at shapes, and a scalar ends the tokenizer's process (SIGSEGV).
        texts = tf.ensure_shape(texts, [None])
        good = tf.strings.regex_full_match(texts, UTF8)
        _require(tf.reduce_all(good), "not valid UTF-8, texts (from 0):", tf.where(~good)[:, 0])
        pieces = self.lm.tokenizer.tokenize(texts)
        if self.lm.long_sentences == "refuse":
            longest = tf.reduce_max(tf.concat([pieces.row_lengths(), [0]], axis=0))
            _require(
                longest <= self._window_size,
                f"the model takes {self._window_size} pieces, a text has",
                longest,
            )
        vocabulary = self.lm.tokenizer.vocabulary
        begin = tf.fill([pieces.nrows(), 1], vocabulary.bos_id)
        end = tf.fill([pieces.nrows(), 1], vocabulary.eos_id)
        return tf.concat([begin, pieces, end], axis=1)

    def _token_scores(self, sentences):
        """The log-probability of every position: RaggedTensor [N, n + 2] float32."""
        first = sentences.row_starts()

        def fill(scores, batch):
            values = self.lm.token_scores(batch.inputs)
            slots = tf.gather(first, batch.text_index)[:, None] + batch.position  # [B, T]
            return tf.tensor_scatter_nd_update(
                scores, slots[batch.answers][:, None], values[batch.answers]
            )

        zeros = tf.zeros([tf.size(sentences.values)])
        return sentences.with_values(self._for_each_batch(sentences, fill, zeros))

    def _counted(self, sentences):
        """Of a RaggedTensor [N, n + 2], the positions that count in a score."""
        if not self.lm.score_boundary_tokens:
            return sentences[:, 1:-1]
        return sentences if self.lm.objective.scores_first_token else sentences[:, 1:]

    @property
    def _window_size(self):
        return self.lm.model.config.max_position_embeddings - 2

    def _for_each_batch(self, sentences, work, result):
        """result = work(result, `Batch`) for batches that cover all sentences, longest first.

        A batch holds at most `batch_tokens` tokens, so that a request of any size is answered in
        bounded memory.
        """
        windows = split_windows(sentences.row_lengths() - 2, self._window_size)
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
        """Lays windows out as a `Batch` of `width` columns."""
        vocabulary = self.lm.tokenizer.vocabulary
        column = tf.range(width)[None]  # [1, T]
        end = (windows.stop - windows.start + 1)[:, None]  # [B, 1], the end token's column
        position = windows.start[:, None] + column  # [B, T]
        slots = tf.gather(sentences.row_starts(), windows.text_index)[:, None] + position
        ids = tf.gather(sentences.values, tf.where(column < end, slots, 0))
        ids = tf.where(column == 0, vocabulary.bos_id, ids)
        ids = tf.where(column == end, vocabulary.eos_id, ids)
        ids = tf.where(column > end, vocabulary.pad_id, ids)
        answers = (position >= windows.answer_start[:, None]) & (
            position < windows.answer_stop[:, None]
        )
        inputs = {"input_ids": ids, "padding_mask": column <= end}
        return Batch(inputs, windows.text_index, position, answers)


def split_windows(lengths, size):
    """`tta.scoring.scorers.windows.split_windows` of many sentences at once.

    Args:
        lengths: [N] int64, pieces of each sentence.
        size: the most pieces a window holds, at least 1.

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


def count_words(texts):
    """Words between white space, as `len(text.split())`: [N] string -> [N] int64."""
    return tf.strings.split(tf.strings.regex_replace(texts, SPACE, " ")).row_lengths()


def _require(condition, rule, value):
    """Ends the request with INVALID_ARGUMENT and a message unless a rule is kept."""
    tf.debugging.Assert(condition, [f"tta: {rule}", value], summarize=8)
