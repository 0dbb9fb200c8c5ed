import numpy as np
import pytest

from tta.data.nbest import Hypothesis, NBestList
from tta.scoring.bleu import Bleu
from tta.scoring.error_rate import WordErrorRate
from tta.scoring.rerank_report import evaluate, format_table, format_weights
from tta.scoring.reranking import RerankWeights, ScoredLists, count_statistics

ALONE = RerankWeights(1.0)


def rows_of(metric, *texts, reference="a b c d e", weights=ALONE):
    """Rows for one list whose first pass likes the first text best, the language model the last."""
    hypotheses = tuple(Hypothesis(text, -float(i)) for i, text in enumerate(texts))
    lists = [NBestList("u1", hypotheses, reference)]
    scores = {text: (-100.0 / (i + 1), 1) for i, text in enumerate(texts)}
    arrays = ScoredLists.build(lists, scores)
    return evaluate(arrays, count_statistics(lists, metric), metric, weights, ALONE)


@pytest.mark.parametrize("metric", [WordErrorRate(), Bleu()], ids=lambda metric: metric.name)
def test_a_positive_gain_is_better_in_every_metric(metric):
    first, lm, reranked, oracle = rows_of(metric, "a b c d x", "a b c d e", "x b c d x")
    assert [row.name for row in (first, lm, reranked, oracle)] == [
        "first pass",
        "LM alone",
        "reranked",
        "oracle",
    ]
    assert first.gain == 0
    assert lm.gain == reranked.gain < 0 < oracle.gain


def test_gain_is_relative_to_the_first_pass():
    first, lm, *_ = rows_of(WordErrorRate(), "a b x x", "a b c d x")  # 3 and 1 errors of 5 words
    assert (first.value, lm.value) == (60.0, 20.0)
    assert lm.gain == pytest.approx(100 * 2 / 3)
    assert first.details == {"sub": 40.0, "ins": 0.0, "del": 20.0}


def test_without_errors_there_is_no_gain_to_print():
    rows = rows_of(WordErrorRate(), "a b c d e", "x")
    assert np.isnan(rows[1].gain)
    table = format_table(rows, WordErrorRate())
    assert "nan" not in table
    assert len({len(line) for line in table.splitlines()[1:3]}) <= 2


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        (RerankWeights(0.0), ["0", "0", "sum"]),
        (RerankWeights(1.0, -2.5, "mean"), ["1", "-2.5", "mean"]),
        (RerankWeights(0.00123456789, 123.456789), ["0.00123457", "123.457", "sum"]),
    ],
)
def test_weights_are_printed_with_six_digits(weights, text):
    assert format_weights(weights) == text
