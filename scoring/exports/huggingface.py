"""A folder for Hugging Face's `transformers`: plain BERT for a biLM, else one file of PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.bert import SEGMENT_NAME, original_names
from tta.modeling.formats.huggingface import SAFETENSORS, huggingface_name
from tta.names import CONFIG, VOCABULARY
from tta.scoring.exports import cards
from tta.scoring.exports.onnx_graphs import write_logits
from tta.scoring.exports.weights import (
    character_prices,
    copy_code,
    torch_settings,
    torch_weights,
    write_json,
    write_tensors,
    write_tokenizer,
)

_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}
_AUTO = {
    "AutoConfig": "modeling_tta.TTAConfig",
    "AutoModel": "modeling_tta.TTAModel",
    "AutoModelForMaskedLM": "modeling_tta.TTAForMaskedLM",
}
_CAUSAL = {"AutoModelForCausalLM": "modeling_tta.TTAForCausalLM"}


def write(lm: Any, folder: Path) -> str:
    """Writes weights, config, tokenizer, model card, and `onnx/model.onnx` for other runtimes.

    A biLM needs no code of ours: `BertForMaskedLM.from_pretrained(folder)`, and `tta.load(folder)`.
    The others are loaded with `trust_remote_code=True`.
    """
    config, vocabulary = lm.config, lm.tokenizer.vocabulary
    is_bert = config.model_type == "bilm"
    tokenizer = None if is_bert else "modeling_tta.TTATokenizer"
    write_tokenizer(lm.tokenizer, folder, config.max_position_embeddings, tokenizer)
    if is_bert:
        _write_bert(lm, config, folder)
    else:
        copy_code(config, folder)
        prices = character_prices(lm)
        write_tensors(folder / SAFETENSORS, torch_weights(lm) | {"prices": prices})
        values = {"model_type": "tta", "architectures": ["TTAForMaskedLM"], "auto_map": _AUTO}
        if MODEL_TYPES.load(config.model_type).predicts_next:
            values |= {"architectures": ["TTAForCausalLM"], "auto_map": _AUTO | _CAUSAL}
            values["use_cache"] = False  # of `generate`
        values |= {"dtype": "float32", "pad_token_id": vocabulary.pad_id}
        values |= {"unk_token_id": vocabulary.unk_id, "normalizes": lm.normalizer == "exact"}
        values |= {"num_prices": len(prices)}
        write_json(folder / CONFIG, torch_settings(config) | values)
    write_logits(lm, folder / "onnx/model.onnx")
    return cards.write(lm, folder, "bert" if is_bert else "huggingface")


def _write_bert(lm, config, folder):
    weights = lm.engine.weights()
    values = {}
    for ours, theirs in original_names(config.num_hidden_layers).items():
        value = weights[ours].T if ours.endswith("kernel") else weights[ours]
        values[huggingface_name(theirs)] = np.ascontiguousarray(value)
    segments = np.zeros((1, config.hidden_size), np.float32)  # BERT adds one at every position
    values[huggingface_name(SEGMENT_NAME)] = segments
    write_tensors(folder / SAFETENSORS, values)
    lm.tokenizer.vocabulary.save(folder / VOCABULARY)
    names = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads")
    names += ("intermediate_size", "max_position_embeddings", "layer_norm_eps")
    names += ("initializer_range", "hidden_dropout_prob", "attention_probs_dropout_prob")
    write_json(
        folder / CONFIG,
        {
            "model_type": "bert",
            "architectures": ["BertForMaskedLM"],
            "dtype": "float32",
            **{name: getattr(config, name) for name in names},
            "hidden_act": _ACTIVATIONS[config.hidden_act],
            "type_vocab_size": 1,
            "pad_token_id": lm.tokenizer.vocabulary.pad_id,
            "tie_word_embeddings": True,
            # For tta.load: how text was read.
            "normalization": config.normalization,
            "do_lower_case": config.do_lower_case,
            "unknown_price": config.unknown_price,
        },
    )
