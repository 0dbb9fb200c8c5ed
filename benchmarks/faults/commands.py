"""The commands that the scripts in this folder interrupt, with tiny models and data.

Each function takes an empty folder, writes the inputs of a command there, and returns the command,
which writes to `out` in that folder. What the function has written to `out` is the user's: the
command may replace a file of the same name, and nothing else.
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


def rerank_folder(folder):
    """Writes a folder of lists and an older result; the command reranks them as a folder."""
    from tests.tiny import WORDS, write_model_directory

    rng = random.Random(0)
    write_model_directory(folder / "model")
    for target, number in ((folder / "lists", 2_000), (folder / "out" / "lists", 3)):
        for rank in range(1, 4):
            one = target / f"{rank}best_recog"
            one.mkdir(parents=True)
            rows = [f"utt{i} {' '.join(rng.choices(WORDS, k=8))}\n" for i in range(number)]
            (one / "text").write_text("".join(rows))
            scores = [f"utt{i} {-rng.random()}\n" for i in range(number)]
            (one / "score").write_text("".join(scores))
    flags = [f"--nbest_file={folder / 'lists'}", f"--model={folder / 'model'}", "--overwrite"]
    return ["run_rerank.py", *flags, f"--output_file={folder / 'out' / 'lists'}"]


def create_vocab(folder):
    """Writes text; the command trains a vocabulary on it."""
    (folder / "out").mkdir()
    flags = [f"--input_file={_text(folder)}", "--vocab_size=60", "--overwrite"]
    (folder / "out" / "vocab.txt").write_text("an older one\n")
    return ["-m", "tta.flags.create_vocab", *flags, f"--vocab_file={folder / 'out' / 'vocab.txt'}"]


def create_vectors(folder):
    """Writes a data set; the command draws a vector for each of its pieces."""
    from tests.tiny_dataset import sentences, write_dataset

    write_dataset(folder / "data", sentences(120))
    (folder / "out").mkdir()
    (folder / "out" / "notes.txt").write_text("somebody's\n")
    flags = [f"--input_dir={folder / 'data'}", f"--output_dir={folder / 'out'}"]
    return ["-m", "tta.papers.semfit.command", *flags, "--source=random", "--overwrite"]


def fit_pooling(folder):
    """Writes a model and text; the command adds statistics to the model."""
    from tests.tiny import write_model_directory

    write_model_directory(folder / "out")
    flags = [f"--model={folder / 'out'}", f"--input_file={_text(folder)}", "--overwrite"]
    return ["-m", "tta.flags.fit_pooling", *flags]


def score(folder):
    """Writes a model and text; the command scores each line."""
    flags = [f"--model={_model(folder)}", f"--input_file={_text(folder)}", "--overwrite"]
    (folder / "out" / "scores").write_text("older scores\n")
    return ["-m", "tta.flags.score", *flags, f"--output_file={folder / 'out' / 'scores'}"]


def sts(folder):
    """Writes a model and pairs; the command writes a cosine for each."""
    model, rng = _model(folder), random.Random(0)
    pairs = (f"{_sentence(rng)}\t{_sentence(rng)}\t{rng.random():.3f}\n" for _ in range(3_000))
    (folder / "pairs.tsv").write_text("".join(pairs))
    flags = [f"--sts_file={folder / 'pairs.tsv'}", f"--model={model}"]
    return ["run_sts.py", *flags, f"--output_file={folder / 'out' / 'cosines'}"]


def reconstruct(folder):
    """Writes an autoencoder and text; the command writes a reconstruction of each line."""
    (folder / "out").mkdir()
    flags = [f"--model={_autoencoder(folder)}", f"--input_file={_text(folder)}", "--overwrite"]
    (folder / "out" / "texts.jsonl").write_text("older texts\n")
    return ["-m", "tta.papers.nar.command", *flags, f"--output_file={folder / 'out/texts.jsonl'}"]


def half(folder):
    """Writes an autoencoder; the command writes its decoder as a model."""
    call = f"save_part({str(_autoencoder(folder))!r}, 'decoder', {str(folder / 'out')!r})"
    lines = ["import sys", "from tta.modeling.formats.parts import save_part"]
    lines += [f"try: {call}", "except ValueError as error: sys.exit(f'error: {error}')"]
    return ["-c", "\n".join(lines)]


def adapt(folder):
    """Writes a model and text; the command adapts the model to the text."""
    model = _model(folder)
    (folder / "out").rmdir()
    flags = [f"--model={model}", f"--input_file={_text(folder, 400)}", "--max_passes=2"]
    return ["-m", "tta.flags.adapt", *flags, f"--output_dir={folder / 'out'}"]


def classify(folder):
    """Writes a model and labelled texts; the command fine-tunes classifiers."""
    model, rng = _model(folder), random.Random(0)
    (folder / "out").rmdir()
    for name, number in (("train", 60), ("dev", 20)):
        rows = (f"{rng.choice('ab')}\t{_sentence(rng)}\n" for _ in range(number))
        (folder / f"{name}.tsv").write_text("".join(rows))
    flags = [f"--{part}_file={folder / part}.tsv" for part in ("train", "dev")]
    flags += [f"--test_file={folder / 'dev.tsv'}", f"--model={model}", "--num_seeds=2"]
    return ["-m", "tta.papers.glue.command", *flags, f"--output_dir={folder / 'out'}"]


def export(folder):
    """Writes a model; the command exports it for TF Serving."""
    from tests.tiny import write_model_directory

    write_model_directory(folder / "model")
    flags = [f"--model={folder / 'model'}", f"--output_dir={folder / 'out' / '1'}"]
    return ["-m", "tta.flags.export", *flags]


def export_onnx(folder):
    """Writes a model; the command exports it for onnxruntime."""
    return [*export(folder), "--format=onnx"]


def _model(folder):
    """Writes a model directory and the empty folder `out`; returns the model directory."""
    from tests.tiny import CONFIG, write_model_directory

    (folder / "out").mkdir()
    return write_model_directory(folder / "model", CONFIG.replace(num_hidden_layers=1))


def _autoencoder(folder):
    from tests.tiny_dataset import VOCABULARY
    from tta.modeling.formats.model_directory import save_model
    from tta.papers.nar.tests.test_autoencoder import make

    (folder / "model").mkdir()
    VOCABULARY.save(folder / "model" / "vocab.txt")
    save_model(make("tta"), folder / "model", "")
    return folder / "model"


def _text(folder, number=3_000):
    """Writes different sentences into a file."""
    rng = random.Random(0)
    path = folder / "text.txt"
    path.write_text("".join(f"{_sentence(rng)}\n" for _ in range(number)))
    return path


def _sentence(rng):
    from tests.tiny import WORDS

    return " ".join(rng.choices([one for one in WORDS if one.isalpha()], k=rng.randint(3, 8)))


def final_files(folder):
    """{name: bytes} of all files with a final name; for weights, their names and values.

    A SavedModel is written in another order each time: of its files, the sizes.
    """
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        unfinished = any(part.startswith(".") for part in name.parts)
        if path.is_file() and not unfinished and not {"checkpoints", "logs"} & set(name.parts):
            found[str(name)] = _content(path)
    return found


def _content(path):
    if path.name.startswith(("variables.", "tf_serving_", "fingerprint.")):
        return b"" if path.name == "fingerprint.pb" else str(path.stat().st_size).encode()
    return _values(path) if path.suffix == ".h5" else path.read_bytes()


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
