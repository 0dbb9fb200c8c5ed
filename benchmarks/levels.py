"""A second model for the probable hypotheses: the table of docs/levels.md.

    python -m benchmarks.levels scores/ --output_file=docs/levels.json

The built-in model on all hypotheses, `tta.Levels("small", "cloze-base")`, and cloze-base on all,
with weights that are tuned on the dev lists, and with guessed ones. Intervals (95 %) are of the
difference to the built-in model. The processor time is that of the models' scores at 5 dB. AUC is
the area under the curve of wrong words, whose weights are fitted on the dev lists; `small_tokens`
has the token scores of the first model. The folder keeps the scores. The data is in $TTA_DATA.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import tta
from benchmarks import commit
from benchmarks.confidence import Words, area
from benchmarks.guess import SETS, load
from tta.scoring.combining.decision import decide
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.score import Models, score
from tta.scoring.combining.systems import WeightChoice
from tta.scoring.combining.weights import FixedWeights
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.reports.table import align
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer

NAMES = ("Arctic clean", "Arctic 5 dB", "ATIS", "IWSLT'14")
FIRST, SECOND = "small", "cloze-base"
TIMED = "Arctic 5 dB"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", type=Path, help="folder for the models' scores")
    parser.add_argument("--sets", nargs="*", choices=NAMES, default=NAMES, help="some of the sets")
    parser.add_argument("--output_file", type=Path, help="JSON file for the figures")
    arguments = parser.parse_args()
    arguments.scores.mkdir(parents=True, exist_ok=True)
    loaded = {name: RerankOptions(engine="onnxruntime").load(name) for name in (FIRST, SECOND)}
    record = {name: measure(name, arguments.scores, loaded) for name in arguments.sets}
    print(align(table(record), ["left", *["right"] * 6]))
    for name, one in record.items():
        for what in ("seconds", "auc"):
            if what in one:
                print(f"{name}, {what}: {one[what]}")
    if arguments.output_file is not None:
        arguments.output_file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


class Known(Scorer):
    """A model whose scores of the texts of some lists are known."""

    def __init__(self, name, *parts):
        self.name, self._scores = name, {}
        for part in parts:
            (model,) = part.lists.models
            for i, one in enumerate(part.nbest):
                for j, h in enumerate(one.hypotheses):
                    self._scores[h.text] = model.reduced["sum"][i, j], model.num_tokens[i, j]

    def score_with_counts(self, texts, progress=False):
        sums, counts = zip(*(self._scores[text] for text in texts), strict=True)
        return np.array(sums), np.array(counts)


class Timed(Scorer):
    """A model that adds up the processor time of its scores, in seconds."""

    def __init__(self, lm):
        self.name, self._lm, self.seconds = lm.name, lm, 0.0

    def score_with_counts(self, texts, progress=False):
        start = time.process_time()
        found = self._lm.score_with_counts(texts)
        self.seconds += time.process_time() - start
        return found


def choose(parts) -> tta.RerankWeights:
    """Weights that are tuned on the first of dev and test lists, or guessed from the test lists."""
    statistics = parts[0].statistics if len(parts) > 1 else None
    return WeightChoice(["lm"], parts[0].lists, statistics, free(parts)).final


def free(parts) -> FixedWeights:
    """No weights are given, and all features are used."""
    return FixedWeights(features=dict.fromkeys(parts[0].lists.features))


def bare(part: Part) -> Part:
    """A part without its model's scores."""
    return replace(part, lists=replace(part.lists, models=()))


def measure(name, folder, loaded):
    """The figures of a set of lists."""
    whole = {
        model: [load(path, folder, None if model == FIRST else model) for path in SETS[name]]
        for model in (FIRST, SECOND)
    }
    metric, count = whole[FIRST][1].statistics.metric, len(whole[FIRST][1].nbest)
    levels = tta.Levels(*(Known(model, *parts) for model, parts in whole.items()))
    record = {
        "metric": metric.name,
        "commit": commit(),
        "hypotheses": len(whole[FIRST][1].texts) / count,
    }
    tuned = {}
    for way, start in (("tuned", 0), ("guessed", 1)):
        systems = {model: parts[start:] for model, parts in whole.items()}
        problem = Problem(tuple(map(bare, systems[FIRST])), is_tuned=way == "tuned")
        scored = score(problem, Models((levels,)), free(problem.parts))
        systems["levels"] = scored.problem.parts
        weights = {model: choose(parts) for model, parts in systems.items()}
        tests = {model: parts[-1] for model, parts in systems.items()}
        picked = np.stack(
            [one.statistics.of(decide(one.lists, weights[m]).picks) for m, one in tests.items()]
        )
        values = metric.corpus(picked.sum(axis=1))
        bounds = paired_bootstrap(picked, metric, lambda values: values[1:] - values[:1])
        rescored = tests["levels"].lists.rescored
        record[way] = dict(zip(systems, map(float, values), strict=True)) | {
            "rescored": rescored.scored.sum() / count,
            "differences": dict(zip([*systems][1:], bounds.tolist(), strict=True)),
        }
        if name == TIMED:
            record.setdefault("seconds", {}).update(
                {f"{way} {k}": v for k, v in seconds(tests["levels"], loaded).items()}
            )
        if way == "tuned":
            tuned = {model: (*systems[model], weights[model]) for model in systems}
    if metric.name == "WER":
        record["auc"] = {
            key: auc(*tuned[model], loaded[lm])
            for key, model, lm in (
                (FIRST, FIRST, FIRST),
                ("levels", "levels", SECOND),
                ("levels, small_tokens", "levels", FIRST),
                (SECOND, SECOND, SECOND),
            )
        }
    return record


def seconds(test, loaded):
    """The processor time of each way of scoring, in seconds a list."""
    first, second = (Timed(loaded[name]) for name in (FIRST, SECOND))
    fixed = replace(free([test]), first_level=test.lists.rescored.weights)
    problem = Problem((bare(test),))
    score(problem, Models((tta.Levels(first, second),)), fixed)
    found = {FIRST: first.seconds, "levels": first.seconds + second.seconds}
    whole = Timed(loaded[SECOND])
    score(problem, Models((whole,)))
    return {name: one / len(test.nbest) for name, one in (found | {SECOND: whole.seconds}).items()}


def auc(dev, test, weights, lm):
    """The area under the curve of wrong words, with the token scores of a model."""
    dev, test = (Words(part, lm, weights) for part in (dev, test))
    scores = dev.fit().probabilities(test.evidence)
    return area(scores, ~test.correct, np.ones(len(test.correct)))


def table(record):
    """The rows of the table: tuned, and guessed in brackets."""
    rows = [["tuned (guessed)", FIRST, "levels", f"minus {FIRST}", "rescored", f"{SECOND} on all"]]
    for name, one in record.items():
        tuned, guessed = one["tuned"], one["guessed"]
        low, high = tuned["differences"]["levels"]
        of = {m: f"{tuned[m]:.2f} ({guessed[m]:.2f})" for m in (FIRST, "levels", SECOND)}
        change = f"{tuned['levels'] - tuned[FIRST]:+.2f} [{low:+.2f}, {high:+.2f}]"
        few = f"{tuned['rescored']:.1f} ({guessed['rescored']:.1f}) of {one['hypotheses']:.1f}"
        rows.append([f"{name}, {one['metric']}", of[FIRST], of["levels"], change, few, of[SECOND]])
    return rows


if __name__ == "__main__":
    main()
