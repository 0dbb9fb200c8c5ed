"""Peak memory of reranking 300 utterances of 50 hypotheses with a biLM.

    python -m benchmarks.paper.memory

Runs run_rerank.py like a user, on generated lists, and reads the peak resident memory of the
process. Ends with status 1 if that is 2 GiB or more. Memory does not depend on the weights: without
a trained biLM (--bilm), the command writes and uses one of the same size with random weights.
"""

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from absl import flags

from benchmarks.paper import common
from tta import cli
from tta.errors import InputError

FLAGS = flags.FLAGS

UTTERANCES, HYPOTHESES, WORDS = 300, 50, (5, 25)
LIMIT = 2 << 30
BILM = next(entry for entry in common.SCORERS if entry.flag == "bilm")


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        model = random_bilm(folder / "bilm") if BILM.missing else BILM.model
        write_lists(folder / "lists.tsv")
        command = [sys.executable, "run_rerank.py", f"--model={model}", "--format=tsv"]
        command += [f"--nbest_file={folder / 'lists.tsv'}", f"--beam_size={HYPOTHESES}"]
        process = subprocess.Popen(command, cwd=common.ROOT, stdout=sys.stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise InputError(f"run_rerank.py ended with status {process.returncode}")
    resident = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    table = common.Table(
        "memory",
        "Memory: reranking with a biLM",
        ["peak resident, MiB", "limit, MiB"],
        {},
        conditions=[
            f"{FLAGS.limit or UTTERANCES} utterances of {HYPOTHESES} hypotheses, "
            f"{WORDS[0]} to {WORDS[1]} words; "
            + ("random weights, the small size" if BILM.missing else f"`{model}`")
        ],
    )
    table.set("run_rerank.py", "peak resident, MiB", resident / 2**20)
    table.set("run_rerank.py", "limit, MiB", LIMIT / 2**20)
    table.save()
    if resident >= LIMIT:
        raise InputError(f"peak resident memory was {resident:,} bytes, the limit is {LIMIT:,}")


def write_lists(path):
    """Writes utterances with different hypotheses, whose words are drawn from a small set."""
    rng = random.Random(0)
    words = (common.ROOT / "examples" / "train.txt").read_text(encoding="utf-8").lower().split()
    with open(path, "w", encoding="utf-8") as stream:
        for _ in range(FLAGS.limit or UTTERANCES):
            length = rng.randint(*WORDS)
            for rank in range(HYPOTHESES):
                text = " ".join(rng.choice(words) for _ in range(length))
                stream.write(f"{text}\t{-rank}\n")


def random_bilm(folder):
    """Writes a biLM of the built-in model's size and vocabulary with random weights."""
    from tta.data.vocabulary.word_pieces import Vocabulary
    from tta.modeling.config.base import read_config
    from tta.modeling.formats.model_directory import save_model
    from tta.modeling.models.language_model import LanguageModel

    config = read_config(common.ROOT / "configs" / "small-bilm.json")
    save_model(LanguageModel(config), folder, "Random weights.\n")
    vocabulary = Vocabulary.from_file(common.ROOT / "tta" / "small" / "vocab.txt")
    vocabulary.save(folder / "vocab.txt")
    return folder


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
