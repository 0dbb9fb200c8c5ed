"""The learning curve of tuning: the error on test lists by the number of dev lists.

    python -m benchmarks.dev_size scores/

The weights are tuned on ten draws of so many dev lists; the rows are the mean of the test metric
over the draws, and its lowest and highest value. With 0 dev lists the weights are guessed; "all"
has one draw, of all. LibriSpeech has no dev lists: half of its lists are drawn from, and the other
half is measured, both ways; with --halves, so are the dev lists of all sets. "5-best" cuts the
lists of Arctic. The model scores every text once; the folder keeps the scores. --output_file
writes the figures as JSON, --picture draws them.
The data is in $TTA_DATA.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import commit
from benchmarks.guess import SETS, load
from tta.scoring.combining.decision import select
from tta.scoring.combining.guess import guess
from tta.scoring.combining.part import Part
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights
from tta.scoring.reports.table import align

SIZES = (3, 10, 30, 100, 300)
DRAWS = 10
CUT = 5  # hypotheses


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", type=Path, help="folder for the model's scores")
    parser.add_argument("--model", help="the model; default: the built-in one")
    parser.add_argument("--halves", action="store_true", help="use halves of the dev lists only")
    parser.add_argument("--no_features", action="store_true", help="tune without any features")
    parser.add_argument("--output_file", type=Path, help="JSON file for the figures")
    parser.add_argument("--picture", type=Path, help="SVG file for the curves")
    arguments = parser.parse_args()
    record = {}
    for name, pairs in cases(arguments.scores, arguments.model, arguments.halves):
        record[name] = curve(pairs, not arguments.no_features)
        print(align(table({name: record[name]}), ["left", *["right"] * 9]), flush=True)
    print("\n" + align(table(record), ["left", *["right"] * 9]))
    if arguments.output_file is not None:
        written = {name: {"commit": commit(), **found} for name, found in record.items()}
        arguments.output_file.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if arguments.picture is not None:
        draw(record, arguments.picture)


def cases(folder: Path, model: str | None, halves: bool = False):
    """Yields (name, [(dev, test), ...])."""
    for name, (dev_path, test_path) in SETS.items():
        if name == "examples":
            continue
        cuts = {name: lambda part: part}
        if name.startswith("Arctic"):
            cuts[f"{name}, {CUT}-best"] = cut
        for title, shorten in cuts.items():
            if dev_path is None or halves:
                lists = shorten(load(dev_path or test_path, folder, model))
                odd = np.arange(len(lists.nbest)) % 2 == 1
                one, other = (some(lists, np.flatnonzero(odd == which)) for which in (True, False))
                yield title, [(one, other), (other, one)]
            else:
                dev, test = (shorten(load(path, folder, model)) for path in (dev_path, test_path))
                yield title, [(dev, test)]


def some(part: Part, rows: np.ndarray) -> Part:
    """Some lists of a part, with their scores."""
    return rebuilt(part, [part.nbest[row] for row in rows])


def cut(part: Part) -> Part:
    """The lists with their first hypotheses only."""
    nbest = [replace(one, hypotheses=one.hypotheses[:CUT]) for one in part.nbest]
    return rebuilt(part, nbest)


def rebuilt(part: Part, nbest) -> Part:
    """A part of lists whose texts have been scored."""
    (model,) = part.lists.models
    scores = {
        h.text: (model.reduced["sum"][i, j], model.num_tokens[i, j])
        for i, one in enumerate(part.nbest)
        for j, h in enumerate(one.hypotheses)
    }
    built = Part.build(nbest, part.path).compared(part.statistics.metric).scored(scores)
    return replace(built, lists=replace(built.lists, ranked=part.lists.ranked))


def curve(pairs, features=True):
    """{size: [mean, lowest, highest, standard error] of the test metric}, and the first pass's."""
    values = {"first pass": [], "0": [], **{str(size): [] for size in SIZES}, "all": []}
    for dev, test in pairs:
        names = dev.lists.features.keys() & test.lists.features.keys() if features else ()
        given = FixedWeights(features=dict.fromkeys(sorted(names)))
        values["first pass"].append(measure(test, FIRST_PASS))
        values["0"].append(measure(test, guess(test.lists, given)))
        for size in SIZES:
            random = np.random.default_rng(size)
            for _ in range(DRAWS // len(pairs)):
                drawn = some(dev, random.permutation(len(dev.nbest))[:size])
                values[str(size)].append(measure(test, tune(drawn.lists, drawn.statistics, given)))
        values["all"].append(measure(test, tune(dev.lists, dev.statistics, given)))
    return {name: summary(found, len(pairs)) for name, found in values.items()}


def summary(found, groups):
    """The mean, lowest and highest value, and the standard error of the mean over draws."""
    each = np.array(found).reshape(groups, -1)
    count = each.shape[1]
    error = each.std(axis=1, ddof=1).mean() / np.sqrt(count * groups) if count > 1 else 0.0
    return [round(float(one), 4) for one in (each.mean(), each.min(), each.max(), error)]


def measure(part: Part, weights) -> float:
    return part.statistics.value(select(part.lists, weights))


def table(record):
    """Rows of cells: the mean, and below it the lowest and highest value."""
    heads = ["", *next(iter(record.values()))]
    rows = [heads]
    for name, found in record.items():
        rows.append([name, *(f"{mean:.2f}" for mean, *_ in found.values())])
        ranges = [
            f"{low:.2f}-{high:.2f}" if low < high else "" for _, low, high, _ in found.values()
        ]
        rows.append(["  lowest-highest", *ranges])
    return rows


def draw(record, path: Path):
    """Draws the curves relative to the guess, in percent of the first pass's errors."""
    import matplotlib

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tta-lm"})
    from matplotlib.figure import Figure

    speech = {name: found for name, found in record.items() if not name.startswith("IWSLT")}
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for name, found in speech.items():
        first = found["first pass"][0]
        points = {
            size: 100 * (1 - found[size][0] / first) for size in found if size != "first pass"
        }
        axes.plot(range(len(points)), list(points.values()), "o-", markersize=3, label=f" {name}")
        axes.set_xticks(range(len(points)), list(points))
    axes.axhline(0, color="#888888", linewidth=1)
    axes.set_xlabel("dev lists (0: the guess)")
    axes.set_ylabel("WER, % below the first pass")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
