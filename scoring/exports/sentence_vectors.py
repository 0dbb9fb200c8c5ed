"""Folders of sentence vectors: `encode` as a module for `sentence-transformers`, or one table."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.names import CONFIG
from tta.scoring.exports import cards
from tta.scoring.exports.cards import Card
from tta.scoring.exports.formats import Export
from tta.scoring.exports.tokenizer_json import save_tokenizer, whole_tokenizer
from tta.scoring.exports.weights import (
    copy_code,
    torch_settings,
    torch_weights,
    write_json,
    write_tensors,
)
from tta.scoring.scorers.pooling import JOINT, JOINT_CONSTANT, JOINT_CONTEXT

REPRESENTATIONS = ("token", "context", "embed", JOINT)

_SENTENCES = """```python
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(folder, trust_remote_code=True)
print(model.similarity(model.encode(["a cat sleeps"]), model.encode(["the cat is asleep"])))
```

`sentences_tta.py` and `modeling_tta.py` are its code; read them before you trust them."""

_STATIC = """```python
from model2vec import StaticModel
vectors = StaticModel.from_pretrained(folder).encode(["a cat sleeps", "the cat is asleep"])
print(vectors[0] @ vectors[1])  # cosine; rows have length 1
```

sentence-transformers loads the same folder: `SentenceTransformer(folder)`."""


def write(lm: Any, folder: Path, representation: str, pooling: str) -> str:
    """Writes what `SentenceTransformer(folder)` loads.

    Args:
        lm: a `TextModel`.
        folder: empty.
        representation, pooling: as in `encode`. Unlike `encode`, the module cuts long sentences.

    Raises:
        InputError: the model does not have them.
    """
    parts = _parts(lm, representation, pooling)
    config, vocabulary = lm.config, lm.tokenizer.vocabulary
    dimension = lm.encode([""], representation, pooling).shape[1]
    weights = {}
    for part in parts:
        weights |= _statistics(lm, part["name"], part.pop("pooling"))
    names = {part["name"] for part in parts}
    family = MODEL_TYPES.load(config.model_type)
    if family.masks_tokens(lm.options.pll_variant) and "context" in names:
        rule = "a biLM's context is masked; only --pll_variant=maskless has this format"
        raise InputError(rule, lm.name)
    needs_network = bool(names & {"context", "embed"})
    weights |= _network_weights(lm, has_table="token" in names, has_encoder=needs_network)
    copy_code(config, folder, "sentences_tta.py")
    write_tensors(folder / "sentences.safetensors", weights)
    write_json(
        folder / "sentences.json",
        {
            "parts": parts,
            "model": torch_settings(config) if needs_network else None,
            "max_seq_length": config.max_position_embeddings,
            "pad_id": vocabulary.pad_id,
            "dimension": dimension,
        },
    )
    save_tokenizer(whole_tokenizer(lm.tokenizer), folder)
    module = {"idx": 0, "name": "0", "path": "", "type": "sentences_tta.SentenceVectors"}
    write_json(folder / "modules.json", [module])
    write_json(folder / "config_sentence_transformers.json", {"similarity_fn_name": "cosine"})
    card = Card(
        what=f"Sentence vectors ({representation}, {pooling}) for sentence-transformers.",
        usage=_SENTENCES,
        computes=cards.VECTORS | {"long": "cut", "engine": "pytorch"},
        library="sentence-transformers",
        tags=("feature-extraction", "custom_code"),
        task="sentence-similarity",
    )
    return cards.write(lm, folder, card)


EXPORT = Export(write, gives_scores=False)


def _parts(lm, representation, pooling) -> list[dict[str, Any]]:
    """The vectors that stand side by side. Raises InputError if the format does not have them."""
    if representation == JOINT:
        return [
            _part("token", "whitened", JOINT_CONSTANT, math.sqrt(1.0 - JOINT_CONTEXT)),
            _part("context", "mean", None, math.sqrt(JOINT_CONTEXT)),
        ]
    if representation not in REPRESENTATIONS:
        rule = f"representation must be {' or '.join(REPRESENTATIONS)}, not {representation!r}"
        raise InputError(rule, lm.name)
    return [_part(representation, pooling)]


def _network_weights(lm, *, has_table, has_encoder) -> dict[str, np.ndarray]:
    """The table of tokens and the weights of the encoder, under the names of the folder."""
    network, weights = torch_weights(lm), {}
    if has_table:
        weights["token.table"] = network["encoder.embeddings.token_table.weight"]
    if has_encoder:
        of_encoder = (name for name in network if name.startswith("encoder."))
        weights |= {f"network.{name}": network[name] for name in of_encoder}
    return weights


def _part(name, pooling, constant=None, scale=None):
    return {"name": name, "pooling": pooling, "constant": constant, "scale": scale}


def _statistics(lm, name, pooling) -> dict[str, np.ndarray]:
    """The weight of each piece, and the whitening if there is one."""
    weights = np.ones(lm.config.vocab_size, np.float32)
    if pooling != "mean":
        weights = lm.pooling_statistics.piece_weights()
    weights[lm.tokenizer.vocabulary.unk_id] = 0.0
    statistics = {f"{name}.piece_weights": weights}
    if pooling == "whitened":
        whitening = lm.pooling_statistics.whitenings[name]
        statistics |= {f"{name}.mean": whitening.mean, f"{name}.matrix": whitening.matrix}
    return statistics


def write_static(lm: Any, folder: Path, pooling: str, **_: str) -> str:
    """Writes one vector a piece, for `model2vec` and sentence-transformers' `StaticEmbedding`.

    The means of the table have the cosines of `encode(representation="token")`.

    The rows are those of the token table, whitened and weighted as `pooling` says. Dividing by the
    number of pieces instead of the sum of their weights changes lengths, not cosines. Raises
    InputError if the model has no statistics for the pooling.
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
    card = Card(
        what=f"One vector a word piece (token, {pooling}).",
        usage=_STATIC,
        computes=cards.VECTORS | {"long": None, "engine": None},
        library="model2vec",
        tags=("feature-extraction", "static-embeddings"),
        task="sentence-similarity",
    )
    return cards.write(lm, folder, card)


STATIC = Export(write_static, gives_scores=False)
