"""The training loop: steps under a strategy, evaluation, checkpoints, resuming."""

import dataclasses
import math
import re
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from tqdm import tqdm

from tta.errors import InputError
from tta.modeling.formats.tensorflow.run_checkpoint import CHECKPOINTS, STATE, plain_path, state_key
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.objectives.base import Objective
from tta.modeling.training import distribution, run_record
from tta.modeling.training.checkpoints import disk_errors_named, list_checkpoints, restore_newest
from tta.modeling.training.config import LoopSettings
from tta.modeling.training.evaluation import COMMON_COMPONENT, Evaluation, Evaluator
from tta.modeling.training.statistics import read_batches
from tta.modeling.training.stopping import StopRequest

SUM = tf.distribute.ReduceOp.SUM


@dataclass(eq=False)
class Trainer:
    """Trains a model; resumes from the last checkpoint of an interrupted run.

    A step's batch depends only on the seed, the epoch and the position in the epoch. A checkpoint
    holds these together with weights, optimizer and random state, so an interrupted run ends with
    the same weights as an uninterrupted one.

    Under a strategy with R replicas, a step takes the next R batches of an epoch, one per replica,
    and the gradient of the mean over all their targets. Fewer than R batches at an epoch's end are
    left out. Every worker reads all batches, so no worker has to tell another which ones it takes.
    Only the chief evaluates and writes; the other workers get its state when they resume.

    Attributes:
        model, optimizer, objective: built under the strategy's scope.
        epoch_batches: epoch number -> `tf.data.Dataset` of that epoch's batches. Its `element_spec`
            declares the batch.
        heldout_batches: () -> `tf.data.Dataset`, or None.
        output_dir: `checkpoints/` and `logs/` (TensorBoard) are made in it.
        loop: how many steps, and how often to save, evaluate and log.
        strategy: `tf.distribute.Strategy`.
        is_resumable: whether the user can resume the run; else messages do not say so.
        last_evaluation: the last held-out `Evaluation`, or None.
        evaluation_error: the InputError of the last evaluation, or None. It is kept here, so that a
            run goes on and writes its model before it fails.
    """

    model: ConfiguredModel
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    epoch_batches: Callable[[int], tf.data.Dataset]
    heldout_batches: Callable[[], tf.data.Dataset] | None
    output_dir: Path
    loop: LoopSettings
    strategy: tf.distribute.Strategy = field(default_factory=tf.distribute.get_strategy)
    is_resumable: bool = True

    def __post_init__(self):
        self.output_dir = Path(self.output_dir)
        with self.strategy.scope():
            self.optimizer.build(self.model.trainable_variables)
        # "batch" counts batches of the data set. A step takes one per replica.
        self.position = {
            name: tf.Variable(tf.zeros([], tf.int64), name=name)
            for name in ("step", "epoch", "batch", "tokens")
        }
        # By name: a list would tie the checkpoint to the order of creation. Keras numbers the
        # generators of dropouts over the whole process; each is in a layer with its own name.
        self._state = {
            re.sub(r"\bseed_generator_\d+\b", "seed_generator", v.path): v.value
            for v in [*self.model.variables, *self.optimizer.variables]
        }
        state = [*self.objective.seeds, *self.objective.variables]
        self._state |= {f"objective_{i}": v.value for i, v in enumerate(state)}
        state = {state_key(name): variable for name, variable in self._state.items()}
        self.checkpoint = tf.train.Checkpoint(**self.position, **{STATE: state})
        self.is_chief = self.strategy.extended.should_checkpoint
        self.manager = None
        if self.is_chief:  # Other workers may see the same folder while the chief writes to it.
            self.manager = self._list_checkpoints()
        self.last_evaluation = None
        self.evaluation_error = None
        self._first_loss = math.nan  # of the run's first step, if that is known
        self._replicas = distribution.local_replicas(self.strategy)
        self._seeds = [v for v in self.model.variables if v.path.endswith("seed_generator_state")]
        self._seeds += self.objective.seeds
        batch_spec: Any = self.epoch_batches(0).element_spec
        # One graph for every shape. A graph for the first batch's shape may round differently,
        # and a resumed run would differ from an uninterrupted one.
        self._step = tf.function(
            self._update,
            input_signature=[[batch_spec] * len(self._replicas), tf.TensorSpec([], tf.float32)],
            autograph=False,
        )
        self._evaluator = None
        if self.is_chief and self.heldout_batches is not None:
            self._evaluator = Evaluator(self.model, self.objective, batch_spec)
        self._stop = StopRequest()

    @property
    def step(self) -> int:
        """Steps done so far."""
        return int(self.position["step"].numpy())

    def restore(self) -> int:
        """Restores the last checkpoint; returns the number of steps done, 0 if there is none.

        A damaged checkpoint is removed if the one before it can be restored.

        Raises:
            InputError: no checkpoint is readable and of this model, or a worker is lost.
        """
        if self.is_chief:
            restore_newest(self.checkpoint, self.output_dir / CHECKPOINTS)
            self.manager = self._list_checkpoints()
        distribution.broadcast(self.strategy, [*self.position.values(), *self._state.values()])
        if self.step:
            self._first_loss = run_record.first_loss(self.output_dir)
        return self.step

    def _list_checkpoints(self):
        folder = self.output_dir / CHECKPOINTS
        list_checkpoints(folder)
        # TensorFlow finds old checkpoints, to delete them, by a glob, too.
        folder = str(plain_path(folder))
        return tf.train.CheckpointManager(self.checkpoint, folder, max_to_keep=2)

    def save(self) -> str:
        """Writes a checkpoint; the previous one is kept until the new one is complete.

        Raises:
            OSError: it cannot be written, for example because the disk is full. The previous
                checkpoints are kept.
        """
        assert self.manager is not None, "only the chief saves"
        with disk_errors_named(self.manager.directory, self.output_dir / CHECKPOINTS):
            return self.manager.save(checkpoint_number=self.step)

    def train(self, until: int | None = None) -> bool:
        """Trains from the last checkpoint up to a step; returns whether it reached it.

        `until` is the number of steps done at the end; None is all of `loop.num_train_steps`. A
        later call goes on from there.

        On SIGTERM or Ctrl-C it saves and stops after the current step. With several workers, all of
        them stop after the next step that the signalled worker begins. A second Ctrl-C ends the run
        at once; the last checkpoint is kept.

        Raises:
            KeyboardInterrupt: the run was stopped by Ctrl-C.
            InputError: a loss is not finite, a shard is damaged, a worker is lost, there is no
                batch for each replica, or the model of the last step is worse than chance. The last
                good checkpoint is kept.
            OSError: a checkpoint or log cannot be written. The last checkpoint is kept.
        """
        until = self.loop.num_train_steps if until is None else until
        start = self.restore()
        if start > self.loop.num_train_steps and self.is_chief:
            print(
                f"this run has done {start:,} steps, more than --num_train_steps="
                f"{self.loop.num_train_steps}: it is not trained further",
                file=sys.stderr,
            )
        if self.is_chief:
            writer = tf.summary.create_file_writer(str(self.output_dir / "logs"))
        else:
            writer = tf.summary.create_noop_writer()
        is_terminal = sys.stderr.isatty()
        bar = (tqdm if is_terminal else _LogLines)(
            disable=not self.is_chief,
            total=until,
            initial=start,
            unit="step",
            smoothing=0.05,
            dynamic_ncols=True,
            mininterval=1.0 if is_terminal else 60.0,
        )
        logs = disk_errors_named(self.output_dir / "logs")
        with self._stop.watched(), logs, writer.as_default(), bar:
            self._run(bar, until)
            done = self.step >= until
            if done:
                self._try_to_evaluate(bar, self.step)
        if not done:
            how = "to resume" if self.is_resumable else "to begin anew"
            print(
                f"stopped after step {self.step:,} of {until:,}; repeat the command {how}",
                file=sys.stderr,
            )
            if self._stop.signal == signal.SIGINT:
                raise KeyboardInterrupt
        return done

    def evaluate(self) -> Evaluation | None:
        """The held-out evaluation of the model as it is now; None if nothing is held out.

        Raises:
            InputError: there is no token to measure, or a shard is damaged.
        """
        if self._evaluator is None or self.heldout_batches is None:
            return None
        return self._evaluator(self.heldout_batches(), self.loop.max_eval_batches)

    def _run(self, bar, until):
        loop = self.loop
        recent, since, tokens = [], time.monotonic(), 0
        alone = distribution.is_alone(self.strategy)
        for batches in self._batches(until):
            with distribution.lost_workers_named(self.strategy):
                losses, num_tokens, stopping = self._step(batches, float(bool(self._stop.signal)))
                losses = {name: float(value) for name, value in losses.items()}
                num_tokens, stopping = int(num_tokens), bool(stopping)
            recent.append(losses)
            tokens += num_tokens
            step = self.step
            if step == 1:
                self._first_loss = losses["loss"]
                if self.is_chief:
                    run_record.keep_first_loss(self.output_dir, self._first_loss)
            last = step >= until
            stop = last or stopping or (alone and self._stop.signal)

            def due(every, step=step, stop=stop):
                return stop or step % every == 0

            if due(loop.log_steps) or due(loop.save_checkpoints_steps):
                self._check_finite([losses["loss"] for losses in recent], step)
            if due(loop.log_steps):
                rate = tokens / max(time.monotonic() - since, 1e-9)
                self._log(bar, step, recent, rate)
                if last:
                    self._check_learned(float(np.mean([losses["loss"] for losses in recent])))
                recent, since, tokens = [], time.monotonic(), 0
            bar.update(1)
            if due(loop.save_checkpoints_steps):
                self._check_weights(step)
                if self.is_chief:
                    self.save()
            if step % loop.eval_steps == 0 and not stop:
                self._try_to_evaluate(bar, step)
            if stop:
                return

    def _try_to_evaluate(self, bar, step):
        """Evaluates the model; an error of the data is shown and kept in `evaluation_error`."""
        self.evaluation_error = None
        try:
            self._evaluate(bar, step)
        except InputError as error:
            self.evaluation_error = error
            bar.write(f"step {step:,}: not evaluated: {error}", file=sys.stderr)

    def _batches(self, until):
        """Yields the remaining steps' batches, a list with one for each replica of this worker."""
        num_replicas = self.strategy.num_replicas_in_sync
        while self.step < until:
            skip = int(self.position["batch"].numpy())
            dataset = self.epoch_batches(int(self.position["epoch"].numpy())).skip(skip)
            empty = skip == 0
            # Each step takes R consecutive batches; zip drops an incomplete last group.
            for group in zip(*[read_batches(dataset, "training")] * num_replicas, strict=False):
                empty = False
                yield [group[replica] for replica in self._replicas]
            if empty:
                each = f"batch for each of {num_replicas} replicas"
                missing = each if num_replicas > 1 else "sentence"
                raise InputError(f"the training set holds no {missing}")
            self.position["epoch"].assign_add(1)
            self.position["batch"].assign(0)

    def _update(self, batches, stop):
        """One update, from one batch per replica of this worker.

        `stop` [] float32 is 1 if this worker was asked to stop, else 0. Returns ({"loss": mean loss
        of a target, and the means of its parts}, number of targets, whether any worker was asked to
        stop), over all replicas.
        """

        def update(batch):
            replica = tf.distribute.get_replica_context()
            with distribution.own_random_numbers(self._seeds):
                task: Any = self.objective.task(batch, self.position["step"].read_value())
                count, stopping = tf.unstack(
                    replica.all_reduce(SUM, tf.stack([tf.reduce_sum(task.weights), stop]))
                )
                task = task._replace(weights=task.weights / tf.maximum(count, 1.0))
                with tf.GradientTape() as tape:
                    loss: Any = self.objective.loss(self.model, task)
            variables = self.model.trainable_variables
            # A weight that the loss does not depend on has a gradient of 0.
            zero = tf.UnconnectedGradients.ZERO
            values = [v.value for v in variables]
            gradients = tape.gradient(loss.total, values, unconnected_gradients=zero)
            # Reduced here, not in the optimizer, so that the optimizer clips the sum.
            losses = {"loss": loss.total, **loss.parts}
            reduced = replica.all_reduce(SUM, [*losses.values(), *gradients])
            losses = dict(zip(losses, reduced, strict=False))
            gradients = reduced[len(losses) :]
            self.optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return losses, count, stopping > 0

        first = self._replicas[0]
        mine = self.strategy.experimental_distribute_values_from_function(
            lambda context: batches[context.replica_id_in_sync_group - first]
        )
        losses, count, stopping = tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0],
            self.strategy.run(update, args=(mine,)),
        )
        self.position["step"].assign_add(1)
        self.position["batch"].assign_add(self.strategy.num_replicas_in_sync)
        self.position["tokens"].assign_add(tf.cast(count, tf.int64))
        return losses, count, stopping

    def _check_finite(self, losses, step):
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            first = step - len(losses) + 1 + int(bad[0])
            self._diverged(f"the loss became {losses[bad[0]]} at step {first}")

    def _check_weights(self, step):
        # The gradient of a finite loss may not be finite. The next loss would show it too late.
        for name, variable in self.model.named_weights().items():
            if not np.isfinite(variable.numpy()).all():
                self._diverged(f"weight {name} is no longer finite at step {step}")

    def _check_learned(self, loss):
        # A model that knows nothing has the loss log V. A run may begin above it, and losses differ
        # from batch to batch.
        chance = math.log(self.model.config.vocab_size)
        if self.is_resumable and loss > 2.0 * max(chance, self._first_loss):
            raise InputError(
                f"the training diverged: it ends with a loss of {loss:.4g} per token; chance is "
                f"{chance:.4g}. Start anew with a lower --learning_rate or a longer "
                "--num_warmup_steps"
            )

    def _diverged(self, what):
        if not self.is_resumable:
            raise InputError(
                f"{what}; the last good weights are not kept. Start anew with a lower "
                "--learning_rate"
            )
        kept = "the chief's"
        if self.manager is not None:
            last = self.manager.latest_checkpoint
            kept = self.output_dir / CHECKPOINTS / Path(last).name if last else "none yet"
        raise InputError(
            f"{what}; the last good checkpoint is {kept}. Start anew with a lower --learning_rate "
            "or a longer --num_warmup_steps"
        )

    def _log(self, bar, step, recent, rate):
        learning_rate = float(self.optimizer.learning_rate)
        means = {name: np.mean([losses[name] for losses in recent]) for name in recent[0]}
        means |= self._schedule(step)
        logged = means | {"tokens_per_second": rate, "learning_rate": learning_rate}
        for name, value in logged.items():
            tf.summary.scalar(f"train/{name}", value, step=step)
        parts = [f"{n} {v:.3f}, " for n, v in means.items() if n not in ("loss", "head")]
        bar.set_postfix_str(
            f"loss {means['loss']:.3f}, {''.join(parts)}{rate:,.0f} tokens/s, "
            f"rate {learning_rate:.1e}"
        )

    def _schedule(self, step):
        return {name: float(value) for name, value in self.objective.at_step(step).items()}

    def _evaluate(self, bar, step):
        if (result := self.evaluate()) is None:
            return
        schedule = self._schedule(step)
        text = "".join([result.text, *(f", {name} {v:.3f}" for name, v in schedule.items())])
        result = dataclasses.replace(result, values=result.values | schedule, text=text)
        self.last_evaluation = result
        for name, value in result.values.items():
            tf.summary.scalar(f"heldout/{name}", value, step=step)
        bar.write(f"step {step}: held-out {result}", file=bar.fp)
        if (share := result.values.get(COMMON_COMPONENT)) is not None:
            bar.write(f"step {step}: common component of the outputs {share:.2%}", file=bar.fp)


class _LogLines(tqdm):
    """A progress bar for a log file, which gets a new line where a terminal's line is replaced."""

    @staticmethod
    def status_printer(file: Any) -> Any:
        return lambda text: print(text, file=file, flush=True)

    def clear(self, nolock=False):
        """Nothing is on the present line."""
