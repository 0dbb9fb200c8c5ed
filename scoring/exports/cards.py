"""README.md of an exported folder: what it is, ten lines that load it, and hashes of its files."""

import hashlib
from pathlib import Path
from typing import Any

from tta.names import README
from tta.version import __version__

_HEAD = """---
license: apache-2.0
library_name: {library}
---

# {name}

{what}

- Model: `{signature}`
- Parameters: {parameters:,}. Vocabulary: {vocabulary:,} word pieces, {case}.
- Text: the languages of its training text; the models of tta-lm are for English.
- Longest input: {length:,} pieces, begin and end included.
- License: Apache-2.0, code and weights. Written by `tta-export` of tta-lm {version}.

{usage}

## Files, SHA-256

"""

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

`modeling_tta.py` is the model's code; read it before you trust it."""

_ONNX = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
tokenizer.enable_padding(pad_id=PAD)
run = onnxruntime.InferenceSession("scores.onnx").run
rows = tokenizer.encode_batch(["the cat sat on the mat", "a cat"])
ids, padding, special = (
    np.array([getattr(row, name) for row in rows], kind)
    for name, kind in (("ids", "int32"), ("attention_mask", bool), ("special_tokens_mask", bool))
)
inputs = {"input_ids": ids, "padding_mask": padding, "wanted": ~special}
print(run(None, inputs)[0].sum(axis=1))  # natural log
```

`states.onnx` takes the same inputs and gives the last states [B, T, D]."""

_ONNX_BILM = """```python
import numpy as np, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")
run = onnxruntime.InferenceSession("scores.onnx").run
ids = np.array(tokenizer.encode("the cat sat on the mat").ids, np.int32)
positions = np.arange(1, len(ids) - 1)  # without begin and end
rows = np.repeat(ids[None], len(positions), axis=0)
rows[np.arange(len(positions)), positions] = MASK
inputs = {"input_ids": rows, "padding_mask": np.ones(rows.shape, bool)}
inputs |= {"positions": positions, "targets": ids[positions]}
print(run(None, inputs)[0].sum())  # natural log
```

`states.onnx` takes "input_ids", "padding_mask" and "wanted" [B, T] bool: the last states."""

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


def write(lm: Any, folder: Path, kind: str, vectors: str = "") -> None:
    """Writes README.md of a folder whose other files are complete.

    Args:
        lm: the exported `TextModel`.
        folder: the folder.
        kind: the format.
        vectors: representation and pooling, if the folder gives sentence vectors.
    """
    config = lm.config
    onnx = _ONNX_BILM if config.model_type == "bilm" else _ONNX
    vocabulary = lm.tokenizer.vocabulary
    onnx = onnx.replace("PAD", str(vocabulary.pad_id)).replace("MASK", str(vocabulary.mask_id))
    what, usage, library = {
        "onnx": (f"A language model of type {config.model_type} for onnxruntime.", onnx, "onnx"),
        "huggingface": (
            f"A language model of type {config.model_type} for Hugging Face's transformers.",
            _BILM if config.model_type == "bilm" else _CODE,
            "transformers",
        ),
        "sentence_transformers": (
            f"Sentence vectors ({vectors}) for sentence-transformers.",
            _SENTENCES,
            "sentence-transformers",
        ),
        "static": (f"One vector a word piece ({vectors}).", _STATIC, "model2vec"),
    }[kind]
    head = _HEAD.format(
        library=library,
        name=lm.name,
        what=what,
        signature=lm.signature,
        parameters=config.num_parameters,
        vocabulary=config.vocab_size,
        case="lower-cased" if config.do_lower_case else "cased",
        length=config.max_position_embeddings,
        version=__version__,
        usage=usage,
    )
    files = sorted(path for path in folder.iterdir() if path.is_file())
    rows = (f"- `{p.name}`: {hashlib.sha256(p.read_bytes()).hexdigest()}\n" for p in files)
    (folder / README).write_text(head + "".join(rows), encoding="utf-8")
