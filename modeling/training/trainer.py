"""The training loop: steps under a strategy, evaluation, checkpoints, and going on from them."""

import contextlib
import itertools
import re
import shutil
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tensorflow as tf
from tqdm import tqdm

from tta.atomic import whole_file
from tta.errors import DamagedDataError, InputError
from tta.modeling.layers.masks import inner_weights
from tta.modeling.training.distribution import (
    broadcast,
    is_alone,
    is_chief,
    local_replicas,
    lost_workers_named,
    own_random_numbers,
)

SUM = tf.distribute.ReduceOp.SUM

# What `tta.data.records.pipeline` makes.
BATCH = {
    "input_ids": tf.TensorSpec([None, None], tf.int32),
    "padding_mask": tf.TensorSpec([None, None], tf.bool),
}


@dataclass(frozen=True)
class TrainerConfig:
    """How long a run is, and how often it looks up.

    Attributes:
        num_train_steps: steps in all.
        save_every_steps, eval_every_steps, log_every_steps: at the last step, all three happen.
        max_eval_batches: batches an evaluation reads; None, all of them.
        score_boundary_tokens: whether begin and end tokens count in an evaluation.
    """

    num_train_steps: int
    save_every_steps: int = 500
    eval_every_steps: int = 1000
    log_every_steps: int = 50
    max_eval_batches: int | None = None
    score_boundary_tokens: bool = False


@dataclass(frozen=True)
class Evaluation:
    """Held-out results, natural log.

    Attributes:
        nll: mean negative log-likelihood of a token, over all tokens.
        pseudo_perplexity_mean, pseudo_perplexity_median: over sentences, of each one's
            exp(-mean log-likelihood of its tokens) (paper, Table 7: "a" and "m").
        num_tokens, num_sentences: what was counted.
    """

    nll: float
    pseudo_perplexity_mean: float
    pseudo_perplexity_median: float
    num_tokens: int
    num_sentences: int

    def __str__(self):
        return (
            f"nll {self.nll:.4f} a token (ln), pseudo-perplexity mean "
            f"{self.pseudo_perplexity_mean:.2f} median {self.pseudo_perplexity_median:.2f} "
            f"over {self.num_sentences:,} sentences, {self.num_tokens:,} tokens"
        )


def evaluate(model, objective, batches, score_boundary_tokens=False, max_batches=None):
    """True log-likelihood of held-out sentences: no dropout, no padding, no smoothing.

    Args:
        model: `LanguageModel`.
        objective: as in `tta.modeling.objectives.objectives`.
        batches: iterable of batches, as `tta.data.records.pipeline` makes.
        score_boundary_tokens: whether begin and end tokens count.
        max_batches: read no more than these; None reads all.

    Returns:
        `Evaluation`.

    Raises:
        InputError: there is no token to score, or a shard is damaged.
    """

    return _evaluate(_sentence_sums(model, objective, score_boundary_tokens), batches, max_batches)


def _sentence_sums(model, objective, score_boundary_tokens):
    """A batch -> the sum of each sentence's log-probabilities, and how many they are."""

    @tf.function(input_signature=[BATCH], autograph=False)
    def sentence_sums(batch):
        weights = objective.counted(batch["padding_mask"], score_boundary_tokens)
        scores = objective.token_scores(model, batch)
        return tf.reduce_sum(scores * weights, axis=1), tf.reduce_sum(weights, axis=1)

    return sentence_sums


def _evaluate(sentence_sums, batches, max_batches):
    sums, counts = [], []
    for index, batch in enumerate(_read(batches, "held-out")):
        if max_batches is not None and index >= max_batches:
            break
        total, count = sentence_sums(batch)
        sums.append(total.numpy().astype(np.float64))
        counts.append(count.numpy().astype(np.int64))
    sums, counts = np.concatenate(sums or [[]]), np.concatenate(counts or [[]])
    sums, counts = sums[counts > 0], counts[counts > 0]
    if not counts.size:
        raise InputError("the held-out set has no token to score")
    perplexities = np.exp(-sums / counts)
    return Evaluation(
        nll=float(-sums.sum() / counts.sum()),
        pseudo_perplexity_mean=float(perplexities.mean()),
        pseudo_perplexity_median=float(np.median(perplexities)),
        num_tokens=int(counts.sum()),
        num_sentences=int(counts.size),
    )


def _read(batches, name):
    """The batches; what TensorFlow raises of their shards becomes a DamagedDataError."""
    try:
        yield from batches
    except tf.errors.OpError as error:
        rule = error.message.splitlines()[0]
        raise DamagedDataError(f"a {name} shard is truncated or damaged: {rule}") from None


@contextlib.contextmanager
def _writing(path):
    """What TensorFlow raises of a full disk becomes an OSError of one line."""
    try:
        yield
    except tf.errors.OpError as error:
        if str(path) not in error.message:
            raise
        # Between the names of the graph's node and of the operation stands what happened.
        rule = re.sub(r"\{\{.*?\}\} | \[Op:.*", "", error.message.splitlines()[0])
        raise OSError(f"cannot be written: {rule}") from None


def output_statistics(model, batches, max_batches):
    """Mean and standard deviation of the last layer's outputs over the tokens of some batches.

    Args:
        model: `LanguageModel`.
        batches: iterable of batches, as `tta.data.records.pipeline` makes.
        max_batches: read no more than these.

    Returns:
        ([D], [D]) float64; boundary tokens are left out.
    """

    @tf.function(input_signature=[BATCH], autograph=False)
    def sums(batch):
        outputs = tf.cast(model.encode(batch, training=False)["hidden_states"], tf.float32)
        weights = inner_weights(batch["padding_mask"])[..., None]
        return (
            tf.reduce_sum(weights),
            tf.reduce_sum(weights * outputs, [0, 1]),
            tf.reduce_sum(weights * outputs**2, [0, 1]),
        )

    count, total, squares = 0.0, 0.0, 0.0
    for batch in itertools.islice(_read(batches, "training"), max_batches):
        n, first, second = (np.float64(value) for value in sums(batch))
        count, total, squares = count + n, total + first, squares + second
    mean = total / count
    return mean, np.sqrt(np.maximum(squares / count - mean**2, 1e-12))


def mean_log_normalizer(model, batches):
    """Mean of log sum exp(logits) over the real tokens of some batches: float, natural log."""
    total, count = 0.0, 0
    for batch in _read(batches, "training"):
        logits = model(batch, training=False)["logits"]
        values = tf.boolean_mask(tf.reduce_logsumexp(logits, axis=-1), batch["padding_mask"])
        total, count = total + float(tf.reduce_sum(values)), count + int(tf.size(values))
    return total / count


def piece_counts(batches, vocab_size):
    """How often each word piece occurs in some batches, padding left out.

    Args:
        batches: iterable of batches, as `tta.data.records.pipeline` makes.
        vocab_size: V.

    Returns:
        [V] int64.
    """
    counts = np.zeros(vocab_size, np.int64)
    for batch in _read(batches, "training"):
        ids = batch["input_ids"].numpy()[batch["padding_mask"].numpy()]
        counts += np.bincount(ids, minlength=vocab_size)
    return counts


def _list_checkpoints(folder):
    """Clears up after a killed run, and writes TensorFlow's list of checkpoints anew.

    The list is text without a checksum; the files are the truth: their index is written last.
    """
    for unfinished in folder.glob("ckpt-*_temp"):
        shutil.rmtree(unfinished)
    found = (re.fullmatch(r"ckpt-(\d{1,18})\.index", p.name) for p in folder.glob("*.index"))
    names = [f"ckpt-{step}" for step in sorted(int(match[1]) for match in found if match)]
    if names:
        lines = [f'model_checkpoint_path: "{names[-1]}"']
        lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
        # Without their times, TensorFlow would never delete those that are no longer needed.
        times = [(folder / f"{name}.index").stat().st_mtime for name in names]
        lines += [f"all_model_checkpoint_timestamps: {at}" for at in times]
        with whole_file(folder / "checkpoint") as file:
            file.write("".join(f"{line}\n" for line in lines).encode())
    else:
        (folder / "checkpoint").unlink(missing_ok=True)


@dataclass(eq=False)
class Trainer:
    """Trains a model, and goes on from the last checkpoint wherever it was stopped.

    A step's batch depends on the seed, the epoch and the position in it alone, and a checkpoint
    holds these along with weights, optimizer and dropout state: a run that was killed ends with
    the weights of one that was not.

    Under a strategy with R replicas, a step takes the next R batches of an epoch, one each, and the
    gradient of the mean over all their tokens; fewer than R at an epoch's end are left out. All
    workers read all batches, so that they need no word from each other on who takes which. The
    chief alone evaluates and writes; where it goes on from a checkpoint, the others get it from
    the chief.

    Attributes:
        model: `LanguageModel`, built under the strategy's scope.
        optimizer: one of `tta.modeling.training.optimizers`, likewise.
        objective: as in `tta.modeling.objectives.objectives`, likewise.
        epoch_batches: epoch number -> `tf.data.Dataset` of that epoch's batches.
        heldout_batches: () -> iterable of batches, or None.
        output_dir: `checkpoints/` and `logs/` (TensorBoard) are made in it.
        config: `TrainerConfig`.
        strategy: `tf.distribute.Strategy`.
    """

    model: object
    optimizer: object
    objective: object
    epoch_batches: object
    heldout_batches: object
    output_dir: Path
    config: TrainerConfig
    strategy: object = field(default_factory=tf.distribute.get_strategy)

    def __post_init__(self):
        self.output_dir = Path(self.output_dir)
        with self.strategy.scope():
            self.optimizer.build(self.model.trainable_variables)
        # In batches of the data, of which a step takes one a replica.
        self.position = {
            name: tf.Variable(0, dtype=tf.int64, name=name)
            for name in ("step", "epoch", "batch", "tokens")
        }
        # By name: a list would tie the checkpoint to the order of creation. Keras numbers the
        # dropouts' generators by how many the process has made; each has a layer of its own.
        self._state = {
            re.sub(r"\bseed_generator_\d+\b", "seed_generator", v.path): v.value
            for v in [*self.model.variables, *self.optimizer.variables]
        }
        self._state |= {f"objective_{i}": v.value for i, v in enumerate(self.objective.variables)}
        self.checkpoint = tf.train.Checkpoint(
            **self.position, state={name.replace("/", "."): v for name, v in self._state.items()}
        )
        folder = self.output_dir / "checkpoints"
        self.is_chief = is_chief(self.strategy)
        self.manager = None
        if self.is_chief:  # Others may see the same folder, where the chief may be writing.
            _list_checkpoints(folder)
            self.manager = tf.train.CheckpointManager(self.checkpoint, str(folder), max_to_keep=2)
        self.last_evaluation = None
        self._evaluates = self.is_chief and self.heldout_batches is not None
        self._replicas = local_replicas(self.strategy)
        self._seeds = [v for v in self.model.variables if v.path.endswith("seed_generator_state")]
        self._seeds += self.objective.variables
        # One graph for every shape. A graph for the first batch's shape alone may round otherwise,
        # and a run that goes on would differ from one that was not stopped.
        self._step = tf.function(
            self._update,
            input_signature=[[BATCH] * len(self._replicas), tf.TensorSpec([], tf.float32)],
            autograph=False,
        )
        self._sentence_sums = _sentence_sums(
            self.model, self.objective, self.config.score_boundary_tokens
        )
        self._stop_requested = False

    @property
    def step(self):
        """Steps done so far."""
        return int(self.position["step"].numpy())

    def restore(self):
        """Goes back to the last checkpoint; returns the steps done, 0 where there is none.

        Raises:
            InputError: the checkpoint is unreadable or of another model, or a worker is lost.
        """
        path = self._last_checkpoint()
        if path:
            try:
                self.checkpoint.restore(path).assert_consumed()
            except (tf.errors.OpError, AssertionError, IndexError, ValueError) as error:
                rule = str(error).strip().splitlines()[0]
                raise InputError(f"the checkpoint cannot be restored: {rule}", path) from None
        broadcast(self.strategy, [*self.position.values(), *self._state.values()])
        return self.step

    def _last_checkpoint(self):
        """Its path; None where there is none, and on workers that are not the chief."""
        return self.manager.latest_checkpoint if self.is_chief else None

    def save(self):
        """Writes a checkpoint; the one before stays until it is complete.

        Raises:
            OSError: it cannot be written: the disk is full. The ones before stay.
        """
        with _writing(self.manager.directory):
            return self.manager.save(checkpoint_number=self.step)

    def train(self):
        """Trains up to `num_train_steps`, from the last checkpoint on.

        SIGTERM makes it save and stop after the step under way; with several workers, all of them
        after the step that the one told begins next.

        Returns:
            True if the last step was reached, False if it was told to stop.

        Raises:
            InputError: a loss is not finite, a shard is damaged, a worker is lost, or there is no
                batch for each replica. The last good checkpoint stays.
            OSError: a checkpoint or log cannot be written: the disk is full. So it stays, too.
        """
        config = self.config
        start = self.restore()
        previous = signal.signal(signal.SIGTERM, lambda *_: setattr(self, "_stop_requested", True))
        if self.is_chief:
            writer = tf.summary.create_file_writer(str(self.output_dir / "logs"))
        else:
            writer = tf.summary.create_noop_writer()
        bar = tqdm(
            disable=not self.is_chief,
            total=config.num_train_steps,
            initial=start,
            unit="step",
            smoothing=0.05,
            dynamic_ncols=True,
            mininterval=1.0,
        )
        try:
            with _writing(self.output_dir / "logs"), writer.as_default(), bar:
                self._run(bar)
                done = self.step >= config.num_train_steps
                if done and self._evaluates and self.last_evaluation is None:
                    self._evaluate(bar, self.step)  # It was stopped after the last checkpoint.
        finally:
            signal.signal(signal.SIGTERM, previous)
        return done

    def _run(self, bar):
        config = self.config
        recent, since, tokens = [], time.monotonic(), 0
        alone = is_alone(self.strategy)
        for batches in self._batches():
            with lost_workers_named(self.strategy):
                loss, num_tokens, told = self._step(batches, float(self._stop_requested))
                loss, num_tokens, told = float(loss), int(num_tokens), bool(told)
            recent.append(loss)
            tokens += num_tokens
            step = self.step
            last = step >= config.num_train_steps
            stop = last or told or (alone and self._stop_requested)

            def due(every, step=step, stop=stop):
                return stop or step % every == 0

            if due(config.log_every_steps) or due(config.save_every_steps):
                losses = np.array(recent, np.float64)
                self._check_finite(losses, step)
            if due(config.log_every_steps):
                rate = tokens / max(time.monotonic() - since, 1e-9)
                self._log(bar, step, losses.mean(), rate)
                recent, since, tokens = [], time.monotonic(), 0
            bar.update(1)
            if due(config.save_every_steps):
                self._check_weights(step)
                if self.is_chief:
                    self.save()
            if self._evaluates and (last or step % config.eval_every_steps == 0):
                self._evaluate(bar, step)
            if stop:
                return

    def _batches(self):
        """Batches from the restored position on, epoch after epoch, for the steps that are left.

        Yields:
            List of the batches of one step, one for each replica of this worker.
        """
        num_replicas = self.strategy.num_replicas_in_sync
        while self.step < self.config.num_train_steps:
            skip = int(self.position["batch"].numpy())
            dataset = self.epoch_batches(int(self.position["epoch"].numpy())).skip(skip)
            empty = skip == 0
            # R consecutive batches a step; zip drops what is left over at the end.
            for group in zip(*[_read(dataset, "training")] * num_replicas, strict=False):
                empty = False
                yield [group[replica] for replica in self._replicas]
            if empty:
                if num_replicas > 1:
                    raise InputError(
                        f"the training set holds no batch for each of {num_replicas} replicas"
                    )
                raise InputError("the training set holds no sentence")
            self.position["epoch"].assign_add(1)
            self.position["batch"].assign(0)

    def _update(self, batches, stop):
        """One update.

        Args:
            batches: list of the batches of this worker's replicas.
            stop: [] float32, 1 if this worker was told to stop, else 0.

        Returns:
            (mean loss of a target, number of targets, whether a worker was told to stop) over all
            replicas.
        """

        def update(batch):
            replica = tf.distribute.get_replica_context()
            with own_random_numbers(self._seeds):
                inputs, targets, weights = self.objective(batch)
                count, told = tf.unstack(
                    replica.all_reduce(SUM, tf.stack([tf.reduce_sum(weights), stop]))
                )
                with tf.GradientTape() as tape:
                    loss = self.model.cross_entropy(
                        inputs, targets, weights / tf.maximum(count, 1.0), training=True
                    )
            variables = self.model.trainable_variables
            gradients = tape.gradient(loss, [v.value for v in variables])
            # Here and not in the optimizer, which clips: it is to see what one replica would have.
            loss, *gradients = replica.all_reduce(SUM, [loss, *gradients])
            self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return loss, count, told > 0

        first = self._replicas[0]
        mine = self.strategy.experimental_distribute_values_from_function(
            lambda context: batches[context.replica_id_in_sync_group - first]
        )
        loss, count, told = (
            self.strategy.experimental_local_results(value)[0]
            for value in self.strategy.run(update, args=(mine,))
        )
        self.position["step"].assign_add(1)
        self.position["batch"].assign_add(self.strategy.num_replicas_in_sync)
        self.position["tokens"].assign_add(tf.cast(count, tf.int64))
        return loss, count, told

    def _check_finite(self, losses, step):
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            first = step - len(losses) + 1 + int(bad[0])
            self._diverged(f"the loss became {losses[bad[0]]} at step {first}")

    def _check_weights(self, step):
        # A loss can be finite while its gradient is not; the next loss would be too late.
        for name, variable in self.model.named_weights().items():
            if not np.isfinite(variable.numpy()).all():
                self._diverged(f"weight {name} is no longer finite at step {step}")

    def _diverged(self, what):
        kept = self._last_checkpoint() or ("none yet" if self.is_chief else "the chief's")
        raise InputError(
            f"{what}; the last good checkpoint is {kept}. Start anew with a lower --learning_rate "
            "or a longer --num_warmup_steps"
        )

    def _log(self, bar, step, loss, rate):
        learning_rate = float(self.optimizer.learning_rate)
        tf.summary.scalar("train/loss", loss, step=step)
        tf.summary.scalar("train/tokens_per_second", rate, step=step)
        tf.summary.scalar("train/learning_rate", learning_rate, step=step)
        bar.set_postfix_str(f"loss {loss:.3f}, {rate:,.0f} tokens/s, rate {learning_rate:.1e}")

    def _evaluate(self, bar, step):
        result = _evaluate(
            self._sentence_sums, self.heldout_batches(), self.config.max_eval_batches
        )
        self.last_evaluation = result
        tf.summary.scalar("heldout/nll", result.nll, step=step)
        tf.summary.scalar(
            "heldout/pseudo_perplexity_mean", result.pseudo_perplexity_mean, step=step
        )
        tf.summary.scalar(
            "heldout/pseudo_perplexity_median", result.pseudo_perplexity_median, step=step
        )
        bar.write(f"step {step}: held-out {result}", file=bar.fp)
