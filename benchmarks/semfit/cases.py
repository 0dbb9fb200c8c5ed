"""The cases of benchmarks/semfit/speed.py: a training step with each output layer.

A step is encoder, head, gradients and AdamW on a batch of random words, which occur as words do
(Zipf's law). The vectors of words are rows of a file that is mapped into memory, as in training.
"""

import itertools

import numpy as np
import tensorflow as tf

from benchmarks import ROOT
from benchmarks.timing import Case
from tta.choices import DTYPE_POLICIES
from tta.data.records.features import ModelInputs
from tta.modeling.config.base import read_config
from tta.modeling.heads.sampled_softmax import PieceSampler
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.objectives.language_model import TARGET_VECTORS
from tta.modeling.training.config import OPTIMIZERS
from tta.papers.semfit.config import CHARACTERS, VECTORS
from tta.papers.semfit.heads.sampling import LogUniformSampler
from tta.papers.semfit.vectors.character_network import NUM_CHARACTERS, WORD_CHARACTERS

VECTOR_SIZE = 300
NUM_BATCHES = 8  # different batches, in turn
ELMO_SAMPLED, TTA_SAMPLED = 8192, 3072
FIRST_ID = 5  # after the special tokens
_DRAWN_ROWS = 4096


def write_table(path, num_rows):
    """Writes random vectors [num_rows, VECTOR_SIZE] float16, and maps them into memory."""
    rows = np.random.default_rng(0).normal(size=(_DRAWN_ROWS, VECTOR_SIZE)).astype(np.float16)
    table = np.lib.format.open_memmap(path, "w+", np.float16, (num_rows, VECTOR_SIZE))
    for start in range(0, num_rows, _DRAWN_ROWS):
        table[start : start + _DRAWN_ROWS] = rows[: num_rows - start]
    table.flush()
    return np.load(path, mmap_mode="r")


def word_counts(vocab_size):
    """Counts that fall as those of words do, [V]."""
    return (1e9 / np.arange(1, vocab_size + 1)).astype(np.int64)


def word_ids(vocab_size, num_sentences, length):
    """Random sentences, frequent words more often: [NUM_BATCHES, sentences, length] int32."""
    shares = word_counts(vocab_size - FIRST_ID).cumsum().astype(float)
    places = np.random.default_rng(0).random((NUM_BATCHES, num_sentences, length))
    return (np.searchsorted(shares / shares[-1], places) + FIRST_ID).astype(np.int32)


def elmo_steps(name, output_layer, vocab_size, table, shape, precision="float32", **changes):
    """A step of the small ELMo, and a step of its output layer alone.

    It reads vectors; `changes` are those of its config. A softmax is sampled, except in a case
    whose name begins with "full". Returns two cases, `name` and `name alone`, and the number of the
    model's weights.
    """
    config = read_config(ROOT / "configs" / "elmo-s-small.json", vocab_size=vocab_size)
    changes |= {"output_layer": output_layer, "input_size": VECTOR_SIZE}
    config = config.replace(**changes | _target_size(output_layer))
    options = {}
    if output_layer == "softmax" and not name.startswith("full"):
        options["sampler"] = LogUniformSampler(word_counts(vocab_size), ELMO_SAMPLED)
    return _steps(name, config, "bidirectional_clm", options, table, shape, precision)


def tta_steps(name, output_layer, vocab_size, table, shape, precision="float32"):
    """As `elmo_steps`, of T-TA small."""
    config = read_config(ROOT / "configs" / "small.json", vocab_size=vocab_size)
    config = config.replace(output_layer=output_layer, **_target_size(output_layer))
    options = {}
    if "sampled" in name:
        options["sampler"] = PieceSampler(word_counts(vocab_size), TTA_SAMPLED)
    return _steps(name, config, "lae", options, table, shape, precision)


def _target_size(output_layer):
    return {"target_size": VECTOR_SIZE} if output_layer == "semfit" else {}


def _steps(name, config, objective, options, table, shape, precision):
    model = build_model(config, DTYPE_POLICIES[precision], head_options=options)
    objective = OBJECTIVES.load(objective)()
    inputs = ModelInputs(_look_ups(config, table))
    batches = itertools.cycle([tf.constant(b) for b in word_ids(config.vocab_size, *shape)])

    def loss_of_all(task):
        return objective.loss(model, task).total

    def loss_of_head(task):
        size = tf.concat([tf.shape(task.weights), [config.hidden_size]], axis=0)
        states = tf.random.stateless_normal(size, (0, 0))
        states.set_shape([None, None, config.hidden_size])
        return model.loss_of(states, task.targets, task.weights)

    def case(name, loss_of, variables):
        optimizer = OPTIMIZERS.load("adamw")(1e-6)  # so small that the weights hardly change
        optimizer.build(variables)

        def step(ids):
            batch = inputs({"input_ids": ids, "padding_mask": tf.ones_like(ids, tf.bool)})
            task = objective.task(batch, 0)
            task = task._replace(weights=task.weights / tf.reduce_sum(task.weights))
            with tf.GradientTape() as tape:
                loss = loss_of(task)
            gradients = tape.gradient(loss, [v.value for v in variables])
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return loss

        signature = [tf.TensorSpec([None, None], tf.int32)]
        compiled = tf.function(step, autograph=False, input_signature=signature)
        return Case(name, lambda: compiled(next(batches)).numpy())

    tied = [model.token_table] if config.output_layer == "tied_softmax" else []
    cases = [
        case(name, loss_of_all, model.trainable_variables),
        case(f"{name} alone", loss_of_head, model.head.trainable_variables + tied),
    ]
    return cases, model.count_params()


def _look_ups(config, table):
    def look_up(ids):
        found = tf.numpy_function(lambda i: table[i], [ids], tf.float16, stateful=False)
        found.set_shape([*ids.shape, VECTOR_SIZE])
        return found

    def spell(ids):  # as many letters as a word may have; which ones does not matter
        return 1 + (ids[..., None] + tf.range(WORD_CHARACTERS)) % (NUM_CHARACTERS - 1)

    input_layer = getattr(config, "input_layer", None)
    names = [VECTORS] * (input_layer == "vectors")
    names += [TARGET_VECTORS] * (config.output_layer == "semfit")
    spelled = {CHARACTERS: spell} if input_layer == "characters" else {}
    return dict.fromkeys(names, look_up) | spelled
