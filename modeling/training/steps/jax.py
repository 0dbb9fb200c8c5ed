"""Steps by JAX: a jitted function of all state, whose old values it may overwrite.

Data parallel on several devices: the sentences of a step are divided among them, every device has
all weights, and XLA adds up the gradients.
"""

import os
import warnings
from typing import Any

import jax
import keras
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from keras import ops

from tta.data.records.arrays import ArrayBatches
from tta.errors import InputError
from tta.modeling.training.steps.base import Steps

# Without 64 bits, JAX takes 32 of them. No number of a step is larger.
warnings.filterwarnings("ignore", "Explicitly requested dtype int64")


class JaxSteps(Steps):
    """Steps on one device, or on all of a `keras.distribution.DataParallel`."""

    strategies = ("one_device", "mirrored")
    in_memory = True

    def __init__(self, distribution: Any = None):
        self._distribution, self._sharding = distribution, None
        if distribution is not None:
            mesh = distribution.device_mesh.backend_mesh
            self._sharding = NamedSharding(mesh, PartitionSpec(distribution.batch_dim_name))
            self.num_replicas = mesh.size
            self.replicas = range(self.num_replicas)

    @classmethod
    def connect(cls, name, deterministic):
        if deterministic:  # a CPU always is; read when JAX first computes
            flags = os.environ.get("XLA_FLAGS", "")
            os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_deterministic_ops=true"
        several = name == "mirrored"
        return cls(keras.distribution.DataParallel(auto_shard_dataset=False) if several else None)

    def scope(self):
        return super().scope() if self._distribution is None else self._distribution.scope()

    def groups(self, batches, skip):
        if not isinstance(batches, ArrayBatches):
            raise InputError("this training needs KERAS_BACKEND=tensorflow")
        return batches.groups(self.num_replicas, skip)

    def compile(self, model, function, spec):
        @jax.jit
        def compiled(values, batch):
            with keras.StatelessScope(zip(model.variables, values, strict=True)):
                return function(batch)

        return lambda batch: compiled([v.value for v in model.variables], batch)

    def update(self, model, optimizer, objective, spec):
        trained = model.trainable_variables
        untrained = [*model.non_trainable_variables, *objective.seeds, *objective.variables]
        moments = optimizer.variables

        def loss_of(values, state, batch, step):
            assigned = [*zip(trained, values, strict=True), *zip(untrained, state, strict=True)]
            with keras.StatelessScope(assigned) as scope:
                task = objective.task(batch, step)
                count = ops.sum(task.weights)
                task = task._replace(weights=task.weights / ops.maximum(count, 1.0))
                loss = objective.loss(model, task)
                state = [scope.get_current_value(variable) for variable in untrained]
            return loss.total, ({"loss": loss.total, **loss.parts}, count, state)

        def step_of(values, state, optimizer_state, batch, step):
            gradient_of = jax.grad(loss_of, has_aux=True)
            gradients, (losses, count, state) = gradient_of(values, state, batch, step)
            values, optimizer_state = optimizer.stateless_apply(optimizer_state, gradients, values)
            return (values, state, optimizer_state), losses, count

        compiled = jax.jit(step_of, donate_argnums=(0, 1, 2))

        def call(batches, step, stop):
            batch = batches[0]
            if self._sharding is not None:
                whole = {name: np.concatenate([b[name] for b in batches]) for name in batch}
                batch = jax.device_put(whole, self._sharding)
            groups = trained, untrained, moments
            before = ([variable.value for variable in group] for group in groups)
            after, losses, count = compiled(*before, batch, np.int32(step))
            for group, values in zip(groups, after, strict=True):
                for variable, value in zip(group, values, strict=True):
                    variable.assign(value)
            return losses, count, stop

        return call
