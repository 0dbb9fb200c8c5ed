"""Steps by TensorFlow: a compiled function, on the devices of a `tf.distribute.Strategy`."""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from tta.errors import DamagedDataError, InputError
from tta.modeling.training.steps.base import Steps

SUM = tf.distribute.ReduceOp.SUM

# TensorFlow raises these when another worker is lost.
WORKER_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
)

# Difference between the seeds of neighbouring replicas; any large odd number works.
SEED_STRIDE = 0x5851F42D


def make_strategy(name: str) -> tf.distribute.Strategy:
    """Makes a distribution strategy. Call it before any tensor is created.

    Args:
        name: one of `tta.modeling.training.config.STRATEGIES`. "mirrored" uses all GPUs of this
            machine, or its CPU if it has none. "multi_worker_mirrored" uses those of all machines
            that TF_CONFIG lists (see `tta.modeling.training.cluster`), and waits for them.

    Raises:
        InputError: the port of this worker is in use, or another worker is lost.
    """
    if name == "one_device":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except tf.errors.OpError as error:
        raise InputError(
            "cannot connect to the workers that TF_CONFIG lists; check that the port of this "
            f"worker is free ({_what_happened(error)})"
        ) from None


class TensorFlowSteps(Steps):
    """Steps under a `tf.distribute.Strategy`; None is one device."""

    def __init__(self, strategy: Any = None):
        self.strategy = strategy or tf.distribute.get_strategy()
        self.num_replicas = self.strategy.num_replicas_in_sync
        self.is_chief = self.strategy.extended.should_checkpoint
        numbers = self.strategy.experimental_distribute_values_from_function(
            lambda context: context.replica_id_in_sync_group
        )
        self.replicas = list(self.strategy.experimental_local_results(numbers))

    @classmethod
    def connect(cls, name, deterministic):
        if deterministic:
            tf.config.experimental.enable_op_determinism()
        return cls(make_strategy(name))

    def scope(self):
        return self.strategy.scope()

    def read(self, batches, split):
        try:
            yield from batches
        except (tf.errors.OpError, UnicodeDecodeError) as error:  # a message with bytes of it
            rule = str(getattr(error, "message", error)).splitlines()[0]
            raise DamagedDataError(f"a {split} shard is truncated or damaged: {rule}") from None

    def groups(self, batches, skip):
        # Each step takes R consecutive batches; zip drops an incomplete last group.
        read = self.read(batches.skip(skip), "training")
        for group in zip(*[read] * self.num_replicas, strict=False):
            yield [group[replica] for replica in self.replicas]

    def compile(self, model, function, spec):
        return tf.function(function, input_signature=[spec], autograph=False)

    def update(self, model, optimizer, objective, spec):
        seeds = [v for v in model.variables if v.path.endswith("seed_generator_state")]
        seeds += objective.seeds
        first = self.replicas[0]

        def update(batch, step, stop):
            replica = tf.distribute.get_replica_context()
            with own_random_numbers(seeds):
                task: Any = objective.task(batch, step)
                count, stopping = tf.unstack(
                    replica.all_reduce(SUM, tf.stack([tf.reduce_sum(task.weights), stop]))
                )
                task = task._replace(weights=task.weights / tf.maximum(count, 1.0))
                with tf.GradientTape() as tape:
                    loss: Any = objective.loss(model, task)
            variables = model.trainable_variables
            # A weight that the loss does not depend on has a gradient of 0.
            zero = tf.UnconnectedGradients.ZERO
            values = [v.value for v in variables]
            gradients = tape.gradient(loss.total, values, unconnected_gradients=zero)
            # Reduced here, not in the optimizer, so that the optimizer clips the sum.
            losses = {"loss": loss.total, **loss.parts}
            reduced = replica.all_reduce(SUM, [*losses.values(), *gradients])
            losses = dict(zip(losses, reduced, strict=False))
            optimizer.apply_gradients(zip(reduced[len(losses) :], variables, strict=True))
            return losses, count, stopping > 0

        # One graph for every shape. A graph for the first batch's shape may round differently,
        # and a resumed run would differ from an uninterrupted one.
        numbers = tf.TensorSpec([], tf.int64), tf.TensorSpec([], tf.float32)
        signature = [[spec] * len(self.replicas), *numbers]

        @tf.function(input_signature=signature, autograph=False)
        def on_replicas(batches, step, stop):
            mine = self.strategy.experimental_distribute_values_from_function(
                lambda context: batches[context.replica_id_in_sync_group - first]
            )
            results = self.strategy.run(update, args=(mine, step, stop))
            return tf.nest.map_structure(
                lambda value: self.strategy.experimental_local_results(value)[0], results
            )

        def call(batches, step, stop):
            with self._lost_workers_named():
                losses, count, stopping = on_replicas(batches, step, float(stop))
                losses = {name: value.numpy() for name, value in losses.items()}
                return losses, count.numpy(), bool(stopping)

        return call

    def share(self, position, variables):
        if self.num_replicas == 1:
            return
        values = [*variables, *(tf.constant(number, tf.int64) for number in position.values())]

        @tf.function(autograph=False)
        def first():
            def share():
                replica = tf.distribute.get_replica_context()
                is_first = tf.equal(replica.replica_id_in_sync_group, 0)
                tensors = [tf.convert_to_tensor(value) for value in values]
                mine = [tf.where(is_first, value, tf.zeros_like(value)) for value in tensors]
                # Reduced one by one, as their types differ.
                return [replica.all_reduce(SUM, value) for value in mine]

            results = self.strategy.run(share)
            return [self.strategy.experimental_local_results(value)[0] for value in results]

        with self.scope(), self._lost_workers_named():
            shared = first()
            for variable, value in zip(variables, shared, strict=False):
                variable.assign(value)
        numbers = map(int, shared[len(variables) :])
        position.update(zip(position, numbers, strict=True))

    def check_same(self, what, text):
        if self.num_replicas == 1:
            return
        mine = digest(text)

        @tf.function(autograph=False)
        def total():
            return self.strategy.reduce(
                SUM, self.strategy.run(lambda: tf.constant(mine, tf.int64)), axis=None
            )

        with self._lost_workers_named():
            same = int(total()) == mine * self.num_replicas
        if not same:
            raise InputError(f"{what} must be the same on all workers")

    @contextlib.contextmanager
    def _lost_workers_named(self) -> Iterator[None]:
        """Turns TensorFlow's errors about a lost worker into an InputError."""
        try:
            yield
        except WORKER_LOST as error:
            if self.is_alone:
                raise
            raise InputError(
                "another worker stopped or cannot be reached; repeat the command on all workers to "
                f"resume from the last checkpoint ({_what_happened(error)})"
            ) from None


def _what_happened(error):
    """The line of TensorFlow's message that gives the reason, without its Python traceback."""
    lines = error.message.splitlines()
    reasons = [n for n in lines if n.strip() and not re.match(r"\s|Graph execution|Detected at", n)]
    return (reasons or [type(error).__name__])[0]


def digest(text: str) -> int:
    """A hash of 32 bits, so that its sum over the replicas is exact."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@contextlib.contextmanager
def own_random_numbers(seeds: Iterable[Any]) -> Iterator[None]:
    """Makes each replica draw its own random numbers; enter it in the context of a replica.

    On exit, the states are again equal on all replicas, so a checkpoint stores only one. The state
    of the first replica is never changed: it draws the numbers of training on one device. `seeds`
    are states of `keras.random.SeedGenerator`s, `keras.Variable`s [2] int64.
    """
    replica = tf.distribute.get_replica_context()
    if replica.num_replicas_in_sync == 1:
        yield
        return
    offset = tf.stack([SEED_STRIDE * tf.cast(replica.replica_id_in_sync_group, tf.int64), 0])
    for seed in seeds:
        seed.assign(seed + offset)
    yield
    for seed in seeds:
        seed.assign(seed - offset)
