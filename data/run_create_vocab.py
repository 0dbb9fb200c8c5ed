"""Trains a WordPiece vocabulary on raw text: tta-create-vocab --help."""

import os
import sys

from absl import flags

from tta import cli
from tta.data.text import expand_globs
from tta.errors import InputError
from tta.flags import create_vocab as command_flags

FLAGS = flags.FLAGS


def main():
    paths = expand_globs(FLAGS.input_file)
    if os.path.exists(FLAGS.vocab_file) and not FLAGS.overwrite:
        raise InputError("exists; pass --overwrite to replace it", FLAGS.vocab_file)
    from tta.data.create_vocab import create_vocab

    vocabulary = create_vocab(
        paths,
        vocab_size=FLAGS.vocab_size,
        lower_case=FLAGS.lower_case,
        min_frequency=FLAGS.min_frequency,
        limit_alphabet=FLAGS.limit_alphabet,
        max_sentences=FLAGS.max_sentences,
        seed=FLAGS.seed,
    )
    vocabulary.save(FLAGS.vocab_file, FLAGS.overwrite)
    print(f"{FLAGS.vocab_file}: {len(vocabulary)} pieces", file=sys.stderr)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
