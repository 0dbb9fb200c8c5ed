"""Which examples train and test: every example is tested once, and never trains its own test."""

import re
from collections import Counter

import numpy as np
import pytest

from tta.errors import InputError
from tta.papers.probing.classifier import check_labels, make_splits

LABELS = np.array([*"aaaaaaaaaaaaaaabbbbbbbbccccccc"])  # 15, 8, 7


def sets(*parts):
    return [set(part.tolist()) for part in parts]


def test_cross_validation_tests_every_example_once_and_keeps_folds_apart():
    splits = make_splits((30, 0, 0), LABELS, 5, 0)
    assert sorted(np.concatenate([split.test for split in splits])) == [*range(30)]
    for split in splits:
        train, test = sets(split.train, split.test)
        assert train.isdisjoint(test)
        assert train | test == {*range(30)}
        assert sorted(np.concatenate([fold for _, fold in split.folds])) == sorted(train)
        for rest, fold in split.folds:
            rest, fold = sets(rest, fold)
            assert rest.isdisjoint(fold)
            assert rest | fold == train
        assert Counter(LABELS[split.test])["a"] == 3  # the shares of the labels are kept


def test_given_parts():
    [split] = make_splits((20, 0, 10), LABELS, 5, 0)
    train, test, validated = sets(
        split.train, split.test, np.concatenate([fold for _, fold in split.folds])
    )
    assert (train, test, validated) == ({*range(20)}, {*range(20, 30)}, {*range(20)})
    [split] = make_splits((15, 5, 10), LABELS, 5, 0)
    [(rest, fold)] = split.folds
    assert sets(split.train, split.test, rest, fold) == [
        *({*range(15)}, {*range(20, 30)}, {*range(15)}, {*range(15, 20)})
    ]


def test_the_same_seed_gives_the_same_folds():
    def flat(seed, labels=LABELS):
        splits = make_splits((30, 0, 0), labels, 5, seed)
        return [part.tolist() for s in splits for part in (s.test, *(f for _, f in s.folds))]

    assert flat(3) == flat(3) != flat(4)
    assert flat(3) != flat(3, None)
    assert flat(2**63)


@pytest.mark.parametrize(
    ("labels", "num_folds", "is_nested", "message"),
    [
        ("aaaa", 2, True, "f: expected at least two labels, all rows have 'a'"),
        (
            "aaaaab",
            2,
            False,
            "f: the label 'b' has too few rows: 2 folds need 2, got 1; --num_folds lowers",
        ),
        ("a" * 99 + "b" * 11, 10, True, "f: the label 'b' has too few rows: 10 folds need 12"),
        ("a" * 99 + "b" * 9, 10, False, "f: the label 'b' has too few rows: 10 folds need 10"),
    ],
)
def test_too_few_labels(labels, num_folds, is_nested, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        check_labels(labels, num_folds, is_nested, "f")


@pytest.mark.parametrize(("num_folds", "is_nested"), [(2, True), (3, True), (10, True), (7, False)])
def test_the_fewest_rows_that_are_allowed_are_in_every_fold(num_folds, is_nested):
    rare = num_folds + 2 * is_nested
    labels = np.array([*("a" * 50 + "b" * rare)])
    check_labels(labels, num_folds, is_nested, "f")
    sizes = (len(labels), 0, 0) if is_nested else (len(labels), 0, 1)
    labels = np.append(labels, "a")
    for split in make_splits(sizes, labels, num_folds, 0):  # scikit-learn warns, an error in tests
        assert all("b" in labels[fold] for _, fold in split.folds)


def test_a_dev_file_needs_no_folds():
    check_labels("ab", 0, False, "f")
