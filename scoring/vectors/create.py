"""Makes the target vectors of a vocabulary: by skip-gram, from a trained model, or at random."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from tqdm import tqdm

import tta
from tta.data.records.dataset import TRAIN, load_dataset_info, shard_paths
from tta.data.records.pipeline import eval_batches
from tta.data.text.files import open_output
from tta.data.vectors.skip_gram import train_skip_gram
from tta.data.vectors.target_vectors import write_vectors
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.names import README, VECTORS, VOCABULARY
from tta.scoring.vectors.config import VectorsConfig

_BATCH_TOKENS = 1 << 16


def create_vectors(config: VectorsConfig) -> np.ndarray:
    """Writes `vectors.npy`, one vector per piece, and its vocabulary to `config.output_dir`.

    Returns:
        [V, m] float32, before they are rounded to float16.

    Raises:
        InputError: the data set or the model is missing or malformed, the model has another
            vocabulary, gensim is missing, or the files exist or cannot be written.
    """
    info = load_dataset_info(config.input_dir)
    vocabulary = Vocabulary.from_file(Path(config.input_dir) / VOCABULARY)
    directory = Path(config.output_dir)
    if directory.exists() and not directory.is_dir():
        raise InputError("expected a folder, got a file", directory)
    directory.mkdir(parents=True, exist_ok=True)
    _check_vocabulary(directory / VOCABULARY, vocabulary)
    path = directory / VECTORS
    # Opened first, so that an unwritable file is reported before the work, not after it.
    with (
        open_output(path, config.overwrite, binary=True) as file,
        open_output(directory / README, config.overwrite) as card,
    ):
        vectors = _make(config, info, vocabulary)
        write_vectors(file, vectors, path)
        vocabulary.save(directory / VOCABULARY, overwrite=True)
        card.write(_card(config, vectors))
    return vectors


def _make(config, info, vocabulary):
    if config.source == "random":
        return random_directions(len(vocabulary), config.size, config.seed)
    if config.source == "token_table":
        return _token_table(config.model, vocabulary)
    return train_skip_gram(
        _Sentences(config.input_dir, info, vocabulary.pad_id),
        len(vocabulary),
        config.size,
        config.window,
        config.num_epochs,
        config.seed,
        config.num_workers,
    )


def random_directions(count: int, size: int, seed: int) -> np.ndarray:
    """Vectors of length 1 in uniformly random directions: [count, size] float32."""
    vectors = np.random.default_rng(seed).standard_normal((count, size), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _token_table(model, vocabulary):
    lm = tta.load(model)
    table = getattr(lm.model, "token_table", None)
    if table is None or lm.tokenizer is None:
        raise InputError("the model has no token table with a vocabulary", lm.name)
    if lm.tokenizer.vocabulary.tokens != vocabulary.tokens:
        raise InputError(f"the model has another vocabulary than {vocabulary.path}", lm.name)
    return np.asarray(table, np.float32)


class _Sentences:
    """The training sentences of a data set as lists of ids, begin and end included."""

    def __init__(self, directory, info, pad_id):
        self._arguments = {
            "shards": shard_paths(directory, info, TRAIN),
            "features": info["features"],
            "batch_tokens": _BATCH_TOKENS,
            "max_length": info["max_seq_length"],
            "pad_id": pad_id,
        }
        self._count = info["splits"][TRAIN].get("sentences")

    def __iter__(self) -> Iterator[list[int]]:
        is_shown = sys.stderr.isatty()
        with tqdm(
            total=self._count, unit=" sentences", desc="reading", disable=not is_shown
        ) as bar:
            for batch in eval_batches(**self._arguments):
                mask = batch["padding_mask"].numpy()
                for ids, real in zip(batch["input_ids"].numpy(), mask, strict=True):
                    yield ids[real].tolist()
                bar.update(len(mask))


def _check_vocabulary(path, vocabulary):
    """A killed run must not leave old vectors beside the vocabulary of new ones."""
    if path.exists() and Vocabulary.from_file(path) != vocabulary:
        raise InputError(
            f"the folder has another vocabulary than {vocabulary.path}; choose another "
            "--output_dir",
            path,
        )


def _card(config, vectors):
    missing = int((~vectors.any(axis=1)).sum())
    settings = {"source": config.source, "model": config.model, "seed": config.seed}
    if config.source == "skip_gram":
        settings |= {"window": config.window, "num_epochs": config.num_epochs}
    made_by = " ".join(f"--{name}={value}" for name, value in settings.items() if value is not None)
    return f"""# {Path(config.output_dir).name}

Target vectors for SemFit models of tta-lm: {len(vectors):,} pieces, {vectors.shape[1]:,} numbers
each, {missing:,} pieces without a vector (zeros).

    tta-create-vectors {made_by}
"""
