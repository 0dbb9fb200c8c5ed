"""The labelled texts of tta classify: reads the files of a task, or of a user."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tta.data.pairs.sts import read_sts
from tta.data.text.files import check_rereadable
from tta.data.text.lines import named_files
from tta.errors import InputError, shown
from tta.papers.glue.classify_config import TASKS, ClassifyConfig, GlueTask
from tta.papers.glue.data.tables import TEXT_COLUMNS, read_tables

TRAIN_FILE = "train.tsv"
MANY_SEEN = 0.1  # a larger share of texts that are also in the training part is pointed out


@dataclass(frozen=True)
class Part:
    """The N examples of a file, or of several.

    Attributes:
        path: of the file; of several, as the user named them.
        texts: N str, or N pairs of str.
        targets: [N] float32, the numbers of the labels or the numbers to predict; None without.
        numbers: N int, the rows in the file, from 0; in several files, they go on.
    """

    path: str
    texts: list[Any]
    targets: np.ndarray | None
    numbers: list[int]

    @property
    def columns(self) -> list[list[str]]:
        """The N first texts and, of pairs, the N second ones."""
        if isinstance(self.texts[0], str):
            return [self.texts]
        return [[pair[side] for pair in self.texts] for side in (0, 1)]

    @property
    def gold(self) -> np.ndarray:
        """The targets of a part that has them."""
        assert self.targets is not None
        return self.targets


@dataclass(frozen=True)
class Examples:
    """What a model is fine-tuned on.

    Attributes:
        name: of the task, or of the training file.
        labels: in the order of their numbers; () for numbers.
        texts_per_example: 1, or 2 for pairs.
        metrics: keys of `tta.papers.glue.report.METRICS`; the first one chooses.
        limits: of predicted numbers; None without.
        train, dev, test: the parts; `test` may be None.
        notes: remarks on the files, one line each.
    """

    name: str
    labels: tuple[str, ...]
    texts_per_example: int
    metrics: tuple[str, ...]
    limits: tuple[float, float] | None
    train: Part
    dev: Part
    test: Part | None
    notes: list[str]

    @property
    def label_counts(self) -> str:
        """The labels of the training part and their counts, on one line; "" for numbers."""
        if not self.labels:
            return ""
        counts = np.bincount(self.train.gold.astype(int), minlength=len(self.labels))
        named = (f"{shown(n)} {c:,}" for n, c in zip(self.labels, counts, strict=True))
        return f"{self.train.path}: {len(self.labels):,} labels: {', '.join(named)}"


def read_examples(config: ClassifyConfig) -> Examples:
    """Reads the files of a config.

    Raises InputError if a file is missing or malformed, a label of the dev part is unknown, or all
    training examples have the same label.
    """
    task = TASKS.get(config.task or "")
    train_file, dev_file = config.train_file, config.dev_file
    if config.data_dir is not None:
        assert task is not None
        train_file = train_file or str(Path(config.data_dir) / TRAIN_FILE)
        dev_file = dev_file or str(Path(config.data_dir) / task.dev_file)
    assert train_file is not None
    assert dev_file is not None
    name = config.task or Path(train_file).name
    read = _StsReader() if config.task == "stsb" else _TableReader(config, task)
    for names in filter(None, (train_file, dev_file, config.test_file)):
        for path in named_files(names):
            check_rereadable(path)
    train = read(train_file)
    _check_differ(train, read.labels)
    dev = read(dev_file)
    test = read(config.test_file, needs_labels=False) if config.test_file else None
    if not read.labels:
        _check_differ(dev, ())
    notes = read.notes
    if test is not None and test.targets is not None and np.ptp(test.gold) == 0:
        notes.append(f"{test.path}: all labels are the same; predicted, not measured")
        test = replace(test, targets=None)
    limits = None if task is None else task.limits
    return Examples(
        name=name,
        labels=read.labels,
        texts_per_example=len(train.columns),
        metrics=read.metrics,
        limits=limits,
        train=train,
        dev=dev,
        test=test,
        notes=notes,
    )


def seen_notes(examples: Examples) -> Iterator[str]:
    """Yields notes on dev and test texts that are also in the training part; a few may be."""
    train_texts = set(examples.train.texts)
    for part in filter(None, (examples.dev, examples.test)):
        share = sum(text in train_texts for text in part.texts) / len(part.texts)
        if share > MANY_SEEN:
            yield f"{part.path}: {share:.0%} of the texts are also in {examples.train.path}"


def _check_differ(part, labels):
    first = part.gold[0]
    if (part.gold == first).all():
        label = shown(labels[int(first)]) if labels else f"{first:g}"
        raise InputError(f"expected two labels or more, all examples have {label}", part.path)


class _TableReader:
    """Reads tables; the first one decides on the columns of the texts and, of a user's, labels."""

    def __init__(self, config: ClassifyConfig, task: GlueTask | None):
        self.notes: list[str] = []
        self.is_number = config.regression
        self.skips_rows = task is not None and task.skips_rows
        self.labels: tuple[str, ...] = () if task is None else task.labels
        if task is None:
            self.label_column, self.text_columns = config.label_column, config.text_columns
            self.metrics = ("pearson", "spearman") if self.is_number else ("accuracy", "macro_f1")
            named = [] if self.text_columns else TEXT_COLUMNS[::-1]
            self.columns = {1 + len(names): (self.label_column, *names) for names in named}
        else:
            self.label_column, self.text_columns = task.label_column, task.text_columns
            self.metrics = task.metrics
            self.columns = {} if task.columns is None else {len(task.columns): task.columns}
        self.has_read = False

    def __call__(self, path: str, needs_labels: bool = True) -> Part:
        tables = read_tables(
            path,
            self.text_columns,
            self.label_column,
            self.labels or None,
            columns=self._columns(needs_labels),
            needs_labels=needs_labels,
            skips_rows=self.skips_rows,
        )
        rows = [row for table in tables for row in table.rows]
        self.notes += [note for table in tables for note in table.notes()]
        if not self.has_read:
            self.has_read, self.text_columns = True, tables[0].text_columns
            texts = set(self.text_columns)
            self.columns = {n: names for n, names in self.columns.items() if texts <= set(names)}
            if not self.labels and not self.is_number:
                self.labels = tuple(sorted({row.label for row in rows}))
                counts = Counter(row.label for row in rows)
                self.notes += [note for table in tables for note in _odd_first_label(table, counts)]
        targets = None
        if tables[0].has_labels:
            numbers = {label: float(number) for number, label in enumerate(self.labels)}
            find = _number if self.is_number else lambda row, _: numbers[row.label]
            targets = np.array(
                [find(r, table.path) for table in tables for r in table.rows], np.float32
            )
        is_pair, numbers, count = len(tables[0].text_columns) == 2, [], 0
        for table in tables:
            numbers += [count + row.number for row in table.rows]
            count += len(table.rows) + table.num_skipped
        return Part(path, [r.texts if is_pair else r.texts[0] for r in rows], targets, numbers)

    def _columns(self, needs_labels):
        """The columns of a file without a header, by their number; None if it must have one."""
        if needs_labels or not self.columns:
            return self.columns or None
        # Further texts may have no labels. The training part tells whether they are pairs.
        texts = tuple(self.text_columns or ())
        return {len(texts): texts} | self.columns


class _StsReader:
    """Reads STS-B in all layouts of `read_sts`: GLUE's, the original one and csv."""

    labels = ()
    metrics = TASKS["stsb"].metrics

    def __init__(self):
        self.notes: list[str] = []

    def __call__(self, path: str, needs_labels: bool = True) -> Part:
        pairs = [pair for file in named_files(path) for pair in read_sts(file)]
        texts, scores = [(p.first, p.second) for p in pairs], [p.gold for p in pairs]
        gold, numbers = None, list(range(len(pairs)))
        if None not in scores:
            gold = np.array(scores, np.float32)
        elif needs_labels or set(scores) != {None}:
            raise InputError("the file has no scores", path)
        return Part(path, texts, gold, numbers)


def _odd_first_label(table, counts):
    """A note on a label that occurs on line 1 alone: the line may be a header."""
    first = table.rows[0]
    if first.line == 1 and counts[first.label] == 1 < max(counts.values()):
        yield (
            f"{table.path}: the label {shown(first.label)} occurs on line 1 only; if that line is "
            "a header, --label_column and --text_columns name its columns"
        )


def _number(row, path):
    try:
        value = float(row.label)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"expected a number as label, got {shown(row.label)}", path, row.line)
    return value
