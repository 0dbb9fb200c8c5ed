"""Which examples train, choose C and test: cross-validation inside cross-validation, or files.

SentEval (Conneau and Kiela, LREC 2018): a data set without parts is cross-validated, and in each
training part C is chosen by cross-validation again. Test examples take no part in the choice.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from tta.data.nbest.lists import shown
from tta.errors import InputError


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
        return [(examples[rest], examples[fold]) for rest, fold in pairs]

    if len(test):
        return [Split(train, test, [(train, dev)] if len(dev) else folds(train))]
    return [Split(rest, fold, folds(rest)) for rest, fold in folds(train)]


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
