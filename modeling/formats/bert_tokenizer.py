"""What the files of a BERT say about its tokenizer: only BERT's own is supported."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tta.checked_files import read_json_object
from tta.errors import InputError
from tta.names import TOKENIZER_JSON, VOCABULARY

# Keys of tokenizer_config.json -> the values that we support.
_MUST_BE = {
    "do_lower_case": (True, False),
    "do_basic_tokenize": (True, None),
    "tokenize_chinese_chars": (True, None),
}
_CLASSES = {"tokenizer_class": ("BertTokenizer", "BertTokenizerFast", None)}
# The same for the parts of tokenizer.json. Then the name of the class does not matter.
_PARTS = {
    "model": {"type": ("WordPiece",), "continuing_subword_prefix": ("##",)},
    "normalizer": {
        "type": ("BertNormalizer",),
        "clean_text": (True,),
        "handle_chinese_chars": (True,),
    },
    "pre_tokenizer": {"type": ("BertPreTokenizer",)},
}


def is_lower_cased(directory: Path | str) -> bool:
    """Whether the text of the BERT in a directory is lower-cased and its accents stripped.

    The value is `do_lower_case` in `tokenizer_config.json`, else `lowercase` in `tokenizer.json`.
    Without them, text is lower-cased unless a piece of the vocabulary has a capital letter.

    Raises:
        InputError: a file of the tokenizer is malformed or describes an unsupported tokenizer.
    """
    path, whole = Path(directory) / "tokenizer_config.json", Path(directory) / TOKENIZER_JSON
    values = read_json_object(path) if path.exists() else {}
    check_values(values, _MUST_BE, path)
    lower_case, normalizer = values.get("do_lower_case"), {}
    if whole.exists():
        parts = read_json_object(whole)
        for name, must_be in _PARTS.items():
            part = parts.get(name)
            check_values({"type": None} | (part if isinstance(part, dict) else {}), must_be, whole)
        normalizer = parts["normalizer"]
        check_values(normalizer, {"lowercase": (True, False)}, whole)
    else:
        check_values(values, _CLASSES, path)
    if lower_case is None:
        lower_case = normalizer.get("lowercase")
    if lower_case is None:
        vocabulary, pieces = Path(directory) / VOCABULARY, []
        if vocabulary.is_file():
            pieces = vocabulary.read_text(encoding="utf-8", errors="replace").split("\n")
        lower_case = all(piece == piece.lower() for piece in pieces if not piece.startswith("["))
    # We strip accents where we lower-case, and only there.
    for values_of, source in ((values, path), (normalizer, whole)):
        check_values(values_of, {"strip_accents": (lower_case, None)}, source)
    return lower_case


def check_values(values: Mapping[str, Any], must_be: Mapping[str, Any], path: Path | str) -> None:
    """Raises InputError if a key has another value than those that `must_be` lists for it."""
    for key, allowed in must_be.items():
        # Compared by identity, except for strings: 1 is not the same as true.
        if key in values and not any(
            values[key] is one or (isinstance(one, str) and values[key] == one) for one in allowed
        ):
            rule = " or ".join(json.dumps(one) for one in allowed if one is not None)
            raise InputError(f"{key} must be {rule}, not {json.dumps(values[key])}", path)
