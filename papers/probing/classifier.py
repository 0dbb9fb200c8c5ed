"""Logistic regression on frozen features, with its regularization chosen on held-out folds.

Cross-validation is inside cross-validation, or files say which examples train, choose C and test.

R rows, D features. The classifier minimizes the sum of the log losses plus |w|^2 / (2 C). As in
SentEval, C is one of 2^-2 to 2^3. SentEval takes features as they are, so that C means something
else for every model; here they are standardized.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tta.errors import InputError, install, shown
from tta.scoring.scorers.inference.batches import prefetch
from tta.settings import num_cores

try:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits  # scikit-learn requires it
except ModuleNotFoundError:
    raise InputError(f"scikit-learn is missing: {install('probe')}") from None

CS = tuple(2.0**power for power in range(-2, 4))
MAX_ITERATIONS = 1000
# Of the gradient of the mean loss. With scikit-learn's 1e-4, rare classes are never learned.
TOLERANCE = 1e-5

# The parts of the signature that describe this file.
SIGNATURE = "logistic regression|C:0.25..8|features:mean 0, variance 1/D in training"


@dataclass(frozen=True)
class Split:
    """One training and one test part.

    Attributes:
        train, test: indices of examples [.] int.
        folds: pairs of such indices for the choice of C: (those that train, those that validate).
            None of them is in `test`.
    """

    train: np.ndarray
    test: np.ndarray
    folds: list[tuple[np.ndarray, np.ndarray]]


def make_splits(
    sizes: tuple[int, int, int], labels: np.ndarray | None, num_folds: int, seed: int
) -> list[Split]:
    """Makes the splits of examples that are numbered in the order training, dev, test.

    Args:
        sizes: numbers of training, dev and test examples. Without test examples, the training
            examples are cross-validated. Without dev examples, C is chosen by cross-validation.
        labels: [E] the label of each example. Each fold gets the same share of each label. With
            None, folds are made without labels.
        num_folds: folds of every cross-validation.
        seed: of the folds.
    """
    rng = np.random.RandomState(np.random.MT19937(seed))
    train, dev, test = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:2])

    def folds(examples):
        kind = KFold if labels is None else StratifiedKFold
        splitter = kind(num_folds, shuffle=True, random_state=rng)
        pairs = splitter.split(examples, None if labels is None else labels[examples])
        return [(examples[train_rows], examples[fold]) for train_rows, fold in pairs]

    if len(test):
        return [Split(train, test, [(train, dev)] if len(dev) else folds(train))]
    return [Split(train_rows, fold, folds(train_rows)) for train_rows, fold in folds(train)]


def check_labels(labels: Iterable[str], num_folds: int, is_nested: bool, path: str) -> None:
    """Raises an InputError if there are too few labels, or examples of one, to train on.

    Args:
        labels: of the training examples.
        num_folds: folds of the choice of C; 0 if C is chosen on a dev file.
        is_nested: whether the choice is made inside folds of the same number.
        path: the file, for the error.
    """
    counts = Counter(labels)
    if len(counts) < 2:
        raise InputError(f"expected at least two labels, all rows have {shown(*counts)}", path)
    label, count = min(counts.items(), key=lambda item: item[1])
    # An outer fold takes up to ceil(count / num_folds) examples, and the rest needs num_folds.
    least = num_folds + 2 * is_nested
    if count < least:
        raise InputError(
            f"the label {shown(label)} has too few rows: {num_folds} folds need {least}, got "
            f"{count}; --num_folds lowers the number of folds",
            path,
        )


@dataclass(frozen=True)
class Prediction:
    """What a classifier predicts for the test rows of a split.

    Attributes:
        targets: [test rows] the predicted targets.
        c: the chosen C; NaN without one.
        converged: whether the optimizer converged in every fit.
    """

    targets: np.ndarray
    c: float
    converged: bool


def probe(
    features: np.ndarray,
    targets: np.ndarray,
    split: Split,
    value: Callable[[np.ndarray, np.ndarray], float],
) -> Prediction:
    """Chooses C on the folds of a split, trains on its training rows, predicts its test rows.

    The C with the highest mean value over the folds is chosen; of equal ones, the smallest. The
    targets of the test rows are not read, and their features only to predict them.

    Args:
        features: [R, D] float32.
        targets: [R] the class of each row.
        split: indices of rows.
        value: how good predictions are, higher is better: (rows, predicted targets) -> float.
    """

    def of_fold(fold):
        train, validation = fold
        fits = list(predict(features, targets, train, validation, CS))
        return [value(validation, prediction) for prediction, _ in fits], all(
            good for _, good in fits
        )

    threads = min(len(split.folds), num_cores())
    # The folds run in threads, so a product has one: threads of both kinds would block each other.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # `converged` says so
        values, good = zip(*prefetch(of_fold, split.folds, threads), strict=True)
        c = CS[int(np.argmax(np.mean(values, axis=0)))]
        [(predicted, last)] = predict(features, targets, split.train, split.test, [c])
    return Prediction(predicted, c, all(good) and last)


def predict(
    features: np.ndarray,
    targets: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    cs: Sequence[float],
) -> Iterator[tuple[np.ndarray, bool]]:
    """Yields, for each C, what a classifier predicts for rows, and whether its fit converged.

    It is trained on other rows. There, each feature gets mean 0 and variance 1/D, so that the mean
    squared length of a row is 1, and C means the same for vectors of any scale and size. (It is
    computed as variance 1 with C/D, which is the same and converges faster.) A feature that is
    constant in training is only centred. Each fit begins where the one before ended.

    Args:
        features: [R, D] float32.
        targets: [R].
        train, test: indices of rows.
        cs: in increasing order.
    """
    scaler: Any = StandardScaler().fit(features[train])
    inputs, tested = (scaler.transform(features[rows]) for rows in (train, test))
    model: Any = LogisticRegression(max_iter=MAX_ITERATIONS, tol=TOLERANCE, warm_start=True)
    for c in cs:
        model.set_params(C=c / features.shape[1]).fit(inputs, targets[train])
        yield model.predict(tested), bool(np.max(model.n_iter_) < MAX_ITERATIONS)


def most_frequent(targets: np.ndarray, split: Split) -> Prediction:
    """Predicts the most frequent target of the training rows for all test rows, as a control."""
    names, counts = np.unique(targets[split.train], return_counts=True)
    return Prediction(np.full(len(split.test), names[np.argmax(counts)]), np.nan, True)
