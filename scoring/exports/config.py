"""Settings of tta export."""

from dataclasses import dataclass

from tta.choices import SENTENCE_POOLINGS
from tta.scoring.exports.formats import EXPORTS, SAVED_MODEL
from tta.settings import FILES, MODEL, Config, setting


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
        choices=EXPORTS,
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
