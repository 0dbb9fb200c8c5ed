"""Texts as tokenizers spell them, such as `▁it ▁o pen` or `it &apos;s open`, and their words."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Scripts that are written without blanks: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

# What Moses calls the characters that it escapes, besides the names of HTML.
_MOSES = {"&bar;": "|", "&bra;": "[", "&ket;": "]"}


@dataclass(frozen=True)
class Spelling:
    """A way in which tokenizers spell texts.

    Attributes:
        name: what a note calls it.
        pattern: what shows it.
        undo: turns a text with the pattern into words; None if nothing is to be undone.
        unless: it is not certain if more texts match this than `pattern`.
        share: the least part of the texts that shows it where it is certain.
    """

    name: str
    pattern: re.Pattern[str]
    undo: Callable[[str], str] | None
    unless: str | None = None
    share: float = 0.0


def _removed(name: str, pattern: str, share: float = 0.0) -> Spelling:
    """Tokens that are no part of the text. Texts without blanks get none in their place."""
    token = re.compile(pattern)

    def undo(text):
        parts = list(filter(None, (part.strip() for part in token.split(text))))
        is_joined = any(map(WITHOUT_BLANKS.search, parts)) and not re.search(r"\s", "".join(parts))
        return ("" if is_joined else " ").join(parts)

    return Spelling(name, token, undo, share=share)


def _replaced(name: str, pattern: str, by: str, **options) -> Spelling:
    """Marks that are replaced where they are."""
    mark = re.compile(pattern)
    return Spelling(name, mark, lambda text: mark.sub(by, text).strip(), **options)


def _joined(name: str, mark: str, decode: Callable[[str], str] = str) -> Spelling:
    """Pieces with a mark where words begin or end; blanks between pieces mean nothing."""

    def undo(text):
        return " ".join(decode("".join(text.split())).replace(mark, " ").split())

    return Spelling(name, re.compile(re.escape(mark)), undo, share=0.5)


def _of_bytes(text: str) -> str:
    """Decodes a text in which a character stands for each byte, as in GPT-2's vocabulary."""
    try:
        return bytes(_BYTES[c] for c in text).decode().replace(" ", "\u0120")
    except (KeyError, UnicodeDecodeError):
        return text


def _fallback(text: str) -> str:
    """Decodes the bytes of SentencePiece, `<0xE2><0x82><0xAC>`."""
    return re.sub(
        r"(?:<0x[0-9A-F]{2}>)+",
        lambda found: bytes.fromhex(re.sub("<0x|>", "", found[0])).decode(errors="replace"),
        text,
    )


def _letters(text: str) -> str:
    """`t h e <space> c a t` or `the<space>cat`: single characters are joined."""
    words = text.split("<space>")
    if all(len(one) == 1 for word in words for one in word.split()):
        words = ["".join(word.split()) for word in words]
    return " ".join(" ".join(words).split())


_OTHERS = iter(range(256, 512))
_BYTES = {chr(b) if chr(b).isprintable() and b != 32 else chr(next(_OTHERS)): b for b in range(256)}

# In the order in which they are undone.
SPELLINGS = (
    _removed("control tokens", r"<\|[^|<>\s]{1,40}\|>|\[_[A-Z]+_\w{0,4}\]"),
    _removed(
        "begin, end and padding tokens",
        r"(?i:<(?:/?s|pad|[bse]os|sos/eos|eot|blank|blk|null)>)|\[(?:CLS|SEP|PAD|BOS|EOS|SOS)\]",
    ),
    _removed(
        "codes of languages",
        r"(?<!\S)(?:__[a-z]{2,3}__|[a-z]{2}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3})(?!\S)",
        0.5,
    ),
    Spelling("letters with <space>", re.compile("<space>"), _letters),
    _joined("word pieces (\u2581)", "\u2581", _fallback),
    _joined("word pieces (\u0120)", "\u0120", _of_bytes),
    _joined("word pieces (</w>)", "</w>"),
    _replaced("word pieces (@@)", r"@@(?:\s+|$)|\s@@(?=\w)", ""),
    _replaced("word pieces (##)", r"(?<=\S)\s##(?=\w)", ""),
    _replaced("joined tokens (\uffed)", r"\s?\uffed\s?", ""),
    _replaced("split hyphens (@-@)", r"(?:(?<=\S)\s)?(?<!\S)@([-/,.:\u2013])@(?:\s|$)", r"\1"),
    Spelling(
        "escaped characters (&apos;)",
        re.compile(r"&(?:apos|quot|amp|lt|gt|bar|bra|ket|#[0-9]{1,5}|#[xX][0-9a-fA-F]{1,4});"),
        lambda text: re.sub(r"&[#\w]{2,6};", lambda e: _MOSES.get(e[0]) or _unescape(e[0]), text),
        unless="['\"]|&(?!#?[a-zA-Z0-9]{1,6};)",
    ),
    Spelling("unknown words", re.compile(r"(?i:<unk>)|\[UNK\]|\u2047"), None),
)


def _unescape(reference):
    text = html.unescape(reference)
    return reference if re.search("[\ud800-\udfff\r\n]", text) else text


def plain_texts(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Undoes how tokenizers spell texts, where that is certain.

    Returns:
        The texts as words, and a note on each spelling: what was undone, or is read as it is.
    """
    texts, notes = list(texts), list[str]()
    filled = sum(map(bool, texts))
    for one in SPELLINGS:
        places = [i for i, text in enumerate(texts) if one.pattern.search(text)]
        if not places:
            continue
        others = sum(bool(re.search(one.unless, text)) for text in texts) if one.unless else 0
        is_certain = len(places) >= one.share * filled and others <= len(places)
        example = _shortened(texts[places[0]])
        if one.undo and is_certain:
            for i in places:
                texts[i] = one.undo(texts[i])
            became = f"read as words, {_shortened(texts[places[0]])}, and written back as they were"
        else:
            became = "not undone: they count as words"
        notes.append(
            f"{one.name} in {len(places):,} of {len(texts):,} texts, first {example}: {became}"
        )
    return texts, notes


def _shortened(text):
    return repr(text if len(text) <= 60 else f"{text[:57]}...")
