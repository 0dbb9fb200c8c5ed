"""Pretrains a model on one GPU by JAX, where TensorFlow has no build for the GPU.

    python -m benchmarks.gpu_pretraining pack --input_dir=tfrecords --packed_dir=packed
    python -m benchmarks.gpu_pretraining train --packed_dir=packed \
        --config_file=configs/small-cloze.json --num_train_steps=40000 --weights_file=cloze.npz
    python -m benchmarks.gpu_pretraining finish --weights_file=cloze.npz --input_dir=tfrecords \
        --config_file=configs/small-cloze.json --output_dir=cloze-small

`pack` and `finish` need TensorFlow; `train` needs Keras, JAX and a folder that `pack` wrote. The
layers, losses and objectives are those of `run_pretraining.py`, as Keras runs them on JAX, and the
optimizer is the same Muon, written for JAX. Three things differ. A batch is one of a few lengths,
because XLA compiles for each one. All batches of an epoch are in a random order. A run cannot be
resumed. `finish` standardizes the outputs, evaluates the model and writes its directory.
"""

import json
import lzma
import math
import os
import re
import shutil
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from absl import app, flags

from tta.data.records.dataset import load_dataset_info
from tta.errors import InputError
from tta.modeling.training.config import NOT_DECAYED, ORTHOGONALIZING
from tta.names import DATASET, VOCABULARY

FLAGS = flags.FLAGS

# Padded lengths of batches. XLA compiles a step for each of them.
LENGTHS = (12, 16, 20, 24, 32, 44, 64, 128)
HELDOUT = "heldout"
SUFFIX = ".ids.xz"


# Packing.


def pack():
    """Writes the ids of all sentences, uint16, and their lengths, uint8, as compressed files.

    Raises:
        InputError: a sentence or the vocabulary is too large for the batches of `train`.
    """
    info = load_dataset_info(FLAGS.input_dir)
    check_fits(info["max_seq_length"], info["vocab_size"], FLAGS.input_dir)
    folder = Path(FLAGS.packed_dir)
    folder.mkdir(parents=True, exist_ok=True)
    for name in (DATASET, VOCABULARY):
        shutil.copy(Path(FLAGS.input_dir) / name, folder)
    shards = sorted(Path(FLAGS.input_dir).glob("train-*.tfrecord"))
    groups = {
        f"train-{i}": shards[i :: FLAGS.num_parts] for i in range(min(FLAGS.num_parts, len(shards)))
    }
    groups[HELDOUT] = sorted(Path(FLAGS.input_dir).glob("heldout-*.tfrecord"))
    for name, paths in groups.items():
        ids, lengths = read_shards(paths)
        with ThreadPoolExecutor() as pool:
            halves = pool.map(lzma.compress, (lengths.tobytes(), ids.tobytes()))
        header = json.dumps([len(lengths), len(ids)]).encode() + b"\n"
        first, second = halves
        sizes = json.dumps([len(first), len(second)]).encode() + b"\n"
        (folder / (name + SUFFIX)).write_bytes(header + sizes + first + second)
        print(f"{name}: {len(lengths):,} sentences, {len(ids):,} tokens", flush=True)


def check_fits(longest, vocab_size, folder):
    """Raises InputError if `train` has no batch for the longest sentence, or no id for a piece."""
    if longest > LENGTHS[-1]:
        raise InputError(
            f"sentences have up to {longest} tokens, at most {LENGTHS[-1]} fit", folder
        )
    if vocab_size > 1 << 16:
        raise InputError(f"the vocabulary has {vocab_size} tokens, at most {1 << 16} fit", folder)


def read_shards(paths):
    """The ids of all sentences of some shards, [N] uint16, and the lengths, [S] uint8."""
    import tensorflow as tf

    ids, lengths = [], []
    feature = {"input_ids": tf.io.RaggedFeature(tf.int64)}
    for records in tf.data.TFRecordDataset([str(path) for path in paths]).batch(8192):
        rows = tf.io.parse_example(records, feature)["input_ids"]
        ids.append(rows.values.numpy().astype(np.uint16))
        lengths.append(rows.row_lengths().numpy().astype(np.uint8))
    return np.concatenate(ids), np.concatenate(lengths)


def read_packed(path):
    """What `read_shards` returns, from a file of `pack`."""
    with open(path, "rb") as file:
        counts, sizes = json.loads(file.readline()), json.loads(file.readline())
        lengths, ids = (lzma.decompress(file.read(size)) for size in sizes)
    lengths, ids = np.frombuffer(lengths, np.uint8), np.frombuffer(ids, np.uint16)
    assert [len(lengths), len(ids)] == counts, path
    return ids, lengths


# Batches.


def read_split(folder, split):
    """All ids of a split one after another, [N] uint16, and the lengths of sentences, [S] int64."""
    paths = sorted(Path(folder).glob(f"{split}*{SUFFIX}"))
    with ThreadPoolExecutor() as pool:
        columns = zip(*pool.map(read_packed, paths), strict=True)
    ids, lengths = (np.concatenate(column) for column in columns)
    return ids, lengths.astype(np.int64)


def batches(ids, lengths, batch_tokens, order=None):
    """Yields the batches of an epoch: (ids [B, T] int32, lengths [B] int32), T one of `LENGTHS`.

    `order` is a generator of random numbers, for an epoch of training: a bucket's last batch is
    left out, because it has another shape. None yields every sentence; the last batches are filled
    with sentences of length 0.
    """
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    bucket = np.searchsorted(LENGTHS, lengths)
    found = []
    for number, length in enumerate(LENGTHS):
        members = np.flatnonzero(bucket == number)
        size = batch_tokens // length
        if order is None:
            members = np.concatenate([members, np.full(-len(members) % size, -1)])
        else:
            members = order.permutation(members)[: len(members) // size * size]
        found += [(length, rows) for rows in members.reshape(-1, size)]
    numbers = range(len(found)) if order is None else order.permutation(len(found))
    for number in numbers:
        length, rows = found[number]
        counts = np.where(rows < 0, 0, lengths[rows]).astype(np.int32)
        # What stands behind the end of a sentence is masked.
        places = np.minimum(starts[rows][:, None] + np.arange(length), len(ids) - 1)
        yield ids[places].astype(np.int32), counts


def learning_rate(step):
    """The schedule of `run_pretraining.py` with --num_decay_steps, for a step counted from 0."""
    decay = max(1, round(FLAGS.decay_fraction * FLAGS.num_train_steps))
    up, down = (step + 1) / FLAGS.num_warmup_steps, (FLAGS.num_train_steps - step) / decay
    return FLAGS.learning_rate * min(1.0, up, down)


# The optimizer: `modeling.training.optimizers.Muon` for JAX.

MOMENTUM, RMS_RATE, BETA_1, BETA_2, EPSILON = 0.95, 0.2, 0.9, 0.999, 1e-7


def by_muon(path, shape):
    """Whether Muon updates a weight; the others are Adam's: tables, biases and LayerNorms."""
    return len(shape) == 2 and not path.endswith("_table") and "embedding" not in path


def orthogonalized(x):
    """[R, C] float32 -> [R, C] float32, as `Muon._orthogonalize` in bfloat16."""
    import jax.numpy as jnp

    wide = x.shape[0] <= x.shape[1]
    x = x / (jnp.linalg.norm(x) + 1e-7)
    x = (x if wide else x.T).astype(jnp.bfloat16)
    for a, b, c in ORTHOGONALIZING:
        gram = x @ x.T
        square = gram @ gram
        value = b * gram.astype(jnp.float32) + c * square.astype(jnp.float32)
        x = (value + a * jnp.eye(len(gram))).astype(jnp.bfloat16) @ x
    return (x if wide else x.T).astype(jnp.float32)


def updated(path, weight, moments, gradient, rate, step):
    """The weight after a step, and its moments: one array if it is Muon's, two if Adam's."""
    import jax.numpy as jnp

    kept = 1.0 if re.search(NOT_DECAYED, path) else 1.0 - rate * FLAGS.weight_decay
    if by_muon(path, weight.shape):
        momentum = MOMENTUM * moments[0] + gradient
        update = orthogonalized(gradient + MOMENTUM * momentum)
        update *= RMS_RATE * max(weight.shape) ** 0.5
        return kept * weight - rate * update, (momentum,)
    mean = moments[0] + (1.0 - BETA_1) * (gradient - moments[0])
    square = moments[1] + (1.0 - BETA_2) * (gradient**2 - moments[1])
    # The correction of both moments for their start at 0.
    corrected = rate * jnp.sqrt(1.0 - BETA_2**step) / (1.0 - BETA_1**step)
    return kept * weight - corrected * mean / (jnp.sqrt(square) + EPSILON), (mean, square)


# Training.


def make_model(vocab_size):
    from tta.modeling.config.base import config_from
    from tta.modeling.models.language_model import build_model

    values = {"vocab_size": vocab_size} | json.loads(Path(FLAGS.config_file).read_text())
    options = {"log_normalizer_weight": FLAGS.log_normalizer_weight}
    return build_model(config_from(values), "mixed_bfloat16", head_options=options)


def train():
    """Trains a model and writes its weights: matrices as float16, the others as float32."""
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import jax
    import jax.numpy as jnp
    import keras

    from tta.data.vocabulary.load import load_vocabulary
    from tta.modeling.config.training import LossSettings
    from tta.modeling.objectives import OBJECTIVES

    ids, lengths = read_split(FLAGS.packed_dir, "train")
    heldout_ids, heldout_lengths = read_split(FLAGS.packed_dir, HELDOUT)
    info = json.loads((Path(FLAGS.packed_dir) / DATASET).read_text())
    vocabulary = load_vocabulary(
        info.get("tokenizer", "word_pieces"), Path(FLAGS.packed_dir) / VOCABULARY
    )
    keras.utils.set_random_seed(FLAGS.seed)
    settings = LossSettings(
        num_train_steps=FLAGS.num_train_steps, log_normalizer_weight=FLAGS.log_normalizer_weight
    )
    objective = OBJECTIVES.load(FLAGS.objective)(vocabulary, settings)
    model = make_model(len(vocabulary))
    weights, paths = model.trainable_variables, [v.path for v in model.trainable_variables]
    state = [*model.non_trainable_variables, *objective.seeds]
    print(f"{sum(math.prod(v.shape) for v in weights):,} parameters, {jax.devices()}", flush=True)

    def batch_of(rows, counts):
        mask = jnp.arange(rows.shape[1]) < counts[:, None]
        return {"input_ids": jnp.where(mask, rows, vocabulary.pad_id), "padding_mask": mask}

    def loss_of(values, states, batch):
        pairs = [*zip(weights, values, strict=True), *zip(state, states, strict=True)]
        with keras.StatelessScope(state_mapping=pairs) as scope:
            task = objective.task(batch, 0)
            count = jnp.sum(task.weights)
            task = task._replace(weights=task.weights / jnp.maximum(count, 1.0))
            loss = objective.loss(model, task)
            states = [scope.get_current_value(v) for v in state]
        return loss.total, states

    def step_of(values, states, moments, rows, counts, rate, step):
        batch = batch_of(rows, counts)
        gradient_of = jax.value_and_grad(loss_of, has_aux=True)
        (loss, states), gradients = gradient_of(values, states, batch)
        norm = jnp.sqrt(sum(jnp.sum(g.astype(jnp.float32) ** 2) for g in gradients))
        scale = jnp.minimum(1.0, 1.0 / (norm + 1e-6))
        given = zip(paths, values, moments, gradients, strict=True)
        results = [updated(p, w, m, g * scale, rate, step) for p, w, m, g in given]
        values, moments = [r[0] for r in results], [r[1] for r in results]
        return values, states, moments, loss

    def measure(values, rows, counts):
        batch = batch_of(rows, counts)
        mapping = zip(weights, values, strict=True)
        with keras.StatelessScope(state_mapping=mapping):
            sums, counted = objective.evaluate(model, batch)["nll"]
        return jnp.sum(sums), jnp.sum(counted)

    values = [jnp.asarray(v.value) for v in weights]
    states = [jnp.asarray(v.value) for v in state]
    moments = [
        tuple(jnp.zeros(v.shape) for _ in range(1 if by_muon(p, v.shape) else 2))
        for p, v in zip(paths, weights, strict=True)
    ]

    def compiled():
        """The two programs of each length, {length: program}; XLA compiles them side by side."""
        one, programs = jnp.float32(1.0), []
        for length in used:
            size = FLAGS.train_batch_tokens // length
            batch = jnp.zeros((size, length), jnp.int32), jnp.zeros(size, jnp.int32)
            step = jax.jit(step_of, donate_argnums=(0, 1, 2))
            programs.append(step.lower(values, states, moments, *batch, one, one))
            programs.append(jax.jit(measure).lower(values, *batch))
        with ThreadPoolExecutor() as pool:
            programs = list(pool.map(lambda program: program.compile(), programs))
        return (dict(zip(used, programs[i::2], strict=True)) for i in range(2))

    found = np.searchsorted(LENGTHS, np.concatenate([lengths, heldout_lengths]))
    used = [LENGTHS[number] for number in np.unique(found)]
    began = time.monotonic()
    steps, measures = compiled()
    print(f"compiled in {time.monotonic() - began:.0f} s", flush=True)

    def evaluate():
        found = batches(heldout_ids, heldout_lengths, FLAGS.train_batch_tokens)
        results = [measures[rows.shape[1]](values, rows, counts) for rows, counts in found]
        total, count = np.sum(np.asarray(results, np.float64), axis=0)
        return total / count

    order = np.random.default_rng(FLAGS.seed)
    step, tokens, losses, since = 0, 0, [], time.monotonic()
    while step < FLAGS.num_train_steps:
        for rows, counts in batches(ids, lengths, FLAGS.train_batch_tokens, order):
            rate, number = np.float32(learning_rate(step)), np.float32(step + 1)
            values, states, moments, loss = steps[rows.shape[1]](
                values, states, moments, rows, counts, rate, number
            )
            step, tokens = step + 1, tokens + int(counts.sum())
            losses.append(loss)
            if step % 200 == 0:
                mean = float(np.mean([float(x) for x in losses]))
                assert math.isfinite(mean), f"the loss became {mean} by step {step}"
                speed = tokens / (time.monotonic() - since)
                print(
                    f"step {step:,}: loss {mean:.4f}, {tokens:,} tokens, {speed:,.0f} tokens/s, "
                    f"rate {rate:.1e}",
                    flush=True,
                )
                losses = []
            if step % FLAGS.eval_steps == 0 or step == FLAGS.num_train_steps:
                print(
                    f"step {step:,}: held-out nll {evaluate():.4f}, {tokens:,} tokens", flush=True
                )
            if step == FLAGS.num_train_steps:
                break
    arrays = {p: np.asarray(v, np.float32) for p, v in zip(paths, values, strict=True)}
    arrays = {p: a.astype(np.float16) if a.ndim == 2 else a for p, a in arrays.items()}
    temporary = Path(FLAGS.weights_file + ".part")
    with open(temporary, "wb") as file:
        np.savez(file, **{path.replace("/", "|"): array for path, array in arrays.items()})
    temporary.rename(FLAGS.weights_file)


def finish():
    """Writes a model directory from the weights of `train`: standardized, evaluated, float16."""
    import tensorflow as tf

    from tta.data.vectors.training_data import TrainingData
    from tta.modeling.training.assembly import make_trainer, write_model
    from tta.modeling.training.config import PretrainingConfig
    from tta.modeling.training.pretrain import resolve

    settings = PretrainingConfig(
        input_dir=FLAGS.input_dir,
        config_file=FLAGS.config_file,
        output_dir=FLAGS.output_dir,
        objective=FLAGS.objective,
        log_normalizer_weight=FLAGS.log_normalizer_weight,
    )
    data = TrainingData.open(settings.input_dir, settings.vocab_file, settings.vectors)
    model_config, settings = resolve(settings, data)
    found = data.batches(model_config, settings.train_batch_tokens, settings.seed, None)
    folder = Path(FLAGS.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    strategy = tf.distribute.get_strategy()
    trainer = make_trainer(settings, settings.objective, model_config, found, folder, strategy)
    weights = trainer.model.named_weights()
    with np.load(FLAGS.weights_file) as arrays:
        given = {name.replace("|", "/"): arrays[name] for name in arrays.files}
    assert set(given) == set(weights), set(given) ^ set(weights)
    for name, weight in weights.items():
        weight.assign(given[name].astype(np.float32))
    result = trainer.evaluate()
    print(result, result.values)
    data.copy_to(folder, model_config.open_vocabulary)
    card = f"# {folder.name}\n\nHeld-out: {result}.\n"
    write_model(trainer, folder, card, "float16")


def main(argv):
    commands = {"pack": pack, "train": train, "finish": finish}
    if len(argv) != 2 or argv[1] not in commands:
        sys.exit(f"name one command: {', '.join(commands)}")
    try:
        commands[argv[1]]()
    except InputError as error:
        sys.exit(f"error: {error}")


def define_flags():
    """Defines the flags of all three commands."""
    flags.DEFINE_string("input_dir", None, "The data set of tta-create-tfrecords.")
    flags.DEFINE_string("packed_dir", None, "The data set as `pack` writes it.")
    flags.DEFINE_string("config_file", None, "As in run_pretraining.py.")
    flags.DEFINE_string("weights_file", None, "The weights that `train` writes, an npz.")
    flags.DEFINE_string("output_dir", None, "The model directory that `finish` writes.")
    flags.DEFINE_string("objective", "lae", "As in run_pretraining.py.")
    flags.DEFINE_integer("num_parts", 4, "Files into which `pack` divides the training shards.", 1)
    flags.DEFINE_integer("num_train_steps", 40_000, "Steps of `train`.", 1)
    flags.DEFINE_integer("num_warmup_steps", 500, "Steps in which the rate rises to its peak.", 1)
    flags.DEFINE_float(
        "decay_fraction", 0.3, "Fraction of the steps, at the end, over which the rate falls."
    )
    flags.DEFINE_integer("train_batch_tokens", 16_384, "Tokens in a batch, padding included.", 128)
    flags.DEFINE_float("learning_rate", 3e-3, "The peak of the learning rate.")
    flags.DEFINE_float("weight_decay", 0.01, "As in run_pretraining.py.")
    flags.DEFINE_float("log_normalizer_weight", 0.1, "As in run_pretraining.py.")
    flags.DEFINE_integer("eval_steps", 5_000, "Steps between two held-out evaluations.", 1)
    flags.DEFINE_integer("seed", 0, "Seed of the initial weights and of the order of batches.")


if __name__ == "__main__":
    define_flags()
    app.run(main)
