"""Shared by tables 1 and 2: lists are reranked with one model after the other."""

import functools
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from benchmarks.paper.common import FLAGS, ORACLE, SCORERS, asked, cached, data, say, spread
from tta.data.nbest.files import read_nbest, write_nbest
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.reports.evaluation import Difference
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.load import KINDS
from tta.scoring.scorers.scorer import Scorer

FIRST_PASS, NO_MODEL = "first pass", "no model"
# Row -> the mark of a cell whose difference from that row may be 0.
MARKS = {FIRST_PASS: "\u2020", NO_MODEL: "\u2021"}

TTA = "T-TA, learned"
# The paper tunes one weight, and picks the highest score.
PROTOCOL, PAPERS = "one weight", {"decision": "max", "length_bonus": 0.0, "features": []}
OF_THE_PAPER = ("T-TA, exact", "biLM", "uniLM")


@dataclass(frozen=True)
class System:
    """A way of reranking: the row's name, the `Entry`s of its models, and settings.

    `settings` are further arguments of `RerankConfig`.
    """

    name: str
    entries: tuple
    settings: dict = field(default_factory=dict)


def systems(entries):
    """No model, every model alone, also as the paper does, and the T-TA with other models."""
    of = {entry.name: entry for entry in entries}
    max_only = {"decision": "max"}
    found = [System(f"{NO_MODEL}, max", (), max_only), System(NO_MODEL, ())]
    for entry in entries:
        found.append(System(entry.name, (entry,)))
        if entry.name in OF_THE_PAPER:
            found.append(System(f"{entry.name}, {PROTOCOL}", (entry,), PAPERS))
    if TTA in of:
        found.append(System(f"{TTA}, max", (of[TTA],), max_only))
        found += [
            System(f"{TTA} + {other}", (of[TTA], of[other]))
            for other in ("n-gram", "uniLM", "biLM")
            if other in of
        ]
    return [one for one in found if not any(entry.missing for entry in one.entries)]


class Once(Scorer):
    """A model that scores no text twice, because several systems and lists need its scores.

    `load` loads the model. It is called again after `release`, if there are new texts.
    """

    def __init__(self, load):
        self._load, self._lm = load, load()
        self.name, self.signature = self._lm.name, self._lm.signature
        self.known = {}  # text -> (score, tokens)

    def score_with_counts(self, texts, progress=False):
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self._lm = self._lm or self._load()
            scored = zip(*self._lm.score_with_counts(new, progress), strict=True)
            self.known |= dict(zip(new, scored, strict=True))
        sums, counts = zip(*(self.known[text] for text in texts), strict=True)
        return np.array(sums), np.array(counts)

    def release(self):
        """Frees the model's memory and keeps the scores."""
        self._lm = None


@dataclass(frozen=True)
class Lists:
    """Lists to rerank, and lists to tune on.

    Attributes:
        test: path below --data_dir, (path,) or (path, references).
        dev: the same, or None for two-fold tuning: the weights for each half of the test lists are
            tuned on the other half.
        options: further arguments of `RerankConfig`.
    """

    test: tuple
    dev: tuple | None
    options: dict

    def configs(self):
        """The `RerankConfig`s whose test lists, taken together, are the lists to rerank.

        With --limit, they are that many lists of each file.
        """
        if self.dev is None:
            even, odd = (_files(self.test, half) for half in (0, 1))
            pairs = [(even, odd), (odd, even)]
        else:
            pairs = [(_files(self.test), _files(self.dev))]
        return [
            RerankConfig(
                nbest_file=test,
                reference_file=test_reference,
                dev_nbest_file=dev,
                dev_reference_file=dev_reference,
                **self.options,
            )
            for (test, test_reference), (dev, dev_reference) in pairs
        ]


def _files(names, half=None):
    """The paths (lists, references) of `names`, or of a derived file with some of the lists.

    `half` is 0 for every other list from the first on, 1 for the remaining lists, None for all.
    """
    nbest, reference = ([data(*name.split("/")) for name in names] + [None])[:2]
    if FLAGS.limit is None and half is None:
        return nbest, reference
    name = "-".join(Path(nbest).parts[-2:])
    part = "" if half is None else f".half-{half}"
    path = Path(FLAGS.output_dir, f"limit-{FLAGS.limit or 'none'}", f"{name}{part}.jsonl")

    def write(stream):
        lists = spread(read_nbest(nbest, reference_file=reference).lists)
        write_nbest(stream, lists if half is None else lists[half::2], "jsonl")

    return cached(path, write), None


def rerank(configs, models):
    """Reranks the lists of all configs: ({row: `Row` of all these lists}, the reports)."""
    reports = [rerank_files(config, models) for config in configs]
    rows = {}
    for parts in zip(*(report.test.evaluation.rows for report in reports), strict=True):
        picked = np.concatenate([row.picked for row in parts])
        value = float(reports[0].metric.corpus(picked.sum(axis=0)))
        rows[parts[0].name] = replace(parts[0], value=value, picked=picked)
    return rows, reports


def measure(table, sets, entries=SCORERS, focus="T-TA, exact"):
    """Fills a table with the result of each system on each set of lists, tuned on its dev lists.

    Args:
        table: a `Table`; its columns are the sets' names.
        sets: {name: `Lists`}.
        entries: the `Entry`s of the models.
        focus: the row from which the differences of all other rows are reported, besides those from
            the rows of `MARKS`.
    """
    loaded, entries = {}, asked(entries)
    KINDS["once"] = lambda name: loaded[name]  # a function, because parameters are inspected
    compared = systems(entries)
    names = (FIRST_PASS, *(system.name for system in compared), *(one.name for one in entries))
    table.rows = {name: {} for name in (*dict.fromkeys(names), ORACLE)}
    configs = {column: lists.configs() for column, lists in sets.items()}
    rows, signatures = {column: {} for column in sets}, {}
    for system in compared:
        for entry in system.entries:
            if entry.name not in loaded:
                loaded[entry.name] = Once(functools.partial(entry.options.load, entry.model))
        for column, some in configs.items():
            say(f"{system.name}: {column}")
            some = [replace(config, **system.settings) for config in some]
            found, reports = rerank(some, [f"once:{entry.name}" for entry in system.entries])
            *_, final = (row for row in found.values() if row.weights is not None)
            rows[column] |= {FIRST_PASS: found[FIRST_PASS], system.name: final}
            table.set(ORACLE, column, found[ORACLE].value)
            if system.name == NO_MODEL:
                table.conditions.append(condition(column, reports))
            for entry, line in zip(system.entries, reports[0].signatures[2:], strict=False):
                signatures[entry.name] = line.split("|reduction:")[0]
        for entry in system.entries:
            loaded[entry.name].release()
    for column in rows:
        for name in rows[column]:
            table.set(name, column, rows[column][name].value)
            compare(table, column, rows[column], name, focus, reports[0].metric)
    table.conditions.append(
        "Decision and weights are tuned on dev; of 'one weight' only lm_weight, as in the paper; "
        f"`{reports[0].signatures[0]}`; `{reports[0].metric.signature}`"
    )
    table.conditions += [
        f"{mark} the 95 % interval of the difference from the row '{other}' contains 0"
        for other, mark in MARKS.items()
    ]
    table.note_models(entries, signatures)


def compare_rows(first, second, metric) -> Difference:
    """Compares two rows of the same lists and the same metric, even of different reports."""
    picked = np.stack([first.picked, second.picked])
    low, high = paired_bootstrap(picked, metric, lambda values: values[:1] - values[1:])[0].tolist()
    return Difference(first.name, second.name, first.value - second.value, (low, high))


def compare(table, column, rows, name, focus, metric):
    """Marks a cell, and keeps its differences from the rows of `MARKS` and from `focus`.

    `rows` are the measured rows of the column, {name: `Row`}.
    """
    marks, differences = "", {}
    for other in dict.fromkeys((*MARKS, focus)):
        if name in (FIRST_PASS, other) or other not in rows:
            continue
        difference = compare_rows(rows[name], rows[other], metric)
        low, high = difference.interval
        marks += MARKS.get(other, "") if low <= 0 <= high else ""
        differences[other] = [difference.value, low, high]
    table.marks[name][column] = marks
    if differences:
        table.differences.setdefault(column, {})[name] = differences


def condition(column, reports):
    """The numbers of lists behind a column, as a line of text."""
    lists = sum(report.test.num_lists for report in reports)
    hypotheses = sum(report.test.num_hypotheses for report in reports)
    tuned = f"tuned on {reports[0].dev.num_lists:,} other lists"
    if len(reports) > 1:
        tuned = "each half is tuned on the other half"
    return f"{column}: {lists:,} lists, {hypotheses:,} hypotheses; {tuned}"
