"""How sure each word is: agreement of the list alone, and with the model, on all sets of lists.

    python -m benchmarks.confidence scores/

The columns are the area under the curve of wrong words, the normalized cross entropy, and the
calibration error in ten bins. Agreement alone is a logistic regression of the shares of the list
that have the word, at seven sharpnesses of the first pass. Both are fitted on the same dev lists;
intervals of the differences draw utterances. The last table compares the expected error rate,
which needs no references, with the error rate. The folder keeps the model's scores of the
hypotheses. --picture draws the reliability, --defaults fits and prints the default weights, and
--words draws the words of `tta rerank --confidence`. The data is in $TTA_DATA.
"""

import argparse
import html
import json
import pprint
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.dev_size import cut
from benchmarks.guess import SETS, guess, load
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import score_texts
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights, RerankWeights
from tta.scoring.metrics.significance import bootstrap, interval
from tta.scoring.reports.page import CONFIDENCES, level
from tta.scoring.reports.table import align
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.words.confidence import (
    ConfidenceWeights,
    confidences_of,
    default_weights,
    fit_logistic,
    fit_weights,
)
from tta.scoring.words.evidence import MODEL_UNITS, UNITS, find_evidence

AGREEMENT = ("uniform", "first_0.1", "first_0.3", "first_1")
# More factors on the first-pass scores as they are, not in units of their spread.
FACTORS = (0.1, 0.3, 1.0)
RESAMPLES = 1000
BINS = 10
COLUMN = {name: i for i, name in enumerate(UNITS)}
NOTHING = ConfidenceWeights({}, {}, 1.0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", type=Path, help="folder for the model's scores")
    parser.add_argument("--words", type=Path, help="draw the first line of this file instead")
    parser.add_argument("--defaults", action="store_true", help="fit the default weights only")
    parser.add_argument("--picture", type=Path, help="SVG file for the reliability")
    arguments = parser.parse_args()
    if arguments.words is not None:
        draw_words(arguments.words, arguments.picture)
        return
    lm = RerankOptions(engine="onnxruntime").load()
    parts = {
        (name, kind): load(path, arguments.scores)
        for name, paths in SETS.items()
        if name not in ("examples", "IWSLT'14")
        for kind, path in zip(("dev", "test"), paths, strict=True)
        if path is not None
    }
    if arguments.defaults:
        print_defaults(parts, lm)
        return
    fitted(parts, lm, arguments.picture)
    untuned(parts, lm)
    cost(parts["Arctic clean", "test"], lm)


class Words:
    """The words of some picks of a part, and which of them are correct."""

    def __init__(self, part: Part, lm, weights, picks=None, model=True):
        decision = decide(part.lists, weights)
        metric = part.statistics.metric
        self.found = find_evidence(decision, metric, lm if model else None, picks)
        references = [one.reference for one in part.nbest]
        judgement = self.found.judge(references, metric)
        self.correct, self.deletions = judgement.correct, judgement.deletions
        picks = decision.picks if picks is None else picks
        self.rate = part.statistics.value(picks)

        # What agreement alone knows: its columns, with others in place of the model's.
        self.shares = np.zeros_like(self.found.values)
        for name in AGREEMENT:
            self.shares[:, COLUMN[name]] = self.found.values[:, COLUMN[name]]
        for name, scale in zip(MODEL_UNITS, FACTORS, strict=False):
            decided = decide(part.lists, RerankWeights(0.0, shares=(), scale=scale))
            found = find_evidence(decided, metric, None, picks)
            self.shares[:, COLUMN[name]] = found.values[:, COLUMN["posterior"]]

    def agreement(self):
        return fit_logistic(self.shares, self.correct, [*AGREEMENT, *MODEL_UNITS], {})

    def fit(self, prior=None):
        return fit_weights(self.found, self.correct, self.deletions, prior)

    def by_agreement(self, weights):
        found = replace(self.found, values=self.shares, has_model=True)
        return ConfidenceWeights(weights, {}, 0.0).probabilities(found)


def fitted(parts, lm, picture):
    """Weights of dev lists on test lists: first pass and pick, and across conditions."""
    words, rows, expected, drawn = {}, [], [], {}
    for name in ("Arctic clean", "Arctic 5 dB", "ATIS"):
        dev = parts[name, "dev"]
        given = FixedWeights(features=dict.fromkeys(dev.lists.features))
        weights = tune(dev.lists, dev.statistics, given)
        for kind in ("dev", "test"):
            part = parts[name, kind]
            first = select(part.lists, FIRST_PASS)
            words[name, "first pass", kind] = Words(part, lm, weights, first)
            words[name, "pick", kind] = Words(part, lm, weights)
    for name in ("Arctic clean", "Arctic 5 dB", "ATIS"):
        for what in ("first pass", "pick"):
            dev, test = (words[name, what, kind] for kind in ("dev", "test"))
            alone = test.by_agreement(dev.agreement())
            full = dev.fit().probabilities(test.found)
            rows += compared(f"{name}, {what}", test, alone, full)
            drawn[f"{name}, {what}"] = (full, test.correct)
            confidences = confidences_of(test.found, dev.fit())
            expected.append([f"{name}, {what}", "dev", test.rate, confidences.expected])
    for dev_name, name in (("Arctic clean", "Arctic 5 dB"), ("Arctic 5 dB", "Arctic clean")):
        dev, test = words[dev_name, "pick", "dev"], words[name, "pick", "test"]
        alone = test.by_agreement(dev.agreement())
        # The default weights have seen both conditions, so they are no prior here.
        weights = dev.fit(NOTHING)
        title = f"{name}, pick, weights of {dev_name}"
        rows += compared(title, test, alone, weights.probabilities(test.found))
        rate = confidences_of(test.found, weights).expected
        expected.append([title, "other condition", test.rate, rate])
    show(rows)
    show_expected(expected)
    if picture is not None:
        draw(drawn, picture)


def untuned(parts, lm):
    """Default weights: guessed weights of reranking, the default weights of confidences."""
    rows, expected = [], []
    samples = default_words(parts, lm)
    others = [one for name, one in samples.items() if not name.startswith("ATIS")]
    alone = agreement_together(list(samples.values()))
    without_atis = ConfidenceWeights(fit_together(others, list(UNITS)), {}, 1.0)
    alone_without = agreement_together(others)
    for (name, kind), part in parts.items():
        if kind == "dev":
            continue
        test = Words(part, lm, guess(part.lists))
        full = default_weights(True)
        rows += compared(
            f"{name}, default", test, test.by_agreement(alone), full.probabilities(test.found)
        )
        if name == "ATIS":
            rows += compared(
                "ATIS, fitted on Arctic alone",
                test,
                test.by_agreement(alone_without),
                without_atis.probabilities(test.found),
            )
        expected.append([name, "default", test.rate, confidences_of(test.found).expected])
        listed = Words(part, lm, guess(part.lists), model=False)
        one = default_weights(False).probabilities(listed.found)
        rows += compared(f"{name}, default, no model", listed, listed.by_agreement(alone), one)
    show(rows)
    show_expected(expected)


def cost(part, lm):
    """The time of confidences, and that of reranking the same lists."""
    start = time.perf_counter()
    scored = Part.build(part.nbest).compared(part.statistics.metric)
    scored = scored.scored(score_texts(lm, scored.texts))
    decision = decide(scored.lists, guess(scored.lists))
    middle = time.perf_counter()
    confidences_of(find_evidence(decision, part.statistics.metric, lm))
    end = time.perf_counter()
    share = (end - middle) / (middle - start)
    print(f"\nreranking {middle - start:.2f} s, confidences {end - middle:.2f} s: {share:.1%}")


def default_words(parts, lm, model=True):
    """The words that the default weights are fitted on; ATIS also without its scores."""
    samples = {}
    for (name, kind), part in parts.items():
        if kind == "test":
            continue
        samples[name] = Words(part, lm, guess(part.lists), model=model)
        if name.startswith("Arctic"):
            short = cut(part)
            samples[f"{name}, short"] = Words(short, lm, guess(short.lists), model=model)
    return samples


def fit_together(samples, names):
    values = np.concatenate([one.found.values for one in samples])
    return fit_logistic(values, np.concatenate([one.correct for one in samples]), names, {})


def agreement_together(samples):
    values = np.concatenate([one.shares for one in samples])
    correct = np.concatenate([one.correct for one in samples])
    return fit_logistic(values, correct, [*AGREEMENT, *MODEL_UNITS], {})


def print_defaults(parts, lm):
    for model in (True, False):
        samples = list(default_words(parts, lm, model).values())
        names = [name for name in UNITS if model or name not in MODEL_UNITS]
        alone = [name for name in names if name in {*MODEL_UNITS, "letters"}]
        # Each set counts alike for words that are missing.
        rates = [one.deletions.sum() / one.found.missing.sum() for one in samples]
        weights = ConfidenceWeights(
            fit_together(samples, names),
            fit_together(samples, alone),
            float(f"{np.exp(np.mean(np.log(rates))):.3g}"),
        )
        pprint.pprint(dict(weights.items()), sort_dicts=False)


def area(scores, wrong, times):
    """The area under the curve of wrong words, whose scores are low: words count `times`."""
    order = np.argsort(scores, kind="stable")
    _, tied = np.unique(scores[order], return_inverse=True)
    good = np.bincount(tied, (times * ~wrong)[order])
    bad = np.bincount(tied, (times * wrong)[order])
    return float((bad * (good.sum() - good.cumsum() + good / 2)).sum() / (bad.sum() * good.sum()))


def cross_entropy(scores, wrong, times):
    """The normalized cross entropy: the share of the entropy that the probabilities explain."""
    scores = np.clip(scores, 1e-9, 1 - 1e-9)
    share = (times * wrong).sum() / times.sum()
    entropy = -(share * np.log(share) + (1 - share) * np.log(1 - share))
    likelihood = (times * np.log(np.where(wrong, 1 - scores, scores))).sum() / times.sum()
    return 1 + likelihood / entropy


def bins(scores, correct):
    """(words, mean probability, share of correct words) of each of ten bins of probabilities."""
    which = np.minimum((scores * BINS).astype(int), BINS - 1)
    counts = np.bincount(which, minlength=BINS)
    sums = (np.bincount(which, one, BINS) / np.maximum(counts, 1) for one in (scores, correct))
    return counts, *sums


def calibration_error(scores, correct):
    counts, means, shares = bins(scores, correct)
    return float((counts * np.abs(means - shares)).sum() / counts.sum())


def compared(title, test, alone, full):
    """Rows of the two confidences and of their difference."""
    wrong, owners = ~test.correct, test.found.owners
    measures = area, cross_entropy
    every = np.ones(len(wrong))
    values = [[one(p, wrong, every) for one in measures] for p in (alone, full)]

    def differences(drawn):
        lists = len(test.found.words)
        found = []
        for index in drawn:
            times = np.bincount(index, minlength=lists)[owners].astype(float)
            found.append([one(full, wrong, times) - one(alone, wrong, times) for one in measures])
        return np.array(found).T

    low, high = interval(bootstrap(len(test.found.words), differences, RESAMPLES))
    share = f"{wrong.mean():.1%}"
    rows = [
        [title, share, *(f"{v:.3f}" for v in value), f"{calibration_error(p, test.correct):.3f}"]
        for title, value, p in zip(
            (f"{title}: agreement", f"{title}: all"), values, (alone, full), strict=True
        )
    ]
    spans = [
        f"{b - a:+.3f} [{lo:+.3f}, {hi:+.3f}]"
        for a, b, lo, hi in zip(*values, low, high, strict=True)
    ]
    return [*rows, ["  difference", "", *spans, ""]]


def show(rows):
    heads = ["", "wrong", "AUC", "NCE", "ECE"]
    print("\n" + align([heads, *rows], ["left", *["right"] * 4]), flush=True)


def show_expected(rows):
    cells = [
        [name, weights, f"{rate:.2f}", f"{found:.2f}", f"{found - rate:+.2f}"]
        for name, weights, rate, found in rows
    ]
    heads = ["", "weights of", "WER", "expected WER", "difference"]
    print("\n" + align([heads, *cells], ["left", "left", *["right"] * 3]), flush=True)


def draw(drawn, path: Path):
    """Draws the share of correct words by the probability, in ten bins."""
    import matplotlib

    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "tta-lm"})
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, 1], color="#888888", linewidth=1)
    for name, (scores, correct) in drawn.items():
        if name.endswith("pick"):
            counts, means, shares = bins(scores, correct)
            error = calibration_error(scores, correct)
            kept = counts > 0
            label = f"{name.removesuffix(', pick')}, ECE {error:.3f}"
            axes.plot(means[kept], shares[kept], "o-", markersize=3, label=label)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share of correct words")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


def draw_words(words: Path, path: Path):
    """Draws the first list of a file of confidences, coloured as in the report."""
    colours = ("#ffffff", "#fff1dc", "#fedcb0", "#fdba7c", "#ef8548", "#b8330f")
    with words.open(encoding="utf-8") as file:
        found = json.loads(next(file))["words"]
    x, parts = 8, []
    for one in found:
        shade = level(one["probability"], CONFIDENCES)
        width = 9 * len(one["word"]) + 8
        ink = "#ffffff" if shade == len(CONFIDENCES) else "#1d2129"
        rival = html.escape(one["rival"] or "") if one["rival_probability"] > 0.05 else ""
        parts.append(
            f'<rect x="{x}" y="8" width="{width}" height="24" rx="4" fill="{colours[shade]}"/>'
            f'<text x="{x + 4}" y="25" fill="{ink}">{html.escape(one["word"])}</text>'
            f'<text x="{x + 4}" y="46" class="s">{one["probability"]:.2f}</text>'
            f'<text x="{x + 4}" y="62" class="s">{rival}</text>'
        )
        x += max(width, 44) + 4
    style = "text{font:15px monospace}.s{font-size:11px;fill:#596273}"
    size = f'viewBox="0 0 {x} 70" width="{x}" height="70"'
    back = f'<rect width="{x}" height="70" fill="#ffffff"/>'
    body = f"<style>{style}</style>{back}{''.join(parts)}"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{body}</svg>\n')


if __name__ == "__main__":
    main()
