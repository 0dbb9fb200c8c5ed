"""Text files that hold more than sentences: ids, times, JSON, tags. Their lines are no sentences.

Commands that read raw text, one sentence per line, note it if a file looks like one that other
readers of this package know. `id words` is looked for at the begin of lines, `words (id)` at their
end. Prose must not be noted: nearly all lines have to fit.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from tta.data.nbest.fields import IDS, RECORDINGS, REFERENCES, TRANSCRIPTS, named
from tta.data.nbest.formats.base import Source
from tta.data.nbest.formats.srilm import SrilmFormat
from tta.data.text.lines import TextReader
from tta.data.text.tables import are_usual_names, is_number, split_row
from tta.doors import option_named
from tta.errors import InputError, shown

_NEARLY_ALL = 0.9  # of the lines
_FEW = 3  # lines; fewer are judged by their ids alone

# Lines that the readers of references know, see `tta.data.nbest.reference_files`.
_JSON = re.compile(r'\{\s*("|$|\})|\[\s*([\[{"]|$)')
_SECONDS = r"(\d+\.\d+\s+\d+(\.\d+)?|\d+\s+\d+\.\d+)"
_STM = re.compile(rf"\S+\s+\S+\s+\S+\s+{_SECONDS}(\s.*)?")
_CTM = re.compile(rf"\S+\s+\S+\s+{_SECONDS}\s+\S+(\s+-?[0-9.]+)?")
_TRN = re.compile(r"(.*\s)?\((?P<id>[^()\s]+)(\s+-?[0-9.]+)?\)")
_AUDIO = re.compile(r"(?i)\S+\.(wav|flac|mp3|ogg|opus|m4a|sph)(\s.*)?")
_RECOG = re.compile(r"(\S+:\s+)?(ref|hyp|timestamp_\w+)=[\[(\"'].*")

_TIMES = re.compile(r"\d[\d:.,]*s? -+> \d|^Dialogue: \d+,\d+:\d\d")
_LYRICS = re.compile(r"\[\d+:\d+[.:]\d+\]")
_MARKUP = re.compile(
    r"(?i)<(\?xml|!doctype|/?(refset|tstset|srcset|ref|mteval|dataset|doc|seg|html|tmx|xliff)\b)"
)
_FAIRSEQ = re.compile(r"[STHDP]-[0-9]+\t|[HD]-[0-9]+\s+-?[0-9]+\.[0-9]+\s")
_TAGGED = re.compile(r"\S+(\s+\S+)*\s+(O|[BIESLU]-[A-Za-z_]+)")
_HEADINGS = {
    "#!MLF!#": "an MLF of HTK",
    'File type = "ooTextFile': "a TextGrid of Praat",
    "WEBVTT": "subtitles",
    "NBestList": "N-best lists of SRILM",
}

# What may be an id: no sign at its ends, and no web address or date.
_ID = re.compile(r"(?!\w+://|www\.|(?:19|20)\d\d-\d\d-\d\d$)\w(?:[\w./:+=#-]*\w)?")
_NO_WORD = re.compile(r"[-+*/:]?=|[({\[]|->")  # after a name in code
# Numbers as ids have them: after zeros, and other characters; long ones; several, or three digits.
_PADDED = re.compile(r"[^\W\d].*(?<!\d)0\d{2}|\d-\d+-0\d{2}|(?<!\d)0\d{2}.*[^\W\d]")
_LONG = re.compile(r"(?<!\d)0\d{2}|\d{4}")
_NUMBERS = re.compile(r"\d{3}|\d\D+\d")


@dataclass(frozen=True)
class TextLayout:
    """A layout of text files.

    Attributes:
        name: what the lines look like, in words.
        matches: whether the first lines of a file, without blank ones, are in this layout.
        has_columns: whether --column reads the sentences.
    """

    name: str
    matches: Callable[[Sequence[str]], bool]
    has_columns: bool = False


def layout_of(lines: Sequence[str]) -> TextLayout | None:
    """The layout of a file with these first lines, or None if they may be sentences.

    Args:
        lines: without white space around them and without blank ones; some fifty are enough.
    """
    lines = [line for line in lines if not line.startswith(";;")]  # comments of NIST's files
    if not lines:
        return None
    for start, name in _HEADINGS.items():
        if lines[0].startswith(start):
            return TextLayout(name, lambda _: True)
    return next((layout for layout in LAYOUTS if layout.matches(lines)), None)


def input_notes(reader: TextReader) -> list[str]:
    """The notes of a reader that was read, and one if its files hold more than sentences."""
    return reader.notes() or [*layout_notes(reader.heads, reader.has_columns)]


def layout_notes(
    heads: Iterable[tuple[object, Sequence[str]]], has_columns: bool = False
) -> Iterator[str]:
    """Yields a note if files hold more than sentences.

    Args:
        heads: the path and the first lines of each file.
        has_columns: whether the command has a flag --column.
    """
    laid_out = [(path, lines[0], layout) for path, lines in heads if (layout := layout_of(lines))]
    if not laid_out:
        return
    path, line, layout = laid_out[0]
    count = f" and {len(laid_out) - 1:,} more" if len(laid_out) > 1 else ""
    advice = "give the sentences alone"
    if has_columns and layout.has_columns:
        advice = f"{option_named('column')} chooses the column of the sentences"
    yield (
        f"whole lines were read, but those of {path}{count} look like {layout.name}, first "
        f"{shown(line[:80])}; {advice}"
    )


def _nearly_all(test: Callable[[str], object], least: int = 1) -> Callable[[Sequence[str]], bool]:
    """A function of lines: whether nearly all of them pass the test, and at least so many."""

    def matches(lines):
        number = sum(bool(test(line)) for line in lines)
        return number >= max(least, _NEARLY_ALL * len(lines))

    return matches


def _at_least(number: int, test: Callable[[str], object]) -> Callable[[Sequence[str]], bool]:
    """A function of lines: whether so many of them pass the test."""
    return lambda lines: sum(bool(test(line)) for line in lines) >= number


def _are_tagged(lines):
    """A token and its tags on each line, as CoNLL has them; some token begins an entity."""
    has_entity = any(re.search(r"\sB-\w+$", line) for line in lines)
    return has_entity and _nearly_all(_TAGGED.fullmatch, least=_FEW)(lines)


def _is_json(lines):
    """Objects or arrays, one per line or over several."""
    begins = re.compile(r'[\]}{\["]|-?\d|true|false|null')
    return bool(_JSON.match(lines[0])) and _nearly_all(begins.match)(lines)


def _is_table(lines):
    """Rows with as many separators each, and a header or at least `_FEW` rows between bars."""
    for separator in ("\t", "|", ",", ";"):
        if not _nearly_all(lambda line, separator=separator: separator in line)(lines):
            continue
        if separator == "\t":
            return True
        try:
            header = [cell.strip() for cell in split_row(lines[0], separator)]
        except InputError:
            continue
        is_header = are_usual_names(header) or (
            named(header, (*IDS, *RECORDINGS)) and named(header, (*TRANSCRIPTS, *REFERENCES))
        )
        are_even = len({line.count(separator) for line in lines}) == 1
        if len(header) > 1 and (
            is_header or (separator == "|" and are_even and len(lines) >= _FEW)
        ):
            return True
    return False


def _begin_with_ids(lines):
    """Whether each line is an id and words, not a name in code and its value."""
    first_words, texts = list[str](), list[str]()
    for line in lines:
        word, *after = re.split(r"[\s;|]+|,(?!\d)", line.lstrip('"'), maxsplit=1)
        first_words.append(word.strip('"'))
        texts += filter(None, after)
    num_code = sum(map(bool, map(_NO_WORD.match, texts)))
    have_texts = 2 * len(texts) > len(lines) and 2 * num_code <= len(texts)
    return have_texts and are_ids(first_words)


def _end_with_ids(lines):
    matches = [match for line in lines if (match := _TRN.fullmatch(line))]
    return len(matches) >= _NEARLY_ALL * len(lines) and are_ids([match["id"] for match in matches])


def are_ids(words: Sequence[str]) -> bool:
    """Whether the words at the same place of several lines are ids, not words of sentences.

    Ids are different. They are counted, or have digits or underscores and the same shape or length.
    One or two must be long, with a number that has leading zeros among other characters.
    """
    ids = [word for word in words if _ID.fullmatch(word) and re.search(r"[\d_]", word)]
    if len(ids) < _NEARLY_ALL * len(words) or len(set(ids)) < len(ids):
        return False
    if len(ids) < _FEW:
        return all(len(word) >= 8 and _PADDED.search(word) for word in ids)
    if all(map(is_number, ids)):
        return _are_counted(ids)
    if all(len(word) >= 8 and _LONG.search(word) for word in ids):
        return True
    shapes = {re.sub(r"[^\W\d_]+", "a", re.sub(r"\d+", "0", word)) for word in ids}
    starts = {re.sub(r"\d+", "", word) for word in ids}
    if len(starts) == 1 and any(re.search(r"[^\W\d]", start) for start in starts):  # utt1, utt2
        return True
    if len(shapes) > max(1, len(ids) // 5) and len(set(map(len, ids))) > 1:
        return False
    return all("_" in word or (len(word) >= 6 and _NUMBERS.search(word)) for word in ids)


def _are_counted(numbers):
    """Whether numbers count 0, 1 ... or 1, 2 ..., or have leading zeros and the same length."""
    if not all(map(str.isdecimal, numbers)):
        return False
    are_padded = len(set(map(len, numbers))) == 1 and any(n[0] == "0" for n in numbers)
    first = int(numbers[0])
    are_next = [int(n) for n in numbers] == list(range(first, first + len(numbers)))
    return are_padded or are_next


LAYOUTS = (
    TextLayout("JSON", _is_json, has_columns=True),
    TextLayout("subtitles, with times", _at_least(1, _TIMES.search)),
    TextLayout("lines with times", _nearly_all(_LYRICS.match)),
    TextLayout("SGML or XML", lambda lines: bool(_MARKUP.match(lines[0]))),
    TextLayout(
        "columns between |||, as in Moses's N-best lists", _nearly_all(lambda line: "|||" in line)
    ),
    TextLayout("the output of fairseq-generate", _at_least(2, _FAIRSEQ.match)),
    TextLayout("N-best lists of SRILM", lambda lines: SrilmFormat("srilm").matches(Source(lines))),
    TextLayout("sclite's STM", _nearly_all(_STM.fullmatch, least=2)),
    TextLayout("a CTM, with one word per line", _nearly_all(_CTM.fullmatch, least=2)),
    TextLayout("icefall's recogs", _nearly_all(_RECOG.fullmatch)),
    TextLayout("names of audio files and words", _nearly_all(_AUDIO.fullmatch)),
    TextLayout("a table", _is_table, has_columns=True),
    TextLayout("tokens with their tags", _are_tagged),
    TextLayout("an id and words on each line, as in Kaldi", _begin_with_ids),
    TextLayout("words and an id on each line, as in sclite's trn", _end_with_ids),
)
