"""Shared by tables 3 and 4: correlations of sentence similarity for each model."""

import csv
from pathlib import Path

from benchmarks.paper.common import ENCODERS, FLAGS, cached, data, say, spread
from tta.data.pairs.sts import read_sts
from tta.scoring.similarity.config import StsConfig
from tta.scoring.similarity.sts import compare_files

CONDITION = (
    "Cosine of mean vectors, without training on gold scores. The T-TAs and the biLM were also "
    "trained to match the two halves of a sentence, which the paper's models were not. Without "
    "this loss, STS-B dev: T-TA 58.51 (80 M tokens), 62.49 (127 M, decorrelated outputs), biLM "
    "58.26 (64 M, decorrelated); see docs/training.md. A uniLM's `context` vector at a token has "
    "seen that token, which its score has not"
)

# Not in the paper: vectors that give higher correlations on STS-B than its protocol, as pairs
# (representation, pooling).
EXTRA = dict.fromkeys(("T-TA", "T-TA base"), (("token", "whitened"), ("joint", "mean")))


def measure(table, files):
    """Fills a table with Pearson's r x 100, one row per model and kind of vectors.

    Args:
        table: a `Table`.
        files: {column: path below --data_dir}.
    """
    paths = {column: _file(name) for column, name in files.items()}
    signatures = {}
    for entry in ENCODERS:
        for representation in entry.representations:
            table.rows[row_name(entry, representation)] = {}
        if entry.missing:
            continue
        say(entry.name)
        kinds = [(entry.representations, "mean")]
        kinds += [
            ((representation,), pooling) for representation, pooling in EXTRA.get(entry.name, ())
        ]
        for representations, pooling in kinds:
            config = StsConfig(
                sts_file=list(paths.values()),
                representation=list(representations),
                pooling=[pooling],
            )
            report = compare_files(config, [entry.model], **entry.load_options)
            for result in report.results:
                column = next(c for c, path in paths.items() if path == str(result.path))
                table.set(row_name(entry, result.vectors), column, result.correlation.pearson)
                table.findings.append(
                    f"{row_name(entry, result.vectors)}, {column}: Spearman's rho x 100 "
                    f"{result.correlation.spearman:.2f}"
                )
        signatures[entry.name] = report.signatures[-1]
    names = dict.fromkeys(table.rows)
    table.note_models(ENCODERS, signatures)
    table.rows = {name: table.rows[name] for name in names}  # drops the rows of whole models


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
