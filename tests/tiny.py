"""A tiny model with random weights and a vocabulary of letters, for tests that need a whole one."""

import contextlib
import functools
import json
import shutil
import tempfile
import warnings
from dataclasses import fields
from pathlib import Path

import numpy as np

from tta.modeling.config.base import config_from
from tta.modeling.config.transformer import TransformerConfig

WORDS = ("the", "cat", "dog", "sat", "on", "mat", "ran", "home", "##s", ".", ",", "'")
TOKENS = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]", *WORDS, *"abcdefghijklmnopqrstuvwxyz")
CONFIG = TransformerConfig(
    vocab_size=len(TOKENS),
    hidden_size=12,
    num_hidden_layers=2,
    num_attention_heads=3,
    intermediate_size=17,
    max_position_embeddings=11,
    initializer_range=0.5,
)


def of_family(model_type, config=CONFIG, **changes):
    """A config with the sizes of another one, of any family of Transformers."""
    return config_from(config.to_dict() | {"model_type": model_type} | changes)


def make_model(config=CONFIG, dtype="float32", seed=0):
    """A model whose every weight is random, biases and LayerNorms too; a seed has one model."""
    import keras

    from tta.modeling.models.language_model import LanguageModel

    keras.utils.set_random_seed(seed)
    model = LanguageModel(config, dtype=dtype)
    rng = np.random.default_rng(seed)
    for variable in model.named_weights().values():
        variable.assign(np.asarray(variable) + rng.normal(0, 0.3, variable.shape))
    return model


def write_model_directory(directory, config=CONFIG, seed=0):
    """Writes a model directory that `tta.load` takes; it is made once, and then copied."""
    made = _made(json.dumps(config.to_dict()), seed)
    return shutil.copytree(made, directory, dirs_exist_ok=True)


def write_arrays(folder, config=CONFIG, seed=0):
    """Writes a model directory with random weights, without Keras."""
    from tta.modeling.config.weights import named
    from tta.modeling.formats.model_directory import save_model
    from tta.modeling.kits.onnx.weights import Arrays
    from tta.names import VOCABULARY

    model, rng = Arrays(config), np.random.default_rng(seed)
    for name, weight in named(config.weights):
        start = rng.normal(0, 0.4, weight.shape) + name.endswith("gamma")
        model.assign([(name, start.astype(np.float16).astype(np.float32))])
    folder.mkdir()
    (folder / VOCABULARY).write_text("".join(f"{token}\n" for token in TOKENS))
    save_model(model, folder, "", "float16")
    return folder


def loaded(config=CONFIG, **options):
    """The model of a config, loaded once in a process. No test may change its weights.

    Models that differ in how they read and score text only have one engine: it is compiled once.
    """
    from tta.scoring.scorers.options import ScoreOptions

    return _loaded(json.dumps(config.to_dict()), ScoreOptions(**{"engine": "tensorflow"} | options))


@contextlib.contextmanager
def without_graphs():
    """TensorFlow's compiled functions run operation by operation; also a decorator of a test.

    For trainings of a few steps where the graph is not what is tested: making it takes longer.
    """
    import tensorflow as tf

    tf.config.run_functions_eagerly(True)
    try:
        with warnings.catch_warnings():
            # Those of tf.data are compiled all the same.
            warnings.filterwarnings("ignore", "Even though the `tf.config.exper", UserWarning)
            yield
    finally:
        tf.config.run_functions_eagerly(False)


_FOLDER = tempfile.TemporaryDirectory(prefix="tta-tiny-")


@functools.cache
def _made(config, seed=0):
    from tta.modeling.formats.model_directory import save_model

    folder = Path(tempfile.mkdtemp(dir=_FOLDER.name))
    model = make_model(config_from(json.loads(config)), seed=seed)
    save_model(model, folder, "A tiny model with random weights.\n")
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return folder


@functools.cache
def _loaded(config, options):
    from tta.scoring.engines.options import EngineOptions

    of_engine = {field.name: getattr(options, field.name) for field in fields(EngineOptions)}
    lm = _of_engine(config, **of_engine)
    return type(lm)(lm.engine, name=lm.name, options=options, directory=lm.directory)


@functools.cache
def _of_engine(config, **options):
    import tta

    return tta.load(_made(config), **options)
