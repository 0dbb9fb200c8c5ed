"""Probes the vectors of models on labelled files: read, encode once, classify, compare."""

from collections.abc import Sequence
from functools import partial

import numpy as np

from tta.data.text.files import shown_path
from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.modeling.formats.trained_models import BUILT_IN_NAME
from tta.papers.glue.data.tables import read_tables
from tta.papers.probing.classifier import (
    Prediction,
    Split,
    check_labels,
    make_splits,
    most_frequent,
    probe,
)
from tta.papers.probing.config import MIX, ProbeConfig
from tta.papers.probing.report import Difference, ProbeReport, ProbeRow, signature
from tta.papers.probing.tasks import (
    ProbeTask,
    SentenceTask,
    TaggingTask,
    layer_names,
    read_parts,
    rows_of,
)
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.scorers.options import ENCODE_DEFAULTS, EncodeOptions
from tta.scoring.scorers.scorer import Scorer

MAJORITY = "majority class"

Sizes = tuple[int, int, int]


def probe_files(
    config: ProbeConfig,
    models: Sequence[str | None] = (None,),
    options: EncodeOptions = ENCODE_DEFAULTS,
) -> ProbeReport:
    """Measures how well a linear classifier reads labels off each model's vectors.

    Files are checked before models are loaded, and representations before anything is encoded. The
    features of a model are in memory while it is measured. Each of `models` is a first argument of
    `tta.load` (None is the built-in model); `options` are the others. Raises InputError if a file
    is missing, malformed or has too few examples of a label, a model cannot be loaded or does not
    have a representation, or a vector is not finite.
    """
    task, sizes, notes = _read(config)
    seeds = _seeds(config)
    examples = [make_splits(sizes, task.labels, config.num_folds, seed) for seed in seeds]
    runs = [[_rows(task, split) for split in splits] for splits in examples]
    predicted = {MAJORITY: [[most_frequent(task.targets, s) for s in splits] for splits in runs]}
    vector_sizes, signatures = {MAJORITY: 0}, []
    value = partial(_value, task)
    for name, lm, vectors in _load(config, task, models, options):
        row = f"{name}, {'/'.join(vectors) if vectors[1] != 'mean' else vectors[0]}"
        if config.features == MIX:
            words = task.words(lm, True)
            _check_finite(
                row, (np.isfinite(layers).all() for texts in words.examples for layers in texts)
            )
            vector_sizes[row] = words.size
            predicted[row] = _train(config, task, words, examples)
        else:
            features = task.features(lm, *vectors, True)
            _check_finite(row, np.isfinite(features).all(axis=1))
            vector_sizes[row] = features.shape[1]
            predicted[row] = [
                [probe(features, task.targets, split, value) for split in splits] for splits in runs
            ]
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
    lines = [*dict.fromkeys(signatures), signature(config, seeds)]
    return ProbeReport(task.name, sizes, rows, differences, notes=notes, signatures=lines)


def _read(config: ProbeConfig) -> tuple[ProbeTask, Sizes, list[str]]:
    """The task, the numbers of training, dev and test examples, and notes on the files."""
    num_folds = 0 if config.dev_file else config.num_folds
    notes = []
    if config.ner:
        paths = [config.data_file, config.dev_file, config.test_file]
        parts, notes = read_parts(paths, num_folds)
        task = TaggingTask([sentence for part in parts for sentence in part])
    else:
        train = read_tables(config.data_file, config.text_columns, config.label_column)
        labels = [row.label for table in train for row in table.rows]
        check_labels(labels, num_folds, config.test_file is None, str(shown_path(config.data_file)))
        read_as_train = partial(
            read_tables,
            text_columns=train[0].text_columns,
            label_column=config.label_column,
            labels=sorted(set(labels)),
        )
        dev = read_as_train(config.dev_file) if config.dev_file else []
        test = read_as_train(config.test_file) if config.test_file else []
        tables = [train, dev, test]
        notes = [note for part in tables for table in part for note in table.notes()]
        parts = [[row for table in part for row in table.rows] for part in tables]
        task = SentenceTask([row for part in parts for row in part])
    return task, (len(parts[0]), len(parts[1]), len(parts[2])), notes


def _seeds(config: ProbeConfig) -> list[int]:
    """The seeds of the folds, and of the weights of a task's model.

    A logistic regression with a dev file has neither, and every seed gives the same.
    """
    count = 1 if config.dev_file and config.features != MIX else config.num_seeds
    return list(range(config.seed, config.seed + count))


def _rows(task: ProbeTask, split: Split) -> Split:
    """The split with indices of rows in place of examples."""

    folds = [(rows_of(task, train), rows_of(task, other)) for train, other in split.folds]
    return Split(rows_of(task, split.train), rows_of(task, split.test), folds)


def _load(config, task, models, options):
    """[(name, scorer, (representation, pooling))] of everything that is probed; all is checked."""
    probed: list[tuple[str, Scorer, tuple[str, str]]] = []
    for model in models:
        lm = options.load(model)
        default = layer_names(lm) if config.features == MIX else lm.choose_representation()
        for name in config.representation or [default]:
            for pooling in config.pooling:
                task.check(lm, name, pooling)
                probed.append((str(model or BUILT_IN_NAME), lm, (name, pooling)))
    return probed


def _train(config, task, words, examples) -> list[list[Prediction]]:
    """Predicts the test rows of each split of each seed, by a model of the task."""
    from tta.papers.probing.task_training import train_and_predict  # imports Keras

    total = sum(map(len, examples))
    with tqdm(total=total, desc="training") as bar:

        def predict(split, seed):
            prediction = train_and_predict(
                task, words, split, partial(_value, task), config=config, seed=seed
            )
            bar.update(1)
            return prediction

        pairs = zip(_seeds(config), examples, strict=True)
        return [[predict(split, seed) for split in splits] for seed, splits in pairs]


def _value(task, rows, predicted):
    return float(task.corpus(task.statistics(rows, predicted).sum(axis=0)))


def _check_finite(row, are_finite):
    """Raises InputError unless the vectors of all rows or texts are finite."""
    for number, is_finite in enumerate(are_finite, 1):
        if not is_finite:
            raise InputError(f"{row}: the vector of row {number} is not finite")


def _statistics(task, splits, predictions):
    """[examples that are tested, S] int64, in the order of the examples."""
    rows = np.concatenate([split.test for split in splits])
    predicted = np.concatenate([prediction.targets for prediction in predictions])
    order = np.argsort(rows)
    return task.statistics(rows[order], predicted[order])


def _measure(task, picked, predicted, vector_sizes):
    """The rows of the report, and the differences of the first model and each other one."""
    names = list(predicted)
    values = task.corpus(picked.sum(axis=1)).reshape(len(names), -1)  # [rows, seeds]
    first, *later = range(1, len(names))

    def quantities(resampled):
        means = resampled.reshape(*values.shape, -1).mean(axis=1)
        return np.concatenate([means, means[later] - means[first]])

    bounds = [(float(low), float(high)) for low, high in paired_bootstrap(picked, task, quantities)]
    rows = [
        ProbeRow(
            name=name,
            size=vector_sizes[name],
            values=values[i].tolist(),
            interval=bounds[i],
            cs=[prediction.c for splits in predicted[name] for prediction in splits],
            not_converged=sum(
                not prediction.converged for splits in predicted[name] for prediction in splits
            ),
        )
        for i, name in enumerate(names)
    ]
    differences = [
        Difference(names[i], names[first], rows[i].mean - rows[first].mean, interval)
        for i, interval in zip(later, bounds[len(names) :], strict=True)
    ]
    return rows, differences
