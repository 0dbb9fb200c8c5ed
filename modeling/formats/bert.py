"""BERT as a biLM: what its checkpoints call our weights, and how its config becomes ours.

A sentence is always BERT's segment 0, whose embedding is added at every position. So a BERT is a
biLM whose position table holds that sum, and needs no encoder of its own. Its pooler and its
next-sentence head have no part in scores or vectors and are left aside. T-TA's original code took
BERT's names.
"""

import json
from pathlib import Path

from tta.errors import InputError
from tta.modeling.config.transformer import COUNTS, ModelConfig, read_json_object

# In a layer: our name -> the original's. Every name ends in what the variable is.
_LAYER = {
    "attention/query/kernel": "attention/self/query/kernel",
    "attention/query/bias": "attention/self/query/bias",
    "attention/key/kernel": "attention/self/key/kernel",
    "attention/key/bias": "attention/self/key/bias",
    "attention/value/kernel": "attention/self/value/kernel",
    "attention/value/bias": "attention/self/value/bias",
    "attention/output/kernel": "attention/output/dense/kernel",
    "attention/output/bias": "attention/output/dense/bias",
    "attention_norm/norm/gamma": "attention/output/LayerNorm/gamma",
    "attention_norm/norm/beta": "attention/output/LayerNorm/beta",
    "feed_forward/intermediate/kernel": "intermediate/dense/kernel",
    "feed_forward/intermediate/bias": "intermediate/dense/bias",
    "feed_forward/output/kernel": "output/dense/kernel",
    "feed_forward/output/bias": "output/dense/bias",
    "feed_forward_norm/norm/gamma": "output/LayerNorm/gamma",
    "feed_forward_norm/norm/beta": "output/LayerNorm/beta",
}
_AROUND = {
    "encoder/embeddings/token_table": "bert/embeddings/word_embeddings",
    "encoder/embeddings/position_table": "bert/embeddings/position_embeddings",
    "encoder/embeddings/norm/gamma": "bert/embeddings/LayerNorm/gamma",
    "encoder/embeddings/norm/beta": "bert/embeddings/LayerNorm/beta",
    "head/transform/kernel": "cls/predictions/transform/dense/kernel",
    "head/transform/bias": "cls/predictions/transform/dense/bias",
    "head/transform_norm/gamma": "cls/predictions/transform/LayerNorm/gamma",
    "head/transform_norm/beta": "cls/predictions/transform/LayerNorm/beta",
    "head/bias": "cls/predictions/output_bias",
}
SEGMENT_NAME = "bert/embeddings/token_type_embeddings"

# Our name of a table that the model itself has no more: `fold_segments` takes it away.
_SEGMENTS, _POSITIONS = "encoder/embeddings/segment_table", "encoder/embeddings/position_table"

# Config keys whose other values change what is computed: key -> the values that we compute.
_MUST_BE = {
    "model_type": ("bert",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False, None),
    "add_cross_attention": (False, None),
    "tie_word_embeddings": (True, None),
}
# Their names of activations -> ours. Google's code means the approximation when it says gelu.
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

# The same of tokenizer_config.json: our tokenizer is BERT's, and no other.
_TOKENIZER_MUST_BE = {
    "tokenizer_class": ("BertTokenizer", "BertTokenizerFast", None),
    "do_lower_case": (True, False),
    "do_basic_tokenize": (True, None),
    "tokenize_chinese_chars": (True, None),
}


def original_names(num_hidden_layers, with_segments=False):
    """{our weight's name: the original code's variable name} for a model of that depth.

    Args:
        num_hidden_layers: layers.
        with_segments: whether BERT's segment table is among them, for `fold_segments`.
    """
    names = dict(_AROUND)
    for i in range(num_hidden_layers):
        for ours, theirs in _LAYER.items():
            names[f"encoder/layer_{i}/{ours}"] = f"bert/encoder/layer_{i}/{theirs}"
    return names | ({_SEGMENTS: SEGMENT_NAME} if with_segments else {})


def check_names(stored, expected, source):
    """Whether a checkpoint holds the variables of its config, and no other of their kind.

    Args:
        stored: names in the checkpoint, in its spelling, "/" or "." between their parts.
        expected: names that the config asks for, in the same spelling.
        source: the file, for errors.

    Raises:
        InputError: there is no output head, a name is missing, or one would change the outputs.
    """
    stored, expected = set(stored), list(expected)
    if not any(_parts(name)[:2] == ["cls", "predictions"] for name in stored):
        raise InputError(
            "it has no output head (cls/predictions), without which a model gives no "
            "probabilities; a BERT is saved with it as BertForMaskedLM or BertForPreTraining",
            source,
        )
    if missing := [name for name in expected if name not in stored]:
        raise InputError(f"variable {missing[0]} is missing ({len(missing)} in all)", source)
    for name in sorted(stored.difference(expected)):
        # Of an optimizer are a variable's name and one part more. The rest is other heads.
        is_slot = any(name.startswith((f"{known}/", f"{known}.")) for known in expected)
        kept_aside = _parts(name)[:2] in (["bert", "pooler"], ["cls", "seq_relationship"])
        if _parts(name)[0] in ("bert", "cls") and not is_slot and not kept_aside:
            raise InputError(f"variable {name} is not one that the config asks for", source)


def _parts(name):
    return name.replace(".", "/").split("/")


def fold_segments(values, source):
    """Adds the embedding of segment 0 to every position.

    Args:
        values: {our name: array}, with BERT's segment table [at least 1, D].
        source: the file, for errors.

    Returns:
        {our name: array} of a biLM: without that table.

    Raises:
        InputError: the table has another shape or type.
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
    folded = positions.astype("float32") + segments[0].astype("float32")
    return {n: v for n, v in values.items() if n != _SEGMENTS} | {_POSITIONS: folded}


def bert_config(path, activations):
    """The biLM's `ModelConfig` of a BERT's config, as Google or Hugging Face writes it.

    Whether text is lower-cased is the tokenizer's matter there; it is looked up beside the file,
    see `is_lower_cased`.

    Args:
        path: `bert_config.json` or `config.json`.
        activations: `GOOGLE_ACTIVATIONS` or `HUGGINGFACE_ACTIVATIONS`.

    Raises:
        InputError: the file is missing or malformed, or asks for what a biLM does not compute.
    """
    values = read_json_object(path)
    _check_values(values, _MUST_BE, path)
    if missing := [name for name in (*COUNTS, "hidden_act") if name not in values]:
        raise InputError(f"{missing[0]} is missing", path)
    if values["hidden_act"] not in list(activations):
        raise InputError(
            f"hidden_act must be {' or '.join(activations)}, not {values['hidden_act']!r}", path
        )
    known = {name: values[name] for name in (*COUNTS, *_MAY_BE) if name in values}
    try:
        return ModelConfig(
            **known,
            hidden_act=activations[values["hidden_act"]],
            model_type="bilm",
            do_lower_case=is_lower_cased(Path(path).parent),
        )
    except InputError as error:
        raise InputError(error.rule, error.path or path) from None


def is_lower_cased(directory):
    """Whether a BERT's text is lower-cased and its accents stripped.

    `tokenizer_config.json` says it where there is one. Where there is none, the vocabulary
    does: one in which a piece has a capital letter was made of text as it is.

    Args:
        directory: of the checkpoint.

    Raises:
        InputError: `tokenizer_config.json` is malformed, or asks for another tokenizer.
    """
    path, vocabulary = Path(directory) / "tokenizer_config.json", Path(directory) / "vocab.txt"
    values = read_json_object(path) if path.exists() else {}
    _check_values(values, _TOKENIZER_MUST_BE, path)
    lower_case = values.get("do_lower_case")
    if lower_case is None:
        pieces = []
        if vocabulary.is_file():
            pieces = vocabulary.read_text(encoding="utf-8", errors="replace").split("\n")
        lower_case = all(piece == piece.lower() for piece in pieces if not piece.startswith("["))
    _check_values(values, {"strip_accents": (lower_case, None)}, path)  # Ours does both or none.
    return lower_case


def _check_values(values, must_be, path):
    for key, allowed in must_be.items():
        # By identity where it can be: 1 is not true.
        if key in values and not any(
            values[key] is one or (isinstance(one, str) and values[key] == one) for one in allowed
        ):
            rule = " or ".join(json.dumps(one) for one in allowed if one is not None)
            raise InputError(f"{key} must be {rule}, not {json.dumps(values[key])}", path)
