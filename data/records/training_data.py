"""A data set as training reads it: its shards, its vocabulary, and vectors of its tokens."""

import functools
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from tta.atomic import copy_present
from tta.data.records import arrays, pipeline
from tta.data.records.dataset import HELDOUT, TRAIN, load_dataset_info, shard_paths
from tta.data.records.examples import check_records
from tta.data.records.features import (
    INPUT_IDS,
    TARGET_VECTORS,
    TOKEN_FEATURES,
    IdLimits,
    ModelInputs,
    inputs_of_data,
)
from tta.data.vocabulary.load import AnyVocabulary, load_vocabulary, make_tokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.names import NEW_WORD_FILES, VECTORS, VOCABULARY


class TokenVectors(Protocol):
    """Vectors of the tokens of a vocabulary, in a file.

    Attributes:
        path: of the file.
        size: dimensions of a vector.
        digest: a hash of the file.
        look_up: from ids [B, T] int32 to vectors [B, T, size], in a TensorFlow graph or not.
    """

    path: Path
    size: int
    look_up: Callable[[Any], Any]

    @property
    def digest(self) -> str: ...

    def check_values(self) -> None:
        """Reads all vectors. Raises InputError if a number is not finite, or all are 0."""


@dataclass(frozen=True)
class TrainingData:
    """A data set with its vocabulary.

    Attributes:
        directory: of the data set.
        info: the contents of dataset.json, see `load_dataset_info`.
        vocabulary: the one that the shards were written with.
        vectors: of the vocabulary's tokens; None if the model needs none.
    """

    directory: str
    info: dict[str, Any]
    vocabulary: AnyVocabulary
    vectors: TokenVectors | None = None

    @classmethod
    def open(
        cls, directory: str, vocab_file: str | None = None, vectors: str | None = None
    ) -> "TrainingData":
        """Reads and checks everything but the shards of a directory.

        Without `vocab_file`, the vocabulary is `vocab.txt` in it. `vectors` is their folder. Raises
        InputError if a file is missing or damaged, or belongs to another vocabulary.
        """
        info = load_dataset_info(directory)
        path = vocab_file or Path(directory) / VOCABULARY
        vocabulary = load_vocabulary(info["tokenizer"], path)
        if vocabulary.sha256 != info["vocab_sha256"]:
            rule = f"not the vocabulary that {directory} was written with"
            raise InputError(rule, vocabulary.path)
        data = cls(directory, info, vocabulary)
        if vectors is None:
            return data
        target_vectors = TOKEN_FEATURES.load(TARGET_VECTORS).open(vectors, vocabulary)
        target_vectors.check_values()
        return replace(data, vectors=target_vectors)

    @cached_property
    def digest(self) -> str:
        """Eight hexadecimal digits of the beginnings of the shards.

        Sentences are in random order, so other text changes them.
        """
        digest = hashlib.sha256()
        for split in self.info["splits"]:
            for path in shard_paths(self.directory, self.info, split):
                with open(path, "rb") as shard:
                    digest.update(shard.read(1 << 20))
        return digest.hexdigest()[:8]

    def copy_to(self, directory: Path, open_vocabulary: bool) -> None:
        """Copies what a model needs into its directory: the vocabulary, and new vectors.

        With `open_vocabulary`, what makes the vectors of new words is copied as well.
        """
        self.vocabulary.save(directory / VOCABULARY, overwrite=True)
        if self.vectors is None or (directory / VECTORS).exists():
            return
        further_files = NEW_WORD_FILES if open_vocabulary else ()
        copy_present(self.vectors.path.parent, directory, (VECTORS, *further_files))

    def batches(
        self,
        model_config: Any,
        batch_tokens: int,
        seed: int,
        batch_size: int | None = None,
        in_memory: bool = False,
    ) -> "TrainingBatches":
        """The batches for a model.

        Args:
            model_config: the model's config, which says what the model reads and predicts.
            batch_tokens, seed, batch_size: as in `tta.data.records.pipeline.train_batches`.
            in_memory: whether batches are `ArrayBatches`, of a data set that is read into memory
                when the first one is asked for; else they are `tf.data.Dataset`s.

        Raises:
            InputError: the data set does not have what the model reads, or has features besides
                ids, which are not read into memory.
        """
        inputs, info = _inputs(self, model_config), self.info
        shards = {split: shard_paths(self.directory, info, split) for split in info["splits"]}
        heldout_shards = [path for path in shards.get(HELDOUT, ()) if os.path.getsize(path)]
        limits = IdLimits(info["max_seq_length"], info["vocab_size"])
        shape: dict[str, Any] = {
            "batch_tokens": batch_tokens,
            "batch_size": batch_size,
            "max_length": info["max_seq_length"],
            "pad_id": self.vocabulary.pad_id,
        }
        if in_memory and (unread := info["features"].keys() - {INPUT_IDS}):
            rule = f"KERAS_BACKEND=jax trains on {INPUT_IDS} alone, and the records have"
            raise InputError(f"{rule} {', '.join(sorted(unread))}", self.directory)
        read = functools.cache(lambda split: arrays.read_split(shards[split], limits))
        declared = {"features": info["features"], "vocab_size": info["vocab_size"]}

        def epoch(number):
            if in_memory:
                order = seed, number
                return arrays.ArrayBatches(*read(TRAIN), **shape, inputs=inputs, seed=order)
            order = {"seed": seed, "epoch": number}
            batches = pipeline.train_batches(shards[TRAIN], **shape, **declared, **order)
            return pipeline.with_inputs(batches, inputs)

        def heldout():
            if in_memory:
                return arrays.ArrayBatches(*read(HELDOUT), **shape, inputs=inputs)
            batches = pipeline.eval_batches(heldout_shards, **shape, **declared)
            return pipeline.with_inputs(batches, inputs)

        def check():
            for paths in shards.values():
                check_records(paths, info["features"], limits)

        return TrainingBatches(self.vocabulary, epoch, heldout if heldout_shards else None, check)


@dataclass(frozen=True)
class TrainingBatches:
    """The batches that a model is trained and measured on.

    Attributes:
        vocabulary: of the ids.
        epoch: from the number of an epoch to its batches: a `tf.data.Dataset`, see
            `tta.data.records.pipeline.train_batches`, or `ArrayBatches`.
        heldout: makes the batches of the held-out sentences; None if there are none.
        check: reads all shards; raises InputError at the first damaged one, and names it.
    """

    vocabulary: AnyVocabulary
    epoch: Callable[[int], Any]
    heldout: Callable[[], Any] | None
    check: Callable[[], None]


def _inputs(data: TrainingData, model_config: Any) -> ModelInputs:
    """What batches need besides ids: what the model reads, and the vectors it predicts."""
    tokenizer = None
    if isinstance(data.vocabulary, WordVocabulary):
        tokenizer = make_tokenizer(
            data.vocabulary, model_config.do_lower_case, normalization=model_config.normalization
        )
    return inputs_of_data(model_config, tokenizer, data.vectors)
