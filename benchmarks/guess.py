"""Guessed weights against tuned ones and the first pass, on all sets of docs/reranking.md.

    python -m benchmarks.guess scores/

The built-in model scores every text once; the folder keeps the scores for the next time. Columns:
the first pass, the guess, the guess for every list by itself, and weights tuned on the dev lists
(LibriSpeech has none; --untuned leaves them out). The second table
has the same lists with scores in other units. The data is in $TTA_DATA.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks import ROOT, evaluation_data
from tta.data.nbest.files import read_nbest
from tta.scoring.combining import guess as guessing
from tta.scoring.combining.decision import select
from tta.scoring.combining.part import Part
from tta.scoring.combining.problem import Problem
from tta.scoring.combining.scored_lists import ScoredLists, score_texts
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.significance import relative_gain
from tta.scoring.reports.table import align
from tta.scoring.reranking.comparing import copied_features
from tta.scoring.scorers.options import RerankOptions
from tta.scoring.scorers.scorer import Scorer

ARCTIC, OTHERS = "nbest/asr_arctic", "nbest/asr_hyporadise"
IWSLT = "nbest/mt_iwslt14_deen"
# Name: (dev lists or None, test lists), as `evaluation_data.path` takes them.
SETS = {
    "Arctic clean": (f"{ARCTIC}/dev.clean.json", f"{ARCTIC}/test.clean.json"),
    "Arctic 5 dB": (f"{ARCTIC}/dev.snr5.json", f"{ARCTIC}/test.snr5.json"),
    "ATIS": (f"{OTHERS}/train_atis.json", f"{OTHERS}/test_atis.json"),
    "examples": (f"{ROOT}/examples/asr.dev.json", f"{ROOT}/examples/asr.test.json"),
    "IWSLT'14": (f"{IWSLT}/dev.nbest", f"{IWSLT}/test.nbest"),
    "LibriSpeech clean": (None, f"{OTHERS}/test_ls_clean.json"),
    "LibriSpeech other": (None, f"{OTHERS}/test_ls_other.json"),
}
UNITS = ("natural log", "log10", "per word", "confidence")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("scores", type=Path, help="folder for the model's scores")
    parser.add_argument("--untuned", action="store_true", help="leave the tuned weights out")
    arguments = parser.parse_args()
    folder = arguments.scores
    folder.mkdir(parents=True, exist_ok=True)
    rows, units, changed = [], [], []
    for name, (dev_path, test_path) in SETS.items():
        test = load(test_path, folder)
        columns = [measure(test, FIRST_PASS), measure(test, guess(test.lists))]
        alone = one_by_one(test)
        columns.append(test.statistics.value(alone))
        changed.append((alone != select(test.lists, guess(test.lists))).mean())
        if dev_path is not None and not arguments.untuned:
            dev = load(dev_path, folder)
            given = FixedWeights(features=dict.fromkeys(dev.lists.features))
            columns.append(measure(test, tune(dev.lists, dev.statistics, given)))
        rows.append([name, *(f"{value:.2f}" for value in columns)])
        gains = [relative_gain(value, columns[0], test.statistics.metric) for value in columns[1:]]
        rows.append(["  gain, %", "", *(f"{gain:+.1f}" for gain in gains)])
        cells = []
        for unit in UNITS if not test.lists.ranked else ():
            other = convert(test, unit)
            first, value = measure(other, FIRST_PASS), measure(other, guess(other.lists))
            cells.append(f"{first:.2f} {value:.2f}")
        units.append([name, *cells, *[""] * (len(UNITS) - len(cells))])
    heads = ["", "first pass", "guess", "one by one", "tuned"]
    print(align([heads, *rows], ["left", *["right"] * 4]))
    shares = [f"{name} {share:.1%}" for name, share in zip(SETS, changed, strict=True)]
    print("\npicks that change if a list is alone: " + ", ".join(shares))
    print("\nfirst pass and guess, by the unit of the first-pass scores")
    print(align([["", *UNITS], *units], ["left", *["right"] * len(UNITS)]))


def load(
    name: str, folder: Path, model: str | None = None, make: Callable[[], Scorer] | None = None
) -> Part:
    """The lists of a file, with the scores of a model, which `make` loads, and the losses.

    As in `tta rerank`, features that copy another column are left out.
    """
    path = evaluation_data.path(name)
    reference_file = None
    if path.suffix == ".nbest":
        reference_file = evaluation_data.path(str(Path(name).with_suffix(".ref")))
    file = read_nbest(path, reference_file=reference_file)
    metric = load_metric("bleu", "none") if file.format == "moses" else load_metric("wer")
    part = Part.build(file.lists, str(path)).compared(metric)
    copies = copied_features(Problem((part,)))
    features = {name: column for name, column in part.lists.features.items() if name not in copies}
    part = replace(part, lists=replace(part.lists, features=features))
    prefix = f"{Path(model).name}." if model else ""
    kept = folder / f"{prefix}{path.parent.name}.{path.name}.scores.json"
    if not kept.exists():
        lm = make() if make else RerankOptions(engine="onnxruntime").load(model)
        kept.write_text(json.dumps(score_texts(lm, part.texts, progress=True)))
    return part.scored({text: tuple(one) for text, one in json.loads(kept.read_text()).items()})


def guess(lists: ScoredLists):
    return guessing.guess(lists, FixedWeights(features=dict.fromkeys(lists.features)))


def one_by_one(part: Part) -> np.ndarray:
    """The picks if the weights are guessed for every list by itself: [L] int64."""
    (model,) = part.lists.models
    picks = []
    for number, one in enumerate(part.nbest):
        scores = {
            h.text: (model.reduced["sum"][number, i], model.num_tokens[number, i])
            for i, h in enumerate(one.hypotheses)
        }
        single = Part.build([one]).compared(part.statistics.metric, measured=False).scored(scores)
        lists = replace(single.lists, ranked=part.lists.ranked)
        picks.append(select(lists, guess(lists))[0])
    return np.array(picks)


def measure(part: Part, weights) -> float:
    return part.statistics.value(select(part.lists, weights))


def convert(part: Part, unit: str) -> Part:
    """The lists with first-pass scores in another unit."""
    scores, words = part.lists.first_pass, np.maximum(part.lists.num_words, 1)
    values = {
        "natural log": scores,
        "log10": scores / math.log(10),
        "per word": scores / words,
        "confidence": np.exp(np.minimum(scores / words, 0)),
    }[unit]
    values = np.where(part.lists.present, values, 0.0)
    return replace(part, lists=replace(part.lists, first_pass=values))


if __name__ == "__main__":
    main()
