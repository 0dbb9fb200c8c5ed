"""One vector a piece, for `model2vec` and sentence-transformers' `StaticEmbedding`: no network."""

from pathlib import Path
from typing import Any

import numpy as np

from tta.names import CONFIG
from tta.scoring.exports import cards
from tta.scoring.exports.tokenizer_json import save_tokenizer, whole_tokenizer
from tta.scoring.exports.weights import write_json, write_tensors


def write(lm: Any, folder: Path, pooling: str) -> str:
    """Writes a table whose means have the cosines of `encode(representation="token")`.

    The rows are those of the token table, whitened and weighted as `pooling` says. Dividing by the
    number of pieces instead of the sum of their weights changes lengths, not cosines.

    Raises:
        InputError: the model has no statistics for the pooling.
    """
    vocabulary = lm.tokenizer.vocabulary
    table = lm.engine.weights()["encoder/embeddings/token_table"].copy()
    if pooling != "mean":
        statistics = lm.pooling_statistics
        if pooling == "whitened":
            table = statistics.whitenings["token"](table)
        table *= statistics.piece_weights()[:, None]
    table[vocabulary.unk_id] = 0.0
    write_tensors(folder / "model.safetensors", {"embeddings": table.astype(np.float32)})
    save_tokenizer(whole_tokenizer(lm.tokenizer, boundary_tokens=False), folder)
    write_json(
        folder / CONFIG,
        {"model_type": "model2vec", "normalize": True, "hidden_dim": table.shape[1]},
    )
    kind = "sentence_transformers.models.StaticEmbedding"
    write_json(folder / "modules.json", [{"idx": 0, "name": "0", "path": "", "type": kind}])
    write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    return cards.write(lm, folder, "static", f"token, {pooling}")
