"""Makes a vocabulary from raw text: WordPiece, or all words.

Example:

    tta create-vocab --input_file=corpus.txt.xz --vocab_size=16000 --vocab_file=vocab.txt
"""

import sys

from tta import cli
from tta.data.vocabulary.config import VocabularyConfig


def main(config: VocabularyConfig) -> None:
    from tta.data.vocabulary.train import create_vocab

    vocabulary = create_vocab(config)
    unit = "words" if config.tokenizer == "words" else "pieces"
    print(f"{config.vocab_file}: {len(vocabulary)} {unit}", file=sys.stderr)


run = cli.command(main, VocabularyConfig)
