"""tta-lm: score, rerank and compare sentences with a Transformer-based Text Autoencoder (T-TA).

>>> import tta
>>> lm = tta.load()                              # the built-in model; see load()
>>> lm.score(["the cat sat on the mat"])         # natural log, higher is better
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tta.scoring.scorers.scorer import Scorer

__version__ = "0.1.0.dev0"

# This hides the log of TensorFlow's C++ code, and must be set before anything imports TensorFlow.
# (At level 2, TensorFlow still reports a machine without a GPU as an error.) `tta._quiet` hides
# what TensorFlow writes before it reads this variable.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def load(model: os.PathLike | str | None = None, **options: Any) -> "Scorer":
    """Loads a model that scores, reranks and encodes text, as far as its kind can.

    Args:
        model: None or "small" for the built-in model; a model directory (`config.json`,
            `vocab.txt`, `model.weights.h5`), one of the original TensorFlow 1 code
            (`config.json`, `model.ckpt.*`), or a BERT with its masked-LM head in Google's format
            (`bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`) or Hugging Face's
            (`config.json`, `vocab.txt`, `model.safetensors`); the name of a folder in the
            checkout's `pretrained/`; or `kind:path`: `kenlm:lm.arpa`, `glove:vectors.txt`,
            `word2vec:vectors.bin`. A directory that exists is preferred to a name.
        **options: the settings of `tta.scoring.scorers.options.ScoreOptions`: `precision`,
            `score_boundary_tokens`, `long_sentences`, `batch_tokens`, `pll_variant`,
            `normalizer`. A kind of model ignores the settings that it does not have.

    Returns:
        A `Scorer`; for a directory, a `tta.scoring.scorers.text_model.TextModel`.

    Raises:
        tta.errors.InputError: there is no such model, one of its files is missing or malformed, or
            an option has a wrong value.
        TypeError: an option is unknown.
    """
    from tta.scoring.scorers.load import load_scorer

    return load_scorer(model, **options)
