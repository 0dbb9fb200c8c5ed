"""Compares the engines: scores of sentences, and picks from N-best lists.

    python -m benchmarks.engines --json=engines.json
    python -m benchmarks.engines --limit=100

Prints two tables. The first has the largest and the mean difference of sentence scores in float32,
in nats, on LibriSpeech dev-clean, for models of several families; and the rank correlation of
scores in int8 with those in float32. The second reranks all lists of docs/results.md with the
built-in model in both engines, and in int8. Each is tuned on dev lists as there. It counts the
lists whose picks differ between the engines, and between float32 and int8. The data is in
$TTA_DATA; --limit takes that many lists of each file, evenly spread.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from absl import flags

from benchmarks.paper import common
from benchmarks.paper.table1 import ARCTIC, HYPORADISE
from benchmarks.paper.table2 import IWSLT, SET
from tta import cli
from tta.data.text.files import open_output

FLAGS = flags.FLAGS
NORMALIZERS = ["exact", "learned"]
RUNS: dict[str, dict[str, str]] = {
    "tensorflow": {"engine": "tensorflow"},
    "onnxruntime": {"engine": "onnxruntime"},
    "int8": {"engine": "onnxruntime", "precision": "int8"},
}
ATIS = "nbest/asr_hyporadise/{}_atis.json"


def compare_scores(texts):
    """{(model, normalizer): (the largest and mean difference of engines, int8's correlation)}."""
    from scipy.stats import spearmanr

    import tta

    found = {}
    for model in FLAGS.models:
        learned = tta.load(model, engine="onnxruntime").config.learned_normalizer
        for normalizer in NORMALIZERS[: 1 + learned]:
            first, second, rounded = (
                tta.load(model, normalizer=normalizer, **options).score(texts)
                for options in RUNS.values()
            )
            error = abs(second - first)
            rank = spearmanr(rounded, second).statistic
            found[model, normalizer] = float(error.max()), float(error.mean()), float(rank)
            common.say(f"{model}, {normalizer}: {found[model, normalizer]}")
    return found


def list_sets():
    """{name: `Lists`} of docs/results.md."""
    from benchmarks.paper.reranking import Lists

    sets = {
        f"Arctic {noise}": Lists(
            (ARCTIC.format("test", noise),), (ARCTIC.format("dev", noise),), {}
        )
        for noise in ("clean", "snr5")
    }
    for part in ("clean", "other"):
        sets[f"HyPoradise LibriSpeech {part}"] = Lists((HYPORADISE.format(part),), None, {})
    sets["HyPoradise ATIS"] = Lists((ATIS.format("test"),), (ATIS.format("train"),), {})
    test, dev = ((IWSLT.format(p, "nbest"), IWSLT.format(p, "ref")) for p in ("test", "dev"))
    sets[SET] = Lists(test, dev, {"metric": "bleu", "bleu_tokenize": "none"})
    return sets


def picks(configs, normalizer, options, folder):
    """The picks from the test lists of all `RerankConfig`s, and the sum of their statistics."""
    from tta.data.nbest.files import read_nbest
    from tta.scoring.reranking.rerank import rerank_files

    texts, total = [], 0
    for number, config in enumerate(configs):
        path = folder / f"{number}"
        config = replace(config, output_file=str(path), overwrite=True)
        report = rerank_files(config, [None], normalizer=normalizer, **options)
        texts += [one.hypotheses[0].text for one in read_nbest(path).lists]
        total = total + report.test.evaluation.rows[-2].picked.sum(axis=0)  # the last: the oracle
    return texts, float(report.metric.corpus(total))


def compare_picks(folder):
    """{(name, normalizer): (number of lists, other picks, those in int8, value of each run)}."""
    found, sets = {}, list_sets()
    for name in sets if FLAGS.lists is None else FLAGS.lists:
        for normalizer in FLAGS.normalizers:
            runs = [
                picks(sets[name].configs(), normalizer, options, folder)
                for options in RUNS.values()
            ]
            (one, other, rounded), values = zip(*runs, strict=True)
            different = (
                sum(a != b for a, b in zip(other, picked, strict=True)) for picked in (one, rounded)
            )
            found[name, normalizer] = len(one), *different, *values
            common.say(f"{name}, {normalizer}: {found[name, normalizer]}")
    return found


def main():
    from tabulate import tabulate

    scored = compare_scores(common.transcripts(FLAGS.sentences))
    with tempfile.TemporaryDirectory() as name:
        FLAGS.output_dir = name  # of derived lists
        picked = compare_picks(Path(name))
    heads = ["model", "normalizer", "largest", "mean", "int8: rank correlation"]
    rows = [(*key, f"{x:.1e}", f"{y:.1e}", f"{z:.5f}") for key, (x, y, z) in scored.items()]
    print(tabulate(rows, heads, tablefmt="github", disable_numparse=True))
    print()
    rows = [(*key, *row) for key, row in picked.items()]
    heads = ["lists", "normalizer", "number", "other picks", "in int8", *RUNS]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=".2f", intfmt=","))
    if FLAGS.json:
        found = {f"difference_{'_'.join(key)}": float(row[0]) for key, row in scored.items()}
        found |= {f"int8_rank_{'_'.join(key)}": float(row[2]) for key, row in scored.items()}
        for number, name in ((1, "other_picks"), (2, "other_picks_int8")):
            found |= {f"{name}_{'_'.join(key)}": row[number] for key, row in picked.items()}
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("json", None, "File for the figures.")
    flags.DEFINE_integer("sentences", 1000, "Sentences whose scores are compared.", 1)
    names = ["small", "cloze-base", "bilm-small", "unilm-small", "cloze-small"]
    flags.DEFINE_list("models", names, "Models of the first table.")
    flags.DEFINE_list("lists", None, "Sets of lists of the second table. Default: all.")
    flags.DEFINE_list("normalizers", NORMALIZERS, "Normalizers of the second table.")
    cli.run(main)
