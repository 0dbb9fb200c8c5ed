"""The cases of benchmarks/training_step.py: steps of our models, optimizers, the pipeline."""

import contextlib
import functools
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

from benchmarks import ROOT
from benchmarks.semfit.cases import FIRST_ID, word_counts, word_ids
from benchmarks.speed_cases import flops_of
from benchmarks.timing import Case
from tta.choices import DTYPE_POLICIES
from tta.data.records.examples import encode_records
from tta.data.records.features import DEFAULT_FEATURES
from tta.data.records.pipeline import train_batches
from tta.modeling.config.base import read_config
from tta.modeling.heads.sampled_softmax import PieceSampler
from tta.modeling.models.language_model import LanguageModel
from tta.modeling.objectives.language_model import LanguageAutoencoding
from tta.modeling.training.config import OPTIMIZERS
from tta.modeling.training.steps import connect

SENTENCES, LENGTH, SAMPLED_PIECES = 128, 32, 3072
SPEC = {
    name: tf.TensorSpec([None, None], dtype)
    for name, dtype in (("input_ids", tf.int32), ("padding_mask", tf.bool))
}
# The input pipeline: sentences of a synthetic data set, batches whose padding is measured, and
# batches per call.
PIPELINE_SENTENCES, PADDING_BATCHES, PIPELINE_BATCHES = 60_000, 200, 20


def step_flops(config, head):
    """Floating-point operations of the products of a step: forward once, backward twice."""
    tokens, size = SENTENCES * LENGTH, config.hidden_size
    pieces = SAMPLED_PIECES if head == "sampled" else config.vocab_size
    head_flops = 2.0 * tokens * size * (size + pieces)
    return 3 * (flops_of(config, SENTENCES, LENGTH, softmax=False) + head_flops)


def steps(size, vocab_size, precision, head, optimizers, alone):
    """Training steps of one model, as the trainer takes them; `alone` adds the optimizers' parts.

    Names: `small sampled adamw bfloat16`; `small adamw alone`.
    """
    config = read_config(ROOT / "configs" / f"{size}.json", vocab_size=vocab_size)
    options = {}
    if head == "sampled":
        options["sampler"] = PieceSampler(word_counts(vocab_size), SAMPLED_PIECES)
    model = LanguageModel(config, dtype=DTYPE_POLICIES[precision], head_options=options)
    variables = model.trainable_variables
    ids, *_ = word_ids(vocab_size, SENTENCES, LENGTH)
    batch = {"input_ids": ids, "padding_mask": np.ones(ids.shape, bool)}
    gradients = [tf.random.normal(v.shape, stddev=1e-3) for v in variables] if alone else []
    backend, cases = connect(), []
    for name in optimizers:
        # A small rate, so that the weights hardly change.
        optimizer = OPTIMIZERS.load(name)(1e-6, product_dtype=precision)
        optimizer.build(variables)
        update = backend.update(model, optimizer, LanguageAutoencoding(), SPEC)

        def step(update=update):
            return float(update([batch], 0, False)[0]["loss"])

        cases.append(Case(f"{size} {head} {name} {precision}", step, step_flops(config, head)))
        if alone:
            pairs = list(zip(gradients, variables, strict=True))
            apply = functools.partial(optimizer.apply_gradients, pairs)
            cases.append(Case(f"{size} {name} alone", tf.function(apply, autograph=False)))
    return cases


@contextlib.contextmanager
def shard():
    """Yields the path of a temporary shard whose sentences are as long as those of prose."""
    rng = np.random.default_rng(0)
    # Wikipedia's and Gutenberg's sentences: quartiles 13, 19 and 26 word pieces, mean 21.
    lengths = np.exp(rng.normal(np.log(18.5), 0.52, PIPELINE_SENTENCES)).astype(int).clip(4, 128)
    ids = rng.integers(FIRST_ID, 16_000, lengths.sum())
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "train.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for record in encode_records(ids, lengths):
                writer.write(record)
        yield path


def pipeline(name, path):
    """A case that reads a batch of a shard, and the share of padding in its batches."""

    def batches():
        shape = {"batch_tokens": SENTENCES * LENGTH, "max_length": 128, "pad_id": 0}
        return train_batches([path], DEFAULT_FEATURES, **shape, seed=0, epoch=0)

    real, all_tokens = 0, 0
    for batch in batches().take(PADDING_BATCHES):
        real += int(tf.math.count_nonzero(batch["padding_mask"]))
        all_tokens += int(tf.size(batch["padding_mask"]))
    rest = iter(batches().repeat())
    case = Case(name, lambda: next(rest), repeat=PIPELINE_BATCHES)
    return case, 1 - real / all_tokens
