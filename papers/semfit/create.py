"""Makes the vectors of a vocabulary: by skip-gram, fastText, SVD, from a model, or at random."""

import contextlib
import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import tta
from tta.data.records.dataset import TRAIN, load_dataset_info, shard_paths
from tta.data.records.pipeline import eval_batches
from tta.data.text.files import open_output, withdrawn
from tta.data.text.progress import tqdm
from tta.data.vocabulary.load import load_vocabulary
from tta.errors import InputError, located
from tta.names import (
    CHARACTER_NETWORK,
    NEW_WORD_FILES,
    NGRAMS,
    NGRAMS_SETTINGS,
    README,
    VECTORS,
    VOCABULARY,
)
from tta.papers.semfit.create_config import VectorsConfig
from tta.papers.semfit.vectors.character_network import network_bytes
from tta.papers.semfit.vectors.fasttext import LINE_END, SubwordVectors
from tta.papers.semfit.vectors.ngrams import NgramSettings
from tta.papers.semfit.vectors.target_vectors import write_vectors
from tta.papers.semfit.vectors.token_vectors import svd_vectors, train_skip_gram
from tta.scoring.scorers.pooling import Whitening

_BATCH_TOKENS = 1 << 16
_BLOCK = 1024  # words that an input layer reads at a time
_BLOCK_ROWS = 1 << 15  # that a whitening reads at a time
_INPUT_LAYER = "encoder/embeddings/"  # how the names of its weights begin


def create_vectors(config: VectorsConfig) -> np.ndarray:
    """Writes `vectors.npy`, one vector per token, and its vocabulary to `config.output_dir`.

    What makes the vectors of new words is written beside it: fastText's vectors of n-grams to
    `ngrams.npy` and `ngrams.json`, the network over characters of an ELMo to
    `characters.safetensors`.

    Returns:
        [V, m] float32, before they are rounded to float16.

    Raises:
        InputError: the data set or the model is missing or malformed, the model has another
            vocabulary, the source needs words, fastText's file is malformed, gensim is missing, or
            the files exist or cannot be written.
    """
    info = load_dataset_info(config.input_dir)
    needs_words = "whiten" if config.whiten else "source fasttext"
    if (config.whiten or config.source == "fasttext") and info["tokenizer"] != "words":
        rule = f"{needs_words} needs a data set of words (tta create-tfrecords --tokenizer=words)"
        raise InputError(rule, config.input_dir)
    vocabulary = load_vocabulary(info["tokenizer"], Path(config.input_dir) / VOCABULARY)
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
        vectors, new_words = _make(config, info, vocabulary)
        write_vectors(file, vectors, path)
        _write_new_words(directory, new_words)
        vocabulary.save(directory / VOCABULARY, overwrite=True)
        unit = "words" if info["tokenizer"] == "words" else "pieces"
        card.write(_card(config, vectors, unit))
    return vectors


def _make(config, info, vocabulary):
    """The vectors [V, m], and {name: contents} of the files that make vectors of new words."""
    if config.source == "random":
        return random_directions(len(vocabulary), config.size, config.seed), {}
    if config.source in _FROM_A_MODEL:
        lm = _load(config.model, vocabulary)
        new_words = _character_network(lm) if config.source == "input_layer" else {}
        return _FROM_A_MODEL[config.source](lm), new_words
    sentences = _Sentences(config.input_dir, info, vocabulary.pad_id)
    if config.source == "svd":
        vectors = svd_vectors(
            sentences,
            len(vocabulary),
            config.size,
            window=config.window,
            num_negatives=config.num_negatives,
            seed=config.seed,
        )
        return _whitened(config, vectors, vocabulary)[0], {}
    names = "window", "num_epochs", "seed", "num_workers"
    training = {name: getattr(config, name) for name in names}
    if config.source == "skip_gram":
        return train_skip_gram(sentences, len(vocabulary), config.size, **training), {}
    if config.fasttext_file is not None:
        words = SubwordVectors.read(config.fasttext_file)
    else:
        sentences = _Words(sentences, vocabulary)
        words = SubwordVectors.train(sentences, config.size, config.num_buckets, **training)
    named = {i: name for i, name in enumerate(_fasttext_names(vocabulary)) if name is not None}
    vectors = np.zeros((len(vocabulary), words.size), np.float32)
    vectors[list(named)] = words.vectors(list(named.values()))
    vectors, ngrams = _whitened(config, vectors, vocabulary, words.ngrams)
    if ngrams is None or not len(ngrams):
        return vectors, {}
    settings = NgramSettings(words.min_n, words.max_n, info["lower_case"])
    stream = io.BytesIO()
    write_vectors(stream, ngrams, Path(config.output_dir) / NGRAMS)
    return vectors, {NGRAMS: stream.getbuffer(), NGRAMS_SETTINGS: settings.text.encode()}


def _whitened(config, vectors, vocabulary, ngrams=None):
    """Vectors of words and of n-grams, with `whiten` whitened over the text.

    A word is a mean of rows, and so is its whitened vector, because the map is affine. Rows of
    zeros stay zeros: they stand for words without a vector.
    """
    if not config.whiten:
        return vectors, ngrams
    has_vector = vectors.any(axis=1)
    whitening = whitening_over(vectors, np.where(has_vector, vocabulary.counts, 0))
    vectors = np.where(has_vector[:, None], whitening.affine(vectors), 0)
    return vectors, None if ngrams is None else whitening.affine(ngrams)


def whitening_over(vectors: np.ndarray, counts: np.ndarray) -> Whitening:
    """Fits a whitening to vectors [V, D] that occur `counts` [V] times.

    Raises InputError if none occurs, or as `Whitening.fit`.
    """
    if not counts.any():
        raise InputError("no whitening: no word of the text has a vector")
    shares = counts / counts.sum()  # float64
    mean = shares @ vectors
    covariance = np.zeros((len(mean), len(mean)))
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = slice(start, start + _BLOCK_ROWS)
        centred = vectors[block] - mean
        covariance += centred.T @ (shares[block, None] * centred)
    return Whitening.fit(mean, covariance)


def _fasttext_names(vocabulary):
    """The words of ids for fastText, to which begin and end are the end of a line.

    Padding and the unknown word have none (None).
    """
    names = list(vocabulary.tokens)
    names[vocabulary.pad_id] = names[vocabulary.unk_id] = None
    names[vocabulary.bos_id] = names[vocabulary.eos_id] = LINE_END
    return names


def _character_network(lm):
    """The file of an ELMo's network over characters; none if it reads something else."""
    if lm.config.model_type != "elmo" or lm.config.input_layer != "characters":
        return {}
    weights = {
        name.removeprefix(_INPUT_LAYER): array
        for name, array in lm.engine.weights().items()
        if name.startswith(_INPUT_LAYER)
    }
    with located(path=lm.directory):
        return {CHARACTER_NETWORK: network_bytes(weights)}


def _write_new_words(directory, files):
    """Writes the files that make vectors of new words, and removes those of earlier vectors."""
    for name in NEW_WORD_FILES:
        if name not in files:
            (directory / name).unlink(missing_ok=True)
    with contextlib.ExitStack() as stack:
        for name, contents in files.items():
            output = open_output(directory / name, overwrite=True, binary=True)
            stack.enter_context(output).write(contents)
        if files:  # old vectors of words are removed before new ones of n-grams are beside them
            stack.enter_context(withdrawn(directory / VECTORS))


def random_directions(count: int, size: int, seed: int) -> np.ndarray:
    """Vectors of length 1 in uniformly random directions: [count, size] float32."""
    vectors = np.random.default_rng(seed).standard_normal((count, size), np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _load(model, vocabulary):
    """The model, checked to have this vocabulary."""
    lm = tta.load(model)
    if lm.tokenizer is None or lm.tokenizer.vocabulary.tokens != vocabulary.tokens:
        raise InputError(f"the model has another vocabulary than {vocabulary.path}", lm.name)
    return lm


def _token_table(lm):
    table = getattr(lm.model, "token_table", None)
    if table is None:
        raise InputError("the model has no token table", lm.name)
    return np.asarray(table, np.float32)


def _whitened_token_table(lm):
    name = lm.choose_representation("token")
    whitening = lm.pooling_statistics.whitenings[name]
    return np.asarray(whitening(_token_table(lm)), np.float32)


def _input_layer(lm):
    """What the input layer makes of each word; zeros for padding and the unknown word: [V, D]."""
    if lm.model.config.model_type != "elmo":
        raise InputError("source input_layer needs a model of type elmo", lm.name)
    vocabulary, vectors_of = lm.tokenizer.vocabulary, lm.engine.token_vectors("embed")
    parts = []
    for start in tqdm(range(0, len(vocabulary), _BLOCK)):
        ids = np.arange(start, min(start + _BLOCK, len(vocabulary)), dtype=np.int32)[:, None]
        every = np.ones(ids.shape, bool)
        parts.append(vectors_of(ids, every, every)[:, 0])
    vectors = np.concatenate(parts)
    vectors[[vocabulary.pad_id, vocabulary.unk_id]] = 0
    return vectors


_FROM_A_MODEL = {
    "token_table": _token_table,
    "whitened_token_table": _whitened_token_table,
    "input_layer": _input_layer,
}


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
        with tqdm(total=self._count, unit=" sentences", desc="reading") as bar:
            for batch in eval_batches(**self._arguments):
                mask = batch["padding_mask"].numpy()
                for ids, real in zip(batch["input_ids"].numpy(), mask, strict=True):
                    yield ids[real].tolist()
                bar.update(len(mask))


class _Words:
    """Sentences of ids as lists of words for fastText, without unknown words."""

    def __init__(self, sentences, vocabulary):
        self._sentences, self._names = sentences, _fasttext_names(vocabulary)

    def __iter__(self) -> Iterator[list[str]]:
        for ids in self._sentences:
            words = map(self._names.__getitem__, ids)
            yield [word for word in words if word is not None]


def _check_vocabulary(path, vocabulary):
    """A killed run must not leave old vectors beside the vocabulary of new ones."""
    if path.exists() and type(vocabulary).from_file(path) != vocabulary:
        raise InputError(
            f"the folder has another vocabulary than {vocabulary.path}; choose another "
            "--output_dir",
            path,
        )


def _card(config, vectors, unit):
    missing = int((~vectors.any(axis=1)).sum())
    settings = {"source": config.source, "model": config.model, "seed": config.seed}
    settings["fasttext_file"] = config.fasttext_file
    if config.source in ("skip_gram", "fasttext") and config.fasttext_file is None:
        settings |= {"window": config.window, "num_epochs": config.num_epochs}
        if config.source == "fasttext":
            settings["num_buckets"] = config.num_buckets
    if config.source == "svd":
        settings |= {"window": config.window, "num_negatives": config.num_negatives}
    if config.whiten:
        settings["whiten"] = "true"
    made_by = " ".join(f"--{name}={value}" for name, value in settings.items() if value is not None)
    return f"""# {Path(config.output_dir).name}

Target vectors for SemFit models of tta-lm: {len(vectors):,} {unit}, {vectors.shape[1]:,} numbers
each, {missing:,} {unit} without a vector (zeros).

    tta create-vectors {made_by}
"""
