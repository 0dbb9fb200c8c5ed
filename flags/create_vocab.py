"""Trains a WordPiece vocabulary on raw text.

Example:

    tta-create-vocab --input_file=corpus.txt.xz --vocab_size=16000 --vocab_file=vocab.txt
"""

import sys

from tta import cli
from tta.data.vocabulary.config import VocabularyConfig


def main(config: VocabularyConfig) -> None:
    from tta.data.vocabulary.train import create_vocab

    vocabulary = create_vocab(config)
    print(f"{config.vocab_file}: {len(vocabulary)} pieces", file=sys.stderr)


run = cli.command(main, VocabularyConfig)
