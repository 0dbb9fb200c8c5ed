"""Compares the engines: scores of sentences in float32, and picks from N-best lists.

    python -m benchmarks.engines --json=engines.json
    python -m benchmarks.engines --limit=100

Prints two tables. The first has the largest and the mean difference of sentence scores, in nats, on
LibriSpeech dev-clean, for models of several families. The cloze has random weights. The second
reranks all lists of docs/results.md with the built-in model in both engines, tuned on dev lists as
there, and counts the lists whose picks differ. The data is in $TTA_DATA; --limit takes that many
lists of each file, evenly spread.
"""

import json
import tempfile
from dataclasses import replace
from pathlib import Path

from absl import flags

from benchmarks import ROOT
from benchmarks.paper import common
from benchmarks.paper.table1 import ARCTIC, HYPORADISE
from benchmarks.paper.table2 import IWSLT, SET
from tta import cli
from tta.data.text.files import open_output
from tta.data.text.lines import iter_lines

FLAGS = flags.FLAGS
ENGINES = "tensorflow", "onnxruntime"
CLOZE = ROOT / "configs/small-cloze.json"
DEVIATION = 0.1  # of the cloze's random weights
ATIS = "nbest/asr_hyporadise/{}_atis.json"


def sentences():
    """--sentences lines of LibriSpeech dev-clean, lower-cased, evenly spread over it."""
    path = common.data("text_eval", "librispeech_dev-clean.trans.txt")
    lines = [line.partition(" ")[2].lower() for line in iter_lines(path)]
    count = min(FLAGS.sentences, len(lines))
    return [lines[i * len(lines) // count] for i in range(count)]


def write_cloze(folder):
    """A cloze with random weights and the built-in vocabulary; returns its directory."""
    import keras

    from tta.data.vocabulary.load import load_vocabulary
    from tta.modeling.config.base import read_config
    from tta.modeling.formats.model_directory import save_model, vocabulary_path
    from tta.modeling.formats.trained_models import BUILT_IN
    from tta.modeling.models.language_model import build_model

    keras.utils.set_random_seed(0)
    config = read_config(CLOZE).replace(initializer_range=DEVIATION)
    save_model(build_model(config), folder, "Random weights.\n")
    load_vocabulary(config.tokenizer, vocabulary_path(BUILT_IN)).save(folder / "vocab.txt")
    return folder


def differences(models, texts):
    """{(name, normalizer): the differences of scores [N]} of models {name: directory}."""
    import tta

    found = {}
    for name, model in models.items():
        for normalizer in ("exact", "learned"):
            config = tta.load(model, engine="onnxruntime").config
            if normalizer == "learned" and not config.learned_normalizer:
                continue
            scores = [
                tta.load(model, engine=engine, normalizer=normalizer).score(texts)
                for engine in ENGINES
            ]
            common.say(f"{name}, {normalizer}")
            found[name, normalizer] = abs(scores[1] - scores[0])
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


def picks(configs, engine, normalizer, folder):
    """The picks from the test lists of all `RerankConfig`s, and the sum of their statistics."""
    from tta.data.nbest.files import read_nbest
    from tta.scoring.reranking.rerank import rerank_files

    texts, total = [], 0
    for number, config in enumerate(configs):
        path = folder / f"{engine}.{number}"
        config = replace(config, output_file=str(path), overwrite=True)
        report = rerank_files(config, [None], engine=engine, normalizer=normalizer)
        texts += [one.hypotheses[0].text for one in read_nbest(path).lists]
        total = total + report.test.evaluation.rows[-2].picked.sum(axis=0)  # the last: the oracle
    return texts, float(report.metric.corpus(total))


def compare_picks(folder):
    """{(name, normalizer): (number of lists, that of other picks, the value of each engine)}."""
    found = {}
    for name, lists in list_sets().items():
        for normalizer in ("exact", "learned"):
            results = [picks(lists.configs(), engine, normalizer, folder) for engine in ENGINES]
            (one, first), (other, second) = results
            different = sum(a != b for a, b in zip(one, other, strict=True))
            found[name, normalizer] = len(one), different, first, second
            common.say(f"{name}, {normalizer}: {different} of {len(one):,} picks differ")
    return found


def main():
    from tabulate import tabulate

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = {name: name for name in ("small", "base", "bilm-small", "unilm-small")}
        models["cloze, random"] = str(write_cloze(folder / "cloze"))
        FLAGS.output_dir = name  # of derived lists
        scored = differences(models, sentences())
        picked = compare_picks(folder)
    rows = [(*key, f"{d.max():.1e}", f"{d.mean():.1e}") for key, d in scored.items()]
    print(tabulate(rows, ["model", "normalizer", "largest", "mean"], tablefmt="github"))
    print()
    rows = [(*key, *row) for key, row in picked.items()]
    heads = ["lists", "normalizer", "number", "other picks", *ENGINES]
    print(tabulate(rows, heads, tablefmt="github", floatfmt=".2f", intfmt=","))
    if FLAGS.json:
        found = {f"difference_{'_'.join(key)}": float(d.max()) for key, d in scored.items()}
        found |= {f"other_picks_{'_'.join(key)}": row[1] for key, row in picked.items()}
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_string("json", None, "File for the figures.")
    flags.DEFINE_integer("sentences", 1000, "Sentences whose scores are compared.", 1)
    cli.run(main)
