"""Trains a WordPiece vocabulary on raw text: tta-create-vocab --help."""

import sys

from tta import cli
from tta.data.vocabulary.config import VocabularyConfig


def main(config: VocabularyConfig) -> None:
    from tta.data.vocabulary.train import create_vocab

    vocabulary = create_vocab(config)
    print(f"{config.vocab_file}: {len(vocabulary)} pieces", file=sys.stderr)


run = cli.command(main, VocabularyConfig)
