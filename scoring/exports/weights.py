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
from tta.scoring.scorers.inference.mixed import MixedModel

_CODE = (
    "tta.modeling.functions.heads",
    "tta.modeling.kits.torch",
    "tta.scoring.scorers.inference.windows",
)
_READ = re.compile(r"\bconfig\.([a-z]\w*)")
_IMPORT = re.compile(r"^from (tta\.modeling\.functions(?:\.\w+)*)\.(\w+) import", re.MULTILINE)


def check_exportable(lm: Any) -> None:
    """Raises InputError unless a scorer is a T-TA, cloze, biLM or uniLM with word pieces."""
    if isinstance(lm, MixedModel):
        raise lm.lacks("model")
    config: Any = getattr(lm, "config", None)
    name: Any = getattr(config, "model_type", None)
    is_known = name in MODEL_TYPES and MODEL_TYPES.load(name).encoder is not None
    if not is_known or not isinstance(lm.tokenizer, Tokenizer):
        families = [name for name in MODEL_TYPES if MODEL_TYPES.load(name).encoder is not None]
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
    """The arguments of `TTAConfig` for a config: all that its code reads, and its JSON object."""
    read = {name for text in _code(config).values() for name in _READ.findall(text)}
    settings = config.to_dict() | {"family": config.model_type}
    settings |= {name: getattr(config, name) for name in sorted(read) if hasattr(config, name)}
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
    for module, text in _code(config).items():
        texts[f"{module.rpartition('.')[2]}_tta.py"] = _IMPORT.sub(r"from .\2_tta import", text)
    # transformers 4 copies only the files that the first one names.
    needed = sorted(
        name.removesuffix(".py") for name in texts if name not in ("modeling_tta.py", *templates)
    )
    named = "".join(f"from .{name} import __doc__ as _  # noqa\n" for name in needed)
    texts["modeling_tta.py"] += f"\n\n# All files of the model, for transformers 4.\n{named}"
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _code(config: Any) -> dict[str, str]:
    """{module: its text} of the encoder's function, of `_CODE`, and of what they import."""
    texts, waiting = {}, [MODEL_TYPES.load(config.model_type).part("encoder").__module__, *_CODE]
    while waiting:
        module = waiting.pop()
        source: Any = find_spec(module)  # the kit of PyTorch is not imported
        texts[module] = Path(source.origin).read_text(encoding="utf-8")
        waiting += [f"{package}.{name}" for package, name in _IMPORT.findall(texts[module])]
    return texts
