"""Random N-best lists with first-pass scores, further features and models, for tests."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.metric import Metric
from tta.scoring.metrics.risk import PairwiseLosses

WER = WordErrorRate()


@dataclass
class Made:
    """The same lists in all forms."""

    nbest: list[NBestList]
    lists: ScoredLists
    statistics: ListStatistics
    token_scores: list[dict[str, tuple[float, int]]]


def nbest(*hypotheses, name="u1", reference="a b c"):
    """A list from (text, score) or (text, score, features)."""
    hypotheses = (Hypothesis(*h[:2], features=dict(*h[2:])) for h in hypotheses)
    return NBestList(name, tuple(hypotheses), reference)


def edits(one, other):
    """The Levenshtein distance by its textbook table."""
    table = np.zeros([len(one) + 1, len(other) + 1], int)
    table[:, 0], table[0] = np.arange(len(one) + 1), np.arange(len(other) + 1)
    for i, a in enumerate(one, 1):
        for j, b in enumerate(other, 1):
            changed = table[i - 1, j - 1] + (a != b)
            table[i, j] = min(changed, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table[-1, -1]


def make(
    seed: int,
    models: Sequence[float] = (1.0,),
    features: Sequence[float] = (),
    first_pass: float = 0.8,
    count: int = 31,
    scores: bool = True,
    scales: Sequence[float] | None = None,
    empty: bool = False,
    metric: Metric = WER,
) -> Made:
    """Makes lists of 2 to 11 hypotheses, most of them with errors.

    Every score is noise, minus some nats for each wrong word: `first_pass`, and one number for
    each of `models` and `features`. Features are named f0, f1 and so on. `scales` multiplies the
    scores of the models. With `empty`, some hypotheses and lists are empty.
    """
    random = np.random.default_rng(seed)
    nbest, token_scores = [], [{"": (0.0, 0)} for _ in models]
    for number in range(count):
        reference = random.choice(list("abcdefgh"), size=random.integers(3, 9))
        hypotheses = []
        for _ in range(random.integers(2, 12)):
            wrong = random.random(len(reference)) < 0.3
            words = np.where(wrong, "x", reference)
            words = words[: len(words) - (random.random() < 0.3)]
            text = " ".join([*words, str(random.integers(0, 3))])
            if empty and random.random() < 0.1:
                text = ""
            score = float(-first_pass * wrong.sum() + random.normal(0, 1.5))
            further = {
                f"f{k}": float(-nats * wrong.sum() + random.normal())
                for k, nats in enumerate(features)
            }
            hypotheses.append(Hypothesis(text, score if scores else None, features=further))
            for k, nats in enumerate(models):
                length = len(text.split())
                nats = -3.0 * length - nats * wrong.sum() + random.normal(0, 2)
                scale = scales[k] if scales else 1.0
                if text:
                    token_scores[k][text] = (float(scale * nats), (k + 1) * length)
        if empty and number % 7 == 3:
            hypotheses = []
        nbest.append(NBestList(f"u{number}", tuple(hypotheses), " ".join(reference)))
    losses = PairwiseLosses.build(nbest, metric)
    lists = ScoredLists.build(nbest, *token_scores, losses=losses)
    return Made(nbest, lists, ListStatistics.build(nbest, metric), token_scores)
