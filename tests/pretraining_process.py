"""run_pretraining.py in a process of its own that tells what each replica ends with.

    python pretraining_process.py NUM_CPUS OUTPUT.npz --flag=value ...

NUM_CPUS: devices that the CPU is made to look like, for --distribution_strategy=mirrored. The file
gets every variable of the training, the copies of this process's replicas stacked: [L, ...].
"""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from absl import flags

from tta import cli, run_pretraining

_, NUM_CPUS, OUTPUT, *ARGUMENTS = sys.argv
make_trainer = run_pretraining.make_trainer


def make_telling_trainer(*args):
    import tensorflow as tf

    (cpu,) = tf.config.list_physical_devices("CPU")
    if int(NUM_CPUS) > 1:
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, int(NUM_CPUS) * [one])
    trainer = make_trainer(*args)
    train = trainer.train

    def train_and_tell():
        done = train()
        copies = trainer.strategy.experimental_local_results
        variables = {**trainer.position, **trainer._state}
        values = {n: np.stack([c.numpy() for c in copies(v)]) for n, v in variables.items()}
        np.savez(OUTPUT, **{n.replace("/", "."): v for n, v in values.items()})
        return done

    trainer.train = train_and_tell
    return trainer


run_pretraining.make_trainer = make_telling_trainer
run_pretraining.command_flags.define()
flags.adopt_module_key_flags(run_pretraining.command_flags)
sys.argv = ["run_pretraining.py", *ARGUMENTS]
cli.run(run_pretraining.main)
