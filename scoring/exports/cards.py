"""README.md of an exported folder: what it is, code that loads it, the model's record, hashes."""

import hashlib
import re
from pathlib import Path
from typing import Any

from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.readme import read_readme
from tta.names import README
from tta.version import __version__

_HEAD = """---
{metadata}---

# {name}

{what}

- Model: `{signature}`
- The model has {parameters:,} parameters and {vocabulary:,} word pieces, {case}.
{longest}- Written by `tta export` of tta-lm {version}.

{usage}
"""

_LONGEST = (
    "- Longest input: {:,} pieces, begin and end included; `long:` says what longer texts become.\n"
)

# The parts of a signature that are the format's. None is not part of what it computes.
_FLOAT = {"precision": "float32"}
_SCORES = _FLOAT | {"boundary_tokens": "no"}
_VECTORS = _FLOAT | dict.fromkeys(("pll", "normalizer", "boundary_tokens", "unknown", "log"))
_COMPUTES: dict[str, dict[str, str | None]] = {
    "onnx": _SCORES | {"long": "cut", "engine": "onnxruntime"},
    "huggingface": _SCORES | {"long": "window", "engine": "pytorch"},
    "bert": _SCORES
    | {"normalizer": "exact", "unknown": "model", "long": "refuse", "engine": "pytorch"},
    "sentence_transformers": _VECTORS | {"long": "cut", "engine": "pytorch"},
    "static": _VECTORS | {"long": None, "engine": None},
}

# Metadata of a record that are about its own files, and its tags.
_OF_FORMAT = re.compile(r"^(?:library_name|pipeline_tag|widget):.*\n(?:[ \t-].*\n)*", re.MULTILINE)
_TAGS = re.compile(r"^tags:(.*\n(?:[ \t-].*\n)*)", re.MULTILINE)
_LIBRARIES = {"pytorch", "tf", "tensorflow", "jax", "flax", "rust", "keras", "onnx", "coreml"}
_LIBRARIES |= {"openvino", "safetensors", "transformers", "transformers.js", "custom_code"}

# Of a format: its library, its task on the Hub, and tags.
_HUB: dict[str, tuple[str, str | None, tuple[str, ...]]] = {
    "onnx": ("onnx", None, ("onnx",)),
    "huggingface": ("transformers", "fill-mask", ("custom_code", "onnx", "transformers.js")),
    "bert": ("transformers", "fill-mask", ("onnx", "transformers.js")),
    "sentence_transformers": (
        "sentence-transformers",
        "sentence-similarity",
        ("feature-extraction", "custom_code"),
    ),
    "static": ("model2vec", "sentence-similarity", ("feature-extraction", "static-embeddings")),
}

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

_CAUSAL = """

The logits at a token predict the next one, so minicons' `IncrementalLMScorer` and the model `hf` of
lm-evaluation-harness read it. It scores text; it was not made to generate any."""

_ONNX = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
tokenizer.enable_padding(pad_id=PAD)
run, read = onnxruntime.InferenceSession("scores.onnx").run, tokenizer.normalizer.normalize_str
texts = ["the cat sat on the mat", "a cat"]
rows = tokenizer.encode_batch(texts)
words = np.array([[read(text[a:b]) for a, b in row.offsets] for row, text in zip(rows, texts)])
ids = np.array([row.ids for row in rows], "int32")
inputs = {"input_ids": ids, "padding_mask": np.array([row.attention_mask for row in rows], bool)}
inputs["wanted"] = ~np.array([row.special_tokens_mask for row in rows], bool)
inputs["characters"] = words.view("int32").reshape(*ids.shape, -1)
print(run(None, inputs)[0].sum(axis=1))  # natural log
```
"""

_ONNX_BILM = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
run, text = onnxruntime.InferenceSession("scores.onnx").run, "the cat sat on the mat"
row, read = tokenizer.encode(text), tokenizer.normalizer.normalize_str
ids, positions = np.array(row.ids, "int32"), np.arange(1, len(row.ids) - 1)  # no begin, no end
words = np.array([read(text[a:b]) for a, b in row.offsets])
masked = np.repeat(ids[None], len(positions), axis=0)
masked[np.arange(len(positions)), positions] = MASK
inputs = {"input_ids": masked, "padding_mask": np.ones(masked.shape, bool)}
inputs |= {"positions": positions, "targets": ids[positions]}
inputs["characters"] = words.view("int32").reshape(len(ids), -1)[positions]
print(run(None, inputs)[0].sum())  # natural log
```
"""

_ONNX_INPUTS = """
"characters" are the code points of each token, normalized and padded with 0. An unknown word pays a
price for each. `tokenizer.json` cuts long texts. `states.onnx` takes "input_ids", "padding_mask"
and "wanted" [B, T] bool, and gives the last states [B, T, D]."""

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


def write(lm: Any, folder: Path, kind: str, vectors: str = "") -> str:
    """Writes README.md of a folder whose other files are complete.

    Returns the signature of what the folder computes, in the form of `lm.signature`.

    Args:
        lm: the exported `TextModel`.
        folder: of the export.
        kind: the format, "bert" for a biLM in that of Hugging Face.
        vectors: representation and pooling, if the folder gives sentence vectors.
    """
    config, vocabulary = lm.config, lm.tokenizer.vocabulary
    family = MODEL_TYPES.load(config.model_type)
    causal = family.predicts_next
    onnx = _ONNX_BILM if family.masks_tokens("original") else _ONNX
    onnx = onnx.replace("PAD", str(vocabulary.pad_id)).replace("MASK", str(vocabulary.mask_id))
    what, usage = {
        "onnx": (
            f"A language model of type {config.model_type} for onnxruntime.",
            onnx + _ONNX_INPUTS,
        ),
        "huggingface": (
            f"A language model of type {config.model_type} for Hugging Face's transformers.",
            _CODE.replace("MaskedLM", "CausalLM") + _CAUSAL if causal else _CODE,
        ),
        "bert": ("A BERT for Hugging Face's transformers.", _BILM),
        "sentence_transformers": (
            f"Sentence vectors ({vectors}) for sentence-transformers.",
            _SENTENCES,
        ),
        "static": (f"One vector a word piece ({vectors}).", _STATIC),
    }[kind]
    parts = dict(part.split(":", 1) for part in lm.signature.split("|")) | _COMPUTES[kind]
    parts = {name: part for name, part in parts.items() if part is not None}
    signature = "|".join(f"{name}:{part}" for name, part in parts.items())
    metadata, record = ("", "") if lm.directory is None else read_readme(lm.directory)
    head = _HEAD.format(
        metadata=_metadata(metadata, kind, config.model_type),
        name=lm.name,
        what=what,
        signature=signature,
        parameters=config.num_parameters,
        vocabulary=config.vocab_size,
        case="lower-cased" if config.do_lower_case else "cased",
        longest=_LONGEST.format(config.max_position_embeddings) if "long" in parts else "",
        version=__version__,
        usage=usage,
    )
    if record:  # what the model was trained on, and its figures, which we do not know
        quoted = (f"> {line}".rstrip() + "\n" for line in record.splitlines())
        head += f"\n## The model's own record\n\n{''.join(quoted)}"
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.*")}
    digests = ((n, hashlib.sha256(files[n].read_bytes()).hexdigest()) for n in sorted(files))
    text = "".join(f"- `{name}`: {digest}\n" for name, digest in digests)
    text = f"{head}\n## Files, SHA-256\n\n{text}"
    (folder / README).write_text(text, encoding="utf-8")
    return signature


def _metadata(record, kind, family):
    """The metadata of a model's own README.md, with those of a format in place of its own.

    The license and the language come from the record alone.
    """
    library, task, tags = _HUB[kind]
    # A causal model reads nothing after the mask.
    if MODEL_TYPES.load(family).predicts_next and task == "fill-mask":
        task = None
    found = _TAGS.search(record)
    theirs = re.findall(r"[^\s\[\],'\"-][^\n\[\],'\"]*", found[1]) if found else []
    theirs = [tag.strip() for tag in theirs if tag.strip().lower() not in _LIBRARIES]
    tags = dict.fromkeys([*theirs, "tta-lm", family, *tags])
    record = _OF_FORMAT.sub("", _TAGS.sub("", record))
    lines = ["tags:", *(f"- {tag}" for tag in tags), *([f"pipeline_tag: {task}"] if task else [])]
    return record + "\n".join([*lines, f"library_name: {library}", ""])
