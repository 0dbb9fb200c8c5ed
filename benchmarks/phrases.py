"""What phrases that a user knows give: the table and the picture of docs/phrases.md.

    python -m benchmarks.phrases scores/

Phrases are the words of the references of the test lists that are not among the 5,000 most frequent
words, and random rare words that nobody says, up to the number in the row. "All" has all of the
former, an upper bound; "30 %" a random part of them, nearer to a user's list; "none" has none. The
weights are tuned on the dev lists, without phrases, and guessed without dev lists; phrases get
theirs by the rule. Lists are cut to 5 or 1 hypotheses for the rows with candidates. "All, common"
has the 1,000 commonest words, too. The difference from the same lists without phrases has its
paired 95 % interval. The folder keeps the model's scores and the frequent words. --output_file
writes the figures as JSON, --picture draws them from docs/phrases.json. --dev measures each half of
Arctic's dev lists with the weights of the other half. The data is in $TTA_DATA.
"""

import argparse
import json
import lzma
import re
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import numpy as np

from benchmarks import ROOT
from benchmarks.evaluation_data import FOLDER
from benchmarks.guess import SETS, guess, load
from benchmarks.pictures import BLUE, GREY, ORANGE, STYLE
from tta.data.text.files import open_output
from tta.scoring.combining.decision import select
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import score_texts
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FixedWeights
from tta.scoring.metrics.significance import paired_bootstrap
from tta.scoring.phrases.candidates import with_candidates
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.phrases.weight import biased_errors, weigh_phrases
from tta.scoring.reports.table import align
from tta.scoring.scorers.options import RerankOptions

NAMES = ("Arctic clean", "Arctic 5 dB", "ATIS", "IWSLT'14")
CASES = ((100, 1.0), (1_000, 1.0), (10_000, 1.0), (1_000, 0.3), (1_000, 0.0), (10_000, 0.0))
COMMON = (1_000, None)  # beside as many common words
SHORT = ((1_000, 1.0), (1_000, 0.3), (1_000, 0.0))  # of lists of few hypotheses
SHARES = {1.0: "all", 0.3: "30 %", 0.0: "none", None: "all, common"}
FREQUENT, RARE = 5_000, 60_000  # ranks of words by frequency: rare words are between them
TEXTS, LINES = ("simplewiki", "gutenberg"), 1_000_000
FIGURES = ROOT / "docs/phrases.json"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", type=Path, help="folder for the model's scores")
    parser.add_argument("--output_file", type=Path, help="JSON file for the figures")
    parser.add_argument("--dev", action="store_true", help="measure on halves of dev lists")
    parser.add_argument("--picture", type=Path, help="draw this SVG file from docs/phrases.json")
    arguments = parser.parse_args()
    if arguments.picture is not None:
        draw(json.loads(FIGURES.read_text(encoding="utf-8")), arguments.picture)
        return
    arguments.scores.mkdir(parents=True, exist_ok=True)
    words, lm = (
        frequent_words(arguments.scores),
        RerankOptions(engine="onnxruntime").load(),
    )
    rows = []
    for name in NAMES[:2] if arguments.dev else NAMES:
        dev, test = (load(path, arguments.scores) for path in SETS[name])
        if arguments.dev:
            one, other = (cut(dev, rows=slice(start, None, 2)) for start in (0, 1))
            rows += measure(f"{name} dev, even", other, one, words, lm)
            rows += measure(f"{name} dev, odd", one, other, words, lm)
        else:
            rows += measure(name, dev, test, words, lm)
    heads = [*rows[0]]
    cells = [[shown(row[head]) for head in heads] for row in rows]
    print(align([heads, *cells], ["left"] * 4 + ["right"] * (len(heads) - 4)))
    if arguments.output_file is not None:
        with open_output(arguments.output_file, overwrite=True) as stream:
            stream.write(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def frequent_words(folder: Path) -> list[str]:
    """Words of general text, the most frequent first."""
    kept = folder / "words.json"
    if not kept.exists():
        counts = Counter()
        for text in TEXTS:
            with lzma.open(FOLDER / f"text/{text}.sents.txt.xz", "rt", encoding="utf-8") as lines:
                for line in islice(lines, LINES):
                    counts.update(re.findall(r"[a-z]+(?:'[a-z]+)*", line.lower()))
        kept.write_text(json.dumps([word for word, _ in counts.most_common(RARE)]))
    return json.loads(kept.read_text())


def make_phrases(part: Part, words, number: int, share: float | None) -> list[str]:
    """Rare words of the references, a share of them, and others, `number` in all.

    None: all of them, and the 1,000 commonest words.
    """
    if share is None:
        return make_phrases(part, words, number, 1.0) + words[:1_000]
    said = {word for one in part.nbest for word in one.reference.split()}
    # A recogniser writes "pm" where the reference has "p m": it was said, too.
    pairs = (pairwise(one.reference.split()) for one in part.nbest)
    said_together = said | {a + b for one in pairs for a, b in one}
    rare = sorted(word for word in said - {*words[:FREQUENT]} if word.isalpha() or "'" in word)
    random = np.random.default_rng(0)
    used = random.permutation(rare)[: round(share * len(rare))][:number].tolist()
    others = [word for word in words[FREQUENT:] if word not in said_together]
    return used + random.permutation(others)[: number - len(used)].tolist()


def measure(name, dev, test, words, lm):
    """The rows of a set."""
    for size in (None, 5, 1):
        if size is not None and not name.startswith("Arctic"):
            continue
        cut_dev, cut_test = (cut(part, size) for part in (dev, test))
        given = FixedWeights(features=dict.fromkeys(cut_dev.lists.features))
        tuned = tune(cut_dev.lists, cut_dev.statistics, given)
        for number, share in (*CASES, COMMON) if size is None else SHORT:
            lines = make_phrases(test, words, number, share)
            phrases = Phrases(lines, test.statistics.metric).without_common(lm.is_common)
            for how, weights in ("tuned", tuned), ("guessed", guess(cut_test.lists)):
                yield row(name, size, number, share, how, cut_test, phrases, weights, lm)


def cut(part: Part, size: int | None = None, rows: slice = slice(None)) -> Part:
    """Some of the lists, or their first hypotheses only, scored as before."""
    (model,) = part.lists.models
    scores = {
        h.text: (model.reduced["sum"][i, j], model.num_tokens[i, j])
        for i, one in enumerate(part.nbest)
        for j, h in enumerate(one.hypotheses)
    }
    nbest = [replace(one, hypotheses=one.hypotheses[:size]) for one in part.nbest[rows]]
    built = Part.build(nbest, part.path).compared(part.statistics.metric).scored(scores)
    return replace(built, lists=replace(built.lists, ranked=part.lists.ranked))


def row(name, size, number, share, how, test, phrases, weights, lm):
    """One way of reranking with phrases, beside the same without."""
    metric, found = test.statistics.metric, weigh_phrases(test.lists, phrases, weights)
    before, judged, lists = select(test.lists, weights), test, found.lists
    if size is not None:
        judged = with_candidates(test, phrases).compared(metric)
        judged = judged.scored(score_texts(lm, judged.texts))
        lists = weigh_phrases(judged.lists, phrases, found.weights).lists
    after = select(lists, found.weights)
    pair = [judged.statistics.of(picks) for picks in (before, after)]
    bounds = paired_bootstrap(np.stack(pair), metric, lambda values: (values[1] - values[0])[None])
    value = [judged.statistics.value(picks) for picks in (before, after)]
    errors = [judged.statistics.errors[np.arange(len(picks)), picks] for picks in (before, after)]
    cells = {
        "set": name,
        "hypotheses": "all" if size is None else f"{size}, candidates",
        "phrases": f"{number:,}, {SHARES[share]}",
        "weights": how,
        "without": round(value[0], 2),
        "with": round(value[1], 2),
        "difference": round(value[1] - value[0], 2),
        "interval": [round(float(bound), 2) for bound in bounds[0]],
        "believed": round(found.share, 2),
        "weight": round(found.weight, 2),
        "picks worse": int((errors[1] > errors[0]).sum()),
    }
    pairs = [zip(judged.nbest, picks, strict=True) for picks in (before, after)]
    texts = [[one.hypotheses[i].text for one, i in pair] for pair in pairs]
    references = [one.reference for one in judged.nbest]
    for kind, picked in zip(("without", "with"), texts, strict=True):
        rates = biased_errors(phrases, picked, references)
        inside = 100 * rates.errors_inside / (rates.units_inside or 1)
        outside = 100 * rates.errors_outside / (rates.units_outside or 1)
        cells |= {f"B-WER {kind}": round(inside, 2), f"U-WER {kind}": round(outside, 2)}
        right = sum(count_right(phrases, *both) for both in zip(picked, references, strict=True))
        cells[f"right {kind}"] = round(100 * right / (rates.units_inside or 1), 1)
    return cells


def count_right(phrases, text, reference):
    """How many phrases of a reference stand in a text, each as often as in both."""
    one, other = (Counter(p for _, p in phrases.find(phrases.units(t))) for t in (text, reference))
    return sum((one & other).values())


def shown(value):
    return f"[{value[0]:+.2f}, {value[1]:+.2f}]" if isinstance(value, list) else str(value)


def draw(rows, path: Path):
    """Draws the WER without and with phrases, with the intervals of the differences."""
    import matplotlib
    from matplotlib.figure import Figure

    wanted = [f"{number:,}, {SHARES[share]}" for number, share in CASES[1:]]
    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(8, 2.6), layout="constrained")
        for axes, name in zip(figure.subplots(1, 2, sharey=True), NAMES[:2], strict=True):
            found = {
                one["phrases"]: one
                for one in rows
                if (one["set"], one["hypotheses"], one["weights"]) == (name, "all", "tuned")
            }
            for place, case in enumerate(wanted):
                one = found[case]
                ends = [one["without"] + bound for bound in one["interval"]]
                axes.plot(ends, [place] * 2, color=ORANGE, lw=2, alpha=0.5)
                axes.plot(one["with"], place, "o", color=ORANGE if one["weight"] else BLUE)
                axes.annotate(
                    f"{one['with']:.2f}",
                    (one["with"], place),
                    (0, 5),
                    textcoords="offset points",
                    ha="center",
                )
            axes.axvline(found[wanted[0]]["without"], color=GREY, lw=0.8, ls=":")
            axes.set(title=f"{name}, WER %, lower is better", ylim=(len(wanted) - 0.5, -0.8))
            axes.set_yticks(range(len(wanted)), wanted)
            axes.margins(x=0.15)
            axes.spines[["top", "right", "left"]].set_visible(False)
        figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
