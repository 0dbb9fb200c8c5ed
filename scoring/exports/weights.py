"""The weights of a model under the names of `modeling_tta.py`, and the files that exports share."""

import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tta.data.vocabulary.spelling import SpellingCosts
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.errors import InputError
from tta.scoring.exports.tokenizer_json import save_tokenizer, special_tokens, whole_tokenizer

FAMILIES = ("tta", "cloze", "bilm", "unilm")

_BLOCK = {
    "attention": "attention",
    **{f"attention/{name}": f"attention.{name}" for name in ("query", "key", "value", "output")},
    "attention_norm/norm": "attention_norm",
    "feed_forward/intermediate": "intermediate",
    "feed_forward/output": "output",
    "feed_forward_norm/norm": "feed_forward_norm",
}
_TABLES = {
    "encoder/embeddings/token_table": "encoder.tokens.weight",
    "encoder/embeddings/position_table": "encoder.positions.weight",
    "head/bias": "decoder.bias",
}
_LAYERS = {
    "encoder/embeddings/norm": "encoder.norm",
    "encoder/forward_query": "encoder.forward_query",
    "encoder/backward_query": "encoder.backward_query",
    "encoder/query_norm/norm": "encoder.query_norm",
    "encoder/forward_norm/norm": "encoder.forward_norm",
    "encoder/backward_norm/norm": "encoder.backward_norm",
    "encoder/final_norm/norm": "encoder.final_norm",
    "head/transform": "transform",
    "head/transform_norm": "transform_norm",
}
_STACKS = {
    "layer": "encoder.layers",
    "forward": "encoder.forward_tower",
    "backward": "encoder.backward_tower",
}
_VARIABLES = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
_VARIABLES |= {"relative_bias": "relative_bias"}

_SETTINGS = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads"),
    *("intermediate_size", "hidden_act", "max_position_embeddings", "layer_norm_eps"),
    *("first_query_token_id", "norm_first", "max_relative_distance"),
)


def check_exportable(lm: Any) -> None:
    """Raises InputError unless a scorer is a T-TA, cloze, biLM or uniLM with word pieces."""
    config: Any = getattr(lm, "config", None)
    is_known = getattr(config, "model_type", None) in FAMILIES
    if not is_known or not isinstance(lm.tokenizer, Tokenizer):
        rule = f"only a {' or '.join(FAMILIES)} with word pieces has this format"
        raise InputError(rule, lm.name)
    if config.output_layer != "tied_softmax" or config.num_segments:
        rule = "only a model with BERT's head and without segments has this format"
        raise InputError(rule, lm.name)


def character_prices(lm: Any) -> np.ndarray:
    """`SpellingCosts.prices`; a single 0 if unknown words have no price."""
    if lm.options.unknown != "price":
        return np.zeros(1, np.float32)
    return SpellingCosts(lm.tokenizer, lm.config.unknown_price).prices()


def torch_weights(lm: Any) -> dict[str, np.ndarray]:
    """{name in `modeling_tta.py`: float32 array}; kernels are [out, in] there."""
    values = {}
    for name, value in lm.engine.weights().items():
        if name in _TABLES:
            values[_TABLES[name]] = value
            continue
        layer, _, kind = name.rpartition("/")
        values[f"{_layer_name(layer)}.{_VARIABLES[kind]}"] = value.T if kind == "kernel" else value
    return {name: np.ascontiguousarray(value) for name, value in values.items()}


def _layer_name(layer):
    if layer in _LAYERS:
        return _LAYERS[layer]
    _, stack, rest = layer.split("/", 2)  # encoder/layer_0/attention/query
    kind, _, number = stack.rpartition("_")
    return f"{_STACKS[kind]}.{number}.{_BLOCK[rest]}"


def torch_settings(config: Any) -> dict[str, Any]:
    """The arguments of `TTAConfig` for a config."""
    settings = {name: getattr(config, name) for name in _SETTINGS}
    return settings | {
        "family": config.model_type,
        "num_tower_layers": getattr(config, "num_tower_layers", 0),
    }


def write_tokenizer(
    tokenizer: Tokenizer, folder: Path, max_length: int, code: str | None = None
) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json`, which `AutoTokenizer` reads.

    `code` is the class of the tokenizer in the folder's code; None is transformers' own.
    """
    save_tokenizer(whole_tokenizer(tokenizer), folder)
    roles = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": max_length,
            "do_lower_case": tokenizer.lower_case,
            "model_input_names": ["input_ids", "attention_mask"],
            **dict(zip(roles, special_tokens(tokenizer), strict=True)),
            **({} if code is None else {"auto_map": {"AutoTokenizer": [None, code]}}),
        },
    )


def write_tensors(path: Path, values: Mapping[str, np.ndarray]) -> None:
    """Writes a safetensors file."""
    path.write_bytes(save(dict(values), metadata={"format": "pt"}))


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file."""
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")


def copy_code(folder: Path, *names: str) -> None:
    """Copies `modeling_tta.py`, what it imports, and other files of the templates into a folder."""
    package = resources.files("tta.scoring")
    files = {name: f"exports/templates/{name}.txt" for name in ("modeling_tta.py", *names)}
    files["windows_tta.py"] = "scorers/inference/windows.py"
    for name, source in files.items():
        text = package.joinpath(source).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
