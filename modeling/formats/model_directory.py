"""A model directory: `config.json`, `vocab.txt`, `model.weights.h5`, `README.md`.

A SemFit model also has `vectors.npy`, the vectors it predicts. `FORMATS` has the other directories
that are read as models.
"""

import contextlib
import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tta.atomic import whole_file
from tta.checked_files import check_regular
from tta.errors import InputError, located
from tta.modeling.config.base import read_config
from tta.modeling.formats.huggingface import load_huggingface, tensors_path, tokenizer_file
from tta.modeling.formats.onnx.light import INDEX, LightFile
from tta.modeling.formats.run_checkpoint import has_checkpoints, load_run
from tta.modeling.formats.tensorflow.original_files import is_original, original_vocabulary
from tta.modeling.formats.weights import Build, check_size, load_weights, save_weights
from tta.names import CONFIG, NEEDED_FILES, README, VOCABULARY, WEIGHTS
from tta.registry import resolve

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
    `build` makes another model of the config than a Keras model, see `Build`. Raises InputError if
    the directory has none of `FORMATS`, a file is missing or damaged, or files do not fit each
    other.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise InputError("no such model directory", directory)
    name = format_of(directory)
    if name is None:
        raise _not_a_model(directory)
    if build is None:
        from tta.modeling.models.language_model import build_to_load  # imports Keras

        build = partial(build_to_load, dtype=dtype)
    return resolve(FORMATS[name].load)(directory, build, keep_segments)


def _load_own(directory, build, keep_segments):
    """Builds the model of a directory with `model.weights.h5`."""
    config = read_config(directory / CONFIG)
    size = (directory / WEIGHTS).stat().st_size
    check_size(size / 2, config, CONFIG, directory / WEIGHTS)  # 2 bytes per value in float16
    with located(path=directory / CONFIG):
        model = build(config)
    index = None
    with contextlib.suppress(InputError):  # onnxruntime's engine says what is damaged
        index = LightFile(directory).arrays.get(INDEX)
    saved_with = load_weights(model, directory / WEIGHTS, index)
    for name, fingerprint in _fingerprints(directory).items():
        if saved_with.get(name, fingerprint) != fingerprint:
            raise InputError("damaged or changed since its weights were saved", directory / name)
    return model


def vocabulary_path(directory: Path | str) -> Path:
    """The vocabulary of a model directory of any format; the file may be missing.

    It is `vocab.txt`, or that of its format (see `FORMATS`). Raises InputError if the config of a
    checkpoint from TensorFlow 1 is missing or malformed.
    """
    path = Path(directory) / VOCABULARY
    name = None if path.exists() else format_of(directory)
    return FORMATS[name].vocabulary(Path(directory)) if name else path


class Format(NamedTuple):
    """What a directory of a model may be.

    Attributes:
        is_there: whether a directory is one.
        load: (directory, build, keep_segments as in `load_model`) -> the model; or its place,
            "module:function", if the module imports TensorFlow, which the rest does without.
        vocabulary: directory -> its vocabulary if there is no `vocab.txt`; it may be missing.
        on_onnxruntime: whether onnxruntime runs such models; None if their config says it.
    """

    is_there: Callable[[Path], bool]
    load: Callable[[Path, Build, bool], Any] | str
    vocabulary: Callable[[Path], Path] = lambda directory: directory / VOCABULARY
    on_onnxruntime: bool | None = None


# Of several in one directory, the first counts.
FORMATS = {
    "tta": Format(lambda directory: (directory / WEIGHTS).exists(), _load_own),
    "huggingface": Format(  # a BERT
        lambda directory: tensors_path(directory).exists(),
        load_huggingface,
        tokenizer_file,
        on_onnxruntime=True,
    ),
    "original": Format(  # a T-TA or BERT from TensorFlow 1
        is_original,
        "tta.modeling.formats.tensorflow.tf1_checkpoint:load_original",
        original_vocabulary,
        on_onnxruntime=False,  # TensorFlow reads them
    ),
    "run": Format(has_checkpoints, load_run),  # a training that has not finished
}


def format_of(directory: Path | str) -> str | None:
    """The name in `FORMATS` of what a directory is; None if it is no model, or missing."""
    there = (name for name, kind in FORMATS.items() if kind.is_there(Path(directory)))
    return next(there, None)


def _not_a_model(directory):
    """The error for a directory that has none of `FORMATS`, which says why."""
    for pattern, what in _REFUSED.items():
        if files := sorted(directory.glob(pattern)):
            convert = "BertForMaskedLM.from_pretrained(...).save_pretrained(...)"
            rule = f"{what}; if you trust it, convert it to safetensors: {convert}"
            return InputError(rule, files[0])
    if not (directory / CONFIG).exists():
        return InputError(f"not a model directory: it has no {CONFIG}", directory)
    return InputError(f"it has no {WEIGHTS} and no checkpoint of its training", directory)


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
    paths = [directory / name for name in NEEDED_FILES]
    return {p.name: _sha256(p) for p in paths if p.exists()}


def _sha256(path):
    check_regular(path)
    digest = hashlib.sha256()
    with open(path, "rb") as file:  # vectors may be larger than memory
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
