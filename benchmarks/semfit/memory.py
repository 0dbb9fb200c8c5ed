"""Memory of training models over many words: ELMo, ELMo-A and ELMo-S of Table 2 of Li et al. 2019.

    python -m benchmarks.semfit.memory --json=benchmarks/semfit/memory.json
    python -m benchmarks.semfit.memory --rows=ELMo-S_ONEB --num_words=2000000

Makes a data set of random words (Zipf's law) with a vocabulary of --num_words, and vectors of 300
numbers for each, in a temporary folder; then run_pretraining.py trains each model of
benchmarks/semfit/rows.py for --num_steps steps. Prints the largest resident memory of each process.
Pages of the mapped file count as far as they were read.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT
from benchmarks.semfit.rows import ROWS
from benchmarks.trained_rows import chosen

FLAGS = flags.FLAGS
SENTENCES = 40_000


def main(_):
    rows = chosen(ROWS, FLAGS.rows)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        make_data(folder / "data", folder / "vectors")
        for row in rows:
            found[row.name] = resident(row, folder)
            print(f"{row.name}, {FLAGS.num_words:,} words: {found[row.name]:,.0f} MiB resident")
    if FLAGS.json:
        record = {"words": FLAGS.num_words, "MiB": found}
        Path(FLAGS.json).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def resident(row, folder):
    """The largest resident memory in MiB of a training of `row`."""
    command = [
        *("run_pretraining.py", f"--input_dir={folder}/data", f"--output_dir={folder}/{row.name}"),
        *(f"--config_file=configs/{row.config}.json", *row.flags),
        *([f"--vectors={folder}/vectors"] if row.vectors else []),
        *(f"--num_train_steps={FLAGS.num_steps}", "--num_warmup_steps=10"),
    ]
    process = subprocess.Popen([sys.executable, *command], cwd=ROOT, stdout=sys.stderr)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("run_pretraining.py failed")
    return usage.ru_maxrss / 1024


def make_data(data, vectors):
    """Writes a data set of random words, and vectors of the words."""
    import tta  # noqa: F401  (first, because it silences TensorFlow)
    from benchmarks.semfit.cases import NUM_BATCHES, word_counts, word_ids, write_table
    from tta.data.corpus.config import LocalCorpusConfig
    from tta.data.corpus.prepare import create_tfrecords
    from tta.data.vocabulary.words import WordVocabulary

    for folder in (data, vectors):
        folder.mkdir()
    counts = word_counts(FLAGS.num_words)
    words = {f"w{i}": int(count) for i, count in enumerate(counts)}
    vocabulary = WordVocabulary.from_counts(words)
    vocabulary.save(vectors / "vocab.txt")
    write_table(vectors / "vectors.npy", len(vocabulary))
    text = data.parent / "text.txt"
    ids = word_ids(FLAGS.num_words, SENTENCES // NUM_BATCHES, 25).reshape(-1, 25)
    with open(text, "w", encoding="utf-8") as file:
        file.writelines(" ".join(f"w{i}" for i in row) + "\n" for row in ids)
    create_tfrecords(
        LocalCorpusConfig(
            input_file=[str(text)],
            vocab_file=str(vectors / "vocab.txt"),
            output_dir=str(data),
            tokenizer="words",
            num_shards=2,
            overwrite=True,
        )
    )


if __name__ == "__main__":
    flags.DEFINE_integer("num_words", 800_000, "Words in the vocabulary.", lower_bound=100)
    flags.DEFINE_integer("num_steps", 20, "Training steps.", lower_bound=11)
    flags.DEFINE_string("rows", "ELMo;ELMo-A;ELMo-S_ONEB", "Names of rows, separated by ';'.")
    flags.DEFINE_string("json", None, "File for the result.")
    app.run(main)
