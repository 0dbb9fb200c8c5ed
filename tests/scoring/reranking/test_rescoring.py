"""`tta rerank --rescore_model`: what is written and reported of two levels, and which flags fit."""

import pytest

import tta
from tests.fake_model import FakeModel
from tests.reranking import rows_of
from tests.scoring.reranking.test_in_memory import make_lists, write
from tta.errors import InputError
from tta.scoring.combining.levels import Levels
from tta.scoring.reranking.config import RerankConfig, RescoreConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.options import ScoreOptions

pytestmark = pytest.mark.usefixtures("loaded")


def long_lists(seed, count):
    """Lists of eight different hypotheses, of which several are improbable."""
    lists, scores, references = make_lists(seed, count)
    found = [dict(zip(*pair, strict=True)) for pair in zip(lists, scores, strict=True)]
    for one in found:
        one |= {f"x{k} {next(iter(one))}": -40.0 - k for k in range(8 - len(one))}
    return [[*one] for one in found], [[*one.values()] for one in found], references


@pytest.mark.parametrize("tuned", [True, False])
def test_files_and_lists_in_memory_are_rescored_alike(tmp_path, tuned, loaded):
    test, dev = long_lists(0, 17), long_lists(1, 37)
    config = RerankConfig(
        nbest_file=write(tmp_path / "test.jsonl", *test),
        dev_nbest_file=write(tmp_path / "dev.jsonl", *dev) if tuned else None,
        scores_file=str(tmp_path / "scores.jsonl"),
        report=str(tmp_path / "report.html"),
    )
    report = rerank_files(config, [Levels("known", "length")])
    rows = rows_of(tmp_path / "scores.jsonl")
    assert [one.name for one in loaded] == ["known", "length"]
    levels = tta.Levels(FakeModel("known"), FakeModel("length"))
    weights = tta.tune(dev[0], dev[2], dev[1], levels) if tuned else None
    found = tta.rerank(test[0], test[1], levels, weights=weights)

    count = 0
    for i, one in enumerate(found):
        mine = [row for row in rows if row["id"] == str(i)]
        assert one.texts == [row["text"] for row in mine]
        assert one.lm_scores == pytest.approx([row["lm_score"] for row in mine])
        assert one.rescored == [not row["estimated"] for row in mine]
        known = FakeModel("known").score(one.texts).tolist()
        assert [row["first_lm_score"] for row in mine] == known
        for row in mine:
            length = 0.0 if row["estimated"] else FakeModel("length").score([row["text"]])[0]
            assert row["lm_score"] == length or row["estimated"]
            assert row["num_tokens"] == len(row["text"].split()) * (not row["estimated"])
        count += sum(one.rescored)
    assert 3 * 17 <= count < 8 * 17 or not tuned

    weights = found[0].weights
    assert report.test.row("reranked").weights == weights
    assert report.test.row("first level").weights == weights.first_level
    assert [one.first for one in report.test.evaluation.differences][:2] == ["reranked"] * 2
    assert f"rescored {count / 17:.1f} of 8.0 hypotheses a list" in report.notes
    assert not any("without a token" in note for note in report.notes)
    shown = [one for one in report.signatures if not one.startswith(("bootstrap", "metric", "WER"))]
    first, second = weights.first_level, weights
    start = shown.index(f"known|version:0|reduction:sum|lm_weight:{first.lm_weight:.6g}")
    assert shown[start + 2] == "rescored:share=0.02,best=12"
    assert shown[start + 3] == f"length|version:0|reduction:sum|lm_weight:{second.lm_weight:.6g}"
    assert f"|scale:{first.scale:.6g}|" in shown[start + 1]
    assert f"|scale:{second.scale:.6g}|" in shown[start + 4]
    assert report.names == ["length"]
    assert "first level" in (tmp_path / "report.html").read_text()


def test_weights_that_are_given_are_those_of_the_second_level(tmp_path):
    config = {"nbest_file": write(tmp_path / "test.jsonl", *long_lists(0, 17))}
    free = rerank_files(RerankConfig(**config), [Levels("known", "length")])
    given = RerankConfig(**config, lm_weight=[0.9], length_bonus=0.5, scale=3.0)
    report = rerank_files(given, [Levels("known", "length")])
    weights = report.test.row("reranked").weights
    assert (weights.lm_weight, weights.length_bonus, weights.scale) == (0.9, 0.5, 3.0)
    assert weights.first_level == free.test.row("first level").weights


def test_confidences_and_a_decision_of_max(tmp_path):
    path = tmp_path / "words.jsonl"
    test = write(tmp_path / "test.jsonl", *long_lists(0, 17))
    config = RerankConfig(nbest_file=test, decision="max", confidence=str(path))
    report = rerank_files(config, [Levels("known", "length", share=0.5, best=2)])
    assert len(path.read_text().splitlines()) == 17
    assert "rescored 2.0 of 8.0 hypotheses a list" in report.notes


@pytest.mark.parametrize(
    ("values", "models", "rule"),
    [
        ({"rescore_share": 0.5}, ["a"], "rescore_share needs rescore_model"),
        ({"rescore_best": 5}, ["a"], "rescore_best needs rescore_model"),
        ({"rescore_model": "b", "rescore_share": 1.5}, ["a"], "rescore_share must be"),
        ({"rescore_model": "b", "rescore_best": 0}, ["a"], "rescore_best must be"),
        ({"rescore_model": "b"}, ["a", "c"], "rescore_model needs one --model .* not 2"),
        ({"rescore_model": "b"}, [], "rescore_model needs one --model .* not 0"),
        ({"rescore_model": "small"}, [None], "both levels are the same model, 'small'"),
    ],
)
def test_flags_that_do_not_fit(values, models, rule):
    with pytest.raises(InputError, match=rule):
        RescoreConfig(**values).with_levels(models)


@pytest.mark.parametrize(
    ("model", "others", "begin"),
    [
        ("small", ["transformers:x"], None),  # not for it, but for the other one
        ("transformers:x", ["small"], "<s>"),
        ("small", [], "<s>"),  # `tta.load` says that it has none
        ("small", ["small", "kenlm:x"], "<s>"),
        (None, [None, "transformers:x"], None),
    ],
)
def test_a_begin_token_goes_to_the_models_that_can_have_one(model, others, begin):
    assert ScoreOptions(begin_token="<s>").among(model, others).begin_token == begin
