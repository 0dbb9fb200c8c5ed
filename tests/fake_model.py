"""A language model made of a word list, and a way to run a command with it.

`python tests/fake_model.py run_rerank.py --flag=value ...`, or `-m MODULE` instead of the script,
runs the command without TensorFlow and Keras. `tta.load` returns this model. Everything else that a
command does must not need them.
"""

import runpy
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from tta.scoring.scorers.scorer import Scorer, TokenScores  # noqa: E402

KNOWN = {"the", "a", "cat", "dog", "sat", "on", "mat", "ran", "home"}


class FakeModel(Scorer):
    """Scores a known word -1 and any other -5 (natural log); encodes a text as letter counts.

    The model with the name "length" scores a word by its length.
    """

    representations = ("context", "embed")

    def __init__(self, name=None, **options):
        self.name = name or "fake"
        self.signature = f"{self.name}|version:0"
        self.options = options
        self.normalizer = "learned" if options.get("normalizer") == "learned" else "exact"
        self.scored, self.encoded = [], []

    def score_word(self, word):
        if self.name == "length":
            return -float(len(word))
        return -1.0 if word in KNOWN else -5.0

    def score_tokens(self, texts, progress=False):
        return [
            TokenScores(text.split(), np.array([self.score_word(word) for word in text.split()]))
            for text in texts
        ]

    def score_with_counts(self, texts, progress=False):
        self.scored += texts
        words = [text.split() for text in texts]
        sums = [sum(map(self.score_word, one)) for one in words]
        if any("nan" in one for one in words):
            sums[0] = np.nan
        return np.array(sums, np.float64), np.array([len(one) for one in words], np.int64)

    def encode(self, texts, representation=None, pooling="mean", progress=False):
        representation = self.choose_representation(representation)
        self.encoded.append((representation, list(texts)))
        shift = {"context": 0.0, "embed": 3.0}[representation]
        letters = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.count(c) for c in letters] for text in texts]
        vectors = np.array(counts, np.float32).reshape(-1, len(letters))
        return vectors + shift * (vectors.sum(axis=1, keepdims=True) > 0)

    def encode_words(self, sentences, representation=None, progress=False):
        return [self.encode(words, representation) for words in sentences]


def load(model=None, **options):
    print("loaded", file=sys.stderr)
    return FakeModel(model, **options)


def main():
    import tta

    sys.modules.update(tensorflow=None, keras=None)
    tta.load = load
    if sys.argv[1] == "-m":
        del sys.argv[:2]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv = [str(ROOT / sys.argv[1]), *sys.argv[2:]]
        runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
