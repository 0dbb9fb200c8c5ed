"""Texts as tokenizers spell them, such as `▁it ▁o pen` or `it &apos;s open`, and their words."""

import html
import re
from collections.abc import Callable, Sequence

# Scripts that are written without blanks: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

# What Moses calls the characters that it escapes, besides the names of HTML.
_MOSES = {"&bar;": "|", "&bra;": "[", "&ket;": "]"}

# GPT-2's vocabulary has a character for each byte.
_OTHERS = iter(range(256, 512))
_BYTES = {chr(b) if b != 32 and chr(b).isprintable() else chr(next(_OTHERS)): b for b in range(256)}


def _remove(token: re.Pattern[str], text: str) -> str:
    """Removes tokens. Texts without blanks get none in their place."""
    parts = list(filter(None, map(str.strip, token.split(text))))
    is_joined = any(map(WITHOUT_BLANKS.search, parts)) and not re.search(r"\s", "".join(parts))
    return ("" if is_joined else " ").join(parts)


def _join(mark: re.Pattern[str], text: str) -> str:
    """Joins pieces with a mark where words begin or end; blanks between pieces mean nothing."""
    joined = "".join(text.split())
    if mark.pattern == "\u0120" and all(c in _BYTES for c in joined):
        return " ".join(bytes(_BYTES[c] for c in joined).decode(errors="replace").split())
    joined = re.sub("(?:<0x[0-9A-F]{2}>)+", _decode, joined)
    return " ".join(mark.sub(" ", joined).split())


def _decode(run: re.Match[str]) -> str:
    """The bytes of SentencePiece."""
    return bytes.fromhex(re.sub("<0x|>", "", run[0])).decode(errors="replace")


def _join_letters(blank: re.Pattern[str], text: str) -> str:
    words = [word.split() for word in blank.split(text)]
    is_spelled = all(len(one) == 1 for word in words for one in word)
    return " ".join(("" if is_spelled else " ").join(word) for word in words if word)


def _unescape(escape: re.Pattern[str], text: str) -> str:
    found = escape.sub(lambda e: _MOSES.get(e[0]) or html.unescape(e[0]), text)
    return text if re.search("[\ud800-\udfff\r\n]", found) else found


# Name; what shows it; the least part of the texts that shows it if it is certain; what undoes it:
# what to write in its place, or a function. In the order in which they are undone.
_ESCAPE = r"&(?:apos|quot|amp|lt|gt|bar|bra|ket|#[0-9]{1,5}|#[xX][0-9a-fA-F]{1,4});"
_Row = tuple[str, str, float, str | Callable[[re.Pattern[str], str], str] | None]
_SPELLINGS: tuple[_Row, ...] = (
    ("control tokens", r"<\|[^|<>\s]{1,40}\|>|\[_[A-Z]+_\w{0,4}\]", 0, _remove),
    (
        "begin, end and padding tokens",
        r"(?i:<(?:/?s|pad|[bse]os|sos/eos|eot|blank|blk|null)>)|\[(?:CLS|SEP|PAD|BOS|EOS|SOS)\]",
        0,
        _remove,
    ),
    (
        "codes of languages",
        r"(?<!\S)(?:__[a-z]{2,3}__|[a-z]{2}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3})(?!\S)",
        0.5,
        _remove,
    ),
    ("letters with <space>", "<space>", 0, _join_letters),
    ("word pieces (\u2581)", "\u2581", 0.5, _join),
    ("word pieces (\u0120)", "\u0120", 0.5, _join),
    ("word pieces (</w>)", "</w>", 0.5, _join),
    ("word pieces (@@)", r"@@(?:\s+|$)|\s@@(?=\w)", 0, ""),
    ("word pieces (##)", r"(?<=\S)\s##(?=\w)", 0, ""),
    ("joined tokens (\uffed)", r"\s?\uffed\s?", 0, ""),
    ("split hyphens (@-@)", r"(?:(?<=\S)\s)?(?<!\S)@([-/,.:\u2013])@(?:\s|$)", 0, r"\1"),
    ("escaped characters (&apos;)", _ESCAPE, 0, _unescape),
    ("unknown words", r"(?i:<unk>)|\[UNK\]|\u2047", 0, None),
)
# Moses escapes these everywhere, or nowhere.
_UNESCAPED = re.compile("['\"]|&(?!#?[a-zA-Z0-9]{1,6};)")


def plain_texts(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Undoes how tokenizers spell texts, where that is certain.

    Returns:
        The texts as words, and a note on each spelling: what was undone, or is read as it is.
    """
    texts, notes = list(texts), list[str]()
    filled = sum(map(bool, texts))
    for name, pattern, share, undo in _SPELLINGS:
        shows = re.compile(pattern)
        places = [i for i, text in enumerate(texts) if shows.search(text)]
        if not places:
            continue
        first = texts[places[0]]
        is_certain = len(places) >= share * filled
        if undo is _unescape:
            is_certain = sum(map(bool, map(_UNESCAPED.search, texts))) <= len(places)
        became = "they count as words"
        if undo is not None and is_certain:
            for i in places:
                new = shows.sub(undo, texts[i]) if isinstance(undo, str) else undo(shows, texts[i])
                texts[i] = new.strip()
            became = f"read as words, {texts[places[0]][:60]!r}, and written back as they were"
        notes.append(
            f"{name} in {len(places):,} of {len(texts):,} texts, first {first[:60]!r}: {became}"
        )
    return texts, notes
