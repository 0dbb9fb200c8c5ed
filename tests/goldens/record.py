"""Records what the code computes: scores, vectors, tables, short trainings, served signatures.

The goldens were recorded before a large refactor, to show that no output changed. Record them again
only when an issue changes a number on purpose:

    python tests/goldens/record.py              # all
    python tests/goldens/record.py small mlm    # some, by the names of the files

It uses only what users have: `tta.load`, the commands, and the export. A training
also depends on the order in which layers are created, because they draw their seeds in that order.
"""

import json
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(__file__).resolve().parent

if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pytest  # noqa: E402

import tta  # noqa: E402
from tests.commands import run_command  # noqa: E402

# Short, punctuation, quotes, accents, characters that no vocabulary has, words of several pieces,
# one word, nothing.
SHORT = (
    "the cat sat on the mat",
    "They were waiting for the train.",
    "“Well”, he said -- (twice!) 3.5% ... why?",
    "Zoë's café in São Paulo sells crème brûlée",
    "she drew \N{SNOWMAN} and 猫 on \U0001f600 paper",
    "antidisestablishmentarianists mispronounced zyzzyvas",
    "hello",
    "",
)
# More pieces than the models take at a time: they read it in windows.
LONG = ", ".join(
    f"{number} {color} {thing}"
    for number, color in enumerate(("red", "blue", "old", "unbelievable", "green"), start=7)
    for thing in ("cats", "trains", "churches", "mountains", "telescopes", "violinists")
)
SENTENCES = (*SHORT, LONG)

# Options of `tta.load`, by a name.
PLAIN = {"default": {}}
DEFAULT = PLAIN | {"within_word_l2r": {"pll_variant": "within_word_l2r"}}
LEARNED = {"learned": {"normalizer": "learned"}}
MASKLESS = {"maskless": {"pll_variant": "maskless"}}
VECTORS = (("context", "mean"), ("embed", "mean"))
WHITENED = (("token", "mean"), ("token", "whitened"))
DIMENSIONS = 8  # of a vector, the first ones

# Name -> (variants, vectors).
MODELS = {
    "small": (DEFAULT | LEARNED, VECTORS + WHITENED),
    "bilm-small": (DEFAULT | MASKLESS, VECTORS),
    "unilm-small": (PLAIN, VECTORS),
}

TEST = "--nbest_file=examples/asr.test.json"
DEV = "--dev_nbest_file=examples/asr.dev.json"
SCORES_FILE_ROWS = 20
# Two models, and none that is tuned, rerank the first lists of the same files: time.
FEW_LISTS = 15
FEW = ("--nbest_file={folder}/asr.test.json", "--dev_nbest_file={folder}/asr.dev.json")

ENGINE = "--engine=tensorflow"  # that of the earlier versions
# A command and its flags, by a name.
TABLES = {
    "rerank_tuned": ("tta-rerank", ENGINE, TEST, DEV, "--model=small"),
    "rerank_two_models": ("tta-rerank", ENGINE, *FEW, "--model=", "--model=unilm-small"),
    "rerank_guessed": ("tta-rerank", ENGINE, FEW[0]),
    "sts": ("tta-sts", ENGINE, "--sts_file=examples/sts.csv", "--representation=context,embed"),
}

# Every loss and both optimizers, each somewhere.
TRAININGS = {
    "lae": (
        "tta",
        "--log_normalizer_weight=0.1",
        "--decorrelation_weight=0.1",
        "--contrast_weight=0.2",
        "--dropout=0.1",
    ),
    "mlm": ("bilm", "--optimizer=muon", "--contrast_weight=0.2", "--num_sampled_pieces=12"),
    "clm": (
        "unilm",
        "--log_normalizer_weight=0.1",
        "--decorrelation_weight=0.1",
        "--num_sampled_pieces=9",
    ),
}
TRAINING_FLAGS = (
    "--num_train_steps=12",
    "--num_warmup_steps=2",
    "--train_batch_tokens=100",
    "--learning_rate=1e-2",
    "--eval_steps=6",
    "--deterministic",
)
# Sizes are distinct, so that swapped axes show.
CONFIG = {
    "vocab_size": 23,
    "hidden_size": 15,
    "num_hidden_layers": 1,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 19,
}

SERVED_TEXTS = (*SHORT[:5], "", LONG)


def model(name):
    """What a model makes of the sentences, with every option."""
    variants, vectors = MODELS[name]
    found = {}
    for variant, options in variants.items():
        lm = tta.load(name, engine="tensorflow", **options)
        parts = [SENTENCES]
        if name == "bilm-small":
            # It reads a batch as often as its longest sentence has pieces.
            parts = [SHORT, (LONG,)] if variant == "default" else [SHORT]
        scored = [lm.score_with_counts(part) for part in parts]
        sums, counts = (np.concatenate(column) for column in zip(*scored, strict=True))
        found[variant] = {
            "signature": without_version(lm.signature),
            "scores": numbers(sums),
            "counts": [int(count) for count in counts],
        }
        if variant == "default":
            found[variant] |= {
                "score": numbers(lm.score(SHORT)),
                "score_mean": numbers(lm.score(SHORT, reduction="mean")),
                "tokens": [
                    {"tokens": list(one.tokens), "scores": numbers(one.log_probabilities)}
                    for one in lm.score_tokens(SHORT)
                ],
                "vectors": {
                    f"{representation}/{pooling}": shortened(
                        lm.encode(SHORT, representation, pooling)
                    )
                    for representation, pooling in vectors
                },
            }
    return found


def table(name):
    """What a command prints, and the first rows of its scores file."""
    with tempfile.TemporaryDirectory() as folder:
        for file in ("asr.test.json", "asr.dev.json"):
            lists = json.loads((ROOT / "examples" / file).read_text(encoding="utf-8"))
            few = dict(list(lists.items())[:FEW_LISTS])
            (Path(folder) / file).write_text(json.dumps(few), encoding="utf-8")
        scores = Path(folder) / "scores.jsonl"
        more = [f"--scores_file={scores}"] if name == "rerank_tuned" else []
        done = run(*(flag.format(folder=folder) for flag in TABLES[name]), *more)
        found = {"stdout": done.stdout.replace(f"{folder}/", "").splitlines()}
        if more:
            rows = scores.read_text(encoding="utf-8").splitlines()
            found["num_rows"] = len(rows)
            found["rows"] = [json.loads(row) for row in rows[:SCORES_FILE_ROWS]]
    return found


def training(objective):
    """The numbers of a short training's held-out lines, and the sums of its weights."""
    import h5py

    from tests.tiny_dataset import sentences, write_dataset

    model_type, *more = TRAININGS[objective]
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_dataset(folder / "data", sentences(120), sentences(20, seed=1))
        config = json.dumps(CONFIG | {"model_type": model_type})
        (folder / "config.json").write_text(config, encoding="utf-8")
        done = run(
            "tta-pretrain",
            f"--objective={objective}",
            f"--input_dir={folder / 'data'}",
            f"--config_file={folder / 'config.json'}",
            f"--output_dir={folder / 'run'}",
            *TRAINING_FLAGS,
            *more,
        )
        arrays = {}
        with h5py.File(folder / "run" / "model.weights.h5") as file:
            file.visititems(
                lambda name, item: (
                    arrays.update({name: item[()].astype(np.float64)})
                    if isinstance(item, h5py.Dataset)
                    else None
                )
            )
    return {
        "heldout": [
            [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", line)]
            for line in re.findall(r"step \d+: held-out .*", done.stderr.replace("\r", "\n"))
        ],
        "weights": {
            name: {
                "shape": list(array.shape),
                "sum": float(array.sum()),
                "sum_of_absolutes": float(np.abs(array).sum()),
            }
            for name, array in sorted(arrays.items())
        },
    }


def served():
    """As `answers_of`, of the built-in model, which is exported."""
    from tta.scoring.exports.serving.export import export

    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "1"
        export(tta.load(), output)
        return answers_of(output)


def answers_of(output):
    """The files and signatures of an exported model, and what they answer."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  (its operations)

    def described(specs):
        return {
            name: [spec.dtype.name, spec.shape.as_list()] for name, spec in sorted(specs.items())
        }

    files = sorted(str(p.relative_to(output)) for p in output.rglob("*") if p.is_file())
    signature = (output / "assets.extra" / "tta_signature.txt").read_text(encoding="utf-8")
    loaded = tf.saved_model.load(str(output))  # The signatures do not keep its variables.
    signatures = loaded.signatures
    texts = tf.constant(SERVED_TEXTS)
    tokens = signatures["score_tokens"](texts=texts[:4])
    return {
        "files": files,
        "signature": without_version(signature),
        "signatures": {
            name: {
                "inputs": described(function.structured_input_signature[1]),
                "outputs": described(function.structured_outputs),
            }
            for name, function in sorted(signatures.items())
        },
        "score": plain(signatures["score"](texts=texts)),
        "score_tokens": plain(tokens),
        "encode": shortened(signatures["encode"](texts=texts)["vectors"].numpy()),
    }


def run(name, *flags):
    """Runs a command in the checkout, which must succeed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        done = run_command(name, *flags)
    if done.returncode:
        raise RuntimeError(f"{name} {' '.join(flags)}: {done.stderr}")
    return done._replace(stdout=without_version(done.stdout))


def without_version(text):
    """The text of a signature for any version of the package."""
    return re.sub(r"version:[^|\s]+", "version:*", text)


def numbers(array):
    """Floats with the digits that float32 has."""
    return [float(f"{value:.8g}") for value in np.asarray(array, np.float64)]


def shortened(vectors):
    """Each vector's first dimensions, and its norm."""
    norms = np.linalg.norm(np.asarray(vectors, np.float64), axis=1)
    return {"first": [numbers(v[:DIMENSIONS]) for v in vectors], "norms": numbers(norms)}


def plain(outputs):
    """{name: lists} of a signature's outputs."""

    def item(value):
        if isinstance(value, list):
            return [item(one) for one in value]
        return value.decode() if isinstance(value, bytes) else value

    return {name: item(tensor.numpy().tolist()) for name, tensor in sorted(outputs.items())}


# Name of a file -> (what computes it, its argument).
PARTS = {name: (model, name) for name in MODELS}
PARTS |= {name: (table, name) for name in TABLES}
PARTS |= {name: (training, name) for name in TRAININGS}
PARTS |= {"served": (served,)}


def compute(name):
    """A golden's content, as it is now."""
    function, *arguments = PARTS[name]
    return function(*arguments)


def golden(name):
    """A golden's content, as it was recorded."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def dumped(value, indent=""):
    """JSON in which what holds no other list or dictionary is one line."""
    items = value.values() if isinstance(value, dict) else value
    if isinstance(value, str | int | float) or not any(isinstance(i, dict | list) for i in items):
        return json.dumps(value, ensure_ascii=False)
    deeper = indent + " "
    if isinstance(value, dict):
        lines = [f"{json.dumps(k)}: {dumped(v, deeper)}" for k, v in value.items()]
    else:
        lines = [dumped(v, deeper) for v in value]
    inside = f",\n{deeper}".join(lines)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{deeper}{inside}\n{indent}{closing}"


if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        (FOLDER / f"{name}.json").write_text(dumped(compute(name)) + "\n", encoding="utf-8")
        print(name)
