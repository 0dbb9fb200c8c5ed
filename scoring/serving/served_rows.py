"""A served graph runs a model on the texts of a request, a batch at a time."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def outputs_of_rows(
    run: Callable[[dict[str, tf.Tensor]], tf.Tensor],
    ids: Any,
    pad_id: int,
    batch_size: int,
    output_size: int,
) -> tf.Tensor:
    """One vector per text: [N, D] float32. Memory is bounded for requests of any size.

    Args:
        run: {"input_ids": [B, T] int32, "padding_mask": [B, T] bool} -> [B, D] float32.
        ids: a RaggedTensor [N, None] int32, a text per row.
        pad_id: id of the padding.
        batch_size: B at most; at least 1.
        output_size: D.
    """
    count = ids.nrows(tf.int32)

    def step(first, found):
        rows = ids[first : first + batch_size]
        mask = tf.sequence_mask(rows.row_lengths())
        outputs = run({"input_ids": rows.to_tensor(pad_id), "padding_mask": mask})
        return first + batch_size, tf.concat([found, outputs], axis=0)

    return tf.while_loop(
        lambda first, _: first < count,
        step,
        [0, tf.zeros([0, output_size])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, output_size])],
        parallel_iterations=1,
    )[1]
