"""The linear classifier of probes: its loss, the choice of C, and what it must not see."""

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from tta.papers.probing.classifier import (
    CS,
    Prediction,
    Split,
    make_splits,
    most_frequent,
    probe,
)

SIZE = 7


def examples(count=120, classes=3, seed=0, noise=1.5):
    """Features [count, 7] of unequal means and scales, around a centre per class, and labels."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % classes
    features = rng.normal(0, 1, (classes, SIZE))[labels] + noise * rng.normal(0, 1, (count, SIZE))
    features = features * np.logspace(-2, 1, SIZE) + np.arange(SIZE)
    return features.astype(np.float32), np.array([*"abc"])[labels]


def accuracy(labels):
    return lambda rows, predicted: float(np.mean(labels[rows] == predicted))


def test_c_and_predictions_are_those_of_scikit_learns_grid_search():
    found = set()
    for seed, noise in (0, 0.7), (2, 5.0):
        features, labels = examples(seed=seed, noise=noise)
        [split] = make_splits((90, 0, 30), labels, 3, seed)
        shrink = FunctionTransformer(lambda x: x / SIZE**0.5)
        steps = StandardScaler(), shrink, LogisticRegression(max_iter=1000, tol=1e-6)
        grid = {"logisticregression__C": CS}
        search = GridSearchCV(make_pipeline(*steps), grid, cv=split.folds)
        search.fit(features, labels)  # its folds have rows of training alone
        ours = probe(features, labels, split, accuracy(labels))
        assert ours.c == search.best_params_["logisticregression__C"]
        found.add(ours.c)
        final = search.estimator.set_params(logisticregression__C=ours.c)
        theirs = final.fit(features[split.train], labels[split.train]).predict(features[split.test])
        np.testing.assert_array_equal(ours.targets, theirs)
    assert len(found) > 1


def test_c_is_the_smallest_of_the_best():
    features, labels = examples(noise=0.0)
    [split] = make_splits((90, 0, 30), labels, 5, 0)
    assert probe(features, labels, split, lambda rows, predicted: 1.0).c == CS[0]
    values = iter([0.1, 0.7, 0.2, 0.7, 0.3, 0.7])
    one_fold = Split(split.train, split.test, split.folds[:1])
    assert probe(features, labels, one_fold, lambda rows, predicted: next(values)).c == CS[1]


def test_test_rows_take_no_part_in_training_scaling_or_the_choice_of_c():
    features, labels = examples(noise=2.5)
    for split in make_splits((120, 0, 0), labels, 2, 0):
        ours = probe(features, labels, split, accuracy(labels))
        others, wrong = features.copy(), labels.copy()
        others[split.test[1:]] *= 1000.0  # all test rows but the first
        wrong[split.test] = "c"
        changed = probe(others, wrong, split, accuracy(wrong))
        assert changed.c == ours.c
        assert changed.targets[0] == ours.targets[0]
        np.testing.assert_array_equal(
            probe(features, wrong, split, accuracy(wrong)).targets, ours.targets
        )


def test_a_fit_that_does_not_converge_is_reported(monkeypatch):
    features, labels = examples()
    [split] = make_splits((90, 0, 30), labels, 5, 0)
    assert probe(features, labels, split, accuracy(labels)).converged
    monkeypatch.setattr("tta.papers.probing.classifier.MAX_ITERATIONS", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not probe(features, labels, split, accuracy(labels)).converged


def test_most_frequent_counts_training_rows_only():
    targets = np.array([*"aabbbbb"])
    control = most_frequent(targets, Split(np.array([0, 1, 2]), np.array([3, 4, 5, 6]), []))
    assert isinstance(control, Prediction)
    assert control.targets.tolist() == [*"aaaa"]
