"""Trains word2vec by gensim on the text of the language models, for the row of table 3.

    python -m benchmarks.paper.train_word2vec --output_file=runs/word2vec.bin

CBOW of 300 numbers, five words on each side, five negative samples, five passes, words that occur
five times or more: gensim's defaults but for the size. The sentences are those of the n-gram
model, `tta.data.corpus.chunks.spoken_form`.
"""

from pathlib import Path

from absl import flags

from benchmarks import evaluation_data
from tta import cli

FLAGS = flags.FLAGS


def define_flags():
    """Defines the flags of this command."""
    flags.DEFINE_list(
        "input_file",
        str(evaluation_data.FOLDER / "text" / "*.xz"),
        "Text with one sentence per line; comma-separated globs.",
    )
    flags.DEFINE_string("output_file", None, "word2vec's binary format.", required=True)
    flags.DEFINE_integer("vector_size", 300, "Numbers of a vector.", lower_bound=1)
    flags.DEFINE_integer("epochs", 5, "Passes over the text.", lower_bound=1)


class SpokenSentences:
    """The sentences of text files as lists of words; each `for` loop reads the files again."""

    def __init__(self, paths):
        self._paths = paths

    def __iter__(self):
        from tta.data.corpus.chunks import spoken_form
        from tta.data.text.lines import TextReader

        for line in TextReader(self._paths):
            if text := spoken_form(line):
                yield text.split()


def main():
    from gensim.models import Word2Vec
    from gensim.utils import save_as_line_sentence

    from tta.data.text.lines import expand_globs

    output = Path(FLAGS.output_file)
    output.parent.mkdir(parents=True, exist_ok=True)
    sentences = output.with_suffix(".txt")
    save_as_line_sentence(SpokenSentences(expand_globs(FLAGS.input_file)), str(sentences))
    # From a file, gensim's threads do not wait for each other. One thread gives the same vectors
    # each time; two do not.
    model = Word2Vec(
        corpus_file=str(sentences),
        vector_size=FLAGS.vector_size,
        epochs=FLAGS.epochs,
        workers=2,
        seed=0,
    )
    sentences.unlink()
    model.wv.save_word2vec_format(str(output), binary=True)
    print(f"{output}: {len(model.wv):,} words, {model.corpus_total_words:,} in the text")


if __name__ == "__main__":
    define_flags()
    cli.run(main)
