"""The training loop: steps, evaluation, checkpoints, resuming."""

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

from tta.data.text.progress import tqdm
from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import CHECKPOINTS
from tta.modeling.models.base import ConfiguredModel
from tta.modeling.objectives.base import Objective
from tta.modeling.training import run_record
from tta.modeling.training.checkpoints import Checkpoints
from tta.modeling.training.config import LoopSettings
from tta.modeling.training.evaluation import (
    COMMON_COMPONENT,
    MOST_COMMON,
    MUCH_COMMON,
    Evaluation,
    Evaluator,
)
from tta.modeling.training.event_log import EventLog
from tta.modeling.training.steps import connect
from tta.modeling.training.steps.base import Steps
from tta.modeling.training.stopping import StopRequest

# What to do after a training that failed.
START_ANEW = "Start anew with a lower --learning_rate or a longer --num_warmup_steps"


@dataclass(eq=False)
class Trainer:
    """Trains a model; resumes from the last checkpoint of an interrupted run.

    A step's batch depends only on the seed, the epoch and the position in the epoch. A checkpoint
    holds these together with weights, optimizer and random state, so an interrupted run ends with
    the same weights as an uninterrupted one.

    With R replicas, a step takes the next R batches of an epoch, one per replica, and the gradient
    of the mean over all their targets. Fewer than R batches at an epoch's end are left out. Every
    worker reads all batches, so no worker has to tell another which ones it takes. Only the chief
    evaluates and writes; the other workers get its state when they resume.

    Attributes:
        model, optimizer, objective: built in the scope of `steps`.
        epoch_batches: epoch number -> that epoch's batches, see `TrainingBatches`. The
            `element_spec` of a `tf.data.Dataset` declares the batch.
        heldout_batches: () -> batches, or None.
        output_dir: `checkpoints/` and `logs/` (TensorBoard) are made in it.
        loop: how many steps, and how often to save, evaluate and log.
        steps: computes the steps, on one device or several.
        is_resumable: whether the user can resume the run; else messages do not say so.
        last_evaluation: the last held-out `Evaluation`, or None.
        evaluation_error: the InputError of the last evaluation, or None. It is kept here, so that a
            run goes on and writes its model before it fails.
        position: what is done so far: "step", "epoch", "batch" of the epoch (a step takes one per
            replica), and "tokens", the number of targets.
    """

    model: ConfiguredModel
    optimizer: keras.optimizers.Optimizer
    objective: Objective
    epoch_batches: Callable[[int], Any]
    heldout_batches: Callable[[], Any] | None
    output_dir: Path
    loop: LoopSettings
    steps: Steps = field(default_factory=connect)
    is_resumable: bool = True

    def __post_init__(self):
        self.output_dir = Path(self.output_dir)
        with self.steps.scope():
            self.optimizer.build(self.model.trainable_variables)
        names = ("step", "epoch", "batch", "tokens")
        self.position: dict[str, int] = dict.fromkeys(names, 0)
        # By name: a list would tie the checkpoint to the order of creation. Keras numbers the
        # generators of dropouts over the whole process; each is in a layer with its own name.
        self.variables = {
            re.sub(r"\bseed_generator_\d+\b", "seed_generator", v.path): v
            for v in [*self.model.variables, *self.optimizer.variables]
        }
        state = [*self.objective.seeds, *self.objective.variables]
        self.variables |= {f"objective_{i}": v for i, v in enumerate(state)}
        self.checkpoints = Checkpoints(self.output_dir / CHECKPOINTS, self.variables)
        self.last_evaluation = None
        self.evaluation_error = None
        self._first_loss = math.nan  # of the run's first step, if that is known
        spec = getattr(self.epoch_batches(0), "element_spec", None)
        self._update = self.steps.update(self.model, self.optimizer, self.objective, spec)
        self._evaluator = None
        if self.steps.is_chief and self.heldout_batches is not None:
            self._evaluator = Evaluator(self.model, self.objective, spec, self.steps)
        self._log_file = EventLog(self.output_dir / "logs" if self.steps.is_chief else None)
        self._stop = StopRequest()

    @property
    def step(self) -> int:
        """Steps done so far."""
        return self.position["step"]

    def restore(self) -> int:
        """Restores the last checkpoint; returns the number of steps done, 0 if there is none.

        A damaged checkpoint is removed if the one before it can be restored. Raises InputError if
        no checkpoint is readable and of this model, or a worker is lost.
        """
        if self.steps.is_chief:
            with self.steps.scope():
                self.checkpoints.restore(self.position)
        self.steps.share(self.position, list(self.variables.values()))
        if self.step:
            self._first_loss = run_record.first_loss(self.output_dir)
        return self.step

    def save(self) -> None:
        """Writes a checkpoint; the previous one is kept until the new one is complete.

        Raises OSError if it cannot be written, for example because the disk is full. The previous
        checkpoints are kept.
        """
        assert self.steps.is_chief, "only the chief saves"
        self.checkpoints.save(self.position)

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
                batch for each replica, or the model of the last step is worse than chance or has
                outputs that hardly depend on the text. The last good checkpoint is kept.
            OSError: a checkpoint or log cannot be written. The last checkpoint is kept.
        """
        until = self.loop.num_train_steps if until is None else until
        start = self.restore()
        if start > self.loop.num_train_steps and self.steps.is_chief:
            print(
                f"this run has done {start:,} steps, more than --num_train_steps="
                f"{self.loop.num_train_steps}: it is not trained further",
                file=sys.stderr,
            )
        elif start and self.is_resumable and self.steps.is_chief:
            print(f"resuming from the checkpoint of step {start:,}", file=sys.stderr)
        bar = tqdm(
            disable=not self.steps.is_chief,
            total=until,
            initial=start,
            unit="step",
            smoothing=0.05,
            dynamic_ncols=True,
            mininterval=1.0,
            delay=0.0,
        )
        if start < until:
            bar.set_postfix_str("compiling the first step, which may take a minute")
        with self._stop.watched(), bar:
            self._run(bar, until)
            done = self.step >= until
            if done:
                self._try_to_evaluate(bar, self.step)
                self._check_outputs_differ()
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

        Raises InputError if there is no token to measure, or a shard is damaged.
        """
        if self._evaluator is None or self.heldout_batches is None:
            return None
        return self._evaluator(self.heldout_batches(), self.loop.max_eval_batches)

    def _run(self, bar, until):
        loop = self.loop
        recent, since, tokens = [], time.monotonic(), self.position["tokens"]
        counts, first = [], self.step + 1
        for batches in self._batches(until):
            stop = bool(self._stop.signal)
            losses, count, stopping = self._update(batches, self.step, stop)
            recent.append(losses)
            counts.append(count)
            self.position["step"] += 1
            self.position["batch"] += self.steps.num_replicas
            step = self.step
            if step == first:
                bar.set_postfix_str("", refresh=False)  # it is compiled
            if step == 1:
                self._first_loss = float(losses["loss"])
                if self.steps.is_chief:
                    run_record.keep_first_loss(self.output_dir, self._first_loss)
            last = step >= until
            stop = last or stopping or (self.steps.is_alone and self._stop.signal)

            def due(every, step=step, stop=stop):
                return stop or step % every == 0

            if due(loop.log_steps) or due(loop.save_checkpoints_steps):
                # Until here, the device may still be computing.
                recent = [{n: float(v) for n, v in losses.items()} for losses in recent]
                self.position["tokens"] += sum(map(int, counts))
                counts = []
                self._check_finite([losses["loss"] for losses in recent], step)
            if due(loop.log_steps):
                rate = (self.position["tokens"] - tokens) / max(time.monotonic() - since, 1e-9)
                self._log(bar, step, recent, rate)
                if last:
                    self._check_learned(float(np.mean([losses["loss"] for losses in recent])))
                recent, since, tokens = [], time.monotonic(), self.position["tokens"]
            bar.update(1)
            if due(loop.save_checkpoints_steps):
                self._check_weights(step)
                if self.steps.is_chief:
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
        while self.step < until:
            skip = self.position["batch"]
            empty = skip == 0
            for group in self.steps.groups(self.epoch_batches(self.position["epoch"]), skip):
                empty = False
                yield group
            if empty:
                count = self.steps.num_replicas
                missing = f"batch for each of {count} replicas" if count > 1 else "sentence"
                raise InputError(f"the training set holds no {missing}")
            self.position["epoch"] += 1
            self.position["batch"] = 0

    def _check_finite(self, losses, step):
        bad = np.flatnonzero(~np.isfinite(losses))
        if bad.size:
            first = step - len(losses) + 1 + int(bad[0])
            self._diverged(f"the loss became {losses[bad[0]]} at step {first}")

    def _check_weights(self, step):
        # The gradient of a finite loss may not be finite. The next loss would show it too late.
        for name, variable in self.model.named_weights().items():
            if not np.isfinite(np.asarray(variable)).all():
                self._diverged(f"weight {name} is no longer finite at step {step}")

    def _check_learned(self, loss):
        # A model that knows nothing has the loss log V. A run may begin above it, and losses differ
        # from batch to batch.
        chance = math.log(self.model.config.vocab_size)
        if self.is_resumable and loss > 2.0 * max(chance, self._first_loss):
            raise InputError(
                f"the training diverged: it ends with a loss of {loss:.4g} per token; chance is "
                f"{chance:.4g}. {START_ANEW}"
            )

    def _check_outputs_differ(self):
        # Standardized, outputs that are equal up to rounding would be noise.
        values = self.last_evaluation.values if self.last_evaluation else {}
        share = values.get(COMMON_COMPONENT, 0.0)
        if self.is_resumable and share > MOST_COMMON:
            raise InputError(
                f"the training failed: the common component of the outputs is {share:.3%}, so they "
                f"hardly depend on the text. {START_ANEW}"
            )

    def _diverged(self, what):
        if not self.is_resumable:
            raise InputError(
                f"{what}; the last good weights are not kept. Start anew with a lower "
                "--learning_rate"
            )
        checkpoint = "the chief's"
        if self.steps.is_chief:
            checkpoint = self.checkpoints.latest or "none yet"
        raise InputError(f"{what}; the last good checkpoint is {checkpoint}. {START_ANEW}")

    def _log(self, bar, step, recent, rate):
        learning_rate = float(self.optimizer.learning_rate)
        means = {n: float(np.mean([losses[n] for losses in recent])) for n in recent[0]}
        means |= self._schedule(step)
        logged = means | {"tokens_per_second": rate, "learning_rate": learning_rate}
        self._log_file.write({f"train/{name}": value for name, value in logged.items()}, step)
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
        self._log_file.write({f"heldout/{name}": v for name, v in result.values.items()}, step)
        bar.write(f"step {step}: held-out {result}", file=bar.fp)
        if (share := result.values.get(COMMON_COMPONENT)) is not None:
            line = f"step {step}: common component of the outputs {share:.2%}"
            if share > MOST_COMMON:
                line += ": they hardly depend on the text, and a run that ends so fails"
            elif share > MUCH_COMMON:
                line += ": they depend little on the text; a lower --learning_rate may learn more"
            bar.write(line, file=bar.fp)
