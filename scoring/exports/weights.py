"""The weights of a model for PyTorch, and the files that exports share."""

import json
import re
from collections.abc import Mapping
from importlib import resources
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.unknown_words import SpellingCosts
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.config.weights import named
from tta.scoring.exports.tokenizer_json import save_tokenizer, special_tokens, whole_tokenizer

# What a config of the families may lack, and functions ask for.
_DEFAULTS = {"first_query_token_id": None, "norm_first": False, "max_relative_distance": 0}
_DEFAULTS |= {"num_segments": 0, "head_transform": True}

_CODE = (
    "tta.modeling.functions.heads",
    "tta.modeling.kits.torch",
    "tta.scoring.scorers.inference.windows",
)
_IMPORT = re.compile(r"^from (tta\.modeling\.functions(?:\.\w+)*)\.(\w+) import", re.MULTILINE)


def check_exportable(lm: Any) -> None:
    """Raises InputError unless a scorer is a T-TA, cloze, biLM or uniLM with word pieces."""
    config: Any = getattr(lm, "config", None)
    families = [name for name, family in MODEL_TYPES.items() if family.encoder is not None]
    is_known = getattr(config, "model_type", None) in families
    if not is_known or not isinstance(lm.tokenizer, Tokenizer):
        rule = f"only a {' or '.join(families)} with word pieces has this format"
        raise InputError(rule, lm.name)
    if config.output_layer != "tied_softmax" or getattr(config, "num_segments", 0):
        rule = "only a model with BERT's head and without segments has this format"
        raise InputError(rule, lm.name)


def character_prices(lm: Any) -> np.ndarray:
    """`SpellingCosts.prices`; a single 0 if unknown words have no price."""
    if lm.options.unknown != "price":
        return np.zeros(1, np.float32)
    return SpellingCosts(lm.tokenizer, lm.config.unknown_price).prices()


def torch_weights(lm: Any) -> dict[str, np.ndarray]:
    """{name: float32 array}: the names are those of the model, with dots."""
    return {
        name.replace("/", ".") + ".weight" * name.endswith("_table"): np.ascontiguousarray(value)
        for name, value in lm.engine.weights().items()
    }


def torch_settings(config: Any) -> dict[str, Any]:
    """The arguments of `TTAConfig` for a config."""
    settings = {name: getattr(config, name, default) for name, default in _DEFAULTS.items()}
    settings |= config.to_dict() | {"family": config.model_type}
    settings["output_table"] = config.output_table
    settings["predicts_next"] = MODEL_TYPES.load(config.model_type).predicts_next
    settings["weights"] = {name: list(weight.shape) for name, weight in named(config.weights)}
    return settings


def write_tokenizer(
    tokenizer: Tokenizer, folder: Path, max_length: int, code: str | None = None
) -> None:
    """Writes `tokenizer.json` and `tokenizer_config.json`, which `AutoTokenizer` reads.

    `code` is the class of the tokenizer in the folder's code; None is transformers' own.
    """
    save_tokenizer(whole_tokenizer(tokenizer), folder)
    roles = ("pad_token", "cls_token", "sep_token", "mask_token")
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


def copy_code(config: Any, folder: Path, *templates: str) -> None:
    """Writes the code of a model into a folder: templates, the encoder's function, what they need.

    Modules of the package become files beside each other: functions.layers is `layers_tta.py`.
    """
    encode = MODEL_TYPES.load(config.model_type).part("encoder")
    line = f"from .{encode.__module__.rpartition('.')[2]}_tta import {encode.__name__} as encode\n"
    texts = {"encoder_tta.py": line}
    for name in ("modeling_tta.py", *templates):
        template = resources.files("tta.scoring").joinpath(f"exports/templates/{name}.txt")
        texts[name] = template.read_text(encoding="utf-8")
    waiting = [encode.__module__, *_CODE]
    while waiting:
        module = waiting.pop()
        source: Any = find_spec(module)  # the kit of PyTorch is not imported
        text = Path(source.origin).read_text(encoding="utf-8")
        texts[f"{module.rpartition('.')[2]}_tta.py"] = _IMPORT.sub(r"from .\2_tta import", text)
        waiting += [f"{package}.{name}" for package, name in _IMPORT.findall(text)]
    # transformers 4 copies only the files that the first one names.
    needed = sorted(
        name.removesuffix(".py") for name in texts if name not in ("modeling_tta.py", *templates)
    )
    named = "".join(f"from .{name} import __doc__ as _  # noqa\n" for name in needed)
    texts["modeling_tta.py"] += f"\n\n# All files of the model, for transformers 4.\n{named}"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
