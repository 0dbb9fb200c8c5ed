"""chrF and TER are sacrebleu's, over a corpus and of single texts, also with several references."""

import random

import numpy as np
import pytest
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from tta.scoring.metrics.metric import load_metric

METRICS = {"chrf": CHRF, "ter": TER}
WORDS = ["the", "cat", "sat", "on", "a", "mat", "Mat", "...", "it's", "größer", "x"]


def texts(seed, count=40):
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randrange(9))) for _ in range(count)]


@pytest.mark.parametrize("num_references", [1, 3])
@pytest.mark.parametrize("name", METRICS)
def test_corpus_and_sentences(name, num_references):
    metric, theirs = load_metric(name), METRICS[name]()
    picks = texts(0)
    references = [texts(1 + i) for i in range(num_references)]
    found = [
        metric.statistics([pick, ""], *several)
        for pick, *several in zip(picks, *references, strict=True)
    ]
    totals = np.sum(found, axis=0)[0]
    expected = theirs.corpus_score(picks, references)
    assert metric.corpus(totals) == pytest.approx(expected.score, abs=1e-9)
    assert metric.signature.endswith(str(theirs.get_signature())) or num_references > 1
    for pick, one, *several in zip(picks, found, *references, strict=True):
        score = theirs.sentence_score(pick, several).score
        assert metric.corpus(one)[0] == pytest.approx(score, abs=1e-9), (pick, several)


@pytest.mark.parametrize("name", METRICS)
def test_the_best_text_has_the_fewest_errors_and_equal_texts_no_loss(name):
    metric = load_metric(name)
    reference, *others = ["the cat sat on a mat", "the cat on a mat", "x it's x", ""]
    errors = metric.errors(metric.statistics([reference, *others], reference))
    assert errors[0] == pytest.approx(0)
    assert (np.diff(errors[:3]) > 0.5).all()
    assert np.diag(metric.losses([reference, *others])).tolist() == [0.0] * 4
    assert metric.higher_is_better == (name == "chrf")
