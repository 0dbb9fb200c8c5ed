"""The formats of tta export besides the SavedModel: folders that other libraries load."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import check_absent, whole_folder
from tta.errors import InputError
from tta.registry import Registry

SAVED_MODEL = "saved_model"  # a call of its own, `tta.scoring.exports.serving.export`

# A new format is one file with an `Export`, and one line here.
EXPORTS = Registry(
    "export",
    {
        SAVED_MODEL: "tta.scoring.exports.serving.export:export",
        "onnx": "tta.scoring.exports.onnx_graphs:EXPORT",
        "huggingface": "tta.scoring.exports.huggingface:EXPORT",
        "sentence_transformers": "tta.scoring.exports.sentence_vectors:EXPORT",
        "static": "tta.scoring.exports.sentence_vectors:STATIC",
    },
)


@dataclass(frozen=True)
class Export:
    """A format of `tta export`: a folder that another library loads.

    Attributes:
        write: called with a `TextModel`, an empty folder, and the keywords `representation` and
            `pooling`; fills the folder and returns the result of `cards.write`.
        gives_scores: whether the folder gives scores, which have the `pll_variant` original.
    """

    write: Callable[..., str]
    gives_scores: bool = True


def export_folder(
    lm: Any, output_dir: Path | str, format: str, representation: str, pooling: str
) -> str:
    """Writes a model for another library. The folder appears only when it is complete.

    Returns the signature of what the folder computes.

    Args:
        lm: a `TextModel`: a T-TA, cloze, biLM or uniLM with word pieces.
        output_dir: the folder; missing parents are made.
        format: one of `EXPORTS` except "saved_model".
        representation, pooling: as in `TextModel.encode`, for "sentence_transformers"; "static"
            takes the pooling alone.

    Raises:
        InputError: the folder exists or cannot be written, or the model does not have the format,
            the representation or the pooling, or the format not the `pll_variant`.
    """
    from tta.scoring.exports.weights import check_exportable  # checking flags does not need it

    check_exportable(lm)
    if representation in lm.pair_representations:
        lm.choose_representation(representation)  # says what to take
    export_format = EXPORTS.load(format)
    if export_format.gives_scores and (variant := lm.options.pll_variant) != "original":
        raise InputError(f"format {format} has pll_variant original, not {variant}", lm.name)
    output_dir = Path(output_dir)
    output_dir.parent.mkdir(parents=True, exist_ok=True)
    with whole_folder(output_dir, partial(check_absent, output_dir)) as folder:
        return export_format.write(lm, folder, representation=representation, pooling=pooling)
