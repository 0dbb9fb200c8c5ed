import io

import numpy as np
import pytest

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.reports.weight_curve import LM_WEIGHTS, measure_curve, write_curve

WER = WordErrorRate()


def lists():
    """One list, picked correctly if the language model's weight is above 1/4 and below 1."""
    hypotheses = (Hypothesis("a x", 0.0), Hypothesis("a b", -1.0), Hypothesis("x x x", -40.0))
    one = NBestList("u1", hypotheses, "a b")
    arrays = ScoredLists.build([one], {"a x": (-4.0, 2), "a b": (-1.0, 2), "x x x": (-0.9, 3)})
    return arrays, ListStatistics.build([one], WER)


def measured(bonus=0.0):
    return measure_curve(*lists(), {"reranked": RerankWeights(0.3, bonus)})


def test_the_curve_is_the_error_at_every_weight():
    [line] = measured().lines
    assert {0.0, 0.01, 0.3, 0.99, 1.0, *LM_WEIGHTS} <= set(line.lm_weights)
    assert (np.diff(line.lm_weights) > 0).all()
    expected = np.where(line.lm_weights > 0.25, 0.0, 50.0)
    expected[line.lm_weights > 39 / 39.1] = 150.0
    np.testing.assert_array_equal(line.values[:-1], expected[:-1])
    assert line.values[-1] == 150.0
    assert line.tuned == (0.3, 0.0)


def test_the_other_weights_stay_as_tuned():
    [line] = measured(bonus=100.0).lines  # the longest hypothesis wins at every weight
    assert set(line.values) == {150.0}


def test_text_has_one_line_per_point():
    stream = io.BytesIO()
    assert measured().first_pass == 50.0
    write_curve(stream, ".tsv", measured())
    heading, *rows = stream.getvalue().decode().splitlines()
    assert heading == "model\tlm_weight\tWER"
    assert "reranked\t0.3\t0.0000" in rows
    assert rows[0] == "reranked\t0\t50.0000"
    assert rows[-1] == "reranked\t1\t150.0000"


@pytest.mark.parametrize(
    ("format", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml")], ids=["png", "svg"]
)
def test_figures_are_the_same_bytes_every_time(format, start):
    pictures = []
    for _ in range(2):
        stream = io.BytesIO()
        write_curve(stream, format, measured())
        pictures.append(stream.getvalue())
    assert pictures[0] == pictures[1]
    assert pictures[0].startswith(start)


def test_a_figure_shows_names_as_they_are():
    systems = {"_a $x$ <b> & c": RerankWeights(1.0)}
    stream = io.BytesIO()
    write_curve(stream, ".svg", measure_curve(*lists(), systems))
    picture = stream.getvalue().decode()
    assert "_a $x$ &lt;b&gt; &amp; c" in picture
    assert "first pass" in picture
    assert "0.999" in picture
    assert "which are not always the best on dev alone" in picture
