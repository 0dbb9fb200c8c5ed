"""Layouts of files of references, which are detected from the content.

the cat                                   plain: one reference per line, in the order of lists
utt1 the cat                              Kaldi: id and words; or utt1.wav, the name of a file
the cat (utt1)                            trn of sclite
file 1 speaker 0.0 1.5 <o,f0> the cat     STM: by the file, if each list has its own; else in order
id,reference / utt1<TAB>the cat           tables, with a header or with two columns
{"audio_filepath": "utt1.wav", "text"}    JSON: objects, one per line or in an array; {id: text}
<seg id="1">the cat</seg>                 NIST's and WMT's SGML and XML: one reference set
utt1-0:<TAB>ref=['the', 'cat']             icefall's recogs, with a line `hyp=` after each
"""

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from tta.data.nbest.references.json_objects import read_json
from tta.data.nbest.references.reading import (
    IdColumn,
    IdKind,
    Reading,
    Reference,
    Rows,
    refused,
)
from tta.data.nbest.references.sgml import read_sgml
from tta.data.nbest.references.tables import table_readings
from tta.errors import InputError, shown

_STM = re.compile(r"(\S+)\s+\S+\s+\S+\s+[0-9.]+\s+[0-9.]+(?:\s+<[^<>]*>)?(?:\s+(.*))?")
_NOT_SCORED = ("ignore_time_segment_in_scoring", "inter_segment_gap")
_CTM = re.compile(r"\S+\s+\S+\s+[0-9.]+\s+[0-9.]+\s+\S+(\s+-?[0-9.]+)?\s*")
# Sphinx adds a score to the id.
_TRN = re.compile(r"(.*?)(?<!\s)\s*\(([^()\s]+)(?:\s+-?[0-9.]+)?\)\s*")
_AUDIO = re.compile(
    r"(?i)(?:\S*[/\\])?([^\s/\\]+)\.(?:wav|flac|mp3|ogg|opus|m4a|sph)(?:\s+([^\t]*))?"
)
# Words, some of which are marks of recognisers, such as `<s> the cat </s> (utt1)` of CMU Sphinx.
_MARK = r"</?(?!(?:refset|ref|seg|doc|hl|p)>)[\w-]+>"
_MARKED = re.compile(rf"(?i)(?:{_MARK}\s+)+[^<>\s]+(?:\s+(?:{_MARK}|[^<>\s]+))*")
# A line of icefall's recogs; older ones have no id.
_RECOG = re.compile(r"(?:(\S+):\s+)?(ref|hyp|timestamp_\w+)=([\[(\"'].*)")
_NO_REFERENCES = {
    "#!MLF!#": "an MLF of HTK, with one word per line",
    'File type = "ooTextFile"': "a TextGrid of Praat",
    "WEBVTT": "a file of subtitles",
}
_JSON = re.compile(r'\s*(\{\s*("|$|\})|\[\s*([\[{"]|$))')


def readings(lines: Sequence[str], list_count: int) -> Iterator[Reading]:
    """Yields how the lines of a file can be read as references of `list_count` lists.

    At least one reading is certain. The likelier ones come first.

    Raises InputError if the file is malformed, or in a layout that holds no references.
    """
    rows = [(number, line.strip()) for number, line in enumerate(lines, 1)]
    filled = [(number, row) for number, row in rows if row and not row.startswith(";;")]
    texts = [row for _, row in filled]
    first = texts[0] if texts else ""
    if re.match(r"<[?!a-zA-Z]", first) and not _MARKED.fullmatch(first):
        yield read_sgml("\n".join(lines))
    elif _JSON.match(first):
        reading = read_json("\n".join(lines))
        yield reading
        if not reading.is_certain:  # no field is called an id
            yield Reading(reading.references)
    elif texts and all(map(_RECOG.fullmatch, texts)):
        yield _read_recogs(filled)
    else:
        _check_references(texts)
        if all(map(_STM.fullmatch, texts)):
            yield from _stm_readings(filled)
        elif all(map(_AUDIO.fullmatch, texts)):
            yield _read_audio(filled)
        else:
            yield from _trn_readings(filled)
            yield from table_readings([(n, lines[n - 1]) for n, _ in filled], list_count)
            yield _read_kaldi(filled, has_blank_lines=len(filled) < len(rows))
            yield _refused_ids(filled)
            yield Reading([Reference(row, number) for number, row in rows])


def _check_references(texts):
    """Raises InputError if lines are those of a layout that holds no references."""
    for start, name in _NO_REFERENCES.items():
        if texts and texts[0].startswith(start):
            raise InputError(f"this is {name}: expected one reference per line")
    if any("-->" in row for row in texts[:10]):
        raise InputError("these are subtitles: expected references without times")
    if texts and all(map(_CTM.fullmatch, texts)) and not all(map(_STM.fullmatch, texts)):
        raise InputError("this is a CTM, with one word per line: expected one reference per line")


def _matches(pattern, rows):
    """[(line, match)] of the rows that a pattern fits."""
    return [(number, match) for number, row in rows if (match := pattern.fullmatch(row))]


def _read_recogs(rows: Rows) -> Reading:
    """The references of icefall's recogs. The id of a cut is that of its utterance and a number."""
    references, ids = [], []
    for number, match in _matches(_RECOG, rows):
        cut, kind, value = match.groups()
        if kind == "ref":
            references.append(Reference(_words(value, number), number))
            ids.append((cut, re.sub("-[0-9]+$", "", cut)) if cut else ())
    return Reading(references, [IdColumn(IdKind.ID, ids)] if any(ids) else ())


def _words(value, number):
    """The text of a list of words, or of a text, as Python writes them."""
    try:
        words = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise InputError(f"expected a list of words, got {shown(value)}", line=number) from None
    return words if isinstance(words, str) else " ".join(map(str, words))


def _stm_readings(rows: Rows) -> Iterator[Reading]:
    references, recordings = [], []
    for number, match in _matches(_STM, rows):
        recording, text = match[1], match[2] or ""
        if text.lower() not in _NOT_SCORED:
            references.append(Reference(text, number))
            recordings.append((recording,))
    if len(set(recordings)) == len(recordings):
        columns = [IdColumn(IdKind.PLACE, recordings)]
        yield Reading(references, columns, is_for_sclite=True)
    yield Reading(references, is_for_sclite=True)


def _read_audio(rows: Rows) -> Reading:
    """The words after the name of a recording."""
    matches = _matches(_AUDIO, rows)
    references = [Reference(match[2] or "", number) for number, match in matches]
    return Reading(references, [IdColumn(IdKind.RECORDING, [(match[1],) for _, match in matches])])


# So many separators of an id may stand between a speaker and the id.
_MOST_SEPARATORS = 32


def _trn_readings(rows: Rows) -> Iterator[Reading]:
    """Words may have brackets, so that lines of a trn file are certain only if all ids differ."""
    references, ids = [], []
    for number, row in rows:
        match = _TRN.fullmatch(row)
        references.append(Reference(match[1] if match else row, number))
        ids.append(_with_and_without_speaker(match[2]) if match else ())
    is_certain = () not in ids and len(set(ids)) == len(ids)
    kind = IdKind.ID if is_certain else IdKind.PLACE
    if any(ids):
        column = IdColumn(kind, ids, lacking="expected `words (id)` as in other lines")
        yield Reading(references, [column], is_for_sclite=True)


def _with_and_without_speaker(utterance_id):
    """The id, and what may be the id in `speaker-id`, as ESPnet writes it."""
    separators = itertools.islice(re.finditer("[-_]", utterance_id), _MOST_SEPARATORS)
    ends = [match.end() for match in separators]
    return (utterance_id, *(utterance_id[end:] for end in ends))


def _read_kaldi(rows: Rows, has_blank_lines: bool) -> Reading:
    """The first word is an id for certain if all are different and have a digit."""
    words = [row.split(maxsplit=1) for _, row in rows]
    ids = [first for first, *_ in words]
    have_digits = all(re.search("[0-9]", key) for key in ids)
    is_certain = len(set(ids)) == len(ids) and have_digits and not has_blank_lines
    references = [
        Reference("".join(text), number)
        for (number, _), (_, *text) in zip(rows, words, strict=True)
    ]
    kind = IdKind.ID if is_certain else IdKind.PLACE
    return Reading(references, [IdColumn(kind, [(key,) for key in ids])])


def _refused_ids(rows: Rows) -> Reading:
    """Lines that begin with an id and another separator than a blank."""
    starts = [re.split(r"[\s,;:|]", row, maxsplit=1)[0].strip('"') for _, row in rows]
    rule = (
        "the lines begin with ids of lists, but are neither `id words` nor rows of a table of two "
        f"columns, as {shown(rows[0][1] if rows else '')}"
    )
    return refused(rule, [IdColumn(IdKind.PLACE, [(start,) for start in starts])])
