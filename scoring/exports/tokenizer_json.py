"""`tokenizer.json`: a model's tokenizer as one object of Hugging Face's package `tokenizers`."""

import sys
import unicodedata
from functools import cache
from pathlib import Path

from tokenizers import AddedToken, Regex, normalizers
from tokenizers import Tokenizer as Pipeline
from tokenizers.processors import TemplateProcessing

from tta.data.vocabulary.normalization import FoldedCharacters, bert_normalizer
from tta.data.vocabulary.tokenizer import Tokenizer, word_piece_pipeline
from tta.names import TOKENIZER_JSON


def whole_tokenizer(tokenizer: Tokenizer, boundary_tokens: bool = True) -> Pipeline:
    """The tokenizer of a model, which also folds characters and adds the begin and end token.

    Its ids are those of `Tokenizer.encode`, but for "[MASK]" in a text: here, it is the mask token,
    as others expect.

    Args:
        tokenizer: of word pieces.
        boundary_tokens: whether to add the begin and end token, one more end token between pairs.
    """
    vocabulary = tokenizer.vocabulary
    begin, end = vocabulary.tokens[vocabulary.bos_id], vocabulary.tokens[vocabulary.eos_id]
    pipeline = word_piece_pipeline(vocabulary, _normalizer(tokenizer))
    if boundary_tokens:
        pipeline.post_processor = TemplateProcessing(
            single=f"{begin} $A {end}",
            pair=f"{begin} $A {end} $B:1 {end}:1",
            special_tokens=[(begin, vocabulary.bos_id), (end, vocabulary.eos_id)],
        )
    pipeline.add_special_tokens([AddedToken(vocabulary.tokens[vocabulary.mask_id], special=True)])
    return pipeline


def save_tokenizer(pipeline: Pipeline, folder: Path) -> None:
    """Writes `tokenizer.json`. (The package's own `save` raises no OSError on a full disk.)"""
    (folder / TOKENIZER_JSON).write_text(pipeline.to_str(pretty=True), encoding="utf-8")


def special_tokens(tokenizer: Tokenizer) -> list[str]:
    """Padding, begin, end and mask token. (A library would find an unknown token in texts.)"""
    ids = tokenizer.vocabulary
    return [ids.tokens[n] for n in (ids.pad_id, ids.bos_id, ids.eos_id, ids.mask_id)]


def _normalizer(tokenizer):
    as_bert = bert_normalizer(tokenizer.lower_case, tokenizer.normalization)
    if tokenizer.normalization != "nfkc":
        return as_bert
    folds = [normalizers.NFKC(), normalizers.Lowercase(), normalizers.NFKC()]
    folds = folds if tokenizer.lower_case else []
    rules = _rules(tokenizer.lower_case)
    return normalizers.Sequence([*rules, *folds, as_bert])


@cache
def _rules(lower_case):
    """What `FoldedCharacters` does to single characters and the package's normalizers do not."""
    as_bert, table = bert_normalizer(lower_case), FoldedCharacters(lower_case)
    parts = [normalizers.NFKC(), normalizers.Lowercase(), normalizers.NFKC()] if lower_case else []
    theirs = normalizers.Sequence([*parts, as_bert])
    characters: dict[str, list[str]] = {}  # what it becomes -> the characters
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if unicodedata.category(character) in ("Cs", "Cn", "Co") or character in "\t\n\r ":
            continue
        folded = character.translate(table)
        if folded == character and character.isascii():
            continue
        expected = as_bert.normalize_str(f"a{folded}b")
        if expected != theirs.normalize_str(f"a{character}b"):
            characters.setdefault(folded, []).append(f"\\x{{{code:x}}}")
    return [
        normalizers.Replace(Regex(f"[{''.join(originals)}]"), folded)
        for folded, originals in characters.items()
    ]
