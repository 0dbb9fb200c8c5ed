"""What the files of a BERT say about its tokenizer: only BERT's own is supported.

Texts are read with the vocabulary alone. So a file that names other tokens, or gives them other
roles, is refused.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tta.checked_files import read_json_object
from tta.errors import InputError, shown
from tta.names import TOKENIZER_FILES, TOKENIZER_JSON, VOCABULARY

# Keys of tokenizer_config.json -> the values that we support.
_MUST_BE = {
    "do_lower_case": (True, False),
    "do_basic_tokenize": (True, None),
    "tokenize_chinese_chars": (True, None),
    "clean_text": (True, None),
    "wordpieces_prefix": ("##", None),
    "auto_map": (None,),  # code
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
# The names of padding, unknown, begin, end and mask in a BERT's files, and in those that tta export
# writes of a biLM; and the most characters of a word.
_ROLES = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
_BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
_TTA = ("[PAD]", "[UNK]", "[SOS]", "[EOS]", "[MASK]")
_LONGEST = {_BERT: 100, _TTA: 1000}
# Keys of tokens that are found in texts before these are split.
_FURTHER = ("added_tokens", "added_tokens_decoder", "never_split", "bos_token", "eos_token")
_FURTHER += ("additional_special_tokens", "extra_special_tokens")
_CONFIG, _ADDED, _MAP = TOKENIZER_FILES


def is_lower_cased(directory: Path | str) -> bool:
    """Whether the text of the BERT in a directory is lower-cased and its accents stripped.

    The value is `do_lower_case` in `tokenizer_config.json`, else `lowercase` in `tokenizer.json`.
    Without them, text is lower-cased unless a piece of the vocabulary has a capital letter. Raises
    InputError if a file of the tokenizer is malformed or describes an unsupported tokenizer.
    """
    path, whole = Path(directory) / _CONFIG, Path(directory) / TOKENIZER_JSON
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
    if values.get("tokenizer_class") not in _CLASSES["tokenizer_class"]:
        # Only BERT's own classes change what tokenizer.json says.
        check_values(values, {"do_lower_case": (normalizer.get("lowercase"), None)}, path)
    if lower_case is None:
        lower_case = normalizer.get("lowercase")
    if lower_case is None:
        pieces = _pieces(Path(directory) / VOCABULARY)
        lower_case = all(piece == piece.lower() for piece in pieces if not piece.startswith("["))
    # We strip accents where we lower-case, and only there.
    for values_of, source in ((values, path), (normalizer, whole)):
        check_values(values_of, {"strip_accents": (lower_case, None)}, source)
    return lower_case


def check_tokens(directory: Path | str) -> None:
    """Checks that the tokens in the files of a tokenizer are those of its vocabulary alone.

    Raises InputError if a file is malformed, adds tokens, gives a role to another token, has
    another vocabulary or other long words; or two pairs of tokens may begin and end a text.
    """
    folder = Path(directory)
    paths = [folder / name for name in (*TOKENIZER_FILES, TOKENIZER_JSON)]
    stored = {path.name: read_json_object(path) for path in paths if path.exists()}
    config, whole = stored.get(_CONFIG, {}), stored.get(TOKENIZER_JSON, {})
    model, pieces = whole.get("model"), _pieces(folder / VOCABULARY)
    model = model if isinstance(model, dict) else {}
    listed = model.get("vocab")
    listed = listed if isinstance(listed, dict) else {}
    named = {*pieces, *listed}
    names = _TTA if named.issuperset(_TTA) else _BERT
    if named.issuperset(_BERT + _TTA) and [*_tokens(config.get("cls_token"))] != ["[SOS]"]:
        rule = "its vocabulary has [SOS] and [EOS] beside [CLS] and [SEP]: rename those not in use"
        raise InputError(rule, folder)
    longest = {"max_input_chars_per_word": (_LONGEST[names],)}
    for name, values in stored.items():
        for role, token in zip(_ROLES, names, strict=True):
            stored_token = [*_tokens(values.get(role)), token][0]
            check_values({role: stored_token}, {role: (token,)}, folder / name)
        further = [*values] if name == _ADDED else _tokens([values.get(key) for key in _FURTHER])
        if added := [token for token in further if token not in names]:
            rule = f"it adds tokens to the vocabulary, which is not supported: {shown(added[0])}"
            raise InputError(rule, folder / name)
        check_values(values, longest, folder / name)
    path = folder / TOKENIZER_JSON
    check_values(model, longest | {"unk_token": (names[1],)}, path)
    if pieces and listed and listed != {piece: number for number, piece in enumerate(pieces)}:
        raise InputError(f"its vocabulary differs from {VOCABULARY}", path)
    processor = whole.get("post_processor")
    processor = processor if isinstance(processor, dict) else {}
    around = [*_tokens([processor.get(key) for key in ("cls", "sep", "single")])]
    if around not in ([], [*names[2:4]], [names[2], "A", names[3]]):  # "A" is the text
        rule = f"post_processor must put {names[2]} before a text and {names[3]} after it"
        raise InputError(f"{rule}, not {' '.join(around)}", path)


def _pieces(path):
    """The lines of a vocabulary; none if it is missing."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    return [line.removesuffix("\r") for line in lines if line]


def _tokens(value: Any) -> Iterator[str]:
    """Yields the tokens of a value: files write a token as text, or as an object with more."""
    if isinstance(value, dict):
        value = [value["content"]] if "content" in value else list(value.values())
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _tokens(item)


def check_values(values: Mapping[str, Any], must_be: Mapping[str, Any], path: Path | str) -> None:
    """Raises InputError if a key has another value than those that `must_be` lists for it."""
    for key, allowed in must_be.items():
        # Compared with its type: 1 is not the same as true.
        if key in values and not any(
            type(values[key]) is type(choice) and values[key] == choice for choice in allowed
        ):
            rule = (
                " or ".join(json.dumps(choice) for choice in allowed if choice is not None)
                or "null"
            )
            raise InputError(f"{key} must be {rule}, not {json.dumps(values[key])}", path)
