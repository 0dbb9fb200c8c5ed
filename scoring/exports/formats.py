"""The formats of tta export besides the SavedModel: folders that other libraries load."""

from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import check_absent, whole_folder
from tta.errors import InputError

SAVED_MODEL = "saved_model"
FORMATS = (SAVED_MODEL, "onnx", "huggingface", "sentence_transformers", "static")


def export_folder(
    lm: Any, output_dir: Path | str, format: str, representation: str, pooling: str
) -> str:
    """Writes a model for another library. The folder appears only when it is complete.

    Returns the signature of what the folder computes.

    Args:
        lm: a `TextModel`: a T-TA, cloze, biLM or uniLM with word pieces.
        output_dir: the folder; missing parents are made.
        format: one of `FORMATS` except "saved_model".
        representation, pooling: as in `TextModel.encode`, for "sentence_transformers"; "static"
            takes the pooling alone.

    Raises:
        InputError: the folder exists or cannot be written, or the model does not have the format,
            the representation or the pooling, or the format not the `pll_variant`.
    """
    # Imported here because checking flags needs none of it.
    from tta.scoring.exports import huggingface, onnx_graphs, sentence_vectors
    from tta.scoring.exports.weights import check_exportable

    check_exportable(lm)
    if format in ("onnx", "huggingface") and (variant := lm.options.pll_variant) != "original":
        raise InputError(f"format {format} has pll_variant original, not {variant}", lm.name)
    output_dir = Path(output_dir)
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    write = {
        "onnx": onnx_graphs.write,
        "huggingface": huggingface.write,
        "sentence_transformers": partial(
            sentence_vectors.write, representation=representation, pooling=pooling
        ),
        "static": partial(sentence_vectors.write_static, pooling=pooling),
    }[format]
    with whole_folder(output_dir, partial(check_absent, output_dir)) as folder:
        return write(lm, folder)
