"""Hostile sizes: the time and memory of a reader, each case in a separate process.

    python -m benchmarks.faults.limits

Prints one row per case: CPU seconds, peak memory above that of an idle process, and the result.
"""

import gzip
import io
import json
import lzma
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from absl import app, flags

from benchmarks import child_environment

FLAGS = flags.FLAGS
flags.DEFINE_multi_string("case", None, "Only these cases.")
flags.DEFINE_string("child", None, "Set by the command itself: one case.")

MILLION = 1_000_000


def _hole(path):
    with open(path, "wb") as file:
        file.truncate(1 << 30)  # a gigabyte without a line end, stored as a hole


def _text(text):
    return lambda path: path.write_text(text())


def _hypotheses(template, separator=""):
    return _text(lambda: separator.join(template.format(i) for i in range(1, MILLION + 1)))


def _wrapped(first, template, last):
    return _text(lambda: first + ",".join(template.format(i) for i in range(MILLION)) + last)


def _xz_with_a_large_dictionary(path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    path.write_bytes(lzma.compress(b"the cat\n" * 9, filters=filters))


def _packed_vocabulary(path):
    with gzip.open(path, "wb", compresslevel=1) as file:
        for start in range(0, 20 * MILLION, MILLION):
            file.write(b"".join(b"w%d\n" % i for i in range(start, start + MILLION)))


def _array_with_zeros_behind(path):
    array = io.BytesIO()
    np.save(array, np.full(3, 1 / 3, np.float32))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("piece_probabilities.npy", "w", force_zip64=True) as file,
    ):
        file.write(array.getvalue())
        for _ in range(1 << 10):
            file.write(bytes(1 << 20))


def _declared_array(path):
    with open(path, "wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**9, 300)}
        np.lib.format.write_array_header_1_0(file, header)


# name of a case -> (reader of tests/fuzzing.py, function that writes its file)
CASES = {
    **{
        f"1 GB line: {name}": (name, _hole)
        for name in ("nbest_any", "nbest_kaldi", "sts", "text", "vocabulary", "word_vectors")
    },
    "1 GB: config": ("config", _hole),
    "1 GB: pooling": ("pooling", _hole),
    "1M hypotheses: kaldi": ("nbest_kaldi", _hypotheses("u-{} a cat\n")),
    "1M hypotheses: moses": ("nbest_moses", _hypotheses("0 ||| cat {} ||| -1\n")),
    "1M hypotheses: tsv": ("nbest_tsv", _hypotheses("0\tcat {}\t-1\n")),
    "1M hypotheses: dict": (
        "nbest_dict",
        _wrapped('{"u": {', '"hyp_{0}": {{"text": "cat {0}", "score": -1}}', "}}"),
    ),
    "1M hypotheses: jsonl": (
        "nbest_jsonl",
        _wrapped('{"id": "u", "hypotheses": [', '"cat {}"', "]}"),
    ),
    "1M keys, one twice": ("nbest_dict", _wrapped("{", '"u{}": {{}}', ', "u7": {}}')),
    "200 MB open string": ("nbest_any", _text(lambda: '{"' + "a" * (200 << 20))),
    "200 MB of empty objects": (
        "nbest_hyporadise",
        _text(lambda: "[" + "{}," * (70 << 20) + "{}]"),
    ),
    "1M brackets": ("nbest_hyporadise", _text(lambda: "[" * MILLION)),
    "1M braces": ("config", _text(lambda: '{"a":' * MILLION)),
    "1 GB dictionary: .xz": ("packed_text", _xz_with_a_large_dictionary),
    "20M pieces, packed: vocabulary": ("vocabulary", _packed_vocabulary),
    "1 GB behind an array: pooling": ("pooling", _array_with_zeros_behind),
    "1 TB declared: .npy": ("npy_vectors", _declared_array),
    "5 billion n-grams: .arpa": ("arpa_counts", _text(lambda: "\\data\\\nngram 1=5000000000\n")),
}


def child():
    from tests.fuzzing import READERS
    from tta.errors import InputError

    name, write = CASES[FLAGS.child]
    path = Path("file")
    if os.fork() == 0:  # The memory for writing the file does not count.
        write(path)
        os._exit(0)
    os.wait()
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        READERS[name].check(path)
        result = "read"
    except InputError as error:
        result = str(error)[:90]
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - idle
    print(json.dumps([result, seconds, peak / 1024]))


def main(_):
    if FLAGS.child:
        return child()
    for name in FLAGS.case or CASES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "benchmarks.faults.limits", f"--child={name}"]
            ended = subprocess.run(
                command, cwd=folder, env=child_environment(), stdout=subprocess.PIPE, check=False
            )
        if ended.returncode:
            sys.exit(f"{name}: exit status {ended.returncode}")
        result, seconds, memory = json.loads(ended.stdout)
        print(f"{name:30} {seconds:6.1f} s {memory:7.0f} MB  {result}", flush=True)


if __name__ == "__main__":
    app.run(main)
