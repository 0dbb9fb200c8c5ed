"""tta-lm: score, rerank and compare sentences with a Transformer-based Text Autoencoder (T-TA).

>>> import tta
>>> lm = tta.load()                              # the built-in model, or a model directory
>>> lm.score(["the cat sat on the mat"])         # natural log, higher is better
"""

import os
from pathlib import Path

__version__ = "0.1.0.dev0"

# TensorFlow's C++ start-up notes are not ours to show. They are silenced here and nowhere else,
# because this file is imported before anything that could import TensorFlow.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

# In a checkout the rooms (data/, modeling/, ...) lie beside this folder; installed, they lie in it.
_HERE = Path(__file__).resolve().parent
if not (_HERE / "modeling").is_dir():
    __path__.append(str(_HERE.parent))


def load(model=None, **options):
    """Loads a language model ready to score, rerank and encode text.

    Args:
        model: a model directory (`config.json`, `vocab.txt`, `model.weights.h5`), a directory of
            the original TensorFlow 1 code (`config.json`, `model.ckpt.*`), or None for the
            built-in model.
        **options: see `tta.scoring.text_model.TextModel`.

    Returns:
        A `tta.scoring.text_model.TextModel`.

    Raises:
        tta.errors.InputError: the directory or one of its files is missing or malformed.
    """
    from tta.scoring.text_model import TextModel

    return TextModel.from_directory(model, **options)
