"""A data set as training reads it: its shards, its vocabulary, and vectors of its tokens."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tta.data.records import pipeline
from tta.data.records.dataset import HELDOUT, TRAIN, load_dataset_info, shard_paths
from tta.data.records.examples import check_records
from tta.data.records.features import IdLimits
from tta.data.records.inputs import ModelInputs
from tta.data.vectors.model_inputs import inputs_of
from tta.data.vectors.target_vectors import TargetVectors
from tta.data.vocabulary.load import AnyVocabulary, load_vocabulary
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.names import NGRAMS, NGRAMS_SETTINGS, VECTORS, VOCABULARY


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
    vectors: TargetVectors | None = None

    @classmethod
    def open(
        cls, directory: str, vocab_file: str | None = None, vectors: str | None = None
    ) -> "TrainingData":
        """Reads and checks everything but the shards of a directory.

        Without `vocab_file`, the vocabulary is `vocab.txt` in it. `vectors` is their folder.

        Raises:
            InputError: a file is missing or damaged, or belongs to another vocabulary.
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
        found = TargetVectors(vectors, vocabulary)
        found.check_values()
        return replace(data, vectors=found)

    def copy_to(self, directory: Path, open_vocabulary: bool) -> None:
        """Copies what a model needs into its directory: the vocabulary, and new vectors.

        With `open_vocabulary`, the vectors of character n-grams are copied as well.
        """
        self.vocabulary.save(directory / VOCABULARY, overwrite=True)
        if self.vectors is None or (directory / VECTORS).exists():
            return
        self.vectors.copy_to(directory, (NGRAMS, NGRAMS_SETTINGS) if open_vocabulary else ())

    def batches(self, model_config: Any, batch_tokens: int, seed: int) -> "TrainingBatches":
        """The batches for a model.

        Args:
            model_config: the model's config, which says what the model reads and predicts.
            batch_tokens, seed: as in `tta.data.records.pipeline.train_batches`.

        Raises:
            InputError: the data set does not have what the model reads.
        """
        return TrainingBatches(self, _inputs(self, model_config), batch_tokens, seed)


@dataclass(frozen=True)
class TrainingBatches:
    """The batches that a model is trained and measured on; `TrainingData.batches` makes them."""

    data: TrainingData
    inputs: ModelInputs
    batch_tokens: int
    seed: int

    def epoch(self, number: int) -> Any:
        """The `tf.data.Dataset` of an epoch, see `tta.data.records.pipeline.train_batches`."""
        shards = self._shards(TRAIN)
        batches = pipeline.train_batches(shards, **self._shape(), seed=self.seed, epoch=number)
        return pipeline.with_inputs(batches, self.inputs)

    @property
    def heldout(self) -> Callable[[], Any] | None:
        """Makes the `tf.data.Dataset` of the held-out sentences; None if there are none."""
        shards = [path for path in self._shards(HELDOUT) if os.path.getsize(path)]
        if not shards:
            return None
        shape, inputs = self._shape(), self.inputs
        return lambda: pipeline.with_inputs(pipeline.eval_batches(shards, **shape), inputs)

    def check(self) -> None:
        """Reads all shards; raises InputError at the first damaged one, and names it."""
        for split in self.data.info["splits"]:
            limits = IdLimits(self.data.info["max_seq_length"], self.data.info["vocab_size"])
            check_records(self._shards(split), self.data.info["features"], limits)

    def _shards(self, split):
        return shard_paths(self.data.directory, self.data.info, split)

    def _shape(self) -> dict[str, Any]:
        return {
            "features": self.data.info["features"],
            "batch_tokens": self.batch_tokens,
            "max_length": self.data.info["max_seq_length"],
            "pad_id": self.data.vocabulary.pad_id,
            "vocab_size": self.data.info["vocab_size"],
        }


def _inputs(data: TrainingData, model_config: Any) -> ModelInputs:
    """What batches need besides ids: what the model reads, and the vectors it predicts."""
    look_up = None if data.vectors is None else data.vectors.look_up
    tokenizer = None
    if isinstance(data.vocabulary, WordVocabulary):
        tokenizer = WordTokenizer(data.vocabulary, model_config.do_lower_case)
    return inputs_of(model_config.features, model_config, tokenizer, look_up)
