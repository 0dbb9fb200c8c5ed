"""What needs a process with two CPU devices, of autoencoders; as that of the core.

python two_replicas.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np
import tensorflow as tf

from tests.checks import run_checks
from tests.modeling.training import two_replicas as core
from tests.modeling.training.two_replicas import copies, trained
from tests.tiny_dataset import sentences_of_few_lengths, write_shard
from tta.modeling.training.optimizers import BertAdamW
from tta.modeling.training.steps.tensorflow import make_strategy
from tta.papers.nar.model import SequenceAutoencoder
from tta.papers.nar.objectives import VariationalAutoencoding
from tta.papers.nar.tests.test_autoencoder import autoencoder_config


def a_vae_draws_samples_of_its_own_on_each_replica():
    write_shard(f"{FOLDER}/shard", sentences_of_few_lengths())
    config = autoencoder_config(variational=True, num_hidden_layers=1)
    last = {}

    def vae():
        model = SequenceAutoencoder(config)
        for name in ("mean", "sample"):  # of the last step, on each replica
            last[name] = tf.Variable(
                tf.zeros([config.latent_size]), synchronization=tf.VariableSynchronization.ON_READ
            )
        sample = model.connector.sample

        def kept(mean, log_variance):
            drawn = sample(mean, log_variance)
            last["mean"].assign(mean[0])
            last["sample"].assign(drawn[0])
            return drawn

        object.__setattr__(model.connector, "sample", kept)
        return model, VariationalAutoencoding()

    def twice(batches):  # both replicas get the same one
        return batches.flat_map(lambda batch: tf.data.Dataset.from_tensors(batch).repeat(2))

    two = trained(TWO, BertAdamW, "vae", twice, make=vae)
    means, samples = (
        [value.numpy() for value in TWO.experimental_local_results(last[name])]
        for name in ("mean", "sample")
    )
    np.testing.assert_allclose(*means, atol=1e-6)
    assert not np.isclose(*samples).any()
    for name, weight in two.model.named_weights().items():
        np.testing.assert_array_equal(*copies(weight), err_msg=name)


if __name__ == "__main__":
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, 2 * [tf.config.LogicalDeviceConfiguration()])
    TWO = core.TWO = make_strategy("mirrored")
    with tempfile.TemporaryDirectory() as FOLDER:
        core.FOLDER = FOLDER
        run_checks([a_vae_draws_samples_of_its_own_on_each_replica], [])
