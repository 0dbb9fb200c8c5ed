"""Tables 3 and 4: sentence similarity on STS-B and on SICK's test part, Pearson x 100.

python -m benchmarks.paper.sts
python -m benchmarks.paper.sts --tables=table4
python -m benchmarks.paper.sts --rows='T-TA;cloze base' --representations=aligned
"""

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks.paper import common
from benchmarks.paper.common import ENCODERS, FLAGS, asked, cached, data, say, spread
from tta import cli
from tta.data.pairs.sts import read_sts
from tta.scoring.metrics.significance import bootstrap, interval
from tta.scoring.similarity.config import StsConfig
from tta.scoring.similarity.sts import compare_files, vectors_name

CONDITION = (
    "Cosine of mean vectors, as in the paper; its rows and ours train on no gold scores. But what "
    "the other kinds of vectors compute, and with which constants, was chosen on STS-B dev and "
    "SICK train: their figures marked \u00b6 are of the set that they were chosen on. Unlike the "
    "paper's, our last outputs are standardized (mean 0, deviation 1 in each dimension). "
    '`similarity-small` ("T-TA, contrast") was also trained to match the two halves of a sentence '
    "([record](experiments/training.md#with-and-without-contrast))"
)

OF_WORDS = (
    "`aligned` compares words, and runs no network "
    "([record](experiments/training.md#aligned-words))"
)


@dataclass(frozen=True)
class Part:
    """One of the two tables.

    Attributes:
        title: its heading.
        files: {column: path below --data_dir}.
        paper: {row: the paper's numbers, in the order of the columns}.
    """

    title: str
    files: dict[str, str]
    paper: dict[str, tuple[float, ...]]


PARTS = {
    "table3": Part(
        "Table 3: sentence similarity, STS-B, Pearson x 100",
        {"dev": "sts/stsb-en-dev.csv", "test": "sts/stsb-en-test.csv"},
        {
            "GloVe, embed": (52.4, 40.6),
            "word2vec, embed": (70.0, 56.5),
            "BERT, context": (64.78, 54.22),
            "BERT, cls": (29.16, 17.18),
            "BERT, unmasked, context": (59.17, 47.91),
            "BERT, unmasked, embed": (60.07, 48.19),
            "uniLM, context": (56.25, 39.57),
            "uniLM, embed": (63.87, 55.00),
            "uniLM, eos": (40.75, 38.30),
            "biLM, context": (59.99, 50.76),
            "biLM, unmasked, context": (53.20, 36.51),
            "biLM, unmasked, embed": (58.80, 49.08),
            "T-TA, context": (71.88, 62.27),
            "T-TA, embed": (54.75, 44.74),
        },
    ),
    "table4": Part(
        "Table 4: sentence similarity, SICK, Pearson x 100",
        {"test": "sts/SICK_test_annotated.txt"},
        {
            "BERT, context": (64.31,),
            "BERT, unmasked, context": (61.18,),
            "BERT, unmasked, embed": (64.63,),
            "uniLM, context": (54.20,),
            "uniLM, embed": (65.69,),
            "biLM, context": (58.98,),
            "biLM, unmasked, context": (53.79,),
            "biLM, unmasked, embed": (62.67,),
            "T-TA, context": (69.49,),
            "T-TA, embed": (60.77,),
        },
    ),
}

FOCUS = "T-TA, context"  # the row from which the differences of the others are kept

# Not in the paper: what gives higher correlations on STS-B than means, as pairs (representation,
# pooling).
EXTRA = dict.fromkeys(
    ("T-TA", "cloze", "cloze base", "T-TA, contrast"),
    (("token", "whitened"), ("joint", "mean"), ("aligned", "mean")),
)


def main():
    for name in FLAGS.tables or PARTS:
        part = PARTS[name]
        table = common.Table(
            name,
            part.title,
            list(part.files),
            common.paper_rows(part.files, part.paper),
            {column: column for column in part.files},
            higher_is_better=True,
            conditions=[CONDITION, OF_WORDS],
        )
        measure(table, part.files)
        table.save()


def measure(table, files):
    """Fills a table with Pearson's r x 100, one row per model and kind of vectors.

    Args:
        table: a `Table`.
        files: {column: path below --data_dir}.
    """
    paths = {column: _file(name) for column, name in files.items()}
    signatures, measured = {}, {column: {} for column in files}
    entries = [entry for entry in asked(ENCODERS) if not (entry.is_raw and entry.missing)]
    for entry in entries:
        kinds = [(representation, "mean") for representation in entry.representations]
        kinds += EXTRA.get(entry.name, ())
        for kind in kinds:
            table.rows[row_name(entry, vectors_name(*kind))] = {}
        if entry.missing:
            continue
        say(entry.name)
        for representation, pooling in kinds:
            if FLAGS.representations and representation not in FLAGS.representations:
                continue
            config = StsConfig(
                sts_file=list(paths.values()), representation=[representation], pooling=[pooling]
            )
            report = compare_files(config, [entry.model], entry.options)
            for result in report.results:
                column = next(c for c, path in paths.items() if path == str(result.path))
                row = row_name(entry, result.vectors)
                of_vectors = (representation, pooling) != ("aligned", "mean")
                signatures[entry.name if of_vectors else row] = report.signatures[-1]
                table.set(row, column, result.correlation.pearson)
                measured[column][row] = result
                table.findings.append(
                    f"{row}, {column}: Spearman's rho x 100 {result.correlation.spearman:.2f}"
                )
    for column, results in measured.items():
        if FOCUS in results:
            table.differences[column] = {
                row: {FOCUS: difference(result, results[FOCUS])}
                for row, result in results.items()
                if row != FOCUS
            }
    names = dict.fromkeys(table.rows)
    table.note_models(entries, signatures)
    table.signatures |= signatures
    table.rows = {name: table.rows[name] for name in names}  # drops the rows of whole models


def difference(first, second):
    """Pearson's r x 100 of one `StsResult` minus that of another of the same pairs, at least three.

    Returns:
        [difference, low, high]: its interval is that of a paired bootstrap over the pairs.
    """
    from scipy import stats

    gold = np.array([pair.gold for pair in first.pairs])

    def on_resamples(index):
        ones, others = (
            stats.pearsonr(result.similarities[index], gold[index], axis=-1).statistic
            for result in (first, second)
        )
        return 100 * (ones - others)

    low, high = interval(bootstrap(len(gold), on_resamples))
    value = first.correlation.pearson - second.correlation.pearson
    return [value, float(low), float(high)]


def row_name(entry, vectors):
    """The row of a model's vectors: "biLM, context"."""
    return f"{entry.name}, {vectors}"


def _file(name):
    path = data(*name.split("/"))
    if FLAGS.limit is None:
        return path

    def write(stream):
        pairs = spread(read_sts(path))
        csv.writer(stream).writerows((pair.first, pair.second, pair.gold) for pair in pairs)

    return cached(Path(FLAGS.output_dir, f"limit-{FLAGS.limit}", f"{Path(path).stem}.csv"), write)


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_multi_enum("tables", None, list(PARTS), "Table to measure. Default: both.")
    flags.DEFINE_list(
        "representations", None, "Only these of --rows; the other rows stay. Default: all."
    )
    cli.run(main)
