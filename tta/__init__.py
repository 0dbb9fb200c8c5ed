"""tta-lm: score, rerank and compare sentences with a Transformer-based Text Autoencoder (T-TA).

>>> import tta
>>> lm = tta.load()                              # the built-in model, or a model directory
>>> lm.score(["the cat sat on the mat"])         # natural log, higher is better
"""

import os
from pathlib import Path

__version__ = "0.1.0.dev0"

# TensorFlow's C++ notes are not ours to show, and this file is imported before anything that could
# import TensorFlow. (At level 2 it still calls it an error that a machine has no GPU.) What it
# writes before it reads this variable, `tta._quiet` keeps out of the commands.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# In a checkout the rooms (data/, modeling/, ...) lie beside this folder; installed, they lie in it.
_HERE = Path(__file__).resolve().parent
if not (_HERE / "modeling").is_dir():
    __path__.append(str(_HERE.parent))


def load(model=None, **options):
    """Loads a language model ready to score, rerank and encode text.

    Args:
        model: a model directory (`config.json`, `vocab.txt`, `model.weights.h5`), a directory of
            the original TensorFlow 1 code (`config.json`, `model.ckpt.*`), a BERT with its
            masked-LM head of Google's (`bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`) or
            Hugging Face's (`config.json`, `vocab.txt`, `model.safetensors`), or None for the
            built-in model.
        **options: see `tta.scoring.text_model.TextModel`.

    Returns:
        A `tta.scoring.text_model.TextModel`.

    Raises:
        tta.errors.InputError: the directory or one of its files is missing or malformed.
    """
    from tta.scoring.text_model import TextModel

    return TextModel.from_directory(model, **options)
