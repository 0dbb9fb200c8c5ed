"""How sure each word is: agreement of the list alone, and with the model, on all sets of lists.

    python -m benchmarks.confidence scores/ --output_file=docs/confidence.json

The columns are the area under the curve of wrong words, the normalized cross entropy, and the
calibration error in ten bins. Agreement alone is a logistic regression of the shares of the list
that have the word, at seven sharpnesses of the first pass. Both are fitted on the same dev lists;
intervals of the differences draw utterances. The expected error rate, which needs no references,
stands beside the error rate. The folder keeps the model's scores of the hypotheses. --picture draws
the reliability, --defaults fits and prints the default weights, and --words draws the words of
`tta rerank --confidence`. The data is in $TTA_DATA.
"""

import argparse
import html
import json
import pprint
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import commit
from benchmarks.dev_size import cut
from benchmarks.guess import SETS, guess, load
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.part import Part
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
    parser.add_argument("--output_file", type=Path, help="JSON file for the figures")
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
    record = fitted(parts, lm, arguments.picture) | untuned(parts, lm)
    print(align([HEADS, *(row for name in record for row in cells(name, record[name]))]))
    if arguments.output_file is not None:
        written = {name: {"commit": commit(), **measured} for name, measured in record.items()}
        text = json.dumps(written, indent=1) + "\n"
        arguments.output_file.write_text(text, encoding="utf-8")


class Words:
    """The words of some picks of a part, and which of them are correct."""

    def __init__(self, part: Part, lm, weights, picks=None, model=True):
        decision = decide(part.lists, weights)
        metric = part.statistics.metric
        self.evidence = find_evidence(decision, metric, lm if model else None, picks)
        references = [nbest_list.reference for nbest_list in part.nbest]
        judgement = self.evidence.judge(references, metric)
        self.correct, self.deletions = judgement.correct, judgement.deletions
        picks = decision.picks if picks is None else picks
        self.rate = part.statistics.value(picks)

        # What agreement alone knows: its columns, with others in place of the model's.
        self.shares = np.zeros_like(self.evidence.values)
        for name in AGREEMENT:
            self.shares[:, COLUMN[name]] = self.evidence.values[:, COLUMN[name]]
        for name, scale in zip(MODEL_UNITS, FACTORS, strict=False):
            decided = decide(part.lists, RerankWeights(0.0, shares=(), scale=scale))
            evidence = find_evidence(decided, metric, None, picks)
            self.shares[:, COLUMN[name]] = evidence.values[:, COLUMN["posterior"]]

    def agreement(self):
        return fit_logistic(self.shares, self.correct, [*AGREEMENT, *MODEL_UNITS], {})

    def fit(self, prior=None):
        return fit_weights(self.evidence, self.correct, self.deletions, prior)

    def by_agreement(self, weights):
        evidence = replace(self.evidence, values=self.shares, has_model=True)
        return ConfidenceWeights(weights, {}, 0.0).probabilities(evidence)


def fitted(parts, lm, picture):
    """Weights of dev lists on test lists: first pass and pick, and across conditions."""
    words, record, drawn = {}, {}, {}
    for name in ("Arctic clean", "Arctic 5 dB", "ATIS"):
        dev = parts[name, "dev"]
        features = FixedWeights(features=dict.fromkeys(dev.lists.features))
        weights = tune(dev.lists, dev.statistics, features)
        for kind in ("dev", "test"):
            part = parts[name, kind]
            first = select(part.lists, FIRST_PASS)
            words[name, "first pass", kind] = Words(part, lm, weights, first)
            words[name, "pick", kind] = Words(part, lm, weights)
    for name in ("Arctic clean", "Arctic 5 dB", "ATIS"):
        for picks in ("first pass", "pick"):
            dev, test = (words[name, picks, kind] for kind in ("dev", "test"))
            weights = dev.fit()
            record[f"{name}, {picks}"] = compared(test, dev.agreement(), weights)
            drawn[f"{name}, {picks}"] = (weights.probabilities(test.evidence), test.correct)
    for dev_name, name in (("Arctic clean", "Arctic 5 dB"), ("Arctic 5 dB", "Arctic clean")):
        dev, test = words[dev_name, "pick", "dev"], words[name, "pick", "test"]
        # The default weights have seen both conditions, so they are no prior here.
        title = f"{name}, pick, weights of {dev_name}"
        record[title] = compared(test, dev.agreement(), dev.fit(NOTHING))
    if picture is not None:
        draw(drawn, picture)
    return record


def untuned(parts, lm):
    """Default weights: guessed weights of reranking, the default weights of confidences."""
    record = {}
    samples = default_words(parts, lm)
    arctic = [words for name, words in samples.items() if not name.startswith("ATIS")]
    agreement = agreement_together(list(samples.values()))
    for (name, kind), part in parts.items():
        if kind == "dev":
            continue
        test = Words(part, lm, guess(part.lists))
        record[f"{name}, default"] = compared(test, agreement, default_weights(True))
        if name == "ATIS":
            weights = ConfidenceWeights(fit_together(arctic, list(UNITS)), {}, 1.0)
            title = "ATIS, fitted on Arctic alone"
            record[title] = compared(test, agreement_together(arctic), weights)
        listed = Words(part, lm, guess(part.lists), model=False)
        title = f"{name}, default, no model"
        record[title] = compared(listed, agreement, default_weights(False))
    return record


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
    values = np.concatenate([words.evidence.values for words in samples])
    return fit_logistic(values, np.concatenate([words.correct for words in samples]), names, {})


def agreement_together(samples):
    values = np.concatenate([words.shares for words in samples])
    correct = np.concatenate([words.correct for words in samples])
    return fit_logistic(values, correct, [*AGREEMENT, *MODEL_UNITS], {})


def print_defaults(parts, lm):
    for model in (True, False):
        samples = list(default_words(parts, lm, model).values())
        names = [name for name in UNITS if model or name not in MODEL_UNITS]
        alone = [name for name in names if name in {*MODEL_UNITS, "letters"}]
        # Each set counts alike for words that are missing.
        rates = [words.deletions.sum() / words.evidence.missing.sum() for words in samples]
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
    means, shares = (
        np.bincount(which, values, BINS) / np.maximum(counts, 1) for values in (scores, correct)
    )
    return counts, means, shares


def calibration_error(scores, correct):
    counts, means, shares = bins(scores, correct)
    return float((counts * np.abs(means - shares)).sum() / counts.sum())


def compared(test, agreement, weights):
    """What agreement alone and all know of the words of a part, as a record."""
    wrong, owners = ~test.correct, test.evidence.owners
    alone, full = test.by_agreement(agreement), weights.probabilities(test.evidence)
    measures = {"AUC": area, "NCE": cross_entropy}

    def figures(probabilities, times):
        return [measure(probabilities, wrong, times) for measure in measures.values()]

    def differences(drawn):
        lists = len(test.evidence.words)
        times = (np.bincount(index, minlength=lists)[owners].astype(float) for index in drawn)
        return np.array([np.subtract(figures(full, t), figures(alone, t)) for t in times]).T

    spans = np.array(interval(bootstrap(len(test.evidence.words), differences, RESAMPLES))).T
    record = {
        "wrong": 100 * float(wrong.mean()),
        "WER": test.rate,
        "expected WER": confidences_of(test.evidence, weights).expected,
        "interval of the gain": dict(zip(measures, spans.tolist(), strict=True)),
    }
    for title, probabilities in (("agreement", alone), ("all", full)):
        record[title] = dict(
            zip(measures, figures(probabilities, np.ones(len(wrong))), strict=True)
        )
        record[title]["ECE"] = calibration_error(probabilities, test.correct)
    return record


HEADS = ["", "wrong", "WER", "expected", "AUC", "NCE", "ECE", "AUC gains", "NCE gains"]


def cells(name, measured):
    """Two rows of the printed table, agreement alone and all, with the interval of the gain."""
    spans = measured["interval of the gain"].values()
    rates = [f"{measured[rate]:.2f}" for rate in ("wrong", "WER", "expected WER")]
    gains = [f"[{low:+.3f}, {high:+.3f}]" for low, high in spans]
    alone, full = ([f"{v:.3f}" for v in measured[key].values()] for key in ("agreement", "all"))
    return [[f"{name}: agreement", *rates, *alone, "", ""], ["  all", "", "", "", *full, *gains]]


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
            filled = counts > 0
            label = f"{name.removesuffix(', pick')}, ECE {error:.3f}"
            axes.plot(means[filled], shares[filled], "o-", markersize=3, label=label)
    axes.set_xlabel("confidence")
    axes.set_ylabel("share of correct words")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, format="svg", metadata={"Date": None})


def draw_words(words: Path, path: Path):
    """Draws the first list of a file of confidences, coloured as in the report."""
    colours = ("#ffffff", "#fff1dc", "#fedcb0", "#fdba7c", "#ef8548", "#b8330f")
    with words.open(encoding="utf-8") as file:
        words_of_list = json.loads(next(file))["words"]
    x, parts = 8, []
    for word in words_of_list:
        shade = level(word["probability"], CONFIDENCES)
        width = 9 * len(word["word"]) + 8
        ink = "#ffffff" if shade == len(CONFIDENCES) else "#1d2129"
        rival = html.escape(word["rival"] or "") if word["rival_probability"] > 0.05 else ""
        parts.append(
            f'<rect x="{x}" y="8" width="{width}" height="24" rx="4" fill="{colours[shade]}"/>'
            f'<text x="{x + 4}" y="25" fill="{ink}">{html.escape(word["word"])}</text>'
            f'<text x="{x + 4}" y="46" class="s">{word["probability"]:.2f}</text>'
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
