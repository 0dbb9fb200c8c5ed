"""Several replicas of a model, on the devices of a machine or on several machines, train as one.

A replica is a copy of the model on one device; a worker is a process with one replica or more, and
the chief is the first worker: it alone writes. R replicas in all, L of them on this worker.
"""

import contextlib
import hashlib
import re

import tensorflow as tf

from tta.errors import InputError

# What TensorFlow raises where a worker that the others wait for is gone.
WORKER_LOST = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.InternalError,
)

# Replicas' seeds lie this far apart. Any odd number far from those of a layer's own will do.
SEED_STRIDE = 0x5851F42D


def make_strategy(name):
    """The strategy that `--distribution_strategy` names. It comes first: before any tensor is made.

    Args:
        name: "one_device"; "mirrored", all GPUs of this machine, or else its CPU;
            "multi_worker_mirrored", those of all machines that TF_CONFIG lists (see
            `tta.modeling.training.cluster`). It waits for them.

    Returns:
        `tf.distribute.Strategy`.

    Raises:
        InputError: this worker's port is taken, or another worker is lost.
    """
    if name == "one_device":
        return tf.distribute.get_strategy()
    if name == "mirrored":
        return tf.distribute.MirroredStrategy()
    try:
        return tf.distribute.MultiWorkerMirroredStrategy()
    except tf.errors.OpError as error:
        raise InputError(
            f"cannot join the workers that TF_CONFIG lists, is this one's port free? "
            f"({_what_happened(error)})"
        ) from None


def is_chief(strategy):
    """Whether this worker is the one that writes."""
    return strategy.extended.should_checkpoint


def local_replicas(strategy):
    """The numbers, among the R replicas, of this worker's own: list of L ints."""
    numbers = strategy.experimental_distribute_values_from_function(
        lambda context: context.replica_id_in_sync_group
    )
    return list(strategy.experimental_local_results(numbers))


def is_alone(strategy):
    """Whether there is no other worker."""
    return len(local_replicas(strategy)) == strategy.num_replicas_in_sync


@contextlib.contextmanager
def lost_workers_named(strategy):
    """What TensorFlow raises of a lost worker becomes an InputError."""
    try:
        yield
    except WORKER_LOST as error:
        if is_alone(strategy):
            raise
        raise InputError(
            "another worker has stopped or cannot be reached; start all of them again with the "
            f"same command, and they go on from the last checkpoint ({_what_happened(error)})"
        ) from None


def _what_happened(error):
    """The line of TensorFlow's message that says it: not those of the Python code around."""
    lines = error.message.splitlines()
    told = [n for n in lines if n.strip() and not re.match(r"\s|Graph execution|Detected at", n)]
    return (told or [type(error).__name__])[0]


def broadcast(strategy, variables):
    """Gives every replica of every worker the chief's first replica's values.

    Args:
        strategy: under which the variables were made.
        variables: list of `tf.Variable`.
    """
    if strategy.num_replicas_in_sync == 1:
        return

    @tf.function(autograph=False)
    def first():
        def share():
            replica = tf.distribute.get_replica_context()
            is_first = tf.equal(replica.replica_id_in_sync_group, 0)
            mine = [tf.where(is_first, v, tf.zeros_like(v)) for v in variables]
            # One by one: together, they would have to be of one type.
            return [replica.all_reduce(tf.distribute.ReduceOp.SUM, value) for value in mine]

        return [strategy.experimental_local_results(v)[0] for v in strategy.run(share)]

    with strategy.scope(), lost_workers_named(strategy):
        for variable, value in zip(variables, first(), strict=True):
            variable.assign(value)


def check_same(strategy, what, text):
    """Refuses to train with workers that were not started alike.

    Args:
        strategy: their strategy.
        what: it is called in the error.
        text: str, has to be the same on all workers.

    Raises:
        InputError: it is not.
    """
    if strategy.num_replicas_in_sync == 1:
        return
    mine = digest(text)

    @tf.function(autograph=False)
    def total():
        return strategy.reduce(
            tf.distribute.ReduceOp.SUM,
            strategy.run(lambda: tf.constant(mine, tf.int64)),
            axis=None,
        )

    with lost_workers_named(strategy):
        same = int(total()) == mine * strategy.num_replicas_in_sync
    if not same:
        raise InputError(f"{what} must be the same on all workers, and are not")


def digest(text):
    """An int that tells texts apart, of 32 bits: a sum over the replicas stays exact."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


@contextlib.contextmanager
def own_random_numbers(seeds):
    """In a replica's context: the replica draws other numbers than the others do.

    Afterwards, the states are again the same on all replicas: a checkpoint holds one for all, and
    that of the first replica, which is also the only one on one device, was never another.

    Args:
        seeds: states of `keras.random.SeedGenerator`s, `keras.Variable`s of [2] int64.
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
