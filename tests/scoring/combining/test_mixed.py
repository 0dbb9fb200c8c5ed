"""Mixed precision: what float32 scores, beside float32 for all, and beside small changes."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tests.scoring.combining.random_lists import make
from tests.scoring.combining.test_levels import Table
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.guess import guess
from tta.scoring.combining.mixed import (
    DEVIATION,
    SHORT,
    Errors,
    corrected,
    in_doubt,
    in_doubt_by_scores,
    look_again,
    margins_of,
    mark_as_int8,
    score_part,
)
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.score import Models, score
from tta.scoring.combining.scored_lists import ScoredLists, score_texts
from tta.scoring.combining.weights import FixedWeights, RerankWeights
from tta.scoring.exports.formats import export_folder
from tta.scoring.scorers.inference.mixed import MixedModel


def tables_of(lists):
    """A model of each column, which gives its scores."""
    return [
        Table(
            {
                h.text: float(column.reduced["sum"][i, j])
                for i, one in enumerate(lists.nbest)
                for j, h in enumerate(one.hypotheses)
            }
        )
        for column in lists.models
    ]


def rounded(lists, seed):
    """The lists with scores in int8: each has an error, and those of a list have one in common."""
    random, columns = np.random.default_rng(seed), []
    for column in lists.models:
        texts = {h.text for one in lists.nbest for h in one.hypotheses}
        errors = {text: random.normal() for text in sorted(texts)}
        of_text = np.zeros(lists.present.shape)
        for i, one in enumerate(lists.nbest):
            of_text[i, : len(one.hypotheses)] = [errors[h.text] for h in one.hypotheses]
        common = random.normal(0, 0.5, (len(lists.nbest), 1))
        tokens = np.maximum(column.num_tokens, 1)
        change = np.where(column.num_tokens > 0, common + DEVIATION * np.sqrt(tokens) * of_text, 0)
        reduced = {
            "sum": column.reduced["sum"] + change,
            "mean": column.reduced["mean"] + change / tokens,
        }
        columns.append(mark_as_int8(replace(column, reduced=reduced)))
    return replace(lists, models=tuple(columns))


def texts_picked(lists, weights):
    picks = select(lists, weights)
    return [
        one.hypotheses[pick].text
        for one, pick in zip(lists.nbest, picks, strict=True)
        if one.hypotheses
    ]


SUM = RerankWeights(0.5, 0.3, scale=0.4)
CASES = [  # the weights, what `make` takes
    (SUM, {}),
    (replace(SUM, scale=0.05), {}),  # all hypotheses are about equally probable
    (replace(SUM, scale=8.0), {}),  # a posterior depends on errors by far more than its slope
    (replace(SUM, scale=math.inf), {}),
    (replace(SUM, lm_weight=1.0), {}),
    (replace(SUM, reduction="mean"), {}),
    (replace(SUM, scale=math.inf, reduction="mean"), {}),
    (replace(SUM, features={"f0": 0.5}), {"features": (0.5,)}),
    (replace(SUM, shares=(0.5, 0.5)), {"models": (1.0, 0.7)}),
    (replace(SUM, length_bonus=1.5, bonus_is_guessed=True), {}),
]


@pytest.mark.parametrize(("weights", "options"), CASES)
def test_picks_and_posteriors_are_those_of_float32(weights, options):
    """int8 alone changes picks, and float32 scores the fewer hypotheses."""
    changed, num_scored, num_texts, off = 0, 0, 0, []
    for seed in range(4):
        exact = make(seed, empty=seed % 2 > 0, count=60, **options).lists
        tables = tables_of(exact)
        models = {k: MixedModel(Table(), table) for k, table in enumerate(tables)}
        int8 = rounded(exact, seed)
        mixed = look_again(int8, weights, models)
        expected = texts_picked(exact, weights)
        assert texts_picked(mixed, weights) == expected
        changed += texts_picked(int8, weights) != expected
        num_scored += len(tables[0].asked)
        num_texts += len({h.text for one in exact.nbest for h in one.hypotheses})
        assert len(set(tables[0].asked)) == len(tables[0].asked)  # none twice
        found, truth = (decide(lists, weights).posteriors for lists in (mixed, exact))
        off += np.abs(found - truth)[np.arange(len(truth)), select(exact, weights)].tolist()
    assert changed
    assert 0 < num_scored < 0.85 * num_texts
    # Of large scales, a posterior changes by more than its slope says.
    assert np.quantile(off, 0.99) <= (0.02 if weights.scale == 8.0 else 0.01)


@pytest.mark.parametrize(("weights", "options"), CASES)
def test_no_error_of_what_is_left_in_int8_changes_a_pick(weights, options):
    exact = make(11, count=60, **options).lists
    models = {k: MixedModel(Table(), table) for k, table in enumerate(tables_of(exact))}
    mixed = look_again(rounded(exact, 11), weights, models)
    assert not in_doubt(mixed, weights).any()
    expected, errors = texts_picked(mixed, weights), Errors.of(mixed, weights)
    assert errors.deviations.any()
    random = np.random.default_rng(0)
    for _ in range(50):
        change = errors.deviations * random.normal(size=errors.deviations.shape)
        common = errors.shifts * random.normal(size=errors.shifts.shape)
        change += np.where(errors.deviations > 0, common[:, None], 0.0)
        column = mixed.models[0]
        of_model = change / weights.lm_weights[0]  # as if all errors were those of one model
        reduced = {name: values + of_model for name, values in column.reduced.items()}
        columns = replace(column, reduced=reduced), *mixed.models[1:]
        assert texts_picked(replace(mixed, models=columns), weights) == expected


def of_lists(lists, weights):
    """{list: (its margins [M], their slopes [M, n])}."""
    return {
        row: (margins, slopes)
        for one in margins_of(decide(lists, weights), np.arange(len(lists.nbest)))
        for row, margins, slopes in zip(one.rows.tolist(), one.margins, one.slopes, strict=True)
    }


@pytest.mark.parametrize(
    ("deviations", "shift", "expected"),
    [  # the pick is the first; the second has its text, and the others are 1, 10 and 100 below
        ([0.1, 0.1, 0.1, 0.1, 0.1], 0.0, []),  # no rival is near, and an equal text is none
        ([0.3, 0.3, 0.0, 0.3, 0.3], 0.0, [0]),  # the rival is exact
        ([0.2, 0.2, 0.2, 2.6, 2.6], 0.0, [0, 2, 3]),
        ([0.0, 0.0, 0.0, 2.4, 2.4], 0.0, []),  # 4 times 2.4 is below 10
        ([0.0, 0.0, 0.0, 2.4, 2.4], 1.0, [3]),  # what scores in int8 have in common
    ],
)
def test_rivals_by_their_combined_scores(deviations, shift, expected):
    texts = {"a b": 0.0, "a c": -1.0, "d": -10.0, "e": -100.0}
    hypotheses = (Hypothesis("a b", 0.0), *(Hypothesis(*one) for one in texts.items()))
    lists = ScoredLists.build([NBestList("0", hypotheses)], dict.fromkeys(texts, (0.0, 1)))
    decision = decide(lists, RerankWeights(0.0))
    errors = Errors(np.array([deviations]), np.array([shift]))
    found = in_doubt_by_scores(decision, errors, np.arange(1))
    assert np.flatnonzero(found[0]).tolist() == expected


def test_slopes_are_those_of_small_steps():
    weights, step = SUM, 1e-3
    lists = make(2, count=9).lists
    decision, before = decide(lists, weights), of_lists(lists, weights)
    for j in range(lists.present.shape[1]):
        first_pass = lists.first_pass.copy()
        first_pass[:, j] += step / (1 - weights.lm_weight)
        moved = replace(lists, first_pass=first_pass)
        there, after = decide(moved, weights), of_lists(moved, weights)
        for i in np.flatnonzero((there.picks == decision.picks) & lists.present[:, j]):
            margins, slopes = before[i]
            counted = np.isfinite(margins)
            change = (after[i][0][counted] - margins[counted]) / step
            expected = slopes[counted, j]
            posteriors = (one.posteriors[i, decision.picks[i]] for one in (decision, there))
            change[-1] = -np.subtract(*posteriors) / step
            # Expected losses are rounded to six digits.
            assert change == pytest.approx(expected, abs=2e-3)


def test_other_scores_get_the_mean_difference():
    texts = {"a b": (-4.0, 2), "c d e f": (-9.0, 4), "g": (-3.0, 1), "": (0.0, 0)}
    nbest = [NBestList("0", tuple(Hypothesis(text, -1.0) for text in texts))]
    lists = ScoredLists.build(nbest, texts)
    column = mark_as_int8(lists.models[0])
    scored = np.array([[True, True, False, False]])
    found = corrected(lists, column, scored, {"a b": (-4.5, 2), "c d e f": (-8.9, 4)})
    assert found.reduced["sum"].tolist() == [pytest.approx([-4.5, -8.9, -3.2, -8.9])]
    mean = -3.0 + (-0.25 + 0.025) / 2
    assert found.reduced["mean"].tolist() == [pytest.approx([-2.25, -2.225, mean, mean])]
    assert found.precisions.exact.tolist() == scored.tolist()
    # A second look starts from the scores in int8.
    scored = np.array([[False, False, True, False]])
    last = corrected(lists, found, scored, {"g": (-2.8, 1)})
    assert last.reduced["sum"].tolist() == [pytest.approx([-4.5, -8.9, -2.8, -8.9])]
    with pytest.raises(InputError, match=r"list .0.: the language model.s score of 'g' .* nan"):
        corrected(lists, found, scored, {"g": (math.nan, 1)})


def part_and_models(seed=4):
    made = make(seed, count=40)
    part = Part(replace(made.lists, models=()), statistics=made.statistics)
    (exact,) = tables_of(made.lists)
    int8 = rounded(made.lists, seed)
    (table,) = tables_of(int8)
    table.name, exact.name = "int8", "float32"
    table.signature, exact.signature = "precision:int8", "precision:float32"
    return part, table, exact


def texts_of(part, is_size):
    """The texts of the lists whose size is right."""
    sizes = [(len(one.hypotheses), one) for one in part.nbest]
    return [h.text for size, one in sizes if is_size(size) for h in one.hypotheses]


def test_short_lists_are_scored_in_float32_and_exact():
    part, int8, exact = part_and_models()
    column = score_part(part, MixedModel(int8, exact)).lists.models[0]
    is_short = part.lists.present.sum(axis=1) <= SHORT
    assert 0 < is_short.sum() < len(is_short)
    assert np.array_equal(column.precisions.exact, part.lists.present & is_short[:, None])
    for model, are_meant in ((exact, is_short), (int8, ~is_short)):
        expected = part.scored(score_texts(model, part.texts)).lists.models[0]
        for name, values in expected.reduced.items():
            assert np.array_equal(column.reduced[name][are_meant], values[are_meant])
    assert np.array_equal(column.num_tokens, expected.num_tokens)


def test_lists_that_weights_are_tuned_on_are_scored_in_float32():
    part, int8, exact = part_and_models()
    dev, _, in_float32 = part_and_models(5)
    exact.scores |= in_float32.scores
    problem = Problem((dev, part), is_tuned=True)
    scored = score(problem, Models((MixedModel(int8, exact),)))
    assert set(exact.asked) == {*dev.texts, *texts_of(part, lambda size: size <= SHORT)}
    assert set(int8.asked) == set(texts_of(part, lambda size: size > SHORT))
    tuned = score(problem, Models((exact,))).problem.dev.lists.models[0]
    found = scored.problem.dev.lists.models[0]
    assert found.precisions is None
    assert np.array_equal(found.reduced["sum"], tuned.reduced["sum"])
    once = score(Problem((part,), is_tuned=True), Models((MixedModel(Table(), exact),)))
    assert once.problem.test.lists.models[0].precisions is None  # tuned on the lists themselves


def test_the_first_of_two_levels_is_in_int8_and_the_second_in_float32():
    part, int8, exact = part_and_models()
    second = Table(exact.scores)
    levels = tta.Levels(MixedModel(int8, exact), MixedModel(Table(), second))
    weights = guess(replace(part.lists, models=make(4, count=40).lists.models), FixedWeights())
    scored = score(Problem((part,)), Models((levels,)), FixedWeights(first_level=weights))
    assert not exact.asked
    assert set(int8.asked) == set(part.texts)
    assert 0 < len(second.asked) < len(int8.asked)
    assert scored.first_level.signature == "precision:int8"
    assert scored.lm is second


@pytest.mark.parametrize("arguments", [{}, {"phrases": ["x", "b c"], "phrases_candidates": True}])
def test_reranking_gives_the_picks_of_float32(arguments):
    part, int8, exact = part_and_models()
    lists = [[h.text for h in one.hypotheses] for one in part.nbest]
    scores = [[h.score for h in one.hypotheses] for one in part.nbest]

    def texts(model):
        found = tta.Reranker(model, weights=SUM, **arguments).rerank(lists, scores)
        return [one.texts[0] for one in found.lists], found

    expected, _ = texts(Table(exact.scores))
    picks, reranked = texts(MixedModel(int8, exact))
    assert picks == expected != texts(Table(int8.scores))[0]
    assert set() < set(exact.asked) - set(texts_of(part, lambda size: size <= SHORT))
    assert set(int8.asked) - set(exact.asked)
    assert reranked.outcome.lm is exact
    assert reranked.signatures[0].startswith("precision:int8|mixed:float32|")


LM = MixedModel(FakeModel("int8"), FakeModel("fake"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: LM.score(["x"]),
        lambda: LM.score_tokens(["x"]),
        lambda: LM.encode(["x"]),
        lambda: LM.align("x", "y"),
        lambda: LM.attention(["x"]),
        lambda: LM.predict(["x"]),
        lambda: LM.model,
        lambda: export_folder(LM, "nowhere", "onnx", "context", "mean"),
    ],
)
def test_what_is_not_reranking_is_refused(call):
    rule = "^fake: precision mixed is for reranking lists; take precision float32 or int8 for texts"
    with pytest.raises(InputError, match=rule):
        call()
