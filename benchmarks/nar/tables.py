"""Tables 1 to 4 of Sohrab et al.: the paper's numbers, and ours beside them, as Markdown.

    python -m benchmarks.glue --json=long.json --models=bilm-small,\
        encoder:runs/nar-long/ae--gtw,decoder:runs/nar-long/ae--gtw,...
    python -m benchmarks.nar.tables --glue=long.json,gentle.json,glue.json

"Ours" were trained for as many steps as the paper's appendix says, by the command of
docs/experiments/autoencoder.md, and "ours, 500 steps" by rates.py, from whose folder the
time of the trainings is read. The models of glue.py must have the names below; of two files, the
first that has a model counts, and its tasks are the columns. The paper's models have 110 M
parameters in each half, and the best of several runs on dev is given. Ours are small; the mean over
the seeds is given. So compare the order of the rows, not the numbers. Tables 1 to 3 are percent. A
row without a line of ours, or with "-", was not measured; the reasons stand below the tables.

The table of differences is what the paper claims, on the tasks of CLAIMED. Each of ours is printed
with half of its 95 % interval. That counts the dev examples (the paired bootstrap of glue.py) and
the runs of fine-tuning, whose standard deviation is taken to be the same for all models there
without constant predictions, but not the training before it, of which there is one each.
"""

import numpy as np
from absl import app, flags
from scipy import stats

from benchmarks import ROOT
from benchmarks.glue import CONTROL, MEAN, NOTE, constant_mark, mean_of, read_results
from benchmarks.nar.quality import training_of
from tta.data.records.dataset import load_dataset_info
from tta.scoring.reports.table import format_count

FLAGS = flags.FLAGS
NONE = "-"
TASKS = ("mnli", "qqp", "qnli", "sst2", "cola", "stsb", "mrpc", "rte")
HEADS = dict(
    zip(TASKS, ("MNLI", "QQP", "QNLI", "SST-2", "CoLA", "STS-B", "MRPC", "RTE"), strict=True)
)
HEADS |= {"wnli": "WNLI", MEAN: "mean"}
CLAIMED = ("cola", "stsb")  # The others are too small, or not measured.
LONG = "runs/nar-long/%s"  # 13,000 steps, from bilm-small
AE_GTW, AE_PAD, OPTIMUS = (LONG % name for name in ("ae--gtw", "ae--pad", "optimus"))
GENTLE = "runs/nar-rates/%s-adamw-5e-5"  # 500 steps, from the bilm-small of commit 1bf875d
SHORT_AE_GTW, SHORT_AE_PAD = GENTLE % "ae--gtw", GENTLE % "ae--pad"
VAE_GTW, VAE_PAD = GENTLE % "vae--gtw", GENTLE % "vae--pad"
FULL_VAE_GTW, SHORT_OPTIMUS = GENTLE % "full-vae--gtw", GENTLE % "optimus"
LINES = ("ours", "ours, 500 steps")

# Row -> (the paper's numbers, our models in --glue, in the order of LINES); None: there is none.
TABLE_1 = {
    "BERT": ("83.5 90.9 91.2 92.3 59.8 88.6 86.8 70.0 82.9", "bilm-small", None),
    "BERT, trained further": (None, LONG % "mlm", None),
    "Optimus (VAE)": ("83.4 90.9 90.8 92.4 57.3 88.8 87.3 69.7 82.5", f"encoder:{OPTIMUS}", None),
    "AE, GTW, encoder": ("83.9 90.8 91.1 92.9 60.8 88.7 89.7 71.1 83.6", f"encoder:{AE_GTW}", None),
    "AE, GTW, decoder": ("83.8 90.6 91.3 92.8 61.9 89.7 89.3 70.4 83.7", f"decoder:{AE_GTW}", None),
    "AE, PAD, encoder": (None, f"encoder:{AE_PAD}", None),
    "AE, PAD, decoder": ("83.0 90.5 91.1 93.1 59.1 89.0 89.1 69.0 83.0", f"decoder:{AE_PAD}", None),
    "VAE, GTW, decoder": (
        "83.8 90.8 91.0 92.8 60.6 89.7 88.6 68.6 83.2",
        *(None, f"decoder:{VAE_GTW}"),
    ),
    "VAE, PAD, decoder": (
        "84.1 90.4 91.5 92.6 60.8 89.4 88.9 69.3 83.4",
        *(None, f"decoder:{VAE_PAD}"),
    ),
    "random weights": (None, "random:small", None),
    "most frequent label, or mean": (None, CONTROL, None),
}
# The decoder after a training on 10 % of the text.
TABLE_2 = {
    "AE, GTW": (
        "84.1 90.7 90.8 92.4 60.7 89.5 89.0 67.2 83.1",
        *(f"decoder:{LONG % 'tenth-ae--gtw'}", f"decoder:{SHORT_AE_GTW}"),
    ),
    "full-VAE, GTW": (
        "83.6 90.7 91.2 92.3 61.6 89.1 88.3 62.8 82.5",
        *(None, f"decoder:{FULL_VAE_GTW}"),
    ),
    "VAE, GTW": ("84.1 90.7 91.1 92.6 60.1 89.4 88.5 67.2 83.0", None, None),
    "VAE, PAD": ("83.8 90.2 90.8 93.5 61.1 89.6 89.3 71.1 83.7", None, None),
}
TABLE_3 = {
    "BERT": ("50.7", None, "bilm-small"),
    "BERT, trained further": (None, None, GENTLE % "mlm"),
    "Optimus (VAE)": ("56.3", None, f"encoder:{SHORT_OPTIMUS}"),
    "AE, GTW": ("62.0", None, f"decoder:{SHORT_AE_GTW}"),
    "AE, PAD": (None, None, f"decoder:{SHORT_AE_PAD}"),
    "VAE, GTW": (None, None, f"decoder:{VAE_GTW}"),
    "full-VAE, GTW": (None, None, f"decoder:{FULL_VAE_GTW}"),
    "VAE, PAD": ("56.3", None, f"decoder:{VAE_PAD}"),
    "most frequent label": (None, None, CONTROL),
}
# The differences that the paper's claims are about: each of two rows, (table, name).
DIFFERENCES = {
    name: tuple((TABLE_1, row) for row in rows)
    for name, rows in {
        "decoder minus encoder (AE, GTW)": ("AE, GTW, decoder", "AE, GTW, encoder"),
        "decoder minus encoder (AE, PAD)": ("AE, PAD, decoder", "AE, PAD, encoder"),
        "decoder (AE, GTW) minus BERT": ("AE, GTW, decoder", "BERT"),
        "encoder (AE, GTW) minus BERT": ("AE, GTW, encoder", "BERT"),
        "BERT, trained further, minus BERT": ("BERT, trained further", "BERT"),
        "decoder (AE, GTW) minus Optimus": ("AE, GTW, decoder", "Optimus (VAE)"),
        "encoder (AE, GTW) minus Optimus": ("AE, GTW, encoder", "Optimus (VAE)"),
        "GTW minus PAD (AE, decoder)": ("AE, GTW, decoder", "AE, PAD, decoder"),
    }.items()
} | {
    "10 % minus all of the text (AE, GTW, decoder)": (
        (TABLE_2, "AE, GTW"),
        (TABLE_1, "AE, GTW, decoder"),
    ),
    "full-VAE minus AE (GTW, decoder), 500 steps": (
        (TABLE_2, "full-VAE, GTW"),
        (TABLE_2, "AE, GTW"),
    ),
}
# The paper's sentences of the data (M), steps (thousands), sentences or merged sequences in a
# batch, machines, hours; our model.
TABLE_4 = {
    "Optimus": ("32 | 20 | 1,600 | 200 V100 | 46", SHORT_OPTIMUS),
    "AE": ("207 | 27 | 600 | 200 V100 | 38.5", SHORT_AE_PAD),
    "VAE": ("207 | 27 | 600 | 200 V100 | 39", VAE_PAD),
}
REASONS = {
    "Ours": "13,000 steps at 5e-5, 53 M tokens, 1.6 passes over Simple English Wikipedia, whose "
    "sentences are merged to 128 pieces; Table 2: a tenth of its documents. Fine-tuned with three "
    "seeds on means of outputs (tta classify --pooling=mean), where the paper reads [CLS]. MNLI, "
    "QQP, QNLI and SST-2 would take hours",
    "Ours, 500 steps": "2 M tokens, single sentences, from the bilm-small of commit 1bf875d; three "
    "seeds, VAEs two",
    "Optimus": "its encoder. Ours has the 32 dimensions and the KL threshold of its paper",
    "Random weights": "an earlier run (glue.json, commit 56478ca), five seeds",
    "STS-B": "ours is trained on SICK",
    "Table 4": "the paper's trainings are one pass over the data (its appendix says 13,302 steps); "
    "our models saw steps x batch tokens",
}


def main(_):
    files = [read_results(path) for path in FLAGS.glue]
    results = merged(files)
    tasks = [task for task in TASKS if task in files[0]]
    for number, lines in (
        (1, task_table(TABLE_1, tasks, results)),
        (2, task_table(TABLE_2, tasks, results)),
        (3, task_table(TABLE_3, ("wnli",), results)),
        (4, table_4()),
    ):
        print(f"**Table {number}**", "", *lines, "", sep="\n")
    print("**Differences**", "", *difference_table(results), "", f"- {NOTE}.", sep="\n")
    for name, reason in REASONS.items():
        print(f"- {name}: {reason}.")


def merged(files):
    """{task: {model: its `result`}} of all files; the first that has a model counts."""
    found = {}
    for results in files:
        for task, models in results.items():
            found[task] = models | found.get(task, {})
    return found


def task_table(rows, tasks, results):
    """Fine-tuning: a line of the paper and one of ours for each row; the mean if no task lacks."""
    columns = [*tasks, MEAN] if tuple(tasks) == TASKS else tasks
    lines = [f"| | | {' | '.join(HEADS[name] for name in columns)} |"]
    lines.append("|---|---|" + "---:|" * len(columns))
    for name, (paper, *models) in rows.items():
        if paper is not None:
            numbers = paper_of(paper)
            lines.append(f"| {name} | paper | {' | '.join(numbers[c] for c in columns)} |")
        for line, model in zip(LINES, models, strict=True):
            if model is not None:
                cells = (ours_of(results, column, model) for column in columns)
                lines.append(f"| {name} | {line} | {' | '.join(cells)} |")
    return lines


def paper_of(paper):
    """{task, or MEAN: the paper's number}; a single number is that of Table 3."""
    values = paper.split()
    return dict(zip((*TASKS, MEAN), values, strict=True)) if values[1:] else {"wnli": paper}


def ours_of(results, column, model):
    """A model's mean over the seeds of a task with its mark, or over TASKS; "-" if one lacks."""
    tasks = TASKS if column == MEAN else (column,)
    found = [results.get(task, {}) for task in tasks]
    if not all(model in models for models in found):
        return NONE
    mean = np.mean([mean_of(models[model]) for models in found])
    mark = "" if column == MEAN else constant_mark(column, model, found[0])
    return f"{mean:.1f} {mark}".rstrip()


def difference_table(results):
    """DIFFERENCES on CLAIMED, the paper's and ours, with half of the 95 % interval."""
    heads = [f"{who}: {HEADS[task]}" for who in ("paper", "ours") for task in CLAIMED]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for name, pair in DIFFERENCES.items():
        cells = []
        papers = [table[row][0] and paper_of(table[row][0]) for table, row in pair]
        for task in CLAIMED:
            values = [float(paper[task]) for paper in papers if paper]
            cells.append(f"{values[0] - values[1]:.1f}" if values[1:] else NONE)
        cells += [difference(results[task], *models_of(pair)) for task in CLAIMED]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def models_of(pair):
    """Our models of two rows, after the same steps."""
    models = zip(*(table[row][1:] for table, row in pair), strict=True)
    return next((first, second) for first, second in models if first and second)


def difference(models, first, second):
    """First minus second model of a task and half of the 95 % interval, as `1.5 ± 7.1`.

    Welch's: each model has the variance of its own runs, beside the error over the examples.
    """
    one, other = models[first], models[second]
    values = [one["values"], other["values"]]
    of_examples = one["errors"][second] ** 2
    of_runs = [np.var(runs, ddof=1) / len(runs) for runs in values]
    variance = of_examples + sum(of_runs)
    uncertain = sum(v**2 / (len(runs) - 1) for v, runs in zip(of_runs, values, strict=True))
    freedom = variance**2 / uncertain if uncertain else np.inf
    value = round(mean_of(one) - mean_of(other), 1) + 0.0  # no -0.0
    return f"{value:.1f} ± {stats.t.ppf(0.975, freedom) * variance**0.5:.1f}"


def table_4(root=ROOT):
    """The trainings: ours from the records of rates.py, below a folder."""
    lines = [
        "| | | sentences of the data, M | steps, thousands | batch | machines | hours |",
        "|---|---|" + "---:|" * 5,
    ]
    for name, (paper, model) in TABLE_4.items():
        lines.append(f"| {name} | paper | {paper} |")
        training = training_of(root / model)
        if training is not None:
            info = load_dataset_info(training["input_dir"])
            sentences = info["splits"]["train"]["sentences"] / 1e6
            steps, batch = training["num_train_steps"] / 1000, training["train_batch_tokens"]
            machine = hours = NONE
            if "seconds" in training:
                machine = format_count(training["cores"], "CPU core", "CPU cores")
                hours = f"{training['seconds'] / 3600:.3f}"
            ours = f"{sentences:.1f} | {steps:g} | {batch:,} tokens | {machine} | {hours}"
            lines.append(f"| {name} | ours | {ours} |")
    return lines


if __name__ == "__main__":
    flags.DEFINE_list("glue", None, "Files that glue.py --json wrote.", required=True)
    app.run(main)
