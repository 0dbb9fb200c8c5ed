"""Measures the engines side by side: size, start, memory and speed, in one run.

    python -m benchmarks.light --json=light.json
    python -m benchmarks.light --light_python=light/bin/python

Every figure comes from processes of its own, the best of `--repeats`. The autoencoder is
`pretrained/nar-small`, which decodes in one pass, given the lengths. With `--light_python`, the
Python of a light installation (README.md), start and memory of onnxruntime are measured there, and
the installed size too. With `--ratios`, only CPU times of float32 over those of int8 are measured,
in pairs, because what else runs slows down both; for lists that are reranked (`--nbest_file`, by
weights that `--dev_nbest_file` tunes in float32), those of mixed, too, and the picks that differ.
"""

import json
import subprocess
import sys
from pathlib import Path

from absl import app, flags

from tta.choices import PRECISIONS
from tta.data.text.files import open_output

FLAGS = flags.FLAGS

# Engine -> the name in the results, and its precisions.
NAMES = {"onnxruntime": "light", "tensorflow": "tensorflow"}
# Whose CPU time in float32 is divided by that in int8.
PAIRED = [("small", "exact"), ("small", "learned"), ("cloze-base", "exact")]
HAS = {"onnxruntime": ("float32", "int8"), "tensorflow": PRECISIONS}

FIRST = """
import time
start = time.time()
import resource, sys, tta
tta.load(engine=sys.argv[1], normalizer=sys.argv[2]).score(["the cat sat on the mat"])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(time.time() - start, usage.ru_maxrss / 1024, time.process_time())
"""

BEST = """
import sys, time, tta
*options, count, path = sys.argv[1:]
words = open(path, encoding="utf-8").read().split()
texts = [" ".join(words[i * 7 % 900 : i * 7 % 900 + 20]) for i in range(int(count))]

def best(call):  # of five calls, ms
    times = []
    for _ in range(6):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times[1:])

"""

LISTS = """
engine, precision, normalizer = options
lm = tta.load(engine=engine, precision=precision, normalizer=normalizer)
print(best(lambda: lm.score(texts)))
"""

# One after the other in one process.
PAIRS = """
import statistics
model, normalizer = options
first, second = (
    tta.load(model, engine="onnxruntime", normalizer=normalizer, precision=precision)
    for precision in ("float32", "int8")
)

def seconds(lm):  # of CPU
    start = time.process_time()
    lm.score(texts)
    return time.process_time() - start

pairs = [(seconds(first), seconds(second)) for _ in range(8)][1:]
print(statistics.median(one / other for one, other in pairs))
"""

RERANKED = """
import statistics, sys, time, tta
from tta.data.nbest.files import read_nbest
precision, normalizer, *paths = sys.argv[1:]
test, dev = (
    [[[h.text for h in nbest.hypotheses] for nbest in lists],
     [[h.score for h in nbest.hypotheses] for nbest in lists],
     [nbest.reference for nbest in lists]]
    for lists in (read_nbest(path).lists[:300] for path in paths)
)
models = [
    tta.load(engine="onnxruntime", normalizer=normalizer, precision=name)
    for name in ("float32", precision)
]
weights = tta.tune(dev[0], dev[2], dev[1], models[0])

def rerank(lm):  # seconds of CPU, picks
    start = time.process_time()
    reranked = tta.Reranker(lm, weights=weights).rerank(test[0], test[1])
    return time.process_time() - start, [nbest.texts[0] for nbest in reranked.lists]

pairs = [[rerank(lm) for lm in models] for _ in range(4)][1:]
print(statistics.median(first[0] / second[0] for first, second in pairs))
print(sum(a != b for first, second in pairs[:1] for a, b in zip(first[1], second[1])))
"""

NAR = """
lm = tta.load("nar-small", engine=options[0])
vectors, lengths = lm.encode(texts), [len(row) - 2 for row in lm.rows_of(texts)]
print(best(lambda: lm.encode(texts)), best(lambda: lm.decode(vectors, lengths)))
"""

SIZE = """
import pathlib, sysconfig
files = pathlib.Path(sysconfig.get_paths()["purelib"]).rglob("*")
print(sum(f.stat().st_size for f in files if f.is_file()) / 1e6)
"""

ROOT = Path(__file__).resolve().parent.parent


def measure(python: str, code: str, *arguments: object) -> list[float]:
    """The lowest of each number that a program prints in several processes."""
    command = [python, "-c", code, *map(str, arguments)]
    rows = []
    for _ in range(FLAGS.repeats):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append([float(number) for number in done.stdout.split()])
    return [min(column) for column in zip(*rows, strict=True)]


def results() -> dict[str, float]:
    """{name: value} of all figures: MB, seconds, milliseconds."""
    found, text = {}, ROOT / "examples/train.txt"
    python = FLAGS.light_python or sys.executable
    for model, normalizer in PAIRED:
        key = f"cpu_ratio_int8_{model}_{normalizer}"
        (found[key],) = measure(python, BEST + PAIRS, model, normalizer, 200, text)
    for precision in ("int8", "mixed"):
        for normalizer in ("exact", "learned"):
            lists = FLAGS.nbest_file, FLAGS.dev_nbest_file
            ratio, differ = measure(python, RERANKED, precision, normalizer, *lists)
            found[f"cpu_ratio_reranked_{precision}_{normalizer}"] = ratio
            found[f"picks_that_differ_{precision}_{normalizer}"] = differ
    if FLAGS.ratios:
        return found
    for engine, name in NAMES.items():
        python = sys.executable
        if engine == "onnxruntime" and FLAGS.light_python:
            python = FLAGS.light_python
            found["install_mb_light"] = measure(python, SIZE)[0]
        if engine == "tensorflow":
            found["install_mb_tensorflow"] = measure(python, SIZE)[0]
        for normalizer, end in (("exact", ""), ("learned", "_learned")):
            first = measure(python, FIRST, engine, normalizer)
            keys = "first_score_s", "rss_mb", "first_score_cpu_s"
            found |= {f"{key}_{name}{end}": one for key, one in zip(keys, first, strict=True)}
        for precision in HAS[engine]:
            for normalizer in ("exact", "learned"):
                for count in (50, 1000):
                    key = f"list_ms_{name}_{precision}_{normalizer}_{count}"
                    given = engine, precision, normalizer, count, text
                    (found[key],) = measure(python, BEST + LISTS, *given)
        for count in (50, 1000):
            encoded, decoded = measure(python, BEST + NAR, engine, count, text)
            found[f"nar_encode_ms_{name}_{count}"] = encoded
            found[f"nar_decode_ms_{name}_{count}"] = decoded
    return found


def main(argv: list[str]) -> None:
    found = {name: round(value, 3) for name, value in results().items()}
    for name, value in found.items():
        print(f"{name:45} {value:10,.3f}")
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    flags.DEFINE_string("json", None, "File for the figures.")
    flags.DEFINE_string("light_python", None, "The Python of a light installation.")
    flags.DEFINE_bool("ratios", False, "Measures only CPU times of float32 over those of int8.")
    for name, part in (("nbest_file", "test"), ("dev_nbest_file", "dev")):
        path = str(ROOT / f"examples/asr.{part}.json")
        flags.DEFINE_string(name, path, f"Lists that are reranked, {part}.")
    flags.DEFINE_integer("repeats", 3, "Processes for each figure.", 1)
    app.run(main)
