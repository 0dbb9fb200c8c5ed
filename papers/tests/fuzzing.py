"""Hostile files for the readers of papers/, as tests/fuzzing.py. Without TensorFlow."""

import io
import struct
from functools import partial

import numpy as np

from tests.fuzzing import CONFIG, Reader, check_config, json_bytes
from tests.fuzzing_models import folder_of
from tta.names import CHARACTER_NETWORK
from tta.papers.glue.data.conll import read_conll, stray_tags
from tta.papers.glue.data.tables import read_table
from tta.papers.semfit.vectors.character_network import (
    NUM_CHARACTERS,
    CharacterNetwork,
    network_bytes,
)
from tta.papers.semfit.vectors.fasttext import SubwordVectors, check_sizes
from tta.papers.semfit.vectors.ngrams import NgramSettings
from tta.papers.semfit.vectors.target_vectors import map_vectors
from tta.papers.semfit.vectors.word_vectors import WordVectorFile


def _check_labelled(path, **options):
    table = read_table(path, **options)
    assert all(len(row.texts) == len(table.text_columns) for row in table.rows)
    assert all(row.label for row in table.rows) == table.has_labels or not table.rows


def _check_conll(path):
    sentences = read_conll(path)
    assert all(len(one.tokens) == len(one.tags) > 0 for one in sentences)
    stray_tags(sentences)


def _check_vectors(path):
    found = WordVectorFile(path).read({"the", "cat", "cafe"})
    assert all(np.isfinite(vector).all() for vector in found.values())


def _check_npy(path):
    assert map_vectors(path).ndim == 2


def _check_fasttext(path):
    with open(path, "rb") as file:
        if path.stat().st_size:
            check_sizes(file, path)


def _check_subwords(path):
    vectors = SubwordVectors.read(path)
    assert vectors.size >= 1


def _check_characters(path):
    folder = folder_of(path)
    (folder / CHARACTER_NETWORK).write_bytes(path.read_bytes())
    network = CharacterNetwork(folder)
    assert network.vectors(["cat"]).shape == (1, network.size)


def _characters_file():
    """The smallest network over characters."""
    shapes = {"characters": (NUM_CHARACTERS, 2), "filters_1/kernel": (1, 2, 3)}
    shapes |= {"filters_1/bias": (3,), "projection/kernel": (3, 2), "projection/bias": (2,)}
    rng = np.random.default_rng(0)
    return (network_bytes({name: rng.normal(size=shape) for name, shape in shapes.items()}),)


def _npy_file(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def fasttext_file():
    """A file of fastText with two words, one bucket, and vectors of two numbers."""
    settings = struct.pack("<12id", *(2, 5, 1, 1, 5, 1, 2, 2, 1, 3, 6, 100), 1e-4)
    words = b"".join(word + b"\0" + struct.pack("<qb", 7, 0) for word in (b"the", b"cat"))
    sizes = struct.pack("<3i2q", 2, 2, 0, 14, -1)
    vectors = struct.pack("<?2q", False, 3, 2) + np.ones(6, np.float32).tobytes()
    return struct.pack("<2i", 793712314, 12) + settings + sizes + words + vectors


_CONFIGS = (
    CONFIG,
    CONFIG | {"model_type": "autoencoder", "decoder_input": "masked", "num_latents": 2},
    CONFIG | {"model_type": "unilm", "output_layer": "semfit", "target_size": 3},
    {"model_type": "elmo", "vocab_size": 30, "tokenizer": "words", "output_layer": "softmax"},
    {"model_type": "classifier", "encoder": CONFIG, "labels": ["a", "b"], "pooling": "mean"},
)

READERS = {
    "conll": Reader(
        _check_conll,
        (b"Bo\tB-per\nran\tO\n\nBo B-per\nLi I-per\n", b"-DOCSTART- X O\n\nBo NN B-a\n, , I-b\n"),
    ),
    "labelled": Reader(
        _check_labelled,
        (
            b"sentence1\tsentence2\tlabel\na\tb\t1\nc\td\t0\n",
            b'sentence,label\n"a, b",x\nc,y\n',
            b'{"sentence": "a", "label": 1}\n{"label": "b", "sentence": null, "n": [1]}\n',
        ),
    ),
    "labelled_columns": Reader(
        partial(
            _check_labelled,
            columns={2: ("label", "sentence"), 3: ("label", "x", "sentence")},
            needs_labels=False,
            skips_rows=True,
        ),
        (b"1\tthe cat\n0\ta hat\n", b"category\tx\ttext\n1\ty\tthe cat\n", b"1\t2\t3\t4\n"),
    ),
    "word_vectors": Reader(
        _check_vectors,
        (
            b"the 0.1 -2 3e-1\ncat 1 2 3\n. . . 4 5 6\n",
            b"2 3\nthe 1 2 3 \ncat 4 5 6 \n",
            b"2 2\nthe " + np.float32([1, -2]).tobytes() + b"\ncat " + np.float32([3, 4]).tobytes(),
        ),
    ),
    "configs_of_papers": Reader(check_config, tuple(map(json_bytes, _CONFIGS))),
    "npy_vectors": Reader(
        _check_npy,
        (_npy_file(np.ones((3, 2), np.float16)), _npy_file(np.ones((2, 4), np.float32).T)),
    ),
    "fasttext_sizes": Reader(_check_fasttext, (fasttext_file(),)),
}
MODEL_READERS = {
    "ngrams_json": Reader(
        NgramSettings.read, (json_bytes({"min_n": 3, "max_n": 6, "lower_case": False}),)
    ),
    "characters": Reader(_check_characters, _characters_file),
    "fasttext": Reader(_check_subwords, (fasttext_file(),)),
}
