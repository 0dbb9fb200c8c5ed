"""The served graph: the decision between the hypotheses of a list, in TensorFlow operations only.

It must compute what `tta.scoring.combining.decision` computes with the loss of the metric `wer`;
tests compare them. N is the number of hypotheses.
"""

import tensorflow as tf

# White space as in str.split; TensorFlow's split only knows that of ASCII.
SPACE = (
    r"[\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}"
    r"\x{205F}\x{3000}]"
)


def split_words(texts: tf.Tensor) -> tf.RaggedTensor:
    """The words of texts, as `text.split()`: [N] string -> [N, words] string."""
    return tf.strings.split(tf.strings.regex_replace(texts, SPACE, " "))


def decide(words: tf.RaggedTensor, combined: tf.Tensor, scale: tf.Tensor) -> dict[str, tf.Tensor]:
    """As `tta.scoring.combining.decision.decide`, for one list.

    Args:
        words: [N, words] string, the words of each hypothesis.
        combined: [N] float64, the combined scores, finite.
        scale: [] float64, at least 0. With infinity, the decision is max.

    Returns:
        {"order": [N] int32, best first, "posteriors": [N] float64, "expected_losses": [N] float64,
        word errors}. With an infinite scale, the best hypothesis has the posterior 1, and
        the expected losses are the word errors if it is correct.
    """
    by_score = tf.argsort(combined, direction="DESCENDING", stable=True)
    is_max = tf.math.is_inf(scale)
    best = tf.cast(tf.range(tf.size(combined)) == by_score[:1], tf.float64)
    scaled = tf.where(is_max, tf.zeros_like(scale), scale) * combined
    posteriors = tf.where(is_max, best, tf.nn.softmax(scaled))
    # Rounded as in `decide`, so that equal texts keep their order.
    expected = tf.round(expected_word_errors(words, posteriors) * 1e6) / 1e6
    by_loss = tf.gather(by_score, tf.argsort(tf.gather(expected, by_score), stable=True))
    order = tf.where(is_max, by_score, by_loss)
    return {"order": order, "posteriors": posteriors, "expected_losses": expected}


def expected_word_errors(words: tf.RaggedTensor, posteriors: tf.Tensor) -> tf.Tensor:
    """The expected number of word errors of each hypothesis: [N] float64.

    expected[i] = sum_j posteriors[j] * (word edit distance of i and j)

    The hypotheses j are taken one after the other, so the memory is that of N texts, not of N * N
    pairs. Those with the posterior 0 are left out.

    Args:
        words: [N, words] string.
        posteriors: [N] float64.
    """
    ids = words.with_values(tf.unique(words.values)[1])
    hypotheses, count = ids.to_sparse(), ids.nrows()
    probable = tf.where(posteriors > 0)[:, 0]

    def add(k, expected):
        correct = ids[probable[k]]
        length = tf.size(correct, tf.int64)
        rows, columns = tf.repeat(tf.range(count), length), tf.tile(tf.range(length), [count])
        truth = tf.SparseTensor(
            tf.stack([rows, columns], axis=1), tf.tile(correct, [count]), [count, length]
        )
        errors = tf.cast(tf.edit_distance(hypotheses, truth, normalize=False), tf.float64)
        errors = tf.ensure_shape(errors, posteriors.shape)
        return k + 1, expected + posteriors[probable[k]] * errors

    start = [0, tf.zeros_like(posteriors)]
    return tf.while_loop(lambda k, _: k < tf.size(probable), add, start)[1]
