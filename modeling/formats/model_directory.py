"""A model directory: `config.json`, `vocab.txt`, `model.weights.h5`, `README.md`."""

import hashlib
from pathlib import Path

from tta.atomic import whole_file
from tta.errors import InputError
from tta.modeling.config.transformer import ModelConfig
from tta.modeling.formats.weights import load_weights, save_weights
from tta.modeling.models.language_model import LanguageModel

CONFIG, VOCABULARY, WEIGHTS, README = "config.json", "vocab.txt", "model.weights.h5", "README.md"
SAFETENSORS = "model.safetensors"


def load_model(directory, dtype="float32"):
    """Builds the model of a directory, ours or another's.

    Ours has `model.weights.h5`; a BERT of Hugging Face's, `model.safetensors`; a T-TA or BERT of
    their TensorFlow 1 code, `*.ckpt.*`. The first of these that is there is read.

    Args:
        directory: path.
        dtype: as in `LanguageModel`.

    Returns:
        `LanguageModel` with the directory's weights.

    Raises:
        InputError: a file is missing or damaged, or files do not fit each other.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise InputError("no such model directory", directory)
    if not (directory / WEIGHTS).exists():
        if (directory / SAFETENSORS).exists():
            from tta.modeling.formats.huggingface import load_huggingface

            return load_huggingface(directory, dtype)
        from tta.modeling.formats.tf1_checkpoint import is_original, load_original

        if is_original(directory):
            return load_original(directory, dtype)
        if pickles := sorted(directory.glob("*.bin")):
            raise InputError(
                "a pickle, which can run code when it is read; convert it to safetensors where "
                "you trust it: BertForMaskedLM.from_pretrained(...).save_pretrained(...)",
                pickles[0],
            )
        if not (directory / CONFIG).exists():
            raise InputError(f"not a model directory: it has no {CONFIG}", directory)
        raise InputError(f"it has no {WEIGHTS}: its training has not finished", directory)
    config = ModelConfig.from_json(directory / CONFIG)
    size = (directory / WEIGHTS).stat().st_size
    if size < config.num_parameters:  # Two bytes each in float16; before they are allocated.
        raise InputError(
            f"{size:,} bytes are too small for the {config.num_parameters:,} parameters that "
            f"{CONFIG} asks for",
            directory / WEIGHTS,
        )
    try:
        model = LanguageModel(config, dtype=dtype)
    except InputError as error:
        raise InputError(error.rule, directory / CONFIG) from None
    saved_with = load_weights(model, directory / WEIGHTS)
    for name, fingerprint in _fingerprints(directory).items():
        if saved_with.get(name, fingerprint) != fingerprint:
            raise InputError("damaged or changed since its weights were saved", directory / name)
    return model


def save_model(model, directory, readme, weights_dtype="float32"):
    """Writes config, weights and README into a directory; weights last, for they say it is done.

    Args:
        model: `LanguageModel`.
        directory: made if needed; `vocab.txt` is the caller's, before this.
        readme: text of README.md: what it was trained on, how long, what it scores.
        weights_dtype: "float32" or "float16".
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    model.config.to_json(directory / CONFIG)
    with whole_file(directory / README) as file:
        file.write(readme.encode())
    save_weights(model, directory / WEIGHTS, weights_dtype, _fingerprints(directory))


def _fingerprints(directory):
    """{name: SHA-256} of the files that weights mean nothing without, of those that are there."""
    paths = [directory / name for name in (CONFIG, VOCABULARY)]
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in paths if p.exists()}
