"""README.md of an exported folder: what it is, code that loads it, the model's record, hashes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

# Parts of a signature: of scores, and of vectors. None is not part of what a folder computes.
_FLOAT = {"precision": "float32", "ranges": None}
SCORES = _FLOAT | {"boundary_tokens": "no"}
VECTORS = _FLOAT | dict.fromkeys(("pll", "normalizer", "boundary_tokens", "unknown", "log"))

# Metadata of a record that are about its own files, and its tags.
_OF_FORMAT = re.compile(r"^(?:library_name|pipeline_tag|widget):.*\n(?:[ \t-].*\n)*", re.MULTILINE)
_TAGS = re.compile(r"^tags:(.*\n(?:[ \t-].*\n)*)", re.MULTILINE)
_LIBRARIES = {"pytorch", "tf", "tensorflow", "jax", "flax", "rust", "keras", "onnx", "coreml"}
_LIBRARIES |= {"openvino", "safetensors", "transformers", "transformers.js", "custom_code"}


@dataclass(frozen=True)
class Card:
    """What README.md says of a format.

    Attributes:
        what: one sentence: what the folder is.
        usage: code that loads it, and remarks.
        computes: the parts of the signature that are the format's; None removes one.
        library: that loads it.
        tags: on the Hub.
        task: on the Hub.
    """

    what: str
    usage: str
    computes: Mapping[str, str | None]
    library: str
    tags: tuple[str, ...]
    task: str | None = None


def write(lm: Any, folder: Path, card: Card) -> str:
    """Writes README.md of a folder whose other files are complete; `lm` is the exported model.

    Returns the signature of what the folder computes, in the form of `lm.signature`.
    """
    config = lm.config
    parts = dict(part.split(":", 1) for part in lm.signature.split("|")) | dict(card.computes)
    parts = {name: part for name, part in parts.items() if part is not None}
    signature = "|".join(f"{name}:{part}" for name, part in parts.items())
    metadata, record = ("", "") if lm.directory is None else read_readme(lm.directory)
    head = _HEAD.format(
        metadata=_metadata(metadata, card, config.model_type),
        name=lm.name,
        what=card.what,
        signature=signature,
        parameters=config.num_parameters,
        vocabulary=config.vocab_size,
        case="lower-cased" if config.do_lower_case else "cased",
        longest=_LONGEST.format(config.max_position_embeddings) if "long" in parts else "",
        version=__version__,
        usage=card.usage,
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


def _metadata(record, card, family):
    """The metadata of a model's own README.md, with those of a format in place of its own.

    The license and the language come from the record alone.
    """
    match = _TAGS.search(record)
    theirs = re.findall(r"[^\s\[\],'\"-][^\n\[\],'\"]*", match[1]) if match else []
    theirs = [tag.strip() for tag in theirs if tag.strip().lower() not in _LIBRARIES]
    tags = dict.fromkeys([*theirs, "tta-lm", family, *card.tags])
    record = _OF_FORMAT.sub("", _TAGS.sub("", record))
    task = [f"pipeline_tag: {card.task}"] if card.task else []
    lines = ["tags:", *(f"- {tag}" for tag in tags), *task]
    return record + "\n".join([*lines, f"library_name: {card.library}", ""])
