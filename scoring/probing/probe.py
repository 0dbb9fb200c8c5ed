"""Probes the vectors of models on labelled files: read, encode once, classify, compare."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import tta
from tta.data.labelled.tables import read_tables
from tta.data.text.files import shown_path
from tta.errors import InputError
from tta.modeling.formats.trained_models import BUILT_IN_NAME
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.probing import classifier
from tta.scoring.probing.classifier import Prediction, most_frequent, probe
from tta.scoring.probing.config import ProbeConfig
from tta.scoring.probing.report import Difference, ProbeReport, ProbeRow, signature
from tta.scoring.probing.splits import Split, check_labels, make_splits
from tta.scoring.probing.tasks import PLUS, ProbeTask, SentenceTask
from tta.scoring.scorers.scorer import Scorer

MAJORITY = "majority class"

Sizes = tuple[int, int, int]


def probe_files(
    config: ProbeConfig, models: Sequence[str | None] = (None,), **load_options: Any
) -> ProbeReport:
    """Measures how well a linear classifier reads labels off each model's vectors.

    Files are checked before models are loaded, and representations before anything is encoded. The
    features of a model are in memory while it is measured. Each of `models` is a first argument of
    `tta.load` (None is the built-in model). `load_options` are its other arguments.

    Raises:
        InputError: a file is missing, malformed or has too few examples of a label, a model cannot
            be loaded or does not have a representation, or a vector is not finite.
    """
    task, sizes, notes = _read(config)
    runs = [
        [_rows(task, split) for split in make_splits(sizes, task.labels, config.num_folds, seed)]
        for seed in _seeds(config)
    ]
    predicted = {MAJORITY: [[most_frequent(task.targets, s) for s in splits] for splits in runs]}
    vector_sizes, signatures = {MAJORITY: 0}, []
    for name, lm, vectors in _load(config, task, models, load_options):
        features = task.features(lm, *vectors, sys.stderr.isatty())
        shown = "/".join(vectors) if vectors[1] != "mean" else vectors[0]
        row = f"{name}, {shown}"
        finite = np.isfinite(features).all(axis=1)
        if not finite.all():
            raise InputError(f"{row}: the vector of row {np.argmin(finite) + 1} is not finite")
        vector_sizes[row] = features.shape[1]
        predicted[row] = [_probe(task, features, splits) for splits in runs]
        signatures.append(lm.signature)
    # The statistics of each example that is tested, in order: [rows x seeds, examples, S].
    picked = np.stack(
        [
            _statistics(task, splits, ones)
            for runs_of_row in predicted.values()
            for splits, ones in zip(runs, runs_of_row, strict=True)
        ]
    )
    rows, differences = _measure(task, picked, predicted, vector_sizes)
    lines = [*dict.fromkeys(signatures), signature(config, _seeds(config), classifier.SIGNATURE)]
    return ProbeReport(task.name, sizes, rows, differences, notes, lines)


def _read(config: ProbeConfig) -> tuple[ProbeTask, Sizes, list[str]]:
    """The task, the numbers of training, dev and test examples, and notes on the files."""
    num_folds = 0 if config.dev_file else config.num_folds
    notes = []
    if config.ner:
        from tta.scoring.probing import entities

        paths = [config.data_file, config.dev_file, config.test_file]
        parts, notes = entities.read_parts(paths, num_folds)
        task = entities.TaggingTask([sentence for part in parts for sentence in part])
    else:
        train = read_tables(config.data_file, config.text_columns, config.label_column)
        labels = [row.label for table in train for row in table.rows]
        check_labels(labels, num_folds, config.test_file is None, str(shown_path(config.data_file)))
        columns = train[0].text_columns, config.label_column, sorted(set(labels))
        others = [config.dev_file, config.test_file]
        tables = [train, *(read_tables(names, *columns) if names else [] for names in others)]
        notes = [note for part in tables for table in part for note in table.notes()]
        parts = [[row for table in part for row in table.rows] for part in tables]
        task = SentenceTask([row for part in parts for row in part])
    return task, (len(parts[0]), len(parts[1]), len(parts[2])), notes


def _seeds(config: ProbeConfig) -> list[int]:
    """The seeds of the folds. With a dev file, there are no folds, and every seed is the same."""
    count = 1 if config.dev_file else config.num_seeds
    return list(range(config.seed, config.seed + count))


def _rows(task: ProbeTask, split: Split) -> Split:
    """The split with indices of rows in place of examples."""

    def rows(examples):
        return np.flatnonzero(np.isin(task.example, examples))

    folds = [(rows(train), rows(validation)) for train, validation in split.folds]
    return Split(rows(split.train), rows(split.test), folds)


def _load(config, task, models, load_options):
    """[(name, scorer, (representation, pooling))] of everything that is probed; all is checked."""
    found: list[tuple[str, Scorer, tuple[str, str]]] = []
    for model in models:
        lm = tta.load(model, **load_options)
        for name in config.representation or [lm.choose_representation()]:
            for part in name.split(PLUS):
                lm.choose_representation(part)
            for pooling in config.pooling:
                task.check(lm, name, pooling)
                found.append((str(model or BUILT_IN_NAME), lm, (name, pooling)))
    return found


def _probe(task: ProbeTask, features: np.ndarray, splits: Sequence[Split]) -> list[Prediction]:
    """Predicts the test rows of each split."""

    def value(rows, predicted):
        return float(task.corpus(task.statistics(rows, predicted).sum(axis=0)))

    return [probe(features, task.targets, split, value) for split in splits]


def _statistics(task, splits, predictions):
    """[examples that are tested, S] int64, in the order of the examples."""
    rows = np.concatenate([split.test for split in splits])
    predicted = np.concatenate([one.targets for one in predictions])
    order = np.argsort(rows)
    return task.statistics(rows[order], predicted[order])


def _measure(task, picked, predicted, vector_sizes):
    """The rows of the report, and the differences of the first model and each other one."""
    names = list(predicted)
    values = task.corpus(picked.sum(axis=1)).reshape(len(names), -1)  # [rows, seeds]
    first, *others = range(1, len(names))

    def quantities(resampled):
        means = resampled.reshape(*values.shape, -1).mean(axis=1)
        return np.concatenate([means, means[others] - means[first]])

    bounds = [(float(low), float(high)) for low, high in paired_bootstrap(picked, task, quantities)]
    rows = [
        ProbeRow(
            name,
            vector_sizes[name],
            values[i].tolist(),
            bounds[i],
            [one.c for splits in predicted[name] for one in splits],
            sum(not one.converged for splits in predicted[name] for one in splits),
        )
        for i, name in enumerate(names)
    ]
    differences = [
        Difference(names[i], names[first], rows[i].mean - rows[first].mean, interval)
        for i, interval in zip(others, bounds[len(names) :], strict=True)
    ]
    return rows, differences
