"""A folder for Hugging Face's `transformers`: plain BERT for a biLM, else one file of PyTorch."""

from pathlib import Path
from typing import Any

import numpy as np

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.bert import SEGMENT_NAME, original_names
from tta.modeling.formats.huggingface import SAFETENSORS, huggingface_name
from tta.names import CONFIG, VOCABULARY
from tta.scoring.exports import cards
from tta.scoring.exports.cards import Card
from tta.scoring.exports.formats import Export
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

_BILM = """```python
from transformers import pipeline
fill = pipeline("fill-mask", model=folder)
print(fill("the cat [MASK] on the mat")[0]["token_str"])
```

`tta.load(folder)` scores with it as with the original.

`onnx/model.onnx` is for Optimum (`ORTModelForMaskedLM.from_pretrained(folder)`) and transformers.js
(`pipeline("fill-mask", name)`)."""

_CODE = """```python
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
batch = tokenizer(["the cat sat on the mat"], return_tensors="pt")
print(model.token_scores(**batch)[:, 1:-1].sum(1))  # natural log
```

`modeling_tta.py` is the model's code; read it before you trust it. The tokenizer also gives
"characters", by which `token_scores` prices unknown words.

`onnx/model.onnx` gives logits, without prices, in Optimum (`ORTModelForMaskedLM`, with
`trust_remote_code=True`) and transformers.js (`AutoModel`)."""

_ABOUT_CAUSAL = """

The logits at a token predict the next one, so minicons' `IncrementalLMScorer` and the model `hf` of
lm-evaluation-harness read it. It scores text; it was not made to generate any."""


def write(lm: Any, folder: Path, **_: str) -> str:
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
    return cards.write(lm, folder, _bert_card() if is_bert else _card(config))


EXPORT = Export(write)


def _bert_card():
    computes = {"normalizer": "exact", "unknown": "model", "long": "refuse", "engine": "pytorch"}
    return Card(
        what="A BERT for Hugging Face's transformers.",
        usage=_BILM,
        computes=cards.SCORES | computes,
        library="transformers",
        tags=("onnx", "transformers.js"),
        task="fill-mask",
    )


def _card(config):
    is_causal = MODEL_TYPES.load(config.model_type).predicts_next
    return Card(
        what=f"A language model of type {config.model_type} for Hugging Face's transformers.",
        usage=_CODE.replace("MaskedLM", "CausalLM") + _ABOUT_CAUSAL if is_causal else _CODE,
        computes=cards.SCORES | {"long": "window", "engine": "pytorch"},
        library="transformers",
        tags=("custom_code", "onnx", "transformers.js"),
        task=None if is_causal else "fill-mask",  # a causal model reads nothing after the mask
    )


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
