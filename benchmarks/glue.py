"""Fine-tunes models on the tasks of GLUE, and prints two tables as Markdown.

    python -m benchmarks.glue --quick
    python -m benchmarks.glue --output_dir=runs/glue
    python -m benchmarks.glue --models=runs/nar/mlm,encoder:runs/nar/ae--pad

The data is in $TTA_DATA, folder `labelled/glue`; its README.md says which training files are parts
of the official ones. STS-B has no training part there: the model is trained on SICK, whose scores
are of another scale, which correlations do not see. The tasks of LARGE have one rate and one seed.
--quick takes MRPC and 400 of its training examples, one rate and one seed.

Each cell is the mean and the standard deviation over the seeds on dev, of the rate with the highest
mean, which was chosen on the same examples. A mark tells the values of constant predictions, which
may be the highest of a column. The second table has the differences from the first of the models,
with the standard error of a paired bootstrap: the dev examples are drawn anew, the same ones for
both models, and the runs stay. Its last column is the mean over the tasks, whose examples have
nothing to do with each other, so that their errors add up as squares.

An interrupted run goes on when it is repeated with the same --output_dir. All tasks take hours.
With --json, each finished task is written to a file, with the rate that was chosen and all other
settings. The tables show all tasks and models of the file, those of earlier commands included. A
difference needs both models in one command.
Finished runs are not repeated. The report of each cell is printed on standard error.
"""

import json
import sys
from pathlib import Path

import numpy as np
from absl import app, flags

from benchmarks import evaluation_data
from tta import cli
from tta.atomic import whole_file
from tta.choices import PRECISIONS

MODELS = ["random:small", "bilm-small", "small", "cloze-base"]
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
LARGE = ("qnli", "qqp", "mnli")
QUICK_EXAMPLES = 400
MEAN, CONTROL = "mean", "majority or mean"
FIRST = ", first token"  # ends the names of the rows of --first_models
ALL_CONSTANT, SOME_CONSTANT = "\N{DAGGER}", "\N{DOUBLE DAGGER}"  # as NOTE says
NOTE = (
    f"{ALL_CONSTANT} all runs have the value of a constant prediction, {SOME_CONSTANT} some of "
    "them (of accuracy, perhaps by chance)"
)

FLAGS = flags.FLAGS


def main():
    from tta.papers.glue.classify import classify

    if FLAGS.quick and FLAGS.json:
        raise app.UsageError("--quick is no result for --json")
    results = read_results(FLAGS.json)
    for task in ["mrpc"] if FLAGS.quick else FLAGS.tasks:
        rows, recipes = {}, {}
        for name, model, pooling in rows_of(FLAGS.models, FLAGS.first_models):
            report = classify(config_of(task, name, pooling), model)
            if report is None:
                sys.exit(cli.TERMINATED)
            print(f"## {task}, {name}\n\n{report}\n", file=sys.stderr, flush=True)
            rows[CONTROL], *rates = report.rows
            rows[name] = max(rates, key=lambda row: row.mean(metric_of(task)))
            recipes[name] = {"row": rows[name].name, "signatures": report.signatures}
        measured = {name: result(name, rows, metric_of(task)) for name in rows}
        for name, recipe in recipes.items():
            measured[name]["recipe"] = recipe
        results[task] = results.get(task, {}) | measured
        if FLAGS.json:
            with whole_file(FLAGS.json) as file:
                file.write((json.dumps(results, indent=1) + "\n").encode())
    print(f"{markdown(value_cells(results))}\n\n{NOTE}")
    if FLAGS.models[1:]:
        base = FLAGS.models[0]
        print(f"\nMinus {base}:\n\n{markdown(difference_cells(results, base))}")


def rows_of(models, first_models):
    """(name, model, pooling) of each row; the pooling is None where it is the model's default."""
    rows = [(model, model, None) for model in models]
    return rows + [(model + FIRST, model, "first") for model in first_models]


def config_of(task, row, pooling):
    """The `ClassifyConfig` of a cell."""
    from tta.papers.glue.classify_config import ClassifyConfig

    rates, seeds = [float(rate) for rate in FLAGS.learning_rates], FLAGS.num_seeds
    if task in LARGE or FLAGS.quick:
        rates, seeds = rates[:1], 1
    name = "quick" if FLAGS.quick else task
    folder = Path(FLAGS.output_dir) / name / "".join("-" if c in ":/, " else c for c in row)
    return ClassifyConfig(
        task=task,
        **files_of(task),
        output_dir=str(folder),
        learning_rates=rates,
        num_seeds=seeds,
        pooling=pooling,
        mixed_precision=FLAGS.mixed_precision,
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


def read_results(path):
    """{task: {model: its `result`}} of a file of --json; {} if there is none yet."""
    if path is None or not Path(path).exists():
        return {}
    return json.loads(Path(path).read_text(encoding="utf-8"))


def result(model, rows, metric):
    """What is kept of a model's row: the value of each seed, and how certain differences are.

    Args:
        model: its name in `rows`.
        rows: {model: `RateRow`} of a task.
        metric: the key of the task's first measure.

    Returns:
        {"values": [percent, ...], "errors": {other model: standard error of the difference}}.
    """
    mine = rows[model].resampled
    errors = {other: float(np.std(mine - row.resampled)) for other, row in rows.items()}
    return {"values": rows[model].values[metric], "errors": errors}


def value_cells(results):
    """{(task, model): mean and standard deviation over the seeds, as `81.2 ± 0.4`}, and a mark."""
    cells = {}
    for task, models in results.items():
        for model, one in models.items():
            deviation = f" ± {np.std(one['values'], ddof=1):.1f}" if one["values"][1:] else ""
            mark = constant_mark(task, model, models)
            cells[task, model] = f"{mean_of(one):.1f}{deviation} {mark}".rstrip()
    return cells


def constant_mark(task, model, models):
    """The mark of NOTE for a model among the `models` of a task; "" without such runs.

    Accuracy tells a constant prediction only nearly: others may happen to have its value. CONTROL
    is one by definition and has no mark.
    """
    if model == CONTROL or CONTROL not in models:
        return ""
    known = constant_values(task, models[CONTROL]["values"][0])
    are_constant = [
        any(np.isclose(value, constant) for constant in known) for value in models[model]["values"]
    ]
    return ALL_CONSTANT if all(are_constant) else SOME_CONSTANT if any(are_constant) else ""


def constant_values(task, control):
    """The values, in percent, of the constant predictions of a task; `control` is that of CONTROL.

    With two labels, the other one has the rest of the accuracy. F1, MCC and correlation are 0
    for all constant predictions but, with F1, that of the positive label.
    """
    from tta.papers.glue.classify_config import TASKS

    if metric_of(task) != "accuracy":
        return control, 0.0
    return (control, 100 - control) if len(TASKS[task].labels) == 2 else (control,)


def mean_of(one):
    """The mean over the seeds of a `result`."""
    return float(np.mean(one["values"]))


def difference_cells(results, base):
    """{(task, model): difference from a base and its standard error, as `+1.2 ± 0.4`}.

    Models that were measured on all tasks also have their MEAN.
    """
    found = {}
    for task, models in results.items():
        for model, one in models.items():
            if model != base and base in models and base in one["errors"]:
                found[task, model] = mean_of(one) - mean_of(models[base]), one["errors"][base]
    for model in dict.fromkeys(model for _, model in found):
        if all((task, model) in found for task in results):
            means, errors = np.transpose([found[task, model] for task in results])
            found[MEAN, model] = np.mean(means), np.linalg.norm(errors) / len(errors)
    return {place: f"{value:+.1f} ± {error:.1f}" for place, (value, error) in found.items()}


def metric_of(task):
    """The key of a task's first measure."""
    from tta.papers.glue.classify_config import TASKS

    return TASKS[task].metrics[0]


def markdown(cells):
    """A table with a row per model."""
    from tta.papers.glue.report import METRICS

    tasks, models = (list(dict.fromkeys(names)) for names in zip(*cells, strict=True))
    heads = [t if t == MEAN else f"{t} ({METRICS[metric_of(t)].name})" for t in tasks]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(tasks)]
    for model in models:
        found = [cells.get((task, model), "-") for task in tasks]
        lines.append(f"| {model} | {' | '.join(found)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    flags.DEFINE_bool("quick", False, "MRPC with few examples, one rate and one seed.")
    flags.DEFINE_list("models", MODELS, "The models, each as for --model.")
    flags.DEFINE_list("first_models", [], "Models for further rows, with --pooling=first.")
    flags.DEFINE_list("tasks", list(FOLDERS), "The tasks, each as for --task.")
    flags.DEFINE_list(
        "learning_rates", ["1e-4", "3e-4"], "The rates; the large tasks take the first."
    )
    flags.DEFINE_integer("num_seeds", 5, "Seeds of the small tasks.")
    flags.DEFINE_enum("mixed_precision", "float32", PRECISIONS, "As for tta classify.")
    flags.DEFINE_string("json", None, "File of results; those of this command are added.")
    flags.DEFINE_string("output_dir", "runs/glue", "Folder for the fine-tuned models.")
    cli.run(main)
