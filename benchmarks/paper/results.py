"""Writes docs/results.md, docs/results.json and a table of docs/comparison.md: measured tables.

    python -m benchmarks.paper.results

`benchmarks.all_tables` measures the tables and then calls this command. A table that was not
measured keeps the figures that docs/results.json has.
"""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

from absl import flags

from benchmarks.paper import common
from tta import cli
from tta.data.text.files import open_output
from tta.errors import InputError

FLAGS = flags.FLAGS

TABLES = {  # each with the module that measures it
    "table1": "table1",
    "table2": "table2",
    "table3": "sts",
    "table4": "sts",
    "table7": "table7",
    "runtime": "runtime",
    "runtime_layers": "runtime_layers",
    "rate": "rate",
    "memory": "memory",
}

INTRODUCTION = """# Results

The tables of [the paper](https://aclanthology.org/2020.acl-main.76/), with our results beside the
paper's. `python -m benchmarks.all_tables` measures all but figure 6, which needs a GPU, and writes
this page; the command above a table measures that table.
[results.json](results.json) adds signatures, trainings, Spearman's rho, and the differences between
rows with their 95 % intervals.

The paper's models have 3 layers of size 512 and saw 64 million sentences or more. Ours have a
quarter to a third of the parameters, except cloze base, which has as many, and all saw less text:
495 M tokens, cloze base 825 M. So compare rows, not columns.

- Exact scores are log-probabilities; learned scores omit the sum over the vocabulary.
- Unmasked: each token is predicted from the whole sentence, itself included, in one pass.
- The n-gram model is a 5-gram of the same text (`benchmarks/paper/train_ngram.py`).
- GloVe: vectors of 50 numbers; word2vec: of our text. The paper's are those of the STS site.
- Only in results.json: memory; rows in bfloat16, of two models, "token/whitened" and
  "not standardized"; LibriSpeech's lists
  ([record](experiments/reranking.md#rows-that-say-little)).
"""
# Rows whose rules and constants were chosen on STS-B dev, and the mark of their figures there.
CHOSEN, CHOSEN_MARK = re.compile(r", (joint|aligned)$|^T-TA, contrast"), "\u00b6"
# Table -> what of the paper's table is not measured here, and why.
NOT_MEASURED = {
    "table1": "BERT, with and without masks: the paper's BERT is not published, and no BERT that "
    "is was at hand (`--bert` takes one); dev-clean, dev-other, and the lists of Shin et al. "
    "(2019): not published; uniSANLM, biSANLM: not kept",
    "table2": "BERT: as in table 1; Fr-En: there are no such lists",
    "table3": "BERT, with and without masks: as in table 1; uniLM, [EOS]: in results.json only",
    "table7": "BERT: as in table 1",
}
# docs/comparison.md has the speeds.
NOT_SHOWN = ("runtime_layers", "rate", "memory")
FIGURE = """![Runtime against the number of words](pictures/time.svg)

## Figure 6: runtime on a GPU

    {command}

{conditions}

![Runtime on a GPU against the number of words](pictures/time_gpu.svg)
"""

BEGIN, END = "<!-- written by benchmarks/paper/results.py: begin -->", "<!-- end -->"

# That table's columns: (heading, table, column, whether its rows are sentence vectors, digits)
SIDE_BY_SIDE = (
    ("Arctic clean, WER %", "table1", "Arctic clean", False, 2),
    ("Arctic 5 dB, WER %", "table1", "Arctic snr5", False, 2),
    ("IWSLT'14 de-en, BLEU", "table2", "IWSLT'14 de-en", False, 2),
    ("STS-B test, r x 100", "table3", "test", True, 2),
    ("sentences/s", "rate", "sentences/s", False, 0),
    ("the same, TensorFlow", "rate", "sentences/s, TensorFlow", False, 0),
)
# Its rows: (name there, name in the tables of scores, name in those of vectors)
MODELS = (
    ("first pass", "first pass", ""),
    ("no model", "no model", ""),
    ("T-TA, exact", "T-TA, exact", "T-TA, context"),
    ("T-TA, learned", "T-TA, learned", "T-TA, context"),
    ("cloze, exact", "cloze, exact", "cloze, context"),
    ("cloze, learned", "cloze, learned", "cloze, context"),
    ("cloze base, exact", "cloze base, exact", "cloze base, context"),
    ("cloze base, learned", "cloze base, learned", "cloze base, context"),
    ("T-TA, contrast", "", "T-TA, contrast, context"),
    ("biLM", "biLM", "biLM, context"),
    ("uniLM", "uniLM", "uniLM, context"),
    ("5-gram", "n-gram", ""),
    ("GloVe", "", "GloVe, embed"),
)
NOTES = """\
- \u2020 There may be no gain: the 95 % interval of the difference from the first pass contains 0.
- \u2021 The same for the difference from "no model": the language model may add nothing.
"""
# Columns and rows that say little: no model changes the error rate of the lists of a large Whisper
# (docs/experiments/reranking.md), and most rows repeat another one under another condition.
IN_RECORD = (
    (
        *("LibriSpeech clean", "LibriSpeech other", "mean per word", "median per word"),
        *("test-clean, mean per token", "test-clean, median per token"),
    ),
    re.compile(
        r", max$|bfloat16$|not standardized| \+ |, eos$"
        r"|token/whitened$|^(cloze|T-TA, contrast).*, embed$"
    ),
)


def main():
    record = Path(FLAGS.results).with_suffix(".json")
    known = json.loads(record.read_text(encoding="utf-8")) if record.exists() else {}
    tables = {
        name: common.Table.load(name) or (common.Table(**known[name]) if name in known else None)
        for name in TABLES
    }
    readme = Path(FLAGS.readme).read_text(encoding="utf-8")
    before, begin, rest = readme.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise InputError(f"expected the lines {BEGIN} and {END}", FLAGS.readme)
    with open_output(FLAGS.results, overwrite=True) as stream:
        stream.write(results(tables))
    with open_output(record, overwrite=True) as stream:
        measured = {name: asdict(table) for name, table in tables.items() if table}
        stream.write(json.dumps(measured, indent=1, ensure_ascii=False) + "\n")
    with open_output(FLAGS.readme, overwrite=True) as stream:
        stream.write(f"{before}{BEGIN}\n{side_by_side(tables)}{END}{after}")
    print(FLAGS.results, record, FLAGS.readme, sep="\n")


def results(tables):
    """docs/results.md as str; `tables` is {name: `Table`, or None if it was not measured}."""
    parts = [INTRODUCTION]
    shown = {name: table for name, table in tables.items() if name not in NOT_SHOWN}
    if tables["table3"] and tables["table4"]:
        shown["table3"] = joined(tables["table3"], shown.pop("table4"))
    for name, table in shown.items():
        if table is None:
            command = f"python -m benchmarks.paper.{TABLES[name]}"
            parts.append(f"## {name}\n\nNot measured yet: `{command}`\n")
        elif name == "runtime":  # the picture has the rows
            notes = [f"- {line}" for line in table.conditions]
            head = [f"## {table.title}", "", f"    {table.command}", ""]
            gpu = tables["runtime_layers"]
            conditions = "\n".join(f"- {line}" for line in gpu.conditions) if gpu else ""
            command = gpu.command if gpu else ""
            figure = FIGURE.format(command=command, conditions=conditions)
            parts += ["\n".join([*head, *notes, ""]), figure]
        else:
            lines = without(table, *IN_RECORD).markdown()
            parts.append(f"{lines}- Not measured here: {NOT_MEASURED[name]}\n")
    return _once("\n".join(parts))


def joined(sts, sick):
    """Tables 3 and 4, whose rows are the same, as one `Table`."""
    names = {(sts.name, "test"): "STS-B test", (sick.name, "test"): "SICK test"}
    names[sts.name, "dev"] = "STS-B dev"
    both = replace(sts, title="Tables 3 and 4: sentence similarity, Pearson x 100")
    both.columns = list(names.values())
    both.compared = {name: name for name in both.columns}
    for part in ("paper", "rows", "marks"):
        cells = {row: {} for table in (sts, sick) for row in getattr(table, part)}
        for table in (sts, sick):
            for row, values in getattr(table, part).items():
                cells[row] |= {names[table.name, column]: v for column, v in values.items()}
        in_order = {
            row: {column: values[column] for column in both.columns if column in values}
            for row, values in cells.items()
        }
        setattr(both, part, in_order)
    for row, marks in both.marks.items():
        if "STS-B dev" in marks and CHOSEN.search(row):
            marks["STS-B dev"] = CHOSEN_MARK
    return both


def without(table, columns, rows):
    """A copy of a `Table` without these columns and rows, and without the lines about them.

    `rows` is a pattern that finds the names of rows. Rows without a measured cell are left out too,
    and the paper's columns that none of ours is compared with.
    """
    columns = [column for column in table.columns if column not in columns]
    compared = {ours: paper for ours, paper in table.compared.items() if ours in columns}
    kept = {
        name: cells
        for name, cells in table.rows.items()
        if not rows.search(name) and any(column in cells for column in columns)
    }
    gone = {*table.columns, *table.rows} - {*columns, *kept}
    return replace(
        table,
        columns=columns,
        compared=compared,
        rows=kept,
        paper={
            name: {column: value for column, value in cells.items() if column in compared.values()}
            for name, cells in table.paper.items()
            if name in kept
        },
        conditions=[
            line
            for line in table.conditions
            if not line.startswith(tuple(f"{name}:" for name in gone))
            and ": not measured (" not in line
        ],
    )


def _once(page):
    """The page without the notes that already stand below an earlier table."""
    seen, lines = set(), []
    for line in page.splitlines(keepends=True):
        if line.startswith("- Of ") or not (line.startswith("- ") and line in seen):
            lines.append(line)
        seen.add(line)
    return "".join(lines)


def side_by_side(tables):
    """The table of docs/comparison.md as Markdown; models that were not measured have no row."""
    lines = ["| | " + " | ".join(heading for heading, *_ in SIDE_BY_SIDE) + " |"]
    lines.append("|---|" + "---:|" * len(SIDE_BY_SIDE))
    for shown, scores, vectors in MODELS:
        cells = [
            tables[table].cell(vectors if of_vectors else scores, column, digits)
            if tables[table]
            else common.number(None)
            for _, table, column, of_vectors, digits in SIDE_BY_SIDE
        ]
        if set(cells) != {common.number(None)}:
            lines.append(f"| {shown} | " + " | ".join(cells) + " |")
    lines += ["", NOTES.rstrip()]
    used = {tables[name] and tables[name].command for _, name, *_ in SIDE_BY_SIDE}
    limited = [f"`{command}`" for command in sorted(filter(None, used)) if "--limit" in command]
    if limited:
        lines += ["", f"Measured on a sample of each file: {', '.join(limited)}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string(
        "results", "docs/results.md", "Output file for all tables; a .json is written beside it."
    )
    flags.DEFINE_string(
        "readme", "docs/comparison.md", "File whose table between the markers is replaced."
    )
    cli.run(main)
