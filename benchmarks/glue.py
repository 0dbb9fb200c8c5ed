"""Fine-tunes models on the tasks of GLUE, and prints two tables as Markdown.

    python benchmarks/glue.py --quick
    python benchmarks/glue.py --output_dir=runs/glue
    python benchmarks/glue.py --models=runs/nar/mlm,encoder:runs/nar/ae--pad

The data is in $TTA_DATA, folder `labelled/glue`; its README.md says which training files are parts
of the official ones. STS-B has no training part there: the model is trained on SICK, whose scores
are of another scale, which correlations do not see. The tasks of LARGE have one rate and one seed.
--quick takes MRPC and 400 of its training examples, one rate and one seed.

Each cell is the mean and the standard deviation over the seeds on dev, of the rate with the highest
mean, which was chosen on the same examples. The second table has the differences from the first of
the models, and their mean over the tasks, with the middle 95 % of a paired bootstrap: the dev
examples are drawn anew, the same ones for both models, and the runs stay. An interrupted run goes
on when it is repeated with the same --output_dir. The report of each cell is printed on standard
error.
"""

import sys
from pathlib import Path

import numpy as np
from absl import flags

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import evaluation_data
from tta import cli

MODELS = ["random:small", "bilm-small", "small", "base"]
FOLDERS = {
    "cola": "CoLA",
    "mrpc": "MRPC",
    "rte": "RTE",
    "wnli": "WNLI",
    "stsb": None,
    "sst2": "SST-2",
    "qnli": "QNLI",
    "qqp": "QQP",
    "mnli": "MNLI",
}
LARGE = ("sst2", "qnli", "qqp", "mnli")
QUICK_EXAMPLES = 400
MEAN = "mean"

FLAGS = flags.FLAGS
flags.DEFINE_bool("quick", False, "MRPC with few examples, one rate and one seed.")
flags.DEFINE_list("models", MODELS, "The models, each as for --model.")
flags.DEFINE_list("tasks", list(FOLDERS), "The tasks, each as for --task.")
flags.DEFINE_list("learning_rates", ["1e-4", "3e-4"], "The rates; the large tasks take the first.")
flags.DEFINE_integer("num_seeds", 5, "Seeds of the small tasks.")
flags.DEFINE_string("output_dir", "runs/glue", "Folder for the fine-tuned models.")


def main():
    from tta.scoring.classification.classify import classify

    rows = {}
    for task in ["mrpc"] if FLAGS.quick else FLAGS.tasks:
        for model in FLAGS.models:
            report = classify(config_of(task, model), model)
            if report is None:
                sys.exit(cli.TERMINATED)
            print(f"## {task}, {model}\n\n{report}\n", file=sys.stderr, flush=True)
            control, *rates = report.rows
            rows[task, "majority or mean"] = control
            rows[task, model] = max(rates, key=lambda row: row.mean(metric_of(task)))
    print(markdown({key: cell(row, metric_of(key[0])) for key, row in rows.items()}))
    if FLAGS.models[1:]:
        print(f"\nMinus {FLAGS.models[0]}:\n\n{markdown(differences(rows, *FLAGS.models))}")


def config_of(task, model):
    """The `ClassifyConfig` of a cell."""
    from tta.scoring.classification.config import ClassifyConfig

    rates, seeds = [float(rate) for rate in FLAGS.learning_rates], FLAGS.num_seeds
    if task in LARGE or FLAGS.quick:
        rates, seeds = rates[:1], 1
    name = "quick" if FLAGS.quick else task
    folder = Path(FLAGS.output_dir) / name / model.replace(":", "-").replace("/", "-")
    return ClassifyConfig(
        task=task,
        **files_of(task),
        output_dir=str(folder),
        learning_rates=rates,
        num_seeds=seeds,
    )


def files_of(task):
    """The settings of `ClassifyConfig` that name the files of a task."""
    if FOLDERS[task] is None:
        sts = evaluation_data.FOLDER / "sts"
        return {
            "train_file": str(sts / "SICK_train.txt"),
            "dev_file": str(sts / "stsb-en-dev.csv"),
        }
    folder = evaluation_data.FOLDER / "labelled/glue" / FOLDERS[task]
    files = {"data_dir": str(folder)}
    if FLAGS.quick:
        drawn = evaluation_data.sample(folder / "train.tsv", QUICK_EXAMPLES, Path(FLAGS.output_dir))
        files["train_file"] = str(drawn)
    return files


def cell(row, metric):
    """Mean and standard deviation of a row, as `81.2 ± 0.4`."""
    deviation = row.deviation(metric)
    return f"{row.mean(metric):.1f}" + (f" ± {deviation:.1f}" if deviation == deviation else "")


def differences(rows, base, *models):
    """{(task, model): the cell of its difference from a base}; also for MEAN, of all tasks.

    Args:
        rows: {(task, model): `RateRow`}.
    """
    cells, tasks = {}, list(dict.fromkeys(task for task, _ in rows))
    for model in models:
        means, resampled = [], []
        for task in tasks:
            metric, row, other = metric_of(task), rows[task, model], rows[task, base]
            means.append(row.mean(metric) - other.mean(metric))
            resampled.append(row.resampled - other.resampled)
            cells[task, model] = difference_cell(means[-1], resampled[-1])
        cells[MEAN, model] = difference_cell(np.mean(means), np.mean(resampled, axis=0))
    return cells


def difference_cell(value, resampled):
    """A difference and its interval, as `+1.2 [-0.3, +2.7]`."""
    from tta.scoring.classification.metrics import interval
    from tta.scoring.reports.table import format_interval

    return f"{value:+.1f} {format_interval(interval(resampled), '.1f')}"


def metric_of(task):
    """The key of a task's first measure."""
    from tta.data.labelled.glue import TASKS

    return TASKS[task].metrics[0]


def markdown(cells):
    """A table with a row per model."""
    from tta.scoring.classification.metrics import METRICS

    tasks, models = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    heads = [t if t == MEAN else f"{t} ({METRICS[metric_of(t)].name})" for t in tasks]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(tasks)]
    for model in models:
        found = [cells.get((task, model), "-") for task in tasks]
        lines.append(f"| {model} | {' | '.join(found)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    cli.run(main)
