"""Scores sentences, one a line: tta-score --help."""

import json
import math
import sys

from absl import flags

import tta
from tta import cli
from tta.data.text.files import STANDARD_STREAM, open_output, shown_path
from tta.data.text.lines import TextReader
from tta.flags import score as command_flags
from tta.flags import scoring as scoring_flags
from tta.scoring.scorers.stream import read_blocks, score_stream

FLAGS = flags.FLAGS


def main():
    reader = TextReader([FLAGS.input_file], verbatim=True)
    # Opened first: a name that cannot be written is told before the work and not after it.
    with open_output(FLAGS.output_file, FLAGS.overwrite) as file:
        blocks = read_blocks(reader)
        (model,) = scoring_flags.models(FLAGS)
        lm = tta.load(
            model,
            score_boundary_tokens=FLAGS.score_boundary_tokens,
            **scoring_flags.load_options(FLAGS),
        )
        name, bar = shown_path(FLAGS.input_file), sys.stderr.isatty()
        totals = Totals()
        for sentence in score_stream(lm, blocks, name, reader.total_bytes, FLAGS.tokens, bar):
            totals.add(sentence)
            file.write(json.dumps(row(sentence, FLAGS.text), ensure_ascii=False) + "\n")
    shown = sys.stderr if FLAGS.output_file == STANDARD_STREAM else sys.stdout
    print(totals, lm.signature, sep="\n", file=shown)


def row(sentence, with_text):
    """A sentence's line of the output, as a dict."""
    fields = {"text": sentence.text} if with_text else {}
    fields |= {"score": sentence.score, "num_tokens": sentence.num_tokens}
    if sentence.tokens is not None:
        fields["tokens"] = sentence.tokens.tokens
        fields["log_probabilities"] = sentence.tokens.log_probabilities.tolist()
    return fields


class Totals:
    """What the closing lines say of all sentences; a sentence counts as often as it comes."""

    def __init__(self):
        self.sentences = self.scored = self.empty = self.tokens = 0
        self.score = 0.0

    def add(self, sentence):
        self.sentences += 1
        self.scored += sentence.line == self.sentences
        self.empty += not sentence.num_tokens
        self.tokens += sentence.num_tokens
        self.score += sentence.score

    def __str__(self):
        text = f"{self.sentences:,} sentences ({self.scored:,} scored), {self.tokens:,} tokens"
        if self.tokens:
            text += f", perplexity per token {math.exp(-self.score / self.tokens):.4g}"
        if self.empty:
            text += f"\nnote: without a token to score, so score 0: {self.empty:,}"
        return text


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
