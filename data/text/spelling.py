"""From texts as tokenizers write them, such as `▁it ▁o pen` or `it &apos;s open`, to words."""

import contextlib
import html
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

# Scripts that are written without blanks: Thai, Lao, Burmese, Khmer, Japanese, Chinese.
WITHOUT_BLANKS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")

# What recognisers write where no word was spoken. The scoring of Kaldi's recipes and of Sphinx
# removes it, too. Two tags stand for sounds that fit no word of the lexicon: Kaldi's <UNK>, which
# its recipes remove, and Vosk's [unk]. <unk> is a word that a tokenizer cannot spell, and counts.
# Tags that stand for words, such as [inaudible] and [laughter-yes], count as well. The expressions
# are RE2's, too, for exported graphs: they have no look-around.
_SOUNDS = (
    r"eps|sil|silence|blank_audio|(?:(?:spoken|vocalized|voc|background|human|breath)[-_ ]?)?noise|"
    r"spn|nsn|laugh(?:s|ter|ing)?|cough(?:s|ing)?|breath(?:s|ing)?|sneez(?:es?|ing)|sighs?|"
    r"(?:lip[-_ ]?)?smacks?|inhale|exhale|throat|click|hes|hesitation|music|applause|garbage"
)
NON_WORD_TAGS = rf"(?i:</?(?:{_SOUNDS})/?>|\[ ?(?:{_SOUNDS}) ?\]|\{{(?:{_SOUNDS})\}})|<UNK>|\[unk\]"
# Between blanks: Kaldi, IBM, SRILM, Sphinx, HTK.
NON_WORDS = (
    rf"(?i:!sil|%hesitation|-pau-|\+(?:{_SOUNDS})\+|\+\+[a-z_]{{2,}}\+\+)"
    r"|!(?:NULL|ENTER|EXIT)|SENT-(?:START|END)"
)
# Silence where all other words are capitals, or none is: so recognisers write. Elsewhere it may be
# a name. In small letters it is a word of several languages.
SILENCE = "SIL"

# Moses's names of characters, besides those of HTML.
_MOSES = {"&bar;": "|", "&bra;": "[", "&ket;": "]"}

# GPT-2 writes each byte as a printable character: itself, or one of those from U+0100 on.
_OTHERS = iter(range(256, 512))
_BYTES = {chr(b) if b != 32 and chr(b).isprintable() else chr(next(_OTHERS)): b for b in range(256)}


def _remove(token: re.Pattern[str], text: str) -> str:
    """Removes tokens; blanks take their place, unless the text has none."""
    parts = list(filter(None, map(str.strip, token.split(text))))
    is_joined = any(map(WITHOUT_BLANKS.search, parts)) and not re.search(r"\s", "".join(parts))
    return ("" if is_joined else " ").join(parts)


def _leave_out(token: re.Pattern[str], text: str) -> str:
    """Removes what is no word. Blanks stay as they are between the words."""
    blank = "" if WITHOUT_BLANKS.search(text) else " "
    return " ".join(token.sub(blank, text).split())


def _join(mark: re.Pattern[str], text: str) -> str:
    """Joins pieces: only a mark separates words. An unknown piece is a word, as when decoded."""
    joined = "".join(text.split())
    if mark.pattern == "\u0120" and all(c in _BYTES for c in joined):
        with contextlib.suppress(UnicodeDecodeError):  # the bytes had been decoded before
            joined = bytes(_BYTES[c] for c in joined).decode().replace(" ", mark.pattern)
    joined = re.sub("(?:<0x[0-9A-F]{2}>)+", _decode, joined)
    joined = re.sub(r"(?i)<unk>|\u2047", r" \g<0> ", joined)
    return " ".join(mark.sub(" ", joined).split())


def _decode(run: re.Match[str]) -> str:
    """The text of bytes such as `<0xE2><0x82><0xAC>`, SentencePiece's form of rare characters."""
    return bytes.fromhex(re.sub("<0x|>", "", run[0])).decode(errors="replace")


def _join_letters(blank: re.Pattern[str], text: str) -> str:
    """Joins the letters between two blanks, unless they are words already."""
    words = [word.split() for word in blank.split(text)]
    are_letters = all(len(part) == 1 for word in words for part in word)
    return " ".join(("" if are_letters else " ").join(word) for word in words if word)


def _unescape(escape: re.Pattern[str], text: str) -> str:
    unescaped = escape.sub(lambda match: _MOSES.get(match[0]) or html.unescape(match[0]), text)
    return re.sub(r"[\r\n]", " ", unescaped)


class _Spelling(NamedTuple):
    name: str  # in notes
    pattern: str  # matches what only texts in this spelling contain
    # What replaces a match, or a function of pattern and text; None leaves the text as it is.
    undo: str | Callable[[re.Pattern[str], str], str] | None
    share: float = 0  # the spelling is undone if at least this share of the texts has a match
    one_case: bool = False  # and if the rest of the texts is all in capitals, or without them


# They are undone in this order.
_SPELLINGS = (
    _Spelling("words that are none", NON_WORD_TAGS, _leave_out),
    # Whisper, SenseVoice and chat models; whisper.cpp; OWSM
    _Spelling(
        "control tokens",
        r"<\|[^|<>\s]{1,40}\|>|\[_[A-Z]+_\w{0,4}\]|<(?:asr|st_[a-z]{3}|notimestamps|[0-9]+\.[0-9]+)>",
        _remove,
    ),
    _Spelling(
        "begin, end and padding tokens",
        r"(?i:<(?:pad|[bse]os|sos/eos|eot|blank|blk)>)|\[(?:CLS|SEP|PAD|BOS|EOS|SOS)\]",
        _remove,
    ),
    # Elsewhere they strike text out, in HTML.
    _Spelling(
        "begin and end tokens (<s>)", r"(?i)\A(?:\s*</?s>)+|(?<![>\s])\s*(?:</?s>\s*)+\Z", _remove
    ),
    # NLLB, mBART, M2M-100; OWSM and other recognisers of several languages
    _Spelling(
        "codes of languages",
        r"\A(?:__[a-z]{2,3}__|[a-z]{2}_[A-Z]{2}|[a-z]{3}_[A-Z][a-z]{3}|<(?!(?:hes|sil|eps|spn|nsn)>)[a-z]{2,3}>|\[[a-zA-Z]{2}\])(?!\w)",
        _remove,
        share=0.9,
    ),
    _Spelling("letters with <space>", "<space>", _join_letters),
    _Spelling("letters with |", r"(?<!\S)\|(?!\S)", _join_letters, share=0.9),  # wav2vec 2.0
    _Spelling("word pieces (\u2581)", "\u2581", _join, share=0.5),
    _Spelling("word pieces (\u0120)", "\u0120", _join, share=0.5),
    _Spelling("word pieces (</w>)", "</w>", _join, share=0.5),
    _Spelling("word pieces (@@)", r"(?<=\S)@@(?:\s+|$)|\s@@(?=\w)", ""),
    _Spelling("word pieces (##)", r"(?<=\S)\s##(?=\w)", ""),
    _Spelling("joined tokens (\uffed)", r"\s?\uffed\s?", ""),
    _Spelling("split hyphens (@-@)", r"(?:(?<=\S)\s)?(?<!\S)@([-/,.:\u2013])@(?:\s|$)", r"\1"),
    _Spelling(
        "escaped characters (&apos;)",
        r"&(?:apos|quot|amp|lt|gt|nbsp|bar|bra|ket|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});",
        _unescape,
    ),
    _Spelling("words that are none", rf"(?<!\S)(?:{NON_WORDS})(?!\S)", _leave_out),
    _Spelling("silence, or a name", rf"(?<!\S){SILENCE}(?!\S)", _leave_out, one_case=True),
    _Spelling(
        "unknown words and other tokens",
        r"(?i:<(?:unk|mask|/?s|extra_id_[0-9]+)>)|\[(?:UNK|MASK|unused[0-9]+)\]|\u2047|\uff5f[^\s\uff60]{1,40}\uff60",
        None,
    ),
)
# What each of them contains: a search for one of these signs is the fastest of all.
_SIGNS = re.compile(f"[-+!%&#@_|<\\[{{\u0120\u2047\u2581\uff5f\uffed]|{SILENCE}")
# Moses escapes these everywhere, or nowhere.
_UNESCAPED = re.compile("['\"]|&(?!#?[a-zA-Z0-9]{1,7};)")


def plain_texts(texts: Sequence[str], keep_non_words: bool = False) -> tuple[list[str], list[str]]:
    """Undoes how tokenizers spell texts, where that is certain, and leaves out what is no word.

    Args:
        texts: N str.
        keep_non_words: whether words that are none, such as `<eps>` and `[noise]`, count.

    Returns:
        The texts as words, and a note on each spelling that was found.
    """
    texts, notes = list(texts), list[str]()
    filled = sum(map(bool, texts))
    marked = [i for i, text in enumerate(texts) if _SIGNS.search(text)]
    for name, pattern, undo, share, one_case in _SPELLINGS if marked else ():
        shows = re.compile(pattern)
        places = [i for i in marked if shows.search(texts[i])]
        if not places or (keep_non_words and undo is _leave_out):
            continue
        first = texts[places[0]]
        is_certain = undo is not None and len(places) >= share * filled
        if undo is _unescape:
            is_certain = sum(map(bool, map(_UNESCAPED.search, texts))) <= len(places)
        if one_case:
            stripped = [shows.sub("", text) for text in texts]
            is_certain = stripped in ([t.upper() for t in stripped], [t.lower() for t in stripped])
        became, kinds = "they count as words", ""
        if is_certain:
            how, advice = "read as words", ""
            if undo is _leave_out:
                how, advice = "left out", "; keep_non_words keeps them"
                counts = Counter(match[0] for i in places for match in shows.finditer(texts[i]))
                most_common = (f"{count:,} {kind}" for kind, count in counts.most_common(5))
                kinds = f" ({', '.join(most_common)}{', ...' if len(counts) > 5 else ''})"
            for i in places:
                new = undo(shows, texts[i]) if callable(undo) else shows.sub(undo or "", texts[i])
                texts[i] = new.strip()
            became = f"{how}, {texts[places[0]][:60]!r}, and written back as they were{advice}"
        notes.append(
            f"{name}{kinds} in {len(places):,} of {len(texts):,} texts, first {first[:60]!r}: "
            f"{became}"
        )
    return texts, notes
