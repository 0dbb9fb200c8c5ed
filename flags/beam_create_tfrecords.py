"""Flags of tta-beam-create-tfrecords."""

from absl import flags

from tta.flags import create_tfrecords


def define():
    """Defines the flags of tta-beam-create-tfrecords."""
    create_tfrecords.define_data_set()
    flags.adopt_module_key_flags(create_tfrecords)
