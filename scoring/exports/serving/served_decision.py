"""The served graph: the decision between the hypotheses of a list, in TensorFlow operations only.

It must compute what `tta.scoring.combining.decision` computes with the loss of the metric `wer`;
tests compare them. N is the number of hypotheses.
"""

from typing import Any

import tensorflow as tf

from tta.data.text.spelling import NON_WORD_TAGS, NON_WORDS, SILENCE, WITHOUT_BLANKS

# White space as in str.split; TensorFlow's split only knows that of ASCII.
SPACE = (
    r"[\x{9}-\x{D}\x{1C}-\x{20}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}"
    r"\x{205F}\x{3000}]"
)

_BITS = 62  # of an integer: one for each symbol of a text; a sum may need one more
_ALL = 2**_BITS - 1
_BLOCK = 2**16  # integers in a tensor: 512 KiB, so that a step stays in the processor's cache

# Limits of a list, whose largest takes seconds: of words in a hypothesis, and of hypotheses times
# words in the longest one. Time grows with the square of either.
MAX_WORDS, MAX_LIST_WORDS = 5_000, 100_000


def split_words(texts: tf.Tensor) -> tf.RaggedTensor:
    """The words of texts, as `text.split()`: [N] string -> [N, words] string."""
    return tf.strings.split(tf.strings.regex_replace(texts, SPACE, " "))


def without_non_words(texts: tf.Tensor) -> tf.Tensor:
    """Texts without words that are none, as `tta.data.text.spelling.plain_texts`: [N] string."""
    joined, spaced = (tf.strings.regex_replace(texts, NON_WORD_TAGS, blank) for blank in ("", " "))
    has_blanks = ~tf.strings.regex_full_match(texts, f"(?s).*{WITHOUT_BLANKS.pattern}.*")
    words = split_words(tf.where(has_blanks, spaced, joined))
    words = _without(words, tf.strings.regex_full_match(words.values, NON_WORDS))
    is_silence = words.values == SILENCE
    others = tf.boolean_mask(words.values, ~is_silence)
    cases = [case(others, "utf-8") for case in (tf.strings.upper, tf.strings.lower)]
    has_one_case = tf.reduce_any([tf.reduce_all(others == one) for one in cases])
    words = _without(words, is_silence & has_one_case)
    is_same = words.row_lengths() == split_words(texts).row_lengths()
    found = tf.strings.reduce_join(words, axis=1, separator=" ")
    return tf.where(is_same & (joined == texts), texts, found)


def _without(words, are_none):
    return tf.ragged.boolean_mask(words, words.with_values(~are_none))


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

    The most probable hypotheses come first, a block of them at a time. A block is compared with
    itself and all that follow, because the distance of a pair is the same in both directions. Pairs
    of the posterior 0 are left out. Memory is that of a block, not of N * N pairs.

    Args:
        words: [N, words] string.
        posteriors: [N] float64.
    """
    order = tf.argsort(posteriors, direction="DESCENDING", stable=True)
    texts, posteriors = tf.gather(_symbols(words), order), tf.gather(posteriors, order)
    count, probable = tf.size(order), tf.math.count_nonzero(posteriors, dtype=tf.int32)
    num_symbols = tf.reduce_max(tf.concat([texts.values, [0]], axis=0)) + 1

    def add(first, expected):
        rest = texts[first:]
        size = tf.maximum(1, _BLOCK // (_num_parts(rest) * (count - first)))
        last = tf.minimum(first + size, count)
        lengths = rest.row_lengths() // 2  # in words
        pairs = lengths[: last - first, None] + lengths
        pairs -= _common_subsequences(texts[first:last], rest, num_symbols)
        pairs = tf.cast(pairs, tf.float64)  # [B, R], the distances to the R texts of the rest
        of_rest = tf.linalg.matvec(pairs, posteriors[first:last], transpose_a=True)
        of_block = tf.linalg.matvec(pairs[:, last - first :], posteriors[last:])
        expected += tf.pad(of_rest, [[first, 0]])
        expected += tf.pad(of_block, [[first, count - last]])
        return last, expected

    start = [0, tf.zeros_like(posteriors)]
    expected = tf.while_loop(lambda first, _: first < probable, add, start)[1]
    return tf.gather(expected, tf.math.invert_permutation(order))


def _symbols(words):
    """Words as numbers from 1, each after a 0: [N, words] string -> [N, 2 * words] int32.

    The edit distance of two texts is their number of words together, minus the length of the
    longest common subsequence of the symbols: two equal words have 2 symbols in common, two
    different words have 1, the zero (Tiskin, "Semi-local string comparison", 2008).
    """
    numbers = tf.unique(words.values)[1] + 1
    values = tf.reshape(tf.stack([tf.zeros_like(numbers), numbers], axis=1), [-1])
    ragged: Any = tf.RaggedTensor  # the stubs lack its methods
    return ragged.from_row_splits(values, 2 * words.row_splits, validate=False)


def _num_parts(texts):
    """How many integers have a bit for each symbol of the longest text: [] int32, at least 1."""
    longest = tf.cast(tf.reduce_max(texts.row_lengths()), tf.int32)
    return tf.maximum(1, (longest + _BITS - 1) // _BITS)


def _common_subsequences(texts, others, num_symbols):
    """The lengths of the longest common subsequences: [B, R] int64.

    One sum of integers takes the place of a column of the usual table, because they have a bit for
    each symbol of the other text (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004).

    Args:
        texts: [B, symbols] int32, below `num_symbols`.
        others: [R, symbols] int32; P integers hold the bits of the longest one.
        num_symbols: [] int32.
    """
    present, numbers = tf.unique(texts.values)
    padding, absent = tf.size(present), tf.size(present) + 1  # they match no symbol of a text
    number_of = tf.tensor_scatter_nd_update(
        tf.fill([num_symbols], absent), present[:, None], tf.range(padding)
    )
    row = tf.cast(others.value_rowids(), tf.int32)
    position = tf.range(tf.size(row)) - tf.gather(tf.cast(others.row_starts(), tf.int32), row)
    index = tf.stack([tf.gather(number_of, others.values), position // _BITS, row], axis=1)
    bit = tf.bitwise.left_shift(_integer(1), tf.cast(position % _BITS, tf.uint64))
    count, parts = others.nrows(tf.int32), _num_parts(others)
    matches = tf.scatter_nd(index, bit, tf.stack([absent + 1, parts, count]))
    matches = tf.reshape(matches, tf.stack([-1, count]))  # [symbols * P, R]
    # An integer reads a word one step after the integer before it, whose carry it needs. So there
    # is no loop over integers in a step, and P - 1 more steps.
    late: Any = parts - 1
    steps = tf.transpose(texts.with_values(numbers).to_tensor(padding))  # [symbols, B]
    steps = tf.pad(steps, [[2 * late, 2 * late], [0, 0]], constant_values=padding)
    steps = tf.reshape(steps, tf.stack([-1, 2, tf.shape(steps)[1]]))  # [words, 2, B]
    part = tf.range(parts)[:, None]

    def read(rows, carry, symbols, has_carry):
        matched = rows & tf.gather(matches, symbols * parts + part)  # [P, B, R]
        sums = rows + matched
        if has_carry:
            sums += carry
            carry = tf.bitwise.right_shift(sums, _integer(_BITS))[:-1]
            carry = tf.pad(carry, [[1, 0], [0, 0], [0, 0]])  # to the next integer
            sums &= _integer(_ALL)
        return sums | (rows - matched), carry

    def read_all(has_carry):
        def read_word(number, rows, first, second):
            words = tf.reverse(steps[number : number + parts], [0])  # [P, 2, B]
            rows, first = read(rows, first, words[:, 0], has_carry)
            rows, second = read(rows, second, words[:, 1], has_carry)
            return number + 1, rows, first, second

        rows = tf.fill([parts, tf.shape(steps)[2], count], _integer(_ALL))
        start = [0, rows, tf.zeros_like(rows), tf.zeros_like(rows)]
        last = tf.shape(steps)[0] - late
        return tf.while_loop(lambda number, *_: number < last, read_word, start)[1]

    rows = tf.cond(parts > 1, lambda: read_all(True), lambda: read_all(False))
    common = tf.raw_ops.PopulationCount(x=~rows & _integer(_ALL))
    return tf.reduce_sum(tf.cast(common, tf.int64), axis=0)


def _integer(value):
    return tf.constant(value, tf.uint64)
