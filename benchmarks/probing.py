"""Probes the vectors of models on labelled sets, and prints a table as Markdown.

    python -m benchmarks.probing --quick
    python -m benchmarks.probing

The data is in $TTA_DATA, folder `labelled`. --quick takes some sentences of each set, 5 folds and
one seed, and some ten minutes of processor time. Without it, a biLM takes most of it, because its
`context` needs one pass per token. The report of each set is printed on standard error.
"""

import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from absl import flags

from benchmarks import evaluation_data
from tta import cli
from tta.papers.glue.data.conll import read_conll
from tta.papers.glue.data.tables import read_table
from tta.papers.probing.config import ProbeConfig

MODELS = ["small", "cloze-small", "cloze-base", "bilm-small", "unilm-small", "random:small"]
JOINED = "embed+context"
QUICK = {"data_file": 600, "test_file": 400}
QUICK_CROSS_VALIDATED = 1000

FLAGS = flags.FLAGS
flags.DEFINE_bool("quick", False, "Take a sample of each set, 5 folds and one seed.")
flags.DEFINE_list("models", MODELS, "The models, each as for --model; the first is compared.")
flags.DEFINE_list("sets", None, "The sets, such as MR,TREC. Default: all.")
flags.DEFINE_string("glove", "glove:runs/glove.6B.50d.txt", "Word vectors; if missing, no row.")


@dataclass(frozen=True)
class Set:
    """A labelled set.

    Attributes:
        name: the heading of its column.
        folder: below `labelled`.
        files: {the flag of tta probe: file}. WNUT's dev part chooses C; that of SST-5 and SNLI is
            measured, because their test parts are not there.
        options: further settings of `ProbeConfig`.
    """

    name: str
    folder: str
    files: dict
    options: dict


TABLES = {"data_file": "train.tsv", "test_file": "dev.tsv"}
TAGS = {"data_file": "train.conll", "dev_file": "dev.conll", "test_file": "test.conll"}
SETS = (
    Set("MR", "sentences/MR", {"data_file": "all.tsv"}, {}),
    Set("SUBJ", "sentences/SUBJ", {"data_file": "all.tsv"}, {}),
    Set("TREC", "sentences/TREC", TABLES | {"test_file": "test.tsv"}, {}),
    Set("SST-5", "sentences/SST-5", TABLES, {}),
    Set("SNLI", "glue/SNLI", TABLES, {"label_column": "gold_label"}),
    Set("WNUT", "ner/wnut17", TAGS, {"ner": True}),
    Set(f"WNUT, {JOINED}", "ner/wnut17", TAGS, {"ner": True, "representation": [JOINED]}),
)


def main():
    from tta.papers.probing.probe import probe_files

    columns = {}
    with tempfile.TemporaryDirectory() as work:
        for one in SETS:
            if FLAGS.sets and one.name.partition(",")[0] not in FLAGS.sets:
                continue
            config = ProbeConfig(
                **{flag: path_of(one, flag, Path(work)) for flag in one.files},
                **one.options,
                **({"num_folds": 5, "num_seeds": 1} if FLAGS.quick else {}),
            )
            report = probe_files(config, models_of(one))
            print(f"## {one.name}\n\n{report}\n", file=sys.stderr, flush=True)
            columns[one.name] = report
    print(markdown(columns))


def models_of(one):
    """The models; word vectors only where each model's first representation is taken."""
    exists = Path(FLAGS.glove.partition(":")[2]).exists()
    return [*FLAGS.models, *[FLAGS.glove] * (exists and "representation" not in one.options)]


def path_of(one, flag, work):
    """The path of a file of a set; with --quick, of a sample of it, str."""
    path = evaluation_data.FOLDER / "labelled" / one.folder / one.files[flag]
    count = QUICK.get(flag, QUICK["test_file"])
    count = count if len(one.files) > 1 else QUICK_CROSS_VALIDATED
    if not FLAGS.quick:
        return str(path)
    sampled = work / f"{one.name} {path.name}"
    if one.options.get("ner"):
        blocks = [list(zip(s.tokens, s.tags, strict=True)) for s in read_conll(path)]
        lines = ["".join(f"{w}\t{t}\n" for w, t in block) + "\n" for block in draw(blocks, count)]
    else:
        table = read_table(path, None, one.options.get("label_column", "label"))
        names = *table.text_columns, one.options.get("label_column", "label")
        rows = [names, *((*row.texts, row.label) for row in draw(table.rows, count))]
        lines = ["\t".join(row) + "\n" for row in rows]
    sampled.write_text("".join(lines), encoding="utf-8")
    return str(sampled)


def draw(items, count):
    """At most `count` items, drawn uniformly; the same in every run."""
    return random.Random(0).sample(items, min(count, len(items)))


def markdown(columns):
    """A table with a row per model. A star marks a difference from the first model above noise."""
    cells = {}
    for name, report in columns.items():
        far = {d.first for d in report.differences if d.interval[0] > 0 or d.interval[1] < 0}
        for row in report.rows:
            low, high = row.interval
            model = row.name.partition(", ")[0]
            star = " \\*" if row.name in far else ""
            cells.setdefault(model, {})[name] = f"{row.mean:.1f} [{low:.1f}, {high:.1f}]{star}"
    lines = [f"| | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for model, found in cells.items():
        shown = Path(model).name if ":" in model else model
        lines.append(f"| {shown} | {' | '.join(found.get(name, '-') for name in columns)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    cli.run(main)
