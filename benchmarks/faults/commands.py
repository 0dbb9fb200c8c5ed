"""The commands that the scripts in this folder interrupt, with tiny models and data.

Each function takes an empty folder, writes the inputs of a command there, and returns the command,
which writes to `out` in that folder.
"""

import random


def prepare(folder):
    """Writes text and a vocabulary; the command converts them to shards."""
    from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary

    Vocabulary((*TTA_SPECIALS, *"0123456789", "n", ".")).save(folder / "vocab.txt")
    lines = (f"n {' '.join(str(number))} .\n" for number in range(300_000))
    (folder / "text.txt").write_text("".join(lines))
    flags = [f"--input_file={folder / 'text.txt'}", f"--vocab_file={folder / 'vocab.txt'}"]
    return ["-m", "tta.flags.create_tfrecords", *flags, f"--output_dir={folder / 'out'}"]


def train(folder):
    """Writes a data set and a config; the command trains on them."""
    from tests.modeling.tiny import tiny_config
    from tests.tiny_dataset import sentences, write_dataset

    write_dataset(folder / "data", sentences(120), sentences(20, seed=1))
    tiny_config(num_hidden_layers=1, hidden_dropout_prob=0.2).to_json(folder / "config.json")
    flags = [f"--input_dir={folder / 'data'}", f"--config_file={folder / 'config.json'}"]
    flags += ["--num_train_steps=400", "--num_warmup_steps=10", "--train_batch_tokens=100"]
    flags += ["--save_checkpoints_steps=7", "--eval_steps=100", "--deterministic"]
    return ["run_pretraining.py", *flags, f"--output_dir={folder / 'out'}"]


def rerank(folder):
    """Writes lists (hypotheses and costs in two files) and a model; the command reranks them."""
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
    """{name: bytes} of all files with a final name; for weights, their names and values."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        unfinished = any(part.startswith(".") for part in name.parts)
        if path.is_file() and not unfinished and name.parts[0] not in ("checkpoints", "logs"):
            found[str(name)] = _values(path) if path.suffix == ".h5" else path.read_bytes()
    return found


def _values(path):
    """The bytes of an HDF5 file's arrays. (The file itself also contains its time of writing.)"""
    import h5py

    found = []
    with h5py.File(path) as file:
        file.visititems(
            lambda name, item: (
                found.append(name.encode() + item[()].tobytes())
                if isinstance(item, h5py.Dataset)
                else None
            )
        )
    return b"".join(found)


def export(folder):
    """Writes a model; the command exports it for TF Serving."""
    from tests.tiny import write_model_directory

    write_model_directory(folder / "model")
    flags = [f"--model={folder / 'model'}", f"--output_dir={folder / 'out'}"]
    return ["-m", "tta.flags.export", *flags]
