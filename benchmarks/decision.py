"""Time and memory of tuning and of the decision mbr, without any model's time; also served.

    python -m benchmarks.decision

Lists and scores are synthetic: sentences of 20 words with up to five words replaced. The first case
is as large as the dev lists of CMU Arctic, 1,185 lists of 50 hypotheses. The served decision is
compared with a loop over `tf.edit_distance`, as it was before, both on one thread.
"""

import time
import tracemalloc

import numpy as np

from tta import cli
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.risk import PairwiseLosses

LISTS, HYPOTHESES, WORDS, LONG_LIST = 1185, 50, 20, 1000
VOCABULARY = np.array([f"{a}{b}{c}" for a in "bdfkm" for b in "aeiou" for c in "lnrst"])


def main():
    random = np.random.default_rng(0)
    for name in ("wer", "bleu"):
        metric = load_metric(name)
        lists, scores = make_lists(random, LISTS, HYPOTHESES)
        start = time.monotonic()
        losses = PairwiseLosses.build(lists, metric)
        statistics = ListStatistics.build(lists, metric)
        scored = ScoredLists.build(lists, scores, losses=losses).with_list_features(metric)
        built = time.monotonic()
        weights = tune(scored, statistics, FixedWeights(features=dict.fromkeys(scored.features)))
        tuned = time.monotonic()
        print(
            f"{name}: {LISTS:,} lists of {HYPOTHESES}: compared in {built - start:.1f} s, one "
            f"model tuned in {tuned - built:.1f} s ({weights.decision}, {weights.reduction})"
        )
        lists, scores = make_lists(random, 1, LONG_LIST)
        tracemalloc.start()
        start = time.monotonic()
        losses = PairwiseLosses.build(lists, metric)
        scored = ScoredLists.build(lists, scores, losses=losses)
        decide(scored, RerankWeights(0.5, scale=1.0))
        seconds, (_, peak) = time.monotonic() - start, tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(
            f"{name}: one list of {LONG_LIST:,} decided in {seconds:.2f} s (with the tracing of "
            f"its memory), {peak / 2**20:.0f} MiB"
        )
    use_one_thread()
    for words in (WORDS, 3 * WORDS):
        compare_served(random, words)


def use_one_thread():
    """Lets TensorFlow use one thread, so that processor time has no waiting in it."""
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def compare_served(random, words):
    """Prints the processor time of the served decision on one list, and that of the loop."""
    import tensorflow as tf

    from tta.scoring.exports.serving.served_decision import expected_word_errors, split_words

    lists, _ = make_lists(random, 1, LONG_LIST, words)
    texts = split_words(tf.constant([h.text for h in lists[0].hypotheses]))
    posteriors = tf.constant(random.dirichlet(np.ones(LONG_LIST)))
    times, results = {}, []
    for function in (expected_word_errors, word_errors_by_loop):
        graph = tf.function(function, autograph=False, reduce_retracing=True)
        results.append(graph(texts, posteriors).numpy())
        times[function] = min(processor_time(graph, texts, posteriors) for _ in range(5))
    fast, slow = times.values()
    print(
        f"served: one list of {LONG_LIST:,} of {words} words decided in {fast:.3f} s of processor "
        f"time, by a loop in {slow:.3f} s ({slow / fast:.1f} times), largest difference "
        f"{np.abs(np.subtract(*results)).max():.0e} word errors"
    )


def processor_time(function, *arguments):
    """The processor time of one call, in seconds."""
    start = time.process_time()
    function(*arguments).numpy()
    return time.process_time() - start


def word_errors_by_loop(words, posteriors):
    """As `expected_word_errors`, one hypothesis after another."""
    import tensorflow as tf

    ids = words.with_values(tf.unique(words.values)[1])
    hypotheses, count = ids.to_sparse(), ids.nrows()

    def add(k, expected):
        length = tf.size(ids[k], tf.int64)
        rows, columns = tf.repeat(tf.range(count), length), tf.tile(tf.range(length), [count])
        truth = tf.SparseTensor(
            tf.stack([rows, columns], axis=1), tf.tile(ids[k], [count]), [count, length]
        )
        errors = tf.cast(tf.edit_distance(hypotheses, truth, normalize=False), tf.float64)
        return k + 1, expected + posteriors[k] * tf.ensure_shape(errors, posteriors.shape)

    start = [0, tf.zeros_like(posteriors)]
    return tf.while_loop(lambda k, _: k < tf.size(posteriors), add, start)[1]


def make_lists(random, number, length, num_words=WORDS):
    """Lists with references, and the scores of a model: {text: (score, tokens)}."""
    lists, scores = [], {}
    for i in range(number):
        reference = random.choice(VOCABULARY, num_words)
        hypotheses = []
        for _ in range(length):
            errors = random.integers(1, 6)
            words = reference.copy()
            words[random.integers(num_words, size=errors)] = random.choice(VOCABULARY, errors)
            text = " ".join(words)
            scores[text] = (-60 - 2 * errors + 3 * random.normal(), num_words)
            hypotheses.append(Hypothesis(text, -10 - errors + 2 * random.normal()))
        lists.append(NBestList(str(i), tuple(hypotheses), " ".join(reference)))
    return lists, scores


if __name__ == "__main__":
    cli.run(main)
