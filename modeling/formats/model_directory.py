"""A model directory: `config.json`, `vocab.txt`, `model.weights.h5`, `README.md`.

A SemFit model also has `vectors.npy`, the vectors it predicts.
"""

import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tta.atomic import whole_file
from tta.checked_files import check_regular
from tta.errors import InputError, located
from tta.modeling.config.base import read_config
from tta.modeling.formats.huggingface import read_huggingface, tensors_path
from tta.modeling.formats.run_checkpoint import CHECKPOINTS, checkpoint_steps, load_run
from tta.modeling.formats.tensorflow.original_files import is_original, original_vocabulary
from tta.modeling.formats.weights import (
    Build,
    assign_weights,
    check_size,
    load_weights,
    save_weights,
)
from tta.names import (
    CONFIG,
    INPUT_FILES,
    README,
    STANDARDIZATION,
    TOKENIZER_JSON,
    VOCABULARY,
    WEIGHTS,
)

if TYPE_CHECKING:
    from tta.modeling.models.base import ConfiguredModel

_PICKLE = "a pickle, which can run code when it is read"
_OTHER = "weights of another library, which are not read"
# Files of weights in other directories -> why they are not read.
_REFUSED = {
    **dict.fromkeys(("pytorch_model*.bin", "*.bin", "*.pt", "*.pth"), _PICKLE),
    **dict.fromkeys(("tf_model*.h5", "flax_model*.msgpack"), _OTHER),
}


def load_model(
    directory: Path | str,
    dtype: str = "float32",
    keep_segments: bool = False,
    build: Build | None = None,
) -> Any:
    """Builds the Keras model of a directory, with its weights; `dtype` is as in `LanguageModel`.

    A single text is segment 0 of a BERT. That row of the segment table is added to the positions,
    and the model has no segments. With `keep_segments`, it has the table, for pairs of texts.
    `build` makes another model of the config than a Keras model, see `Build`.

    The first of these files that exists is read: `model.weights.h5` of a model directory,
    `model.safetensors` or its index of a Hugging Face BERT, `*.ckpt.*` of a T-TA or BERT from
    TensorFlow 1, the last of `checkpoints/` of a training run that has not finished.

    Raises:
        InputError: a file is missing or damaged, or files do not fit each other.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise InputError("no such model directory", directory)
    if build is None:
        from tta.modeling.models.language_model import build_model  # imports Keras

        build = partial(build_model, dtype=dtype)
    if not (directory / WEIGHTS).exists():
        return _load_other_format(directory, build, keep_segments)
    config = read_config(directory / CONFIG)
    size = (directory / WEIGHTS).stat().st_size
    check_size(size / 2, config, CONFIG, directory / WEIGHTS)  # 2 bytes per value in float16
    with located(path=directory / CONFIG):
        model = build(config)
    saved_with = load_weights(model, directory / WEIGHTS)
    for name, fingerprint in _fingerprints(directory).items():
        if saved_with.get(name, fingerprint) != fingerprint:
            raise InputError("damaged or changed since its weights were saved", directory / name)
    return model


def vocabulary_path(directory: Path | str) -> Path:
    """The vocabulary of a model directory of any format; the file may be missing.

    It is `vocab.txt`, or `tokenizer.json` of a Hugging Face BERT without it, or the file that the
    config of the original T-TA code names.

    Raises:
        InputError: the config of a checkpoint from TensorFlow 1 is missing or malformed.
    """
    path = Path(directory) / VOCABULARY
    if path.exists():
        return path
    if tensors_path(Path(directory)).exists() and (Path(directory) / TOKENIZER_JSON).exists():
        return Path(directory) / TOKENIZER_JSON
    return original_vocabulary(directory) if is_original(directory) else path


def _load_other_format(directory, build, keep_segments):
    """Builds the model of a directory without `model.weights.h5`.

    That is a directory of Hugging Face, of the original TensorFlow code, or of an unfinished run.
    """
    path = tensors_path(directory)
    if path.exists():
        config, values = read_huggingface(path, keep_segments)
    elif is_original(directory):
        # It imports TensorFlow, which the rest does without.
        from tta.modeling.formats.tensorflow.tf1_checkpoint import read_original

        config, values, path = read_original(directory, keep_segments)
    else:
        _check_is_run(directory)
        return load_run(directory, build)
    model = build(config)
    assign_weights(model, values, path)
    return model


def _check_is_run(directory):
    """Raises InputError, which says why, if a directory has no checkpoint of a training run."""
    for pattern, what in _REFUSED.items():
        if files := sorted(directory.glob(pattern)):
            raise InputError(
                f"{what}; if you trust it, convert it to safetensors: "
                "BertForMaskedLM.from_pretrained(...).save_pretrained(...)",
                files[0],
            )
    if not (directory / CONFIG).exists():
        raise InputError(f"not a model directory: it has no {CONFIG}", directory)
    if not checkpoint_steps(directory / CHECKPOINTS):
        raise InputError(f"it has no {WEIGHTS} and no checkpoint of its training", directory)


def save_model(
    model: "ConfiguredModel", directory: Path | str, readme: str, weights_dtype: str = "float32"
) -> None:
    """Writes config, README and weights into a directory. The weights are last: they complete it.

    The directory is made if needed. Write its `vocab.txt`, and a SemFit model's `vectors.npy`,
    before this call. `readme` is the text of README.md: training text, duration and results.
    `weights_dtype` is "float32" or "float16".
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    model.config.to_json(directory / CONFIG)
    with whole_file(directory / README) as file:
        file.write(readme.encode())
    save_weights(model, directory / WEIGHTS, weights_dtype, _fingerprints(directory))


def _fingerprints(directory):
    """{name: SHA-256} of those files in the directory that the weights depend on."""
    names = (CONFIG, VOCABULARY, STANDARDIZATION, *INPUT_FILES)
    paths = [directory / name for name in names]
    return {p.name: _sha256(p) for p in paths if p.exists()}


def _sha256(path):
    check_regular(path)
    digest = hashlib.sha256()
    with open(path, "rb") as file:  # vectors may be larger than memory
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
