"""Trains a model for one pass over N-best lists, by their expected numbers of word errors."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tqdm import tqdm

from tta.scoring.adaptation.list_examples import NUM_PROBABLE, Example
from tta.scoring.adaptation.text import ADAM_BETA_2
from tta.scoring.scorers.inference.batches import make_batches

# As in the experiment of docs/adaptation.md.
BATCH_LISTS = 16
WARMUP = 0.25  # of the first pass


def make_pass(
    lm: Any, examples: Sequence[Example], learning_rate: float, seed: int
) -> Callable[[int], None]:
    """A function that trains a `TextModel` for one pass; it takes the number of the pass."""
    import keras
    import tensorflow as tf

    from tta.modeling.objectives.expected_errors import ListBatch, expected_errors_loss

    model, likelihood = lm.model, lm.likelihood
    optimizer: Any = keras.optimizers.Adam(learning_rate, beta_2=ADAM_BETA_2, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    rng = np.random.default_rng(seed)
    lengths = np.array([max(len(text) for text in one.texts) for one in examples])
    num_batches = -(-len(examples) // BATCH_LISTS)
    num_warmup = max(1, int(WARMUP * num_batches))

    def make_batch(chosen):
        shape = len(chosen), NUM_PROBABLE + 1
        others, errors, token_weights = np.zeros((3, *shape), np.float32)
        present = np.zeros(shape, bool)
        for row, one in enumerate(chosen):
            size = len(one.texts)
            others[row, :size], errors[row, :size] = one.other_scores, one.errors
            token_weights[row, :size], present[row, :size] = one.token_weights, True
        texts = [text for one in chosen for text in one.texts]
        (batch,) = make_batches(
            lm.tokenizer, texts, 0, {"text"}, lm.window_size, sys.maxsize, refuse_long=False
        )
        places = np.flatnonzero(present)[batch.text_index].astype(np.int32)
        weights = batch.keep * token_weights.ravel()[places][:, None]
        return ListBatch(
            batch.input_ids, batch.padding_mask, weights, places, others, errors, present
        )

    grid, number = tf.TensorSpec([None, None], tf.float32), tf.TensorSpec([None], tf.int32)
    ids, flags = (tf.TensorSpec([None, None], dtype) for dtype in (tf.int32, tf.bool))

    @tf.function(
        input_signature=[ListBatch(ids, flags, grid, number, grid, grid, flags)], autograph=False
    )
    def step(batch):
        with tf.GradientTape() as tape:
            loss = expected_errors_loss(model, likelihood, batch)
        variables = model.trainable_variables
        gradients = tape.gradient(
            loss.total,
            [variable.value for variable in variables],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        optimizer.apply_gradients(zip(gradients, variables, strict=True))

    def take_pass(number):
        # Lists of similar lengths are in one batch. Another one in each pass.
        order = np.argsort(lengths * rng.uniform(1.0, 1.2, len(lengths)))
        batches = [order[i : i + BATCH_LISTS] for i in range(0, len(order), BATCH_LISTS)]
        rng.shuffle(batches)
        progress = tqdm(batches, f"pass {number}", unit=" batches", disable=not sys.stderr.isatty())
        for chosen in progress:
            done = int(optimizer.iterations.numpy()) + 1
            optimizer.learning_rate.assign(learning_rate * min(1.0, done / num_warmup))
            step(make_batch([examples[i] for i in chosen]))

    return take_pass
