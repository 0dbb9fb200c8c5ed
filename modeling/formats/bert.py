"""Reads a BERT as a biLM: names of its variables, and conversion of its config.

BERT adds the embedding of segment 0 at every position of a sentence. We add it to the position
table, so a BERT is a biLM and needs no other encoder. A classifier of pairs keeps the segments. The
pooler and the next-sentence head do not affect scores or vectors and are ignored. The original T-TA
code uses BERT's names.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tta.checked_files import read_json_object
from tta.errors import InputError, located
from tta.modeling.config.transformer import COUNTS, TransformerConfig
from tta.modeling.formats.bert_tokenizer import check_tokens, check_values, is_lower_cased

# Our names -> the original names: of variables, of layers, and of layers in a block. A LayerNorm
# has the variables gamma and beta, any other layer kernel and bias.
_VARIABLES = {
    "encoder/embeddings/token_table": "bert/embeddings/word_embeddings",
    "encoder/embeddings/position_table": "bert/embeddings/position_embeddings",
    "head/bias": "cls/predictions/output_bias",
}
_LAYERS = {
    "encoder/embeddings/norm": "bert/embeddings/LayerNorm",
    "head/transform": "cls/predictions/transform/dense",
    "head/transform_norm": "cls/predictions/transform/LayerNorm",
}
_BLOCK = {
    "attention/query": "attention/self/query",
    "attention/key": "attention/self/key",
    "attention/value": "attention/self/value",
    "attention/output": "attention/output/dense",
    "attention_norm/norm": "attention/output/LayerNorm",
    "feed_forward/intermediate": "intermediate/dense",
    "feed_forward/output": "output/dense",
    "feed_forward_norm/norm": "output/LayerNorm",
}
SEGMENT_NAME = "bert/embeddings/token_type_embeddings"

# `convert_segments` adds the first table to the second, if our model does not have the first.
_SEGMENTS, _POSITIONS = "encoder/embeddings/segment_table", "encoder/embeddings/position_table"

# Config keys that change the computation -> the values that we support.
_MUST_BE = {
    "model_type": ("bert",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "tie_word_embeddings": (True, None),
}
# BERT's names of activations -> ours. In Google's code, gelu is the tanh approximation.
GOOGLE_ACTIVATIONS = {"gelu": "gelu_tanh", "relu": "relu"}
HUGGINGFACE_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
}
_MAY_BE = (
    "hidden_dropout_prob",
    "attention_probs_dropout_prob",
    "initializer_range",
    "layer_norm_eps",
)


def original_names(num_hidden_layers: int, with_segments: bool = False) -> dict[str, str]:
    """{name of our weight: name of the variable in the original code}.

    `with_segments` includes BERT's segment table, for `convert_segments`.
    """
    names, layers = dict(_VARIABLES), dict(_LAYERS)
    for i in range(num_hidden_layers):
        for ours, theirs in _BLOCK.items():
            layers[f"encoder/layer_{i}/{ours}"] = f"bert/encoder/layer_{i}/{theirs}"
    for ours, theirs in layers.items():
        for name in ("gamma", "beta") if theirs.endswith("LayerNorm") else ("kernel", "bias"):
            names[f"{ours}/{name}"] = f"{theirs}/{name}"
    return names | ({_SEGMENTS: SEGMENT_NAME} if with_segments else {})


def check_names(stored: Iterable[str], expected: Iterable[str], source: Path | str) -> None:
    """Checks that a checkpoint holds the variables that its config requires.

    The parts of stored and expected names are separated by "/" or "."; `source` is the file, for
    errors. Raises InputError if the output head or a variable is missing, or an unknown variable
    would change the outputs.
    """
    stored, expected = set(stored), list(expected)
    if not any(_parts(name)[:2] == ["cls", "predictions"] for name in stored):
        raise InputError(
            "no output head (cls/predictions) found, as in sentence encoders and classifiers, so "
            "the model gives no probabilities; save a BERT with its head as BertForMaskedLM or "
            "BertForPreTraining",
            source,
        )
    if missing := [name for name in expected if name not in stored]:
        raise InputError(f"variable {missing[0]} is missing ({len(missing)} in all)", source)
    for name in sorted(stored.difference(expected)):
        # The name of an optimizer's variable is that of a weight plus one part. Variables outside
        # of "bert" and "cls" belong to other heads.
        is_slot = any(name.startswith((f"{weight}/", f"{weight}.")) for weight in expected)
        is_ignored = _parts(name)[:2] in (["bert", "pooler"], ["cls", "seq_relationship"])
        if _parts(name)[0] in ("bert", "cls") and not is_slot and not is_ignored:
            raise InputError(f"variable {name} does not belong to a model of this config", source)


def _parts(name):
    return name.replace(".", "/").split("/")


def convert_segments(
    config: TransformerConfig, values: dict[str, np.ndarray], keep: bool, source: Path | str
) -> tuple[TransformerConfig, dict[str, np.ndarray]]:
    """The config and the arrays of a biLM that keeps BERT's segment table, or folds it in.

    Folding adds the embedding of segment 0 to every position. `values` are {our name: array}, with
    BERT's segment table [at least 1, D]; `source` is the file, for errors. Raises InputError if a
    table has the wrong shape or type.
    """
    positions, segments = values[_POSITIONS], values[_SEGMENTS]
    for name, table in (("position", positions), ("token type", segments)):
        if table.ndim != 2 or table.shape[0] < 1 or table.dtype.kind != "f":
            raise InputError(
                f"the {name} embeddings have shape {list(table.shape)} and type {table.dtype}, "
                "not a float table",
                source,
            )
    if segments.shape[1] != positions.shape[1]:
        raise InputError(
            f"the token type embeddings have {segments.shape[1]} columns, the position embeddings "
            f"{positions.shape[1]}",
            source,
        )
    if keep:
        return config.replace(num_segments=segments.shape[0]), values
    folded = positions.astype("float32") + segments[0].astype("float32")
    return config, {n: v for n, v in values.items() if n != _SEGMENTS} | {_POSITIONS: folded}


def bert_config(path: Path | str, activations: Mapping[str, str]) -> TransformerConfig:
    """Converts BERT's config, in the form of Google or Hugging Face, to that of a biLM.

    Args:
        path: `bert_config.json` or `config.json`. `is_lower_cased` reads the files beside it.
        activations: `GOOGLE_ACTIVATIONS` or `HUGGINGFACE_ACTIVATIONS`.

    Raises:
        InputError: the file is missing or malformed, or a biLM cannot compute such a model.
    """
    values = read_json_object(path)
    check_values(values, _MUST_BE, path)
    if missing := [name for name in (*COUNTS, "hidden_act") if name not in values]:
        raise InputError(f"{missing[0]} is missing", path)
    if values["hidden_act"] not in list(activations):
        raise InputError(
            f"hidden_act must be {' or '.join(activations)}, not {values['hidden_act']!r}", path
        )
    arguments = {name: values[name] for name in (*COUNTS, *_MAY_BE) if name in values}
    check_tokens(Path(path).parent)
    with located(path=path):
        if "normalization" in values:  # tta export wrote it, and says how text is read
            names = "normalization", "do_lower_case", "unknown_price"
            arguments |= {name: values[name] for name in names if name in values}
        else:
            lower_case = is_lower_cased(Path(path).parent)
            arguments |= {"normalization": "bert", "do_lower_case": lower_case}
        return TransformerConfig(
            **arguments, hidden_act=activations[values["hidden_act"]], model_type="bilm"
        )
