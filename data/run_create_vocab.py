"""Trains a WordPiece vocabulary on raw text: tta-create-vocab --help."""

import sys

from absl import flags

from tta import cli
from tta.data.text.files import open_output
from tta.data.text.lines import expand_globs
from tta.data.vocabulary.train import create_vocab
from tta.flags import create_vocab as command_flags

FLAGS = flags.FLAGS


def main():
    paths = expand_globs(FLAGS.input_file)
    # Opened first: a name that cannot be written is told before the work and not after it.
    with open_output(FLAGS.vocab_file, FLAGS.overwrite) as file:
        vocabulary = create_vocab(
            paths,
            vocab_size=FLAGS.vocab_size,
            lower_case=FLAGS.lower_case,
            min_frequency=FLAGS.min_frequency,
            limit_alphabet=FLAGS.limit_alphabet,
            max_sentences=FLAGS.max_sentences,
            seed=FLAGS.seed,
        )
        vocabulary.write(file)
    print(f"{FLAGS.vocab_file}: {len(vocabulary)} pieces", file=sys.stderr)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
