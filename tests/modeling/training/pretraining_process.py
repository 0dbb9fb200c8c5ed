"""run_pretraining.py in its own process, which saves the final variables of each replica.

    python pretraining_process.py NUM_CPUS LAST_STEP OUTPUT.npz --flag=value ...

NUM_CPUS: number of devices that the CPU is split into, for --distribution_strategy=mirrored.
LAST_STEP: the process kills itself after this step; a step that does not come means never. The file
gets every variable of the training, stacked over the replicas of this process: [L, ...].
"""

import signal
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.faults import signal_after
from tta.flags import pretraining
from tta.modeling.training import pretrain

_, NUM_CPUS, LAST_STEP, OUTPUT, *ARGUMENTS = sys.argv


def saving(make_trainer):
    """`make_trainer`, whose trainers save their variables."""

    def make_saving_trainer(*args):
        trainer = make_trainer(*args)
        train = trainer.train

        def train_and_save():
            done = train()
            copies = trainer.strategy.experimental_local_results
            variables = {**trainer.position, **trainer._state}
            values = {n: np.stack([c.numpy() for c in copies(v)]) for n, v in variables.items()}
            np.savez(OUTPUT, **{n.replace("/", "."): v for n, v in values.items()})
            return done

        trainer.train = train_and_save
        return trainer

    return make_saving_trainer


def train_on_several_devices(*args):
    # Imported after the flags are parsed, as in the command, so that TensorFlow is quiet.
    import tensorflow as tf

    from tta.modeling.training import assembly

    (cpu,) = tf.config.list_physical_devices("CPU")
    if int(NUM_CPUS) > 1:
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, int(NUM_CPUS) * [one])
    assembly.make_trainer = saving(assembly.make_trainer)
    signal_after(int(LAST_STEP), signal.SIGKILL)
    return train(*args)


train = pretrain._train
pretrain._train = train_on_several_devices
sys.argv = ["run_pretraining.py", *ARGUMENTS]
pretraining.run()
