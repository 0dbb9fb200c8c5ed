"""Tables 2 to 5 of Li et al. 2019: the paper's numbers, and ours beside them, as Markdown.

    python -m benchmarks.semfit.speed --json=benchmarks/semfit/speed.json
    python -m benchmarks.semfit.quality --json=benchmarks/semfit/quality.json ...
    python -m benchmarks.semfit.tables

The paper's models are large, were trained for days on One Billion Word, and were measured below
networks of their own for each task. Ours are the small configs after a few minutes, below a linear
classifier (tta probe) or, where a line of Table 3 says "mix", below a biLSTM over a learned mix of
the layers. So compare the order of the rows, not the numbers. "-" was not measured. Of Tables 3 and
4, rows and columns without a figure of ours are left out; the reasons stand below the tables.

The table of differences is what the paper claims: ELMo-S_ONEB minus other rows, with the 95 %
interval of the paired bootstrap of tta probe, and in how many of our columns it is ahead, with the
p of a two-sided sign test.
"""

import json
from pathlib import Path

from absl import app, flags
from scipy.stats import binomtest

from benchmarks import ROOT
from benchmarks.semfit.quality import BASE, COMPARED, MIX, table
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
FASTTEXT, ELMO_A, ELMO_S = "mean of fasttext", "ELMo-A", BASE
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
# Row -> BASE minus it on COMPARED, in the paper's tables.
DIFFERENCES = {
    ELMO_A: (NONE, "-0.5"),
    "ELMo": (NONE, "-0.1"),
    "ELMo-S_CNN": (NONE, "0.2"),
    "ELMo-Sub": ("-0.5", "1.3"),
    FASTTEXT: ("19.8", "0.7"),
}
# Row and vocabulary in speed.py -> the paper's seconds of a million words on one card, millions of
# weights.
TABLE_5 = {
    ("semfit", "40k"): "13.04 | 20",
    ("semfit", "800k"): "13.04 | 20",
    ("semfit", "2m"): "13.04 | 20",
    ("adaptive", "40k"): "24.78 | 106",
    ("adaptive", "200k"): "- | -",
    ("adaptive", "800k"): "29.99 | 265",
    ("adaptive", "2m"): "54.77 | 420",
    ("sampled", "40k"): "- | -",
    ("sampled", "800k"): "- | -",
    ("full", "40k"): "- | -",
    ("full", "200k"): "- | -",
}
REASONS = NOT_MEASURED | {
    "FastText_CC": "ours is trained on Simple English Wikipedia, and is the input of our rows",
    "ELMo-Sub": "its time is that of a million word pieces",
    "Coref, SRL": "their texts (OntoNotes) are not available here",
    "ELMo_ORG, BASE": "the published ELMo, and the networks for each task, are not available here",
    "NER": "the paper's is CoNLL-2003, which is not available here; ours is WNUT 2017",
    "mean": "the paper's is of ten tasks, of which four are measured here",
    "SST-2": "not measured since all rows read one text",
}


def main(_):
    speed = json.loads(Path(FLAGS.speed).read_text(encoding="utf-8"))
    quality = json.loads(Path(FLAGS.quality).read_text(encoding="utf-8"))
    measured = read_values(quality)
    print(table(measured), "", "**Differences**", "", *difference_table(quality), "", sep="\n")
    for number, lines in (
        (2, table_2(speed)),
        (3, table_3(measured)),
        (4, table_4(measured)),
        (5, table_5(speed)),
    ):
        print(f"**Table {number}**", "", *lines, "", sep="\n")
    for name, reason in REASONS.items():
        print(f"- {name}: {reason}.")


def read_values(quality):
    """All values of quality.py --json, as its `table` takes them."""
    return {
        (name, representation): columns
        for name, rows in quality["values"].items()
        for representation, columns in rows.items()
    }


def difference_table(quality):
    """DIFFERENCES: BASE minus each row in points, and in how many columns it is ahead."""
    measured = read_values(quality)
    heads = [f"{who}: {task}" for who in ("paper", "ours") for task in COMPARED]
    lines = [f"| {BASE} minus | {' | '.join(heads)} | ahead in | p |", "|---|" + "---:|" * 6]
    for name, paper in DIFFERENCES.items():
        mine, other = (columns_of(measured, one) for one in (BASE, name))
        differences = {column: mine[column] - other[column] for column in mine if column in other}
        cells = []
        for task in COMPARED:
            cell = f"{differences[task]:+.1f}" if task in differences else NONE
            if name in quality["differences"][task]:
                _, low, high = quality["differences"][task][name]
                cell += f" [{low:.1f}, {high:.1f}]"
            cells.append(cell)
        ahead = sum(value > 0 for value in differences.values())
        p = binomtest(ahead, len(differences)).pvalue
        cells += [f"{ahead} of {len(differences)}", f"{p:.3f}"]
        lines.append(f"| {name} | {' | '.join([*paper, *cells])} |")
    return lines


def columns_of(measured, name):
    """{column: mean over the seeds} of a row; the columns of the mix have their own names."""
    return {
        f"{column}, mix" if representation == MIX else column: sum(values) / len(values)
        for (row, representation), columns in measured.items()
        if row == name
        for column, values in columns.items()
    }


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
        "| | words | paper: s per million words | weights, M "
        "| ours: s per million words | the output layer alone, s | weights, M |",
        "|---|---:|" + "---:|" * 5,
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
    folder = ROOT / "benchmarks/semfit"
    flags.DEFINE_string("speed", str(folder / "speed.json"), "What speed.py --json wrote.")
    flags.DEFINE_string("quality", str(folder / "quality.json"), "What quality.py --json wrote.")
    app.run(main)
