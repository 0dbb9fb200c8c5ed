"""Turns raw text into TFRecord shards on Apache Beam: tta-beam-create-tfrecords --help.

What stands after `--` is Beam's: `-- --runner=FlinkRunner --flink_master=...`
"""

import dataclasses
import sys
import time

from absl import flags

from tta import cli
from tta.data.run_create_tfrecords import summary
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.flags import beam_create_tfrecords as command_flags

FLAGS = flags.FLAGS


def main(arguments):
    from tta.data.corpus.beam_common import find_files

    paths = find_files(FLAGS.input_file)
    vocabulary = Vocabulary.from_file(FLAGS.vocab_file)
    from tta.data.corpus.beam_prepare import create_tfrecords
    from tta.data.corpus.prepare import Options

    start = time.monotonic()
    info = create_tfrecords(
        paths,
        vocabulary,
        FLAGS.output_dir,
        Options(**{field.name: FLAGS[field.name].value for field in dataclasses.fields(Options)}),
        arguments,
        lower_case=FLAGS.lower_case,
        overwrite=FLAGS.overwrite,
    )
    print(summary(info, time.monotonic() - start), file=sys.stderr)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main, passes_on=True)
