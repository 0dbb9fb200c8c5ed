"""Tables 2 to 5 of Li et al. 2019: the paper's numbers, and ours beside them, as Markdown.

    python -m benchmarks.semfit.speed --json=speed.json
    python -m benchmarks.semfit.quality --num_train_steps=3000 --work_dir=runs/semfit ...
    python -m benchmarks.semfit.tables --speed=speed.json --work_dir=runs/semfit

The paper's models are large, were trained for days on One Billion Word, and were measured below
networks of their own for each task. Ours are the small configs after a few minutes, below a linear
classifier (tta probe) or, where a line of Table 3 says "mix", below a biLSTM over a learned mix of
the layers. So compare the order of the rows, not the numbers. "-" was not measured. Of Tables 3 and
4, rows and columns without a figure of ours are left out; the reasons stand below the tables.
"""

import json
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT
from benchmarks.semfit.quality import MIX, results
from benchmarks.semfit.rows import NOT_MEASURED
from benchmarks.semfit.speed import ALONE, ELMO_SHAPE, fastest, fastest_case
from tta.modeling.config.base import read_config

FLAGS = flags.FLAGS
VOCABULARY, PIECES = 793_471, 30_000  # types of One Billion Word; pieces of ELMo-Sub
NONE = "-"

# Row -> the row of speed.py with its vocabulary; a file of configs/; the paper's days x cards, how
# many times as fast as ELMo, sentences in a batch on a card, millions of weights.
TABLE_2 = {
    "ELMo": ("elmo", "800k", "elmo", "14 x 3 | 1.0 | 128 | 499"),
    "ELMo-A": ("adaptive", "800k", "elmo-a", "5.7 x 4 | 1.8 | 256 | 196"),
    "ELMo-S": ("semfit", "800k", "elmo-s", "2.5 x 4 | 4.2 | 768 | 76"),
    "ELMo-Sub": ("elmo-sub", "30k", "elmo-sub", "3.9 x 4 | 2.7 | - | -"),
}
# The paper's columns of Table 3. Ours below, (name, representation) in quality.py.
MODELS_3 = ("ELMo_ORG", "BASE", "FastText_CC", "ELMo", "ELMo-A", "ELMo-S", "S_ONEB", "S_CNN")
TABLE_3 = {
    "SNLI": ("88.7", "88.0", "87.7", "88.5", "88.9", "88.8", "88.4", "88.2"),
    "Coref": (NONE, NONE, "68.90", "72.9", "72.9", "72.9", "73.0", "72.9"),
    "SST-5": ("54.7", "51.4", "51.30", "52.96", "53.58", "53.80", "53.86", "53.38"),
    "NER": ("92.22", "90.15", "90.97", "92.51", "92.28", "92.24", "92.03", "92.24"),
    "SRL": ("84.6", "81.4", "80.2", "83.4", "82.7", "82.4", "82.2", "82.8"),
}
FASTTEXT, ELMO_A, ELMO_S = "mean of fasttext", "ELMo-A", "ELMo-S_ONEB"
OURS_3 = {"FastText_CC": FASTTEXT, "ELMo": "ELMo", "ELMo-A": ELMO_A, "S_ONEB": ELMO_S}
OURS_3 |= {"S_CNN": "ELMo-S_CNN"}
LINES_3 = {"ours": False, "ours, mix": True}  # whether the mix of the layers is read
COLUMNS_3 = {"SNLI": "SNLI", "SST-5": "SST-5", "NER": "WNUT"}  # in quality.py
# The paper's Table 4. The first columns are those of Table 3, the others SentEval: the mean of ten
# tasks, and five of them.
TASKS_4 = ("SNLI", "Coref", "SST-5, network", "NER", "mean", "SST-5", "SST-2", "TREC", "MR", "SUBJ")
TABLE_4 = {
    "FastText_CC": "87.7 68.90 51.30 90.97 71.10 38.40 80.12 71.80 74.30 89.06",
    "ELMo-Sub": "87.1 72.4 53.02 92.17 80.30 45.25 84.42 92.13 78.40 93.83",
    "ELMo-S_ONEB": "88.4 73.0 53.86 92.03 80.31 44.99 83.21 91.60 78.85 93.84",
    "ELMo-S": "88.8 72.9 53.80 92.24 80.96 45.22 85.45 92.87 80.05 94.11",
}
NETWORKS_4 = {"SNLI": "SNLI", "SST-5, network": "SST-5", "NER": "WNUT"}  # in quality.py, the mix
COLUMNS_4 = NETWORKS_4 | {task: task for task in TASKS_4[5:]}
OURS_4 = {"FastText_CC": FASTTEXT, "ELMo-Sub": "ELMo-Sub", "ELMo-S_ONEB": ELMO_S}
# Row and vocabulary in speed.py -> the paper's seconds of a batch of 16, of a million words on one
# card and on four, millions of weights.
TABLE_5 = {
    ("semfit", "40k"): "0.03 | 13.04 | 4.61 | 20",
    ("semfit", "800k"): "0.03 | 13.04 | 4.61 | 20",
    ("semfit", "2m"): "0.03 | 13.04 | 4.61 | 20",
    ("adaptive", "40k"): "0.05 | 24.78 | 9.68 | 106",
    ("adaptive", "200k"): "- | - | - | -",
    ("adaptive", "800k"): "0.06 | 29.99 | 16.14 | 265",
    ("adaptive", "2m"): "0.10 | 54.77 | 92.66 | 420",
    ("sampled", "40k"): "- | - | - | -",
    ("sampled", "800k"): "- | - | - | -",
    ("full", "40k"): "- | - | - | -",
    ("full", "200k"): "- | - | - | -",
}
REASONS = NOT_MEASURED | {
    "FastText_CC": "ours is trained on Simple English Wikipedia, and is the input of our rows",
    "ELMo-Sub": "its time is that of a million word pieces",
    "Coref, SRL": "their texts (OntoNotes) are not available here",
    "ELMo_ORG, BASE": "the published ELMo, and the networks for each task, are not available here",
    "NER": "the paper's is CoNLL-2003, which is not available here; ours is WNUT 2017",
    "mean": "the paper's is of ten tasks, of which five are available here",
}


def main(_):
    speed = json.loads(Path(FLAGS.speed).read_text(encoding="utf-8"))
    measured = results(Path(FLAGS.work_dir))
    for number, lines in (
        (2, table_2(speed)),
        (3, table_3(measured)),
        (4, table_4(measured)),
        (5, table_5(speed)),
    ):
        print(f"**Table {number}**", "", *lines, "", sep="\n")
    for name, reason in REASONS.items():
        print(f"- {name}: {reason}.")


def table_2(speed):
    """Training: the paper's time, and our time of a million words with the small configs."""
    lines = [
        "| | paper: days x cards | times as fast as ELMo | batch | weights, M "
        "| ours: s per million words | times as fast | weights at the paper's size, M |",
        "|---|" + "---:|" * 7,
    ]
    seconds = {name: fastest(speed["seconds"], *row[:2]) for name, row in TABLE_2.items()}
    for name, (*_, config, paper) in TABLE_2.items():
        size = PIECES if name == "ELMo-Sub" else VOCABULARY
        config = read_config(ROOT / f"configs/{config}.json", vocab_size=size)
        if config.head.needs_vectors:
            config = config.replace(target_size=config.input_size)
        weights = config.num_parameters
        times_as_fast = seconds["ELMo"] and seconds[name] and seconds["ELMo"] / seconds[name]
        ours = per_million(seconds[name]), shown(times_as_fast, ".1f"), shown(weights / 1e6, ".0f")
        lines.append(f"| {name} | {paper} | {' | '.join(ours)} |")
    return lines


def table_3(measured):
    """Tasks: the paper's networks on top of each model, our linear classifier, and the mix."""
    return measured_part(
        MODELS_3,
        {
            task: {"paper": paper}
            | {
                line: [
                    score(measured, OURS_3.get(name), COLUMNS_3.get(task), mix) for name in MODELS_3
                ]
                for line, mix in LINES_3.items()
            }
            for task, paper in TABLE_3.items()
        },
    )


def table_4(measured):
    """More tasks: networks, ours by the mix, then linear classifiers on sentence vectors."""
    return measured_part(
        TASKS_4,
        {
            name: {
                "paper": paper.split(),
                "ours": [
                    score(measured, OURS_4.get(name), COLUMNS_4.get(task), task in NETWORKS_4)
                    for task in TASKS_4
                ],
            }
            for name, paper in TABLE_4.items()
        },
    )


def measured_part(heads, rows):
    """A table without the columns, rows and lines of which nothing was measured here.

    `rows` is {name: {line: its cells}}; the first line of each is the paper's.
    """
    ours = {name: list(lines.values())[1:] for name, lines in rows.items()}
    cells = [cells for lines in ours.values() for cells in lines]
    shown = [place for place in range(len(heads)) if any(row[place] != NONE for row in cells)]
    table = [f"| | | {' | '.join(heads[place] for place in shown)} |"]
    table.append("|---|---|" + "---:|" * len(shown))
    for name, lines in rows.items():
        first = f" {name} "
        for line, row in lines.items():
            if any(set(one) != {NONE} for one in (ours[name] if line == "paper" else [row])):
                table.append(f"|{first}| {line} | {' | '.join(row[place] for place in shown)} |")
                first = " "
    return table


def table_5(speed):
    """The output layers: time against the vocabulary."""
    lines = [
        "| | words | paper: s per batch of 16 | s per million words | on four cards | weights, M "
        "| ours: s per million words | the output layer alone, s | weights, M |",
        "|---|---:|" + "---:|" * 7,
    ]
    for (row, size), paper in TABLE_5.items():
        name = fastest_case(speed["seconds"], row, size)
        ours = [NONE] * 3
        if name is not None:
            alone = speed["seconds"].get(f"{name}{ALONE}")
            weights = shown(speed["parameters"][name] / 1e6, ".2f")
            ours = [per_million(speed["seconds"][name]), per_million(alone), weights]
        lines.append(f"| {row} | {size} | {paper} | {' | '.join(ours)} |")
    return lines


def score(measured, name, column, mix=False):
    """The mean over the seeds of a column of a row, by the mix or by its one representation."""
    found = [
        values[column]
        for (row, representation), values in measured.items()
        if row == name and column in values and (representation == MIX) == mix
    ]
    return f"{sum(found[0]) / len(found[0]):.2f}" if found else NONE


def per_million(seconds):
    """The time of a million words, from that of a step."""
    words = ELMO_SHAPE[0] * ELMO_SHAPE[1]
    return shown(seconds and 1e6 * seconds / words, ",.0f")


def shown(value, kind):
    """A number, or "-" for None."""
    return NONE if value is None else format(value, kind)


if __name__ == "__main__":
    flags.DEFINE_string("speed", None, "What speed.py --json wrote.", required=True)
    flags.DEFINE_string("work_dir", "runs/semfit", "The folder of quality.py.")
    app.run(main)
