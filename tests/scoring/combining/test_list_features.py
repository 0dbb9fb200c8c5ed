import numpy as np
import pytest

from tests.scoring.combining.random_lists import edits
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.list_features import LIST_FEATURES, ListFeature, list_features
from tta.scoring.combining.part import Part
from tta.scoring.metrics.metric import load_metric
from tta.scoring.reranking.config import RerankConfig
from tta.settings import fields


def twin(texts, first_pass):
    """The formulas of the docstring."""
    distances = np.array([[edits(a, b) for b in texts] for a in texts], float)
    p = np.exp(0.3 * np.array(first_pass))
    p /= p.sum()
    return {
        "characters": [len(text) for text in texts],
        "distance": [-sum(row) / len(texts) for row in distances],
        "weighted_distance": [-float(row @ p) for row in distances],
    }


@pytest.mark.parametrize(
    ("texts", "first_pass"),
    [
        (["the cat sat", "the cad sat", "a cat", "", "the cat sat"], [-1.0, -2.5, -7.0, 0.5, -3.0]),
        (["naïve café", "naive cafe", "光が見える", "光見える"], [-3.0, 4.0, 0.0, 1.0]),
        (["alone"], [-5.0]),
        (
            ["ab " * 40 + "a", "c d e " * 20 + "f", "a b", "ab " * 39 + "a"],
            [-1.0, -1.5, -2.0, -2.5],
        ),
    ],
    ids=["words", "any script", "one", "more edits than usual"],
)
def test_a_twin(texts, first_pass):
    found = list_features(texts, np.array(first_pass))
    expected = twin(texts, first_pass)
    assert list(found) == list(LIST_FEATURES) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-12, err_msg=name)


def part(*texts, metric="wer", normalize="none"):
    hypotheses = tuple(Hypothesis(text, -1.0 * i) for i, text in enumerate(texts))
    lists = [NBestList("u1", hypotheses), NBestList("u2", hypotheses[:1]), NBestList("u3", ())]
    return Part.build(lists).compared(load_metric(metric, normalize=normalize))


def test_texts_are_read_as_the_metric_reads_them():
    """Case and punctuation that do not count as errors do not count as distance."""
    raw, read = part("Hello, world!", "hello world"), ("hello world", "hello world")
    assert raw.lists.features["distance"][0].tolist() == [-1.5, -1.5]
    same = part("Hello, world!", "hello  world", normalize="basic").lists.features
    for name, expected in twin(read, [0.0, -1.0]).items():
        np.testing.assert_allclose(same[name][0], expected)


def test_bleu_and_lists_that_do_not_fit_have_none(monkeypatch):
    assert LIST_FEATURES.keys() <= part("a", "b").lists.features.keys()
    assert LIST_FEATURES.keys() <= part("a", "b", metric="cer").lists.features.keys()
    assert not LIST_FEATURES.keys() & part("a", "b", metric="bleu").lists.features.keys()
    lists = Part.build(part("a", "b").nbest)
    monkeypatch.setattr("tta.scoring.metrics.risk.MAX_PAIRS", 4)
    found = lists.compared(load_metric("wer"), losses=False).lists.features
    assert not LIST_FEATURES.keys() & found.keys()


def test_help_says_what_every_feature_is():
    (field,) = (one for one in fields(RerankConfig) if one.name == "features")
    for name in ("rank", *LIST_FEATURES):
        assert f" {name} is " in field.setting.help, name


@pytest.mark.parametrize(
    ("values", "why"),
    [(lambda one: np.zeros(1), "one number"), (lambda one: np.array([0, np.nan]), "not finite")],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_feature_that_gives_no_number_for_each_hypothesis_is_refused(monkeypatch, values, why):
    monkeypatch.setitem(LIST_FEATURES, "mine", ListFeature(values, 1.0))
    with pytest.raises(InputError, match=r"^list feature 'mine' must give 2 finite numbers, not "):
        list_features(["a", "b"], np.zeros(2))


def test_a_new_feature_is_a_column_of_its_own(monkeypatch):
    words = ListFeature(lambda one: np.array([len(text.split()) for text in one.texts]), 1.0)
    monkeypatch.setitem(LIST_FEATURES, "words", words)
    assert part("a b", "c").lists.features["words"][0].tolist() == [2.0, 1.0]
