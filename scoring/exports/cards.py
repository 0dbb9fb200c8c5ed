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
    what, usage, library = {
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
