"""Time and memory of tuning and of the decision mbr, without any model's time.

    python -m benchmarks.decision

Lists and scores are synthetic: sentences of 20 words with up to five words replaced. The first case
is as large as the dev lists of CMU Arctic, 1,185 lists of 50 hypotheses.
"""

import time
import tracemalloc

import numpy as np

from tta import cli
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import decide
from tta.scoring.combining.risk import PairwiseLosses
from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.combining.statistics import ListStatistics
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import GivenWeights, RerankWeights
from tta.scoring.metrics.metric import load_metric

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
        scored = ScoredLists.build(lists, scores, losses=losses)
        built = time.monotonic()
        weights = tune(scored, statistics, GivenWeights(shares=(1.0,), features={RANK: None}))
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


def make_lists(random, number, length):
    """Lists with references, and the scores of a model: {text: (score, tokens)}."""
    lists, scores = [], {}
    for i in range(number):
        reference = random.choice(VOCABULARY, WORDS)
        hypotheses = []
        for _ in range(length):
            errors = random.integers(1, 6)
            words = reference.copy()
            words[random.integers(WORDS, size=errors)] = random.choice(VOCABULARY, errors)
            text = " ".join(words)
            scores[text] = (-60 - 2 * errors + 3 * random.normal(), WORDS)
            hypotheses.append(Hypothesis(text, -10 - errors + 2 * random.normal()))
        lists.append(NBestList(str(i), tuple(hypotheses), " ".join(reference)))
    return lists, scores


if __name__ == "__main__":
    cli.run(main)
