"""tta-lm: score, rerank and compare sentences with a Transformer-based Text Autoencoder (T-TA).

>>> import tta
>>> lm = tta.load()                              # the built-in model, or what load() takes
>>> lm.score(["the cat sat on the mat"])         # natural log, higher is better
"""

import os

__version__ = "0.1.0.dev0"

# TensorFlow's C++ notes are not ours to show, and this file is imported before anything that could
# import TensorFlow. (At level 2 it still calls it an error that a machine has no GPU.) What it
# writes before it reads this variable, `tta._quiet` keeps out of the commands.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def load(model=None, **options):
    """Loads a model ready to score, rerank and encode text, as far as its kind can.

    Args:
        model: None or "small" for the built-in model; a model directory (`config.json`,
            `vocab.txt`, `model.weights.h5`), one of the original TensorFlow 1 code
            (`config.json`, `model.ckpt.*`), or a BERT with its masked-LM head of Google's
            (`bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`) or Hugging Face's
            (`config.json`, `vocab.txt`, `model.safetensors`); the name of a folder in the
            checkout's `pretrained/`; or `kind:path`: `kenlm:lm.arpa`, `glove:vectors.txt`,
            `word2vec:vectors.bin`. A directory that exists wins over a name.
        **options: `precision`, `score_boundary_tokens`, `long_sentences`, `batch_tokens`,
            `pll_variant`, see `tta.scoring.scorers.text_model.TextModel`; one that means nothing to a
            kind is ignored by it.

    Returns:
        A `tta.scoring.scorers.scorer.Scorer`; for a directory a `tta.scoring.scorers.text_model.TextModel`.

    Raises:
        tta.errors.InputError: there is no such model, or one of its files is missing or malformed.
        TypeError: an option is unknown.
    """
    from tta.scoring.scorers.load import load_scorer

    return load_scorer(model, **options)
