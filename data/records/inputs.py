"""What a model reads besides the ids of tokens: vectors or characters that belong to each id.

B batch, T tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tta.data.records.features import INPUT_IDS


@dataclass(frozen=True)
class ModelInputs:
    """Adds features of tokens to batches, in training and in scoring alike.

    Attributes:
        look_ups: {name of a feature: function from ids [B, T] int32 to [B, T, ...]}, callable
            inside TensorFlow graphs. A function that has several names runs once.
        vocab_size: ids from this one on become `unk_id`, after the look-ups; None keeps all.
        unk_id: the id of unknown tokens.
    """

    look_ups: Mapping[str, Callable[[Any], Any]]
    vocab_size: int | None = None
    unk_id: int | None = None

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch with "input_ids" [B, T] int32 -> the same with the features."""
        ids = batch[INPUT_IDS]
        found = {function: function(ids) for function in self.look_ups.values()}
        batch = batch | {name: found[function] for name, function in self.look_ups.items()}
        if self.vocab_size is not None:
            import tensorflow as tf

            batch[INPUT_IDS] = tf.where(ids < self.vocab_size, ids, self.unk_id)
        return batch

    @property
    def changes_batches(self) -> bool:
        """Whether a call changes anything."""
        return bool(self.look_ups) or self.vocab_size is not None
