"""Shared by the tables: their flags, the models they compare, and a table as Markdown."""

import itertools
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags

from benchmarks import ROOT, commit, evaluation_data
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.formats.trained_models import BUILT_IN, BUILT_IN_NAME, PRETRAINED
from tta.names import CONFIG, STANDARDIZATION
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions

FLAGS = flags.FLAGS

ORACLE = "oracle"
EARLIER = "§"  # marks a row that an earlier version decided
DIGITS = 2  # after the point, in a cell


@dataclass(frozen=True)
class Entry:
    """A model in a table.

    Attributes:
        name: the name of its row.
        flag: the flag that names the model.
        options: how it is loaded. Scores are exact log-probabilities in float32, unless an option
            says otherwise.
        representations: the sentence vectors of tables 3 and 4.
        is_raw: whether its last outputs are those before they were standardized, as in the paper.
    """

    name: str
    flag: str
    options: ScoreOptions = DEFAULTS
    representations: tuple = ()
    is_raw: bool = False

    @property
    def model(self):
        """The model as `tta.load` takes it."""
        model = FLAGS[self.flag].value
        return f"raw:{model}" if self.is_raw and model else model

    @property
    def missing(self):
        """Why the model cannot be measured, "" if it can. Wrong files are an error later."""
        if self.model is None:  # the flag has no default
            return f"no model was available; set --{self.flag}"
        name = FLAGS[self.flag].value if self.is_raw else self.model
        folder = model_folder(name)
        _, colon, path = name.partition(":")
        if not (folder.is_dir() or (colon and os.path.exists(path))):
            return f"--{self.flag}={name} does not exist"
        if self.is_raw and not (folder / STANDARDIZATION).exists():
            return f"{name} does not record how its outputs were standardized"
        if self.options.normalizer == "learned":
            config = folder / CONFIG
            if not (config.exists() and read_config(config).learned_normalizer):
                return f"--{self.flag}={self.model} was trained without --log_normalizer_weight"
        return ""


LEARNED = ScoreOptions(normalizer="learned")
BFLOAT16 = ScoreOptions(precision="bfloat16")
LEARNED_BFLOAT16 = ScoreOptions(normalizer="learned", precision="bfloat16")
UNMASKED = ScoreOptions(pll_variant="maskless")

# In the paper's order. The paper's T-TA computes the exact softmax.
SCORERS = (
    Entry("n-gram", "ngram"),
    Entry("BERT", "bert"),
    Entry("BERT, unmasked", "bert", UNMASKED),
    Entry("uniLM", "unilm"),
    Entry("biLM", "bilm"),
    Entry("biLM, unmasked", "bilm", UNMASKED),
    Entry("T-TA, exact", "tta"),
    Entry("T-TA, exact, bfloat16", "tta", BFLOAT16),
    Entry("T-TA, learned", "tta", LEARNED),
    Entry("T-TA, learned, bfloat16", "tta", LEARNED_BFLOAT16),
    Entry("cloze, exact", "cloze"),
    Entry("cloze, learned", "cloze", LEARNED),
    Entry("cloze base, exact", "cloze_base"),
    Entry("cloze base, learned", "cloze_base", LEARNED),
)
# Table 1 has two models of words (Shin et al. 2019), trained as docs/tutorials/own_model.md says.
WORD_SCORERS = (Entry("uniSANLM (words)", "unisanlm"), Entry("biSANLM (words)", "bisanlm"))


def _both(entry):
    """A model with its outputs standardized, as ours are, and as the paper has them."""
    raw = replace(entry, name=f"{entry.name}, not standardized", is_raw=True)
    return entry, replace(raw, representations=entry.representations[:1])


# `embed` needs no masking, so it stands in the rows of "unmasked", as in the paper.
ENCODERS = (
    Entry("GloVe", "glove", representations=("embed",)),
    Entry("word2vec", "word2vec", representations=("embed",)),
    Entry("BERT", "bert", representations=("context", "cls")),
    Entry("BERT, unmasked", "bert", UNMASKED, ("context", "embed")),
    *_both(Entry("uniLM", "unilm", representations=("context", "embed", "eos"))),
    *_both(Entry("biLM", "bilm", representations=("context",))),
    *_both(Entry("biLM, unmasked", "bilm", UNMASKED, ("context", "embed"))),
    *_both(Entry("T-TA", "tta", representations=("context", "embed"))),
    *_both(Entry("cloze", "cloze", representations=("context", "embed"))),
    *_both(Entry("cloze base", "cloze_base", representations=("context", "embed"))),
    Entry("T-TA, contrast", "similarity", representations=("context", "embed")),
)


def asked(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """The entries that --rows names; all without it.

    Raises:
        InputError: no entry has such a name.
    """
    if FLAGS.rows is None:
        return tuple(entries)
    known = {entry.name: entry for entry in entries}
    if unknown := [name for name in FLAGS.rows.split(";") if name not in known]:
        raise InputError(f"--rows: no row {unknown[0]!r}; there are {'; '.join(known)}")
    return tuple(known[name] for name in FLAGS.rows.split(";"))


def model_folder(model):
    """The folder of a model that is named as in `tta.load`, whether it exists or not: a `Path`."""
    if model == BUILT_IN_NAME:
        return BUILT_IN
    return PRETRAINED / model if (PRETRAINED / model / CONFIG).exists() else Path(model)


def define_flags():
    """Defines the flags of all tables."""
    folder = str(evaluation_data.FOLDER)
    flags.DEFINE_string("data_dir", folder, "Folder of the evaluation data. Default: $TTA_DATA.")
    flags.DEFINE_string("output_dir", "runs/paper", "Output folder of the tables, .json files.")
    flags.DEFINE_integer(
        "limit",
        None,
        "Number of lists, pairs or sentences to use from each file, evenly spread over it. A biLM "
        "needs one pass per token and is slow on whole files.",
        lower_bound=2,
    )
    flags.DEFINE_string(
        "rows",
        None,
        "Models to measure, by the names of their rows, separated by ';'. The other rows stay as "
        "they were. Default: all.",
    )
    for name, default in {
        "tta": BUILT_IN_NAME,
        "cloze": "cloze-small",
        "cloze_base": "cloze-base",
        "similarity": "similarity-small",
        "bilm": "bilm-small",
        "unilm": "unilm-small",
        "unisanlm": None,
        "bisanlm": None,
        "bert": None,
        "ngram": "kenlm:runs/5gram-spoken.binary",
        "ngram_written": "kenlm:runs/5gram-written.binary",
        "glove": "glove:runs/glove.6B.50d.txt",
        "word2vec": "word2vec:runs/word2vec.bin",
    }.items():
        flags.DEFINE_string(name, default, "A model as for --model; if missing, its row has '-'.")


def data(*names):
    """The path of a file below --data_dir."""
    path = evaluation_data.path("/".join(names), Path(FLAGS.data_dir))
    if not path.exists():
        raise InputError("no such file; set --data_dir or TTA_DATA to the evaluation data", path)
    return str(path)


def transcripts(limit: int | None = None) -> list[str]:
    """The sentences of LibriSpeech dev-clean, lower-cased; `limit` is as in `spread`."""
    path = data("text_eval", "librispeech_dev-clean.trans.txt")
    lines = [line.partition(" ")[2].lower() for line in iter_lines(path)]
    return spread(lines, limit)


def spread(items: Sequence[Any], limit: int | None = None) -> list[Any]:
    """At most `limit` items, or --limit without one, evenly spread over speakers and topics."""
    count = min(limit or FLAGS.limit or len(items), len(items))
    return [items[i * len(items) // count] for i in range(count)]


def cached(path, write):
    """Creates a derived file with `write` unless it exists, and returns its path as str."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_output(path) as stream:
            write(stream)
    return str(path)


def say(text):
    """Prints a progress message on standard error."""
    print(text, file=sys.stderr, flush=True)


def training_of(entry):
    """A model's training as its README or facts file describes it: one line, or ""."""
    kind, colon, path = entry.model.partition(":")
    if colon:
        facts = Path(f"{path}.json")  # written by train_ngram.py
        if not facts.exists():
            return ""
        facts = json.loads(facts.read_text(encoding="utf-8"))
        return (
            f"order {facts['order']}, {facts['words']:,} words in {facts['form']} form; n-grams of "
            f"{len(facts['prune'])} or more words are pruned if their count is at most "
            f"{facts['prune'][-1]}"
        )
    readme = model_folder(kind) / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else ""
    found = re.search(r"^Trained .+?(?=\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
    return " ".join(found.group().split()).rstrip(":") if found else ""


@dataclass
class Table:
    """A table of numbers: the paper's columns and those measured here.

    Attributes:
        name: name of its file, for example `table1`.
        title: the heading.
        columns: headings of the measured columns.
        paper: {row: {column: number}}, the paper's columns; `paper_rows` makes it.
        compared: {measured column: the paper's column whose order of rows it is compared with}.
        higher_is_better: holds for all columns.
        conditions: lines of text about lists and method.
        signatures: {row: what its model's scores depend on}.
        differences: {column: {row: {other row: [difference, low, high]}}}, with the 95 % interval.
        findings: lines of text with further measurements.
        models: {model: description of its training}.
        rows: {row: {column: number}} in display order; filled during the measurement.
        marks: {row: {column: str}}, what is shown after a number, such as "†".
        command: the command that measured the table.
        commit: the commit of the code that measured it.
    """

    name: str
    title: str
    columns: list
    paper: dict
    compared: dict = field(default_factory=dict)
    higher_is_better: bool = False
    conditions: list = field(default_factory=list)
    signatures: dict = field(default_factory=dict)
    differences: dict = field(default_factory=dict)
    findings: list = field(default_factory=list)
    models: dict = field(default_factory=dict)
    rows: dict = field(default_factory=dict)
    marks: dict = field(default_factory=dict)
    command: str = ""
    commit: str = ""

    def set(self, row, column, value, mark=""):
        """Fills a cell."""
        self.rows.setdefault(row, {})[column] = float(value)
        self.marks.setdefault(row, {})[column] = mark

    def cell(self, row, column, digits=DIGITS):
        """A measured cell as text, with its mark; "-" if it was not measured."""
        text = number(self.rows.get(row, {}).get(column), digits)
        return f"{text} {self.marks.get(row, {}).get(column, '')}".rstrip()

    def note_models(self, entries, signatures):
        """Keeps each model's signature, or adds a condition that says why it was not measured.

        Args:
            entries: the `Entry`s of the table.
            signatures: {row: the model's signature}.
        """
        for entry in entries:
            if entry.missing:
                self.rows.setdefault(entry.name, {})
                self.conditions.append(f"{entry.name}: not measured ({entry.missing})")
            elif entry.name in signatures:
                self.signatures[entry.name] = signatures[entry.name]
                if training := training_of(entry):
                    self.models[entry.model] = training

    def markdown(self, rows=None):
        """The table with its command and conditions, as docs/results.md shows it.

        `rows` are the names of those to show; None for all that have a number.
        """
        paper_columns = list(dict.fromkeys(c for row in self.paper.values() for c in row))
        heads = ["", *(f"paper: {c}" for c in paper_columns), *self.columns]
        lines = [f"## {self.title}", "", f"    {self.command}", ""]
        lines += ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
        for name in rows or dict.fromkeys([*self.rows, *self.paper]):
            cells = [number(self.paper.get(name, {}).get(c)) for c in paper_columns]
            cells += [self.cell(name, c) for c in self.columns]
            if set(cells) != {number(None)}:
                lines.append("| " + " | ".join([name, *cells]) + " |")
        lines += [""] + [f"- {line}" for line in self.conditions]
        if self.compared:
            pairs, found = self.disagreements()
            lines += [
                f"- Of {pairs} pairs of rows that have an order in both columns, {len(found)} are "
                "in a different order here",
            ]
        return "\n".join(lines) + "\n"

    def details(self):
        """What docs/results.json has besides: lines of text."""
        lines = [f"{row}: {signature}" for row, signature in self.signatures.items()]
        for column, rows in self.differences.items():
            for row, others in rows.items():
                against = (
                    f"{value:+.2f} [{low:+.2f}, {high:+.2f}] against {other}"
                    for other, (value, low, high) in others.items()
                )
                lines.append(f"{column}, {row}: {'; '.join(against)}")
        lines += self.findings
        lines += self.disagreements()[1] if self.compared else []
        lines += [f"{model}: {training}" for model, training in self.models.items()]
        return "".join(f"- {line}\n" for line in lines)

    def disagreements(self):
        """Compares the order of rows with the paper's, without the oracle.

        Two rows whose values are equal as printed, in the paper or here, have no order and do not
        count, nor do rows that an earlier version decided (EARLIER).

        Returns:
            (number of pairs of rows with an order in both, lines of text about those pairs in a
            different order).
        """
        sign = 1 if self.higher_is_better else -1
        pairs, lines = 0, []
        for ours, theirs in self.compared.items():
            known = [
                name
                for name in self.paper
                if name != ORACLE and theirs in self.paper[name] and ours in self.rows.get(name, {})
                if EARLIER not in self.marks.get(name, {}).get(ours, "")
            ]
            for first, second in itertools.combinations(known, 2):
                paper = sign * (self.paper[first][theirs] - self.paper[second][theirs])
                values = [round(self.rows[name][ours], DIGITS) for name in (first, second)]
                here = sign * (values[0] - values[1])
                if paper and here:
                    pairs += 1
                if paper * here < 0:
                    better, worse = (first, second) if here > 0 else (second, first)
                    lines.append(
                        f"{ours}: {better} ({number(self.rows[better][ours])}) is better than "
                        f"{worse} ({number(self.rows[worse][ours])})"
                    )
        return pairs, lines

    def save(self):
        """Prints the table and writes it for results.py."""
        if FLAGS.rows is not None and (known := self.known(self.name)):
            self.add_to(known)
            known._write()
            return
        script = Path(sys.argv[0]).resolve().relative_to(ROOT).with_suffix("")
        # Paths depend on the machine; all other flags affect the numbers.
        given = [a for a in sys.argv[1:] if not a.startswith(("--data_dir", "--output_dir"))]
        self.command = " ".join(["python", "-m", ".".join(script.parts), *given])
        self.commit = commit()
        self._write()

    def _write(self):
        folder = Path(FLAGS.output_dir)
        folder.mkdir(parents=True, exist_ok=True)
        with open_output(folder / f"{self.name}.json", overwrite=True) as stream:
            json.dump(asdict(self), stream, indent=1)
        print(self.markdown(), self.details(), sep="\n")

    def add_to(self, other):
        """Puts what was measured of this table into an earlier one, which has more rows."""
        measured = {name: cells for name, cells in self.rows.items() if cells}
        names = [*other.rows]
        for before, name in zip([None, *self.rows], self.rows, strict=False):
            if name not in names:
                names.insert(names.index(before) + 1 if before in names else len(names), name)
        other.rows = {name: other.rows.get(name, {}) for name in names}
        if ORACLE in other.rows:  # the last row
            other.rows[ORACLE] = other.rows.pop(ORACLE)
        other.rows |= measured
        other.columns = list(dict.fromkeys([*other.columns, *self.columns]))
        other.compared |= self.compared
        other.marks |= self.marks
        for column, rows in self.differences.items():
            other.differences.setdefault(column, {}).update(rows)
        other.signatures |= self.signatures
        other.models |= self.models
        ended = [f"{name}: not measured (" for name in measured]
        kept = [c for c in other.conditions if not c.startswith(tuple(ended))]
        other.conditions = list(dict.fromkeys([*kept, *self.conditions]))
        other.findings = list(dict.fromkeys([*other.findings, *self.findings]))

    @classmethod
    def known(cls, name):
        """The table as it was measured before, here or for docs/results.json; None if never."""
        record = json.loads((ROOT / "docs/results.json").read_text(encoding="utf-8"))
        return cls.load(name) or (cls(**record[name]) if name in record else None)

    @classmethod
    def load(cls, name):
        """The table saved under a name, or None."""
        path = Path(FLAGS.output_dir) / f"{name}.json"
        return cls(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def paper_rows(columns, rows):
    """{row: {column: number}} from {row: its numbers in the order of the columns}."""
    return {row: dict(zip(columns, cells, strict=True)) for row, cells in rows.items()}


def number(value, digits=DIGITS):
    """A cell of a table; "-" for a missing value."""
    return "-" if value is None or np.isnan(value) else f"{value:,.{digits}f}"
