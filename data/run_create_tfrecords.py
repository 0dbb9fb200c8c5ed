"""Turns raw text into shuffled TFRecord shards for pretraining: tta-create-tfrecords --help."""

import dataclasses
import sys
import time

from absl import flags

from tta import cli
from tta.data.text.lines import expand_globs
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.flags import create_tfrecords as command_flags

FLAGS = flags.FLAGS


def main():
    paths = expand_globs(FLAGS.input_file)
    vocabulary = Vocabulary.from_file(FLAGS.vocab_file)
    from tta.data.corpus.prepare import Options, create_tfrecords

    start = time.monotonic()
    info = create_tfrecords(
        paths,
        vocabulary,
        FLAGS.output_dir,
        Options(**{field.name: FLAGS[field.name].value for field in dataclasses.fields(Options)}),
        lower_case=FLAGS.lower_case,
        num_workers=FLAGS.num_workers,
        overwrite=FLAGS.overwrite,
    )
    print(summary(info, time.monotonic() - start), file=sys.stderr)


def summary(info, seconds):
    """The closing lines of the command (str): what was written, changed and left out."""
    counts = info["counts"]
    lines = [
        f"{name}: {split['sentences']:,} sentences, {split['tokens']:,} tokens, "
        f"{split['shards']} shard{'s' * (split['shards'] > 1)}"
        for name, split in info["splits"].items()
    ]
    lines.append(
        f"of {counts['lines']:,} lines {counts['spoken']:,} in spoken form, "
        f"{counts['truncated']:,} truncated to {info['max_seq_length']} tokens, "
        f"{counts['dropped_long']:,} dropped as longer, "
        f"{counts['dropped_short']:,} dropped with fewer than {info['min_tokens']} pieces"
    )
    lines.append(f"{seconds:.0f} s, {counts['tokens'] / seconds:,.0f} tokens/s")
    return "\n".join(lines)


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
