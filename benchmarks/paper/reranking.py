"""Shared by tables 1 and 2: lists are reranked with one model after the other."""

import functools
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import tta
from benchmarks.paper.common import FLAGS, SCORERS, cached, data, say, spread
from tta.data.nbest.files import read_nbest, write_nbest
from tta.scoring.reports.evaluation import compare_rows
from tta.scoring.reports.table import format_interval
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.load import KINDS
from tta.scoring.scorers.scorer import Scorer, TokenScores

BONUS_ALONE = "length bonus alone"


class NoModel(Scorer):
    """Scores every word 0, which shows the effect of the length bonus alone."""

    def __init__(self, name):
        self.name = self.signature = name

    def score_tokens(self, texts, progress=False):
        return [TokenScores(text.split(), np.zeros(len(text.split()))) for text in texts]


class Once(Scorer):
    """A model that scores no text twice; LibriSpeech's parts are each other's dev lists."""

    def __init__(self, lm):
        self.lm, self.name, self.signature = lm, lm.name, lm.signature
        self.known = {}  # text -> (score, tokens)

    def score_with_counts(self, texts, progress=False):
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        scored = zip(*self.lm.score_with_counts(new, progress), strict=True)
        self.known |= dict(zip(new, scored, strict=True))
        sums, counts = zip(*(self.known[text] for text in texts), strict=True)
        return np.array(sums), np.array(counts)


@functools.lru_cache(maxsize=1)
def once(model, pll_variant="original"):
    """A model as `Once`; the last one is cached."""
    return Once(tta.load(model, pll_variant=pll_variant))


@dataclass(frozen=True)
class Lists:
    """Lists to rerank, and lists to tune on.

    Attributes:
        test, dev: paths below --data_dir, (path,) or (path, references).
        options: further arguments of `RerankConfig`.
    """

    test: tuple
    dev: tuple
    options: dict

    def config(self):
        """The `RerankConfig`; with --limit, of that many lists of each file."""
        (test, test_reference), (dev, dev_reference) = _files(self.test), _files(self.dev)
        return RerankConfig(
            nbest_file=test,
            reference_file=test_reference,
            dev_nbest_file=dev,
            dev_reference_file=dev_reference,
            **self.options,
        )


def _files(names):
    nbest, reference = ([data(*name.split("/")) for name in names] + [None])[:2]
    if FLAGS.limit is None:
        return nbest, reference
    name = "-".join(Path(nbest).parts[-2:])
    path = Path(FLAGS.output_dir, f"limit-{FLAGS.limit}", f"{name}.jsonl")

    def write(stream):
        lists = read_nbest(nbest, reference_file=reference).lists
        write_nbest(stream, spread(lists), "jsonl")

    return cached(path, write), None


def measure(table, sets, entries=SCORERS, focus="T-TA"):
    """Fills a table with the result of each model on each set of lists, tuned on its dev lists.

    Args:
        table: a `Table`; its columns are the sets' names.
        sets: {name: `Lists`}.
        entries: the `Entry`s of the models.
        focus: the row whose difference from every other row is reported, with its interval.
    """
    KINDS.update(once=once, words=NoModel)
    table.rows = {name: {} for name in ("first pass", BONUS_ALONE, *(e.name for e in entries))}
    configs = {column: lists.config() for column, lists in sets.items()}
    say(BONUS_ALONE)
    alone = {
        column: rerank_files(replace(config, lm_weight=[0.0]), ["words:none"])
        for column, config in configs.items()
    }
    rows = {
        column: {
            "first pass": bonus.test.row("first pass"),
            BONUS_ALONE: bonus.test.row("reranked"),
        }
        for column, bonus in alone.items()
    }
    signatures = {}
    for entry in entries:
        if entry.is_here:
            for column, config in configs.items():
                say(f"{entry.name}: {column}")
                report = rerank_files(config, [f"once:{entry.model}"], **entry.options)
                rows[column][entry.name] = report.test.row("reranked")
                signatures[entry.name] = report.signatures[-1].split("|reduction:")[0]
    for column, bonus in alone.items():
        for name, row in rows[column].items():
            table.set(name, column, row.value)
        table.set("oracle", column, bonus.test.row("oracle").value)
        if focus in rows[column]:
            for name, row in rows[column].items():
                if name != focus:
                    difference = compare_rows(rows[column][focus], row, bonus.metric)
                    table.findings.append(
                        f"{column}, {focus} minus {name}: {difference.value:+.2f} "
                        f"{format_interval(difference.interval, '.2f')}"
                    )
        table.conditions.append(
            f"{column}: {bonus.test.num_lists:,} lists, {bonus.test.num_hypotheses:,} hypotheses; "
            f"tuned on {bonus.dev.num_lists:,} lists"
        )
    table.conditions.append(
        "lm_weight, length bonus and reduction of every model are tuned on dev (the paper tunes "
        f"only the weight); `{bonus.signatures[0]}`; `{bonus.metric.signature}`"
    )
    table.note_models(entries, signatures)
