"""kill -9 at random moments: the same command again gives what an uninterrupted run gives.

    python benchmarks/faults/kill.py --kills=20

Data preparation, training and reranking, each with a tiny model and data of its own: one run that
nothing disturbs; then the same command, killed at a random moment, again and again, and at last
let finish. After each kill, what is there under a final name is what the undisturbed run wrote, to
the byte (checkpoints are judged by the run that goes on from them; logs are left out).
"""

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from absl import app, flags

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

COMMANDS = ("prepare", "train", "rerank")

FLAGS = flags.FLAGS
flags.DEFINE_integer("kills", 20, "Kills a command.", lower_bound=1)
flags.DEFINE_integer("seed", 0, "Of the moments.")
flags.DEFINE_multi_enum("command", list(COMMANDS), COMMANDS, "What to kill.")


def prepare(folder):
    """Text and a vocabulary -> the command that makes shards of them."""
    from tta.data.vocabulary import TTA_SPECIALS, Vocabulary

    Vocabulary([*TTA_SPECIALS, *"0123456789", "n", "."]).save(folder / "vocab.txt")
    lines = (f"n {' '.join(str(number))} .\n" for number in range(300_000))
    (folder / "text.txt").write_text("".join(lines))
    flags = [f"--input_file={folder / 'text.txt'}", f"--vocab_file={folder / 'vocab.txt'}"]
    return ["-m", "tta.data.run_create_tfrecords", *flags, f"--output_dir={folder / 'out'}"]


def train(folder):
    """A data set and a config -> the command that trains on it."""
    from tests.modeling.tiny import tiny_config
    from tests.tiny_dataset import sentences, write_dataset

    write_dataset(folder / "data", sentences(120), sentences(20, seed=1))
    tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2).to_json(folder / "config.json")
    flags = [f"--input_dir={folder / 'data'}", f"--config_file={folder / 'config.json'}"]
    flags += ["--num_train_steps=400", "--num_warmup_steps=10", "--train_batch_tokens=100"]
    flags += ["--save_checkpoints_steps=7", "--eval_steps=100", "--deterministic"]
    return ["run_pretraining.py", *flags, f"--output_dir={folder / 'out'}"]


def rerank(folder):
    """Lists and a model -> the command that reranks them; hypotheses and costs are two files."""
    from tests.tiny import WORDS, write_model_directory

    rng = random.Random(0)
    write_model_directory(folder / "model")
    names = [f"utt{i}-{n}" for i in range(4_000) for n in range(1, 6)]
    texts = (" ".join(rng.choices(WORDS, k=8)) for _ in names)
    (folder / "nbest").write_text("".join(f"{n} {t}\n" for n, t in zip(names, texts, strict=True)))
    (folder / "costs").write_text("".join(f"{name} {rng.random()}\n" for name in names))
    (folder / "out").mkdir()
    flags = [f"--nbest_file={folder / 'nbest'}", f"--score_file={folder / 'costs'}"]
    flags += [f"--model={folder / 'model'}", "--overwrite"]
    return ["run_rerank.py", *flags, f"--output_file={folder / 'out' / 'nbest'}"]


def final_files(folder):
    """{name: bytes} of what stands under a final name."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        unfinished = any(part.startswith(".") for part in name.parts)
        if path.is_file() and not unfinished and name.parts[0] not in ("checkpoints", "logs"):
            found[str(name)] = path.read_bytes()
    return found


def survive(name, kills, rng):
    """Kills a command `kills` times; prints a row, or ends the program where something is lost."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        command, output = [sys.executable, *globals()[name](folder)], folder / "out"

        def start():
            return subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=open(folder / "err", "wb")
            )

        def finish():
            if start().wait():
                sys.exit(f"{name} failed: {(folder / 'err').read_text()}")

        def clear():
            shutil.rmtree(output)
            if name == "rerank":
                output.mkdir()

        begun = time.monotonic()
        finish()
        seconds = time.monotonic() - begun
        expected = final_files(output)
        clear()
        killed = unfinished = 0
        while killed < kills:
            process = start()
            time.sleep(rng.uniform(0, seconds))
            process.kill()
            if process.wait() not in (0, -signal.SIGKILL):
                sys.exit(f"{name} failed: {(folder / 'err').read_text()}")
            killed += process.returncode != 0
            found = final_files(output) if output.exists() else {}
            for file, content in found.items():
                if content != expected.get(file):
                    sys.exit(f"{name}: {file} is not what an uninterrupted run writes")
            if found == expected:
                clear()
            else:
                unfinished += process.returncode != 0
        finish()
        if final_files(output) != expected:
            sys.exit(f"{name}: the end is not that of an uninterrupted run")
        left = [p.name for p in output.rglob(".*")]
        size = sum(map(len, expected.values()))
        print(
            f"{name:8} {seconds:6.0f} s uninterrupted, {killed} kills survived, {unfinished} of "
            f"them before the end; {size:,} bytes in {len(expected)} files, 0 differ; "
            f"left behind: {left or 'nothing'}",
            flush=True,
        )


def main(_):
    rng = random.Random(FLAGS.seed)
    for name in FLAGS.command:
        survive(name, FLAGS.kills, rng)


if __name__ == "__main__":
    app.run(main)
