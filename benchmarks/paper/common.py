"""What the tables share: their flags, the models that they compare, and a table as Markdown."""

import json
import os
import re
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from absl import flags

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tta.data.text.files import open_output, read_lines
from tta.errors import InputError
from tta.scoring.scorers.load import BUILT_IN_NAME, PRETRAINED

FLAGS = flags.FLAGS
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Entry:
    """A model in a table.

    Attributes:
        name: its row.
        flag: the flag that says which model it is.
        options: what `tta.load` takes besides.
        representations: what table 3 and 4 compare sentences by; () where it has no vectors.
    """

    name: str
    flag: str
    options: dict = field(default_factory=dict)
    representations: tuple = ("context", "embed")

    @property
    def model(self):
        """What `tta.load` takes."""
        return FLAGS[self.flag].value

    @property
    def is_here(self):
        """Whether there is such a model; what is wrong with one that is there is an error."""
        kind, colon, path = (self.model or "").partition(":")
        if colon and not os.path.isdir(self.model):
            return os.path.exists(path)
        return bool(kind) and (
            self.model == BUILT_IN_NAME
            or os.path.isdir(self.model)
            or (PRETRAINED / self.model / "config.json").exists()
        )


# In the paper's order.
SCORERS = (
    Entry("n-gram", "ngram", representations=()),
    Entry("BERT", "bert", representations=("context", "embed", "cls")),
    Entry("BERT, unmasked", "bert", {"pll_variant": "maskless"}, ("context",)),
    Entry("uniLM", "unilm", representations=("context", "embed", "eos")),
    Entry("biLM", "bilm"),
    Entry("T-TA", "tta"),
    Entry("T-TA base", "base"),
)
ENCODERS = (
    Entry("GloVe", "glove", representations=("embed",)),
    Entry("word2vec", "word2vec", representations=("embed",)),
    *(entry for entry in SCORERS if entry.representations),
)


def define_flags():
    """Defines the flags of all tables."""
    data = os.environ.get("TTA_DATA", "../shared/data")
    flags.DEFINE_string("data_dir", data, "The data's folder; the default is $TTA_DATA, if set.")
    flags.DEFINE_string("output_dir", "runs/paper", "Where tables go, as .json, for results.py.")
    flags.DEFINE_integer(
        "limit",
        None,
        "Use so many lists, pairs or sentences of each file, evenly spread over it: a biLM, with a "
        "pass a token, is slow on all of them.",
        lower_bound=2,
    )
    for name, default in {
        "tta": BUILT_IN_NAME,
        "base": "base",
        "bilm": "bilm-small",
        "unilm": "unilm-small",
        "bert": None,
        "ngram": "kenlm:runs/5gram-spoken.binary",
        "ngram_written": "kenlm:runs/5gram-written.binary",
        "glove": "glove:runs/glove.6B.50d.txt",
        "word2vec": None,
    }.items():
        flags.DEFINE_string(name, default, "A model, as --model takes it; '-' rows if missing.")


def data(*names):
    """The path of a file below --data_dir."""
    path = Path(FLAGS.data_dir, *names)
    if not path.exists():
        raise InputError("no such file; --data_dir or TTA_DATA names the data's folder", path)
    return str(path)


def transcripts():
    """The sentences of LibriSpeech dev-clean, lower-cased: a list of str."""
    path = data("text_eval", "librispeech_dev-clean.trans.txt")
    lines = [line.partition(" ")[2].lower() for line in read_lines(path)]
    return spread(lines)


def spread(items):
    """At most --limit of a list's items, evenly spread: speakers and topics come in runs."""
    count = min(FLAGS.limit or len(items), len(items))
    return [items[i * len(items) // count] for i in range(count)]


def cached(path, write):
    """A file that is made of another once, for several tables."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_output(path) as stream:
            write(stream)
    return str(path)


def say(text):
    """Tells on standard error how far it is."""
    print(text, file=sys.stderr, flush=True)


def training_of(entry):
    """What a model was trained on, in its own words: one line, or ""."""
    kind, colon, path = entry.model.partition(":")
    if colon:
        facts = Path(f"{path}.json")  # of train_ngram.py
        if not facts.exists():
            return ""
        facts = json.loads(facts.read_text(encoding="utf-8"))
        return (
            f"order {facts['order']}, {facts['words']:,} words in {facts['form']} form, "
            f"n-grams of {len(facts['prune'])} words and more pruned up to {facts['prune'][-1]}"
        )
    folder = PRETRAINED / kind if (PRETRAINED / kind).is_dir() else Path(kind)
    folder = ROOT / "tta" / BUILT_IN_NAME if kind == BUILT_IN_NAME else folder
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    found = re.search(r"^Trained .+?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found.group().split()).rstrip(":") if found else ""


@dataclass
class Table:
    """A table of numbers: the paper's columns beside those measured here.

    Attributes:
        name: `table1`; its file's name.
        title: what it shows.
        columns: the measured columns' headings.
        paper: {row: {column: number}}; the paper's columns.
        compared: {measured column: the paper's}: whose orders are compared.
        higher_is_better: in all columns.
        conditions: lines of text: models, lists, how.
        findings: lines of text: what else was measured.
        models: {model: what it was trained on}.
        rows: {row: {column: number}}, in the order to show; filled as it is measured.
        command: that measured it.
    """

    name: str
    title: str
    columns: list
    paper: dict
    compared: dict = field(default_factory=dict)
    higher_is_better: bool = False
    conditions: list = field(default_factory=list)
    findings: list = field(default_factory=list)
    models: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    command: str = ""

    def set(self, row, column, value):
        """Fills a cell."""
        self.rows.setdefault(row, {})[column] = float(value)

    def note_models(self, entries, signatures):
        """Adds to the conditions which models there were.

        Args:
            entries: the table's `Entry`s.
            signatures: {row: the model's signature}.
        """
        for entry in entries:
            if not entry.is_here:
                self.rows.setdefault(entry.name, {})
                reason = f"--{entry.flag}: no {entry.model}"
                if entry.model is None:  # the flag's default: it is others' work
                    reason = f"no pretrained one was at hand, and --{entry.flag} takes one"
                self.conditions.append(f"{entry.name}: not here ({reason})")
            elif entry.name in signatures:
                self.conditions.append(f"{entry.name}: `{signatures[entry.name]}`")
                if said := training_of(entry):
                    self.models[entry.model] = said

    def markdown(self):
        """The table with its command, conditions and findings; `models` are left to the caller."""
        paper_columns = list(dict.fromkeys(c for row in self.paper.values() for c in row))
        heads = ["", *(f"paper: {c}" for c in paper_columns), *self.columns]
        lines = [f"## {self.title}", "", f"    {self.command}", ""]
        lines += ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
        for name in dict.fromkeys([*self.rows, *self.paper]):
            theirs, ours = self.paper.get(name, {}), self.rows.get(name, {})
            cells = [number(theirs.get(c)) for c in paper_columns]
            cells += [number(ours.get(c)) for c in self.columns]
            lines.append("| " + " | ".join([name, *cells]) + " |")
        lines += [""] + [f"- {line}" for line in self.conditions]
        lines += [""] + [f"- {line}" for line in self.findings] if self.findings else []
        if self.compared:
            pairs, found = self.disagreements()
            lines += [
                "",
                f"Of {pairs} pairs of rows that both have, {len(found)} are in another order here"
                + (":" if found else "."),
            ]
            lines += ["", *(f"- {line}" for line in found)] if found else []
        return "\n".join(lines) + "\n"

    def disagreements(self):
        """How many pairs of rows can be compared with the paper's, and those that differ, as text.

        What is equal in the paper or here has no order to differ.
        """
        sign = 1 if self.higher_is_better else -1
        pairs, lines = 0, []
        for ours, theirs in self.compared.items():
            known = [
                name
                for name in self.paper
                if theirs in self.paper[name] and ours in self.rows.get(name, {})
            ]
            for i, first in enumerate(known):
                for second in known[i + 1 :]:
                    paper = sign * (self.paper[first][theirs] - self.paper[second][theirs])
                    here = sign * (self.rows[first][ours] - self.rows[second][ours])
                    pairs += 1
                    if paper * here < 0:
                        better, worse = (first, second) if here > 0 else (second, first)
                        lines.append(
                            f"{ours}: {better} ({number(self.rows[better][ours])}) is better than "
                            f"{worse} ({number(self.rows[worse][ours])})"
                        )
        return pairs, lines

    def save(self):
        """Writes the table for results.py, and prints it."""
        script = Path(sys.argv[0]).resolve().relative_to(ROOT)
        # Where the data lies is the machine's; all else decides the numbers.
        given = [a for a in sys.argv[1:] if not a.startswith(("--data_dir", "--output_dir"))]
        self.command = " ".join(["python", str(script), *given])
        folder = Path(FLAGS.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        with open_output(folder / f"{self.name}.json", overwrite=True) as stream:
            json.dump(asdict(self), stream, indent=1)
        print(self.markdown(), models_list(self.models), sep="\n")

    @classmethod
    def load(cls, name):
        """The table that was saved under a name, or None."""
        path = Path(FLAGS.output_dir) / f"{name}.json"
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def models_list(models):
    """What the models were trained on, as a Markdown list."""
    return "".join(f"- `{model}`: {text}\n" for model, text in models.items())


def number(value, digits=2):
    """A cell: "-" where nothing was measured."""
    return "-" if value is None or np.isnan(value) else f"{value:,.{digits}f}"
