"""The settings of tta export, and its formats besides the SavedModel, for other libraries."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tta.atomic import check_absent, whole_folder
from tta.choices import REDUCTIONS, SENTENCE_POOLINGS
from tta.errors import InputError
from tta.settings import FILES, MODEL, Config, setting

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


@dataclass(frozen=True, kw_only=True)
class ExportConfig(Config):
    """Where an exported model is written, and in which format."""

    output_dir: str = setting(
        ...,
        "Folder to write. It must not exist. A saved_model's ends in a version number, as TF "
        "Serving expects: models/tta/1; a new model is a new version.",
        group=FILES,
    )
    format: str = setting(
        SAVED_MODEL,
        "saved_model: for TensorFlow Serving. onnx: for onnxruntime and tokenizers alone. "
        "huggingface: for transformers; a biLM as plain BertForMaskedLM, the others with their "
        "code. sentence_transformers: for SentenceTransformer(folder). static: one vector a word "
        "piece, for model2vec and sentence-transformers (docs/exports.md).",
        choices=FORMATS,
        group=MODEL,
    )
    representation: str = setting(
        "token",
        "What the vectors of sentence_transformers are made of: token, context, embed or joint, as "
        "in run_sts.py. static takes token.",
        group=MODEL,
    )
    pooling: str = setting(
        "mean",
        "How the vectors of pieces become that of a sentence, for sentence_transformers and "
        "static, as in run_sts.py; joint has its own. whitened is better for comparing sentences.",
        choices=SENTENCE_POOLINGS,
        group=MODEL,
    )
    reduction: str = setting(
        "sum",
        "How the signature `rerank` of a saved_model reduces the token scores of a hypothesis. "
        "Classifiers do not have it.",
        choices=REDUCTIONS,
        group=MODEL,
    )
