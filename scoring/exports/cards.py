"""README.md of an exported folder: what it is, code that loads it, the model's record, hashes."""

import hashlib
import re
from pathlib import Path
from typing import Any

from tta.names import README
from tta.version import __version__

_HEAD = """---
{metadata}library_name: {library}
---

# {name}

{what}

- Model: `{signature}`
- Parameters: {parameters:,}. Vocabulary: {vocabulary:,} word pieces, {case}.
- Longest input: {length:,} pieces, begin and end included; `long:` says what longer texts become.
- Written by `tta-export` of tta-lm {version}.

{usage}
"""

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

# Metadata of a record that are about its own files.
_OF_FORMAT = re.compile(r"^(?:library_name|pipeline_tag):.*\n", re.MULTILINE)

_BILM = """```python
from transformers import pipeline
fill = pipeline("fill-mask", model=folder)
print(fill("the cat [MASK] on the mat")[0]["token_str"])
```

`tta.load(folder)` scores with it as with the original."""

_CODE = """```python
import torch
from transformers import AutoModelForMaskedLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
batch = tokenizer(["the cat sat on the mat"], return_tensors="pt")
print(model.token_scores(**batch)[:, 1:-1].sum(1))  # natural log
```

`modeling_tta.py` is the model's code; read it before you trust it. The tokenizer also gives
"characters", by which `token_scores` prices unknown words."""

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
    onnx = _ONNX_BILM if config.model_type == "bilm" else _ONNX
    onnx = onnx.replace("PAD", str(vocabulary.pad_id)).replace("MASK", str(vocabulary.mask_id))
    what, usage, library = {
        "onnx": (
            f"A language model of type {config.model_type} for onnxruntime.",
            onnx + _ONNX_INPUTS,
            "onnx",
        ),
        "huggingface": (
            f"A language model of type {config.model_type} for Hugging Face's transformers.",
            _CODE,
            "transformers",
        ),
        "bert": ("A BERT for Hugging Face's transformers.", _BILM, "transformers"),
        "sentence_transformers": (
            f"Sentence vectors ({vectors}) for sentence-transformers.",
            _SENTENCES,
            "sentence-transformers",
        ),
        "static": (f"One vector a word piece ({vectors}).", _STATIC, "model2vec"),
    }[kind]
    parts = dict(part.split(":", 1) for part in lm.signature.split("|")) | _COMPUTES[kind]
    signature = "|".join(f"{name}:{part}" for name, part in parts.items() if part is not None)
    metadata, record = _record(lm.directory)
    head = _HEAD.format(
        metadata=metadata,
        library=library,
        name=lm.name,
        what=what,
        signature=signature,
        parameters=config.num_parameters,
        vocabulary=config.vocab_size,
        case="lower-cased" if config.do_lower_case else "cased",
        length=config.max_position_embeddings,
        version=__version__,
        usage=usage,
    )
    files = sorted(path for path in folder.iterdir() if path.is_file())
    rows = (f"- `{p.name}`: {hashlib.sha256(p.read_bytes()).hexdigest()}\n" for p in files)
    text = head + record + "\n## Files, SHA-256\n\n" + "".join(rows)
    (folder / README).write_text(text, encoding="utf-8")
    return signature


def _record(directory):
    """The metadata of a model's own README.md, and its text as a quotation; "" if it has none.

    It says what the model was trained on and under which license it is. We do not know.
    """
    path = None if directory is None else directory / README
    if path is None or not path.is_file():
        return "", ""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    metadata = ""
    if head := re.match(r"---\n(.*?\n)---\n", text, re.DOTALL):
        metadata, text = _OF_FORMAT.sub("", head[1]), text[head.end() :]
    quoted = "".join(f"> {line}".rstrip() + "\n" for line in text.strip().splitlines())
    return metadata, f"\n## The model's own record\n\n{quoted}"
