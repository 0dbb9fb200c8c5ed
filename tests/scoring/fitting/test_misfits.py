"""Lists whose scores are not those that weights were tuned on; and lists under other noise."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tta.data.nbest.files import read_nbest
from tta.errors import InputError
from tta.scoring.combining.scored_lists import RANK, ScoredLists
from tta.scoring.fitting.columns import Column
from tta.scoring.fitting.misfits import FIRST_PASS_COLUMN, misfits

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def changed(lists, change):
    """Lists in which `change(hypothesis, its place)` replaces every hypothesis."""
    return [
        replace(nbest, hypotheses=tuple(change(h, j) for j, h in enumerate(nbest.hypotheses)))
        for nbest in lists
    ]


def num_words(hypothesis):
    return len(hypothesis.text.split())


def split(hypothesis, _):
    """The score as the sum of a made-up language model's, and of what is left."""
    lm = -5.5 * num_words(hypothesis) - len(hypothesis.text) % 7
    return replace(hypothesis, features={"ac": hypothesis.score - lm, "lm": lm})


def describe(lists):
    arrays = ScoredLists.build(lists)
    columns = {name: scores for name, scores in arrays.features.items() if name != RANK}
    columns[FIRST_PASS_COLUMN] = arrays.first_pass
    return {
        name: Column.describe(scores, arrays.num_words, arrays.present)
        for name, scores in columns.items()
    }


@pytest.fixture(scope="module")
def examples():
    """The dev and the test lists of the examples, each with two features."""
    files = [EXAMPLES / f"asr.{part}.json" for part in ("dev", "test")]
    return [changed(read_nbest(file).lists, split) for file in files]


def score(function):
    """A change of the score: `function(score, hypothesis, place)`."""
    return lambda h, j: replace(h, score=float(function(h.score, h, j)))


def features(function):
    return lambda h, _: replace(h, features=function(**h.features))


MISFITS = {  # what is done to the dev lists, whether it is an error, and a part of the message
    "x3": (score(lambda s, *_: 3 * s), False, "times as large in the lists that"),
    "x1/3": (score(lambda s, *_: s / 3), False, "times as large in the lists to rerank"),
    "x1000": (score(lambda s, *_: 1000 * s), True, "times as large in the lists that"),
    "word mean": (score(lambda s, h, _: s / num_words(h)), False, "or a mean in one of them"),
    "costs": (score(lambda s, *_: -s), True, "first pass is positive in the lists"),
    "probabilities": (score(lambda s, *_: math.exp(s / 1000)), True, "scores of two kinds"),
    "costs around 0": (
        score(lambda s, h, j: j - 2 + len(h.text) % 3 / 4), True, "rises from the first to the last"
    ),
    "constant": (score(lambda *_: -1), False, "the same for all hypotheses of a list in"),
    "ranks": (score(lambda s, h, j: -3000 - 9 * j), True, "as ranks are"),
    "of other hypotheses": (
        score(lambda s, h, j: -3000 - (7919 * (j + len(h.text))) % 17), False, "follows the order"
    ),
    "another model": (
        features(lambda ac, lm: {"ac": ac, "lm": -40 - ac % 20}), False, "lm follows the number of"
    ),
    "swapped": (features(lambda ac, lm: {"ac": lm, "lm": ac}), True, "ac like lm, lm like ac"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MISFITS)
def test_scores_of_another_kind_are_found(examples, kind):
    change, is_error, message = MISFITS[kind]
    dev, test = examples
    texts = {m.text: m.is_error for m in misfits(describe(changed(dev, change)), describe(test))}
    assert [wrong for text, wrong in texts.items() if message in text] == [is_error]
    assert not list(misfits(describe(dev), describe(test)))


@pytest.mark.parametrize(
    ("dev_size", "test_size", "count", "noise"),
    [
        (50, 5, 60, 1.0),
        (50, 2, 60, 0.5),
        (3, 50, 60, 1.0),
        (50, 50, 3, 0.4),
        (50, 50, 60, 0.5),
        (50, 5, 10, 0.4),
    ],
)
def test_lists_of_other_sizes_and_noise_fit(examples, dev_size, test_size, count, noise):
    """Noise makes the differences of hypotheses smaller, as at 5 dB those of Whisper."""
    dev, test = (
        [replace(nbest, hypotheses=nbest.hypotheses[:size]) for nbest in lists]
        for lists, size in zip(examples, (dev_size, test_size), strict=True)
    )
    noisy = [
        changed(
            [nbest], score(lambda s, *_, top=nbest.hypotheses[0].score: top + noise * (s - top))
        )
        for nbest in test[:count]
    ]
    assert not list(misfits(describe(dev), describe([nbest for (nbest,) in noisy])))


def test_lists_of_one_request_get_no_error(examples):
    dev, test = examples
    costs = changed(test[:1], score(lambda s, *_: -s))
    assert [m.is_error for m in misfits(describe(dev), describe(costs))] == [False]


def test_columns_are_kept_in_json():
    column = Column.describe(-np.ones([3, 2]), np.ones([3, 2], int), np.ones([3, 2], bool))
    assert [column.level.count, column.spread.count] == [3, 0]
    assert Column.from_dict(column.to_dict()) == column
    for wrong, rule in (
        ({}, "expected value, width and count of each of size, spread, level, sign, order, words"),
        ({"spread": {"value": 1e9}}, "tuned_on: a number is out of its range"),
    ):
        with pytest.raises(InputError, match=rule):
            Column.from_dict(wrong)
