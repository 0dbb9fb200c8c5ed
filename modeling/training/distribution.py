"""Trains replicas of a model together, on several devices of one machine or on several machines.

A replica is a copy of the model on one device. A worker is a process with one or more replicas. The
chief is the first worker, the only one that writes. R replicas in all, L of them on this worker.
"""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf

from tta.errors import InputError

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


def connect(name: str, deterministic: bool, same: Mapping[str, str]) -> tf.distribute.Strategy:
    """Makes a strategy by its name, and checks that all workers were started alike.

    With `deterministic`, operations give bit-equal results, in this whole process. `same` is what
    must be the same on all workers, {its name in errors: its value as text}.

    Raises:
        InputError: as `make_strategy` and `check_same`.
    """
    if deterministic:
        tf.config.experimental.enable_op_determinism()
    strategy = make_strategy(name)
    for what, text in same.items():
        check_same(strategy, what, text)
    return strategy


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


def local_replicas(strategy: tf.distribute.Strategy) -> list[int]:
    """The indices of this worker's replicas among all R: list of L ints."""
    numbers = strategy.experimental_distribute_values_from_function(
        lambda context: context.replica_id_in_sync_group
    )
    return list(strategy.experimental_local_results(numbers))


def is_alone(strategy: tf.distribute.Strategy) -> bool:
    """Whether there is no other worker."""
    return len(local_replicas(strategy)) == strategy.num_replicas_in_sync


@contextlib.contextmanager
def lost_workers_named(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Turns TensorFlow's errors about a lost worker into an InputError."""
    try:
        yield
    except WORKER_LOST as error:
        if is_alone(strategy):
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


def broadcast(strategy: tf.distribute.Strategy, variables: Sequence[tf.Variable]) -> None:
    """Copies the values of the chief's first replica to all replicas of all workers.

    The variables must have been created under the strategy.

    Raises:
        InputError: another worker is lost.
    """
    if strategy.num_replicas_in_sync == 1:
        return

    @tf.function(autograph=False)
    def first():
        def share():
            replica = tf.distribute.get_replica_context()
            is_first = tf.equal(replica.replica_id_in_sync_group, 0)
            mine = [tf.where(is_first, v, tf.zeros_like(v)) for v in variables]
            # Reduced one by one, as their types differ.
            return [replica.all_reduce(tf.distribute.ReduceOp.SUM, value) for value in mine]

        return [strategy.experimental_local_results(v)[0] for v in strategy.run(share)]

    with strategy.scope(), lost_workers_named(strategy):
        for variable, value in zip(variables, first(), strict=True):
            variable.assign(value)


def check_same(strategy: tf.distribute.Strategy, what: str, text: str) -> None:
    """Checks that a value, given as `text`, is the same on all workers; errors call it `what`.

    Raises:
        InputError: the values differ, or another worker is lost.
    """
    if strategy.num_replicas_in_sync == 1:
        return
    mine = digest(text)

    @tf.function(autograph=False)
    def total():
        return strategy.reduce(
            tf.distribute.ReduceOp.SUM, strategy.run(lambda: tf.constant(mine, tf.int64)), axis=None
        )

    with lost_workers_named(strategy):
        same = int(total()) == mine * strategy.num_replicas_in_sync
    if not same:
        raise InputError(f"{what} must be the same on all workers")


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
