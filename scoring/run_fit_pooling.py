"""Fits what `--pooling=sif|whitened` know of text: tta-fit-pooling --help."""

import sys
from pathlib import Path

from absl import flags

import tta
from tta import cli
from tta.data.text.files import open_output
from tta.data.text.lines import TextReader, expand_globs, sample_lines
from tta.errors import InputError
from tta.flags import fit_pooling as command_flags
from tta.flags import scoring as scoring_flags
from tta.scoring.scorers.pooling import STATISTICS, fit_pooling

FLAGS = flags.FLAGS


def main():
    (model,) = FLAGS.model
    if not Path(model).is_dir():
        raise InputError("no such model directory", model)
    reader = TextReader(expand_globs(FLAGS.input_file))
    path = Path(model) / STATISTICS
    # Opened first: a name that cannot be written is told before the work and not after it.
    with open_output(path, FLAGS.overwrite, binary=True) as file:
        lm = tta.load(model, **scoring_flags.load_options(FLAGS))
        texts = sample_lines(reader, max(FLAGS.num_counted, FLAGS.num_whitening), FLAGS.seed)
        texts = shuffled(texts, FLAGS.seed)  # the sample keeps the order of the text in part
        fit_pooling(lm, texts, FLAGS.num_whitening, sys.stderr.isatty()).write(file)
    print(path)


def shuffled(texts, seed):
    """The texts in an order that the seed decides."""
    import numpy as np

    return [texts[i] for i in np.random.default_rng(seed).permutation(len(texts))]


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
