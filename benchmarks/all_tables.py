"""Every table of every page, from one commit.

    python -m benchmarks.all_tables scores/ light/bin/python
    python -m benchmarks.all_tables

With a folder for the models' scores (and the Python of a light installation), everything that a
machine without a GPU measures in some hours is measured first: STEPS, one command after the other,
each written to its record. The steps of a run that was stopped are left out with --steps. Without
the folder, the records stay as they are. The n-gram models come from benchmarks.paper.train_ngram,
the vectors from benchmarks.paper.train_word2vec and benchmarks.paper.convert_glove. A biLM needs a
pass for each token, so that all models of tables 1, 2 and 7 have a sample of each file (--limit).

Then docs/results.md is written from the records, and the tables of models that were trained for
hours are printed from theirs; tests compare them with the pages. Last come the tables between
markers (TABLES) and the sentences with figures (SENTENCES).
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ROOT

# Name of a step -> its commands. {scores} is the folder of scores, {light} the other Python.
STEPS = {
    "evaluation": ["benchmarks.evaluation"],
    "adaptation": ["benchmarks.adaptation"],
    "guess": ["benchmarks.guess {scores}"],
    "dev_size": [
        "benchmarks.dev_size {scores} --output_file=docs/dev_size.json "
        "--picture=docs/pictures/dev_size.svg"
    ],
    "levels": ["benchmarks.levels {scores} --output_file=docs/levels.json"],
    "phrases": [
        "benchmarks.phrases {scores} --output_file=docs/phrases.json",
        "benchmarks.phrases {scores} --picture=docs/pictures/phrases.svg",
    ],
    "confidence": [
        "benchmarks.confidence {scores} --output_file=docs/confidence.json "
        "--picture=docs/pictures/reliability.svg"
    ],
    "light": ["benchmarks.light --json=docs/light.json --light_python={light}"],
    "table1": ["benchmarks.paper.table1 --limit=300"],
    "table2": ["benchmarks.paper.table2 --limit=300"],
    "sts": ["benchmarks.paper.sts"],
    "rate": ["benchmarks.paper.rate"],
    "table7": ["benchmarks.paper.table7 --limit=1000"],
    "memory": ["benchmarks.paper.memory --limit=30"],
    "runtime": ["benchmarks.paper.runtime"],
}
# What writes or prints tables from records, in this order.
PRINTED = (
    "benchmarks.paper.results",
    "benchmarks.pictures",
    "benchmarks.nar.tables --glue=benchmarks/nar/long.json,benchmarks/nar/gentle.json",
    "benchmarks.semfit.tables",
)
BEGIN, END = "<!-- table: {} -->", "<!-- end of table -->"


@dataclass(frozen=True)
class Records:
    """The records of measurements, as they are in docs/ now."""

    evaluation: dict[str, Any]
    adaptation: dict[str, Any]
    confidence: dict[str, Any]
    dev_size: dict[str, Any]
    levels: dict[str, Any]
    results: dict[str, Any]

    @classmethod
    def read(cls) -> "Records":
        """Reads the files."""
        names = cls.__dataclass_fields__
        return cls(**{n: json.loads((ROOT / f"docs/{n}.json").read_text("utf-8")) for n in names})

    def speed(self, row: str) -> str:
        """The sentences that a model scores in a second, on the default engine if it was timed."""
        cells = self.results["rate"]["rows"][row]
        return f"{cells.get('sentences/s') or cells['sentences/s, TensorFlow']:,.0f}"


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A table; columns from `left` on are aligned right."""
    ruler = "|" + "---|" * left + "---:|" * (len(heads) - left)
    lines = ["| " + " | ".join(cells) + " |" for cells in (heads, *rows)]
    return "\n".join([lines[0], ruler, *lines[1:]])


LISTS = {
    "Arctic clean": "recorded speech, whisper-tiny.en, 50-best",
    "Arctic 5 dB": "the same in noise at 5 dB",
    "ATIS": "flight requests (ATIS), 5-best",
    "adapted": "the same, adapted (`tta adapt`), other dev lists",
    "IWSLT'14": "IWSLT'14 de-en, seven systems",
}


def lists_table(records: Records) -> str:
    """First pass, no model, reranked, oracle and gain of each set: README."""
    rows, metrics = [], {"WER": "WER %", "BLEU": "BLEU"}
    for name, title in LISTS.items():
        is_adapted = name == "adapted"
        measured = records.adaptation["ATIS"] if is_adapted else records.evaluation[name]
        values = measured["rows"]
        reranked = values["atis reranked" if is_adapted else "reranked"]
        cells = [values["first pass"], values["no model"], reranked, values["oracle"]]
        low, high = reranked[2]
        gain = f"{reranked[1]:.1f} % [{low:.1f}, {high:.1f}]"
        rows.append([title, metrics[measured["metric"]], *(f"{c[0]:.2f}" for c in cells), gain])
    heads = ["list", "metric", "first pass", "no model", "reranked", "oracle", "gain"]
    measured = {**records.evaluation, "adapted": records.adaptation["ATIS"]}
    return markdown(heads, rows, left=2) + f"\n\n{commits(measured)}"


def dev_size_table(records: Records) -> str:
    """The test metric by the number of dev lists: reranking.md."""
    rows = [
        [name, *(f"{found[size][0]:.2f}" for size in ("first pass", "0", "10", "100", "all"))]
        for name, found in records.dev_size.items()
        if "5-best" not in name
    ]
    heads = ["test lists", "first pass", "0, the guess", "10", "100", "all"]
    return markdown(heads, rows) + f"\n\n{commits(records.dev_size)}"


def levels_table(records: Records) -> str:
    """One model, two levels, and the larger one on all: levels.md."""
    from benchmarks.levels import table

    heads = ["lists", "small", "levels", "minus small", "rescored", "cloze-base on all"]
    rows = [[name, *row[1:]] for name, row in
            zip(records.levels, table(records.levels)[1:], strict=True)]  # fmt: skip
    return markdown(heads, rows) + f"\n\n{commits(records.levels)}"


CONFIDENCES = (
    "Arctic clean, first pass",
    "Arctic clean, pick",
    "Arctic 5 dB, first pass",
    "Arctic 5 dB, pick",
    "ATIS, pick",
    "ATIS, default",
)


def confidence_table(records: Records) -> str:
    """AUC, the interval of its gain, NCE, ECE of agreement alone and of all: confidence.md."""
    rows = []
    for name in CONFIDENCES:
        measured = records.confidence[name]
        alone, full = (
            [f"{value:.3f}".removeprefix("0") for value in measured[key].values()]
            for key in ("agreement", "all")
        )
        span = ",".join(f"{end:.3f}" for end in measured["interval of the gain"]["AUC"])
        full.insert(1, f"[{span}]".replace("0.", "."))
        rates = [f"{measured[rate]:.2f}" for rate in ("expected WER", "WER")]
        rows.append([name, " ".join(alone), " ".join(full), *rates])
    heads = ["words", "agreement of the list", "all", "expected WER", "WER"]
    return markdown(heads, rows, left=3) + f"\n\n{commits(records.confidence)}"


def commits(record: dict[str, Any]) -> str:
    """The sentence that names the commits of a record, which has one for each set."""
    names: dict[str, list[str]] = {}
    for title, measured in record.items():
        names.setdefault(measured["commit"], []).append(title)
    if len(names) == 1:
        return f"Measured at commit {next(iter(names))}."
    parts = "; ".join(f"{commit} ({', '.join(titles)})" for commit, titles in names.items())
    return f"Measured at commits {parts}."


# Page -> its tables.
TABLES: dict[str, dict[str, Callable[[Records], str]]] = {
    "README.md": {"lists": lists_table},
    "docs/confidence.md": {"confidence": confidence_table},
    "docs/reranking.md": {"dev_size": dev_size_table},
    "docs/levels.md": {"levels": levels_table},
}


def speeds(records: Records) -> list[str]:
    """T-TA and biLM, sentences a second."""
    return [records.speed("T-TA, exact"), records.speed("biLM")]


def bilm_over_tta(records: Records) -> list[str]:
    """How many times as fast as the biLM the T-TA is, for scores and for vectors."""
    rows, columns = records.results["rate"]["rows"], ("sentences/s", "sentences/s, vectors")
    return [f"{rows['T-TA, exact'][name] / rows['biLM'][name]:.1f}" for name in columns]


def of_similarity(records: Records, row: str) -> list[str]:
    """Pearson x 100 of a row on the test sets of STS-B and SICK."""
    return [f"{records.results[table]['rows'][row]['test']:.2f}" for table in ("table3", "table4")]


def no_model_on_iwslt(records: Records) -> list[str]:
    """Reranked minus no model on IWSLT'14, with its interval."""
    return [f"{value:+.2f}" for value in
            records.evaluation["IWSLT'14"]["differences"]["reranked minus no model"]]  # fmt: skip


# Page -> sentences in which {} stands for figures, and what gives them.
SENTENCES: dict[str, list[tuple[str, Callable[[Records], list[str]]]]] = {
    "README.md": [
        ("{} sentences a second on two cores, a biLM of its size {}.", speeds),
        ("speed ({} sentences a second)", lambda records: [records.speed("n-gram")]),
        (
            "Pearson x 100 of {} on STS-B's test set and {} on SICK's",
            lambda records: of_similarity(records, "T-TA, aligned"),
        ),
        (
            "`--model=cloze-base` {} and {}.",
            lambda records: of_similarity(records, "cloze base, aligned"),
        ),
    ],
    "docs/comparison.md": [
        ("the model adds {} BLEU [{}, {}]", no_model_on_iwslt),
        ("{} and {} on the default engine;", bilm_over_tta),
    ],
}


def filled(page: str, sentence: str, figures: Sequence[str]) -> str:
    """The page with other figures in a sentence, which stands there once, in lines of any length.

    Raises:
        ValueError: it does not stand there once.
    """
    words = [re.escape(word).replace(r"\{\}", r"([-+\d.,]*\d)") for word in sentence.split()]
    places = list(re.finditer(r"\s+".join(words), page))
    if len(places) != 1:
        raise ValueError(f"{len(places)} times, not once, on the page: {sentence}")
    for number, figure in reversed(list(enumerate(figures, 1))):
        begin, end = places[0].span(number)
        page = page[:begin] + figure + page[end:]
    return page


def with_tables(page: str, tables: dict[str, str]) -> str:
    """The page with other tables between the markers.

    Raises:
        ValueError: a table has no markers there.
    """
    for name, table in tables.items():
        before, begin, rest = page.partition(BEGIN.format(name))
        _, end, after = rest.partition(END)
        if not (begin and end):
            raise ValueError(f"no markers of the table {name}")
        page = f"{before}{begin}\n{table}\n{end}{after}"
    return page


def pages(records: Records) -> dict[str, str]:
    """{path: the text of each page that has tables or sentences of the records}."""
    texts = {}
    for path in {**TABLES, **SENTENCES}:
        page = (ROOT / path).read_text(encoding="utf-8")
        tables = {name: make(records) for name, make in TABLES.get(path, {}).items()}
        page = with_tables(page, tables)
        for sentence, figures in SENTENCES.get(path, []):
            page = filled(page, sentence, figures(records))
        texts[path] = page
    return texts


def run(command: str) -> None:
    """Runs a module with its flags.

    Raises:
        subprocess.CalledProcessError: it failed, and said why on standard error.
    """
    print(f"\n$ python -m {command}", flush=True)
    subprocess.run([sys.executable, "-m", *shlex.split(command)], cwd=ROOT, check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", nargs="?", type=Path, help="measure first; folder for scores")
    parser.add_argument(
        "light", nargs="?", default=sys.executable, help="Python without TensorFlow"
    )
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=[*STEPS], help="only these")
    arguments = parser.parse_args()
    for name in arguments.steps if arguments.scores else ():
        for command in STEPS[name]:
            run(command.format(scores=arguments.scores.resolve(), light=arguments.light))
    for command in PRINTED:  # the first writes docs/results.json, which the pages need
        run(command)
    for path, text in pages(Records.read()).items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
