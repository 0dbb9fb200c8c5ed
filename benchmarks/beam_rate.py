"""Sentences per second and core of the two Beam commands, and the cost of 10^9 sentences.

    python -m benchmarks.beam_rate [prepare] [score]

The rate uses the processor time of one process instead of wall time, so a shared machine gives
nearly the same result. It is the difference between two runs of different sizes, so start-up does
not count.
"""

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import ROOT

LIST_SIZE = 50
RUNNER = ["--", "--runner=FnApiRunner"]  # one process


def sentences(count):
    """Sentences of the examples, each with two more words, so that all are different."""
    document = json.loads((ROOT / "examples" / "asr.test.json").read_text(encoding="utf-8"))
    texts = [
        hypothesis["text"]
        for entry in document.values()
        for name, hypothesis in entry.items()
        if name.startswith("hyp_") and hypothesis["text"]
    ]
    words = sorted({word for text in texts for word in text.split()})
    pairs = itertools.product(words, words)
    cycle = zip(itertools.cycle(texts), pairs, strict=False)
    return [f"{text} {' '.join(pair)}" for text, pair in itertools.islice(cycle, count)]


def processor_seconds(module, *arguments):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", module, *arguments, *RUNNER]
    threads = {"TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
    subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, env={**os.environ, **threads}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def prepare(folder, count):
    path = folder / f"{count}.txt"
    path.write_text("\n".join(sentences(count)), encoding="utf-8")
    return processor_seconds(
        "tta.flags.beam_create_tfrecords",
        f"--input_file={path}",
        "--vocab_file=tta/small/vocab.txt",
        f"--output_dir={folder / f'shards-{count}'}",
    )


def score(folder, count):
    path = folder / f"{count}.jsonl"
    texts = sentences(count)
    with open(path, "w", encoding="utf-8") as file:
        for start in range(0, count, LIST_SIZE):
            hypotheses = [{"text": t, "score": -1.0} for t in texts[start : start + LIST_SIZE]]
            file.write(json.dumps({"id": str(start), "hypotheses": hypotheses}) + "\n")
    output = folder / f"scores-{count}"
    seconds = processor_seconds(
        "tta.flags.beam_score", f"--nbest_file={path}", f"--output_dir={output}"
    )
    counts = json.loads((output / "scores.json").read_text(encoding="utf-8"))["counts"]
    print(f"{counts['tokens'] / counts['hypotheses']:.1f} tokens per sentence")
    return seconds


# The larger run is so long that the variation of the start-up, one second, matters little.
SIZES = {prepare: (80_000, 880_000), score: (4_000, 12_000)}


def main():
    asked = sys.argv[1:] or [run.__name__ for run in SIZES]
    with tempfile.TemporaryDirectory() as folder:
        for run, sizes in SIZES.items():
            if run.__name__ not in asked:
                continue
            few, many = (run(Path(folder), size) for size in sizes)
            rate = (sizes[1] - sizes[0]) / (many - few)
            print(
                f"{run.__name__}: {few:.1f} s for {sizes[0]:,} sentences, {many:.1f} s for "
                f"{sizes[1]:,}: {rate:,.0f} per second and core; "
                f"10^9 sentences: {1e9 / rate / 3600:,.1f} core hours",
                flush=True,
            )


if __name__ == "__main__":
    main()
