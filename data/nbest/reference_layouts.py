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
import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from tta.data.nbest.fields import IDS, RECORDINGS, REFERENCES, TRANSCRIPTS, id_of, named
from tta.data.nbest.lists import check_readings, stem
from tta.data.text.json_text import iter_json
from tta.data.text.tables import split_row
from tta.errors import InputError, located, shown

_TEXTS = (*REFERENCES, *TRANSCRIPTS, "output", "caption", "normalized_text", "words")

_STM = re.compile(r"\S+\s+\S+\s+\S+\s+[0-9.]+\s+[0-9.]+(?:\s+<[^<>]*>)?(?:\s+(.*))?")
_CTM = re.compile(r"\S+\s+\S+\s+[0-9.]+\s+[0-9.]+\s+\S+(\s+-?[0-9.]+)?\s*")
# Sphinx adds a score to the id.
_TRN = re.compile(r"(.*?)(?<!\s)\s*\(([^()\s]+)(?:\s+-?[0-9.]+)?\)\s*")
_AUDIO = re.compile(
    r"(?i)(?:\S*[/\\])?([^\s/\\]+)\.(?:wav|flac|mp3|ogg|opus|m4a|sph)(?:\s+([^\t]*))?"
)
_TAG = re.compile(r"(?i)<(/?)(refset|ref|seg)\b([^<>]*)>")
# Words, some of which are marks of recognisers, such as `<s> the cat </s> (utt1)` of CMU Sphinx.
_MARK = r"</?(?!(?:refset|ref|seg|doc|hl|p)>)[\w-]+>"
_MARKED = re.compile(rf"(?i)(?:{_MARK}\s+)+[^<>\s]+(?:\s+(?:{_MARK}|[^<>\s]+))*")
# A line of icefall's recogs; older ones have no id.
_RECOG = re.compile(r"(?:(\S+):\s+)?(ref|hyp|timestamp_\w+)=([\[(\"'].*)")
_NUMBER = re.compile(r"\bid\s*=\s*[\"']?([0-9]{1,9})\b")
_ATTRIBUTE = re.compile(r'\b(\w+)\s*=\s*"([^"]*)"')
_OTHERS = {
    "#!MLF!#": "an MLF of HTK, with one word per line",
    'File type = "ooTextFile"': "a TextGrid of Praat",
    "WEBVTT": "a file of subtitles",
}
_JSON = re.compile(r'\s*(\{\s*("|$|\})|\[\s*([\[{"]|$))')


@dataclass(frozen=True)
class Reference:
    """The reference of one list.

    Attributes:
        key: the id in the file, or the name of a recording; None if references are in the order of
            their lists.
        line: its line.
        is_file: whether `key` is the name of a recording.
    """

    text: str
    key: str | None = None
    line: int | None = None
    is_file: bool = False


def parse_references(lines: Sequence[str], ids: Collection[str]) -> list[Reference]:
    """Reads the lines of a reference file for lists with these ids, in any layout of this module.

    Either all references have a key or none. Raises InputError if the file is malformed, in a
    layout that holds no references, or a reference has several readings (see `check_readings`).
    """
    references, is_for_sclite = _parse(lines, frozenset(ids))
    for one in references:
        with located(line=one.line):
            check_readings(one.text, is_for_sclite)
    return references


def _parse(lines, ids) -> tuple[list[Reference], bool]:
    """The references, and whether they are in sclite's layouts."""
    rows = [(n, line.strip()) for n, line in enumerate(lines, 1)]
    filled = [(n, row) for n, row in rows if row and not row.startswith(";;")]
    texts = [row for _, row in filled]
    first = texts[0] if texts else ""
    if re.match(r"<[?!a-zA-Z]", first) and not _MARKED.fullmatch(first):
        return _segments("\n".join(lines)), False
    if _JSON.match(first):
        return _objects("\n".join(lines), ids), False
    if texts and all(map(_RECOG.fullmatch, texts)):
        return list(_recogs(filled, ids)), False
    for start, name in _OTHERS.items():
        if first.startswith(start):
            raise InputError(f"this is {name}: expected one reference per line")
    if any("-->" in row for row in texts[:10]):
        raise InputError("these are subtitles: expected references without times")
    if all(map(_STM.fullmatch, texts)):
        found = list(_stm(filled))
        keys = {one.key for one in found}
        if len(keys) < len(found) or not keys.issuperset(ids):
            found = [Reference(one.text, None, one.line) for one in found]
        return found, True
    if all(map(_CTM.fullmatch, texts)) and texts:
        raise InputError("this is a CTM, with one word per line: expected one reference per line")
    audio = [match for row in texts if (match := _AUDIO.fullmatch(row))]
    if texts and len(audio) == len(texts):
        found = zip(filled, audio, strict=True)
        return [Reference(m[2] or "", m[1], n, is_file=True) for (n, _), m in found], False
    if trn := _trn(filled, ids):
        return trn, True
    table = _table([(n, lines[n - 1]) for n, row in filled], ids)
    if table is not None:
        return table, False
    keyed = [row.split(maxsplit=1) for row in texts]
    first_words = {words[0] for words in keyed}
    starts = {re.split(r"[\s,;:|]", row, maxsplit=1)[0].strip('"') for row in texts}
    if not first_words & ids and 2 * len(starts & ids) > len(ids) > 0:
        raise InputError(
            "the lines begin with ids of lists, but are neither `id words` nor rows of a table of "
            f"two columns, as {shown(first)}"
        )
    # Few sentences start with an id. A file with ids has most of ours, or is for other lists.
    num_ours = sum(words[0] in ids for words in keyed)
    if (
        2 * sum(i in first_words for i in ids) > len(ids)
        or 2 * num_ours > len(keyed)
        or (len(first_words) == len(rows) and all(re.search("[0-9]", w) for w in first_words))
    ):
        found = zip(filled, keyed, strict=True)
        return [Reference("".join(text), key, n) for (n, _), (key, *text) in found], False
    return [Reference(row, None, n) for n, row in rows], False


def _recogs(rows, ids) -> Iterator[Reference]:
    """The references of icefall's recogs. The id of a cut is that of its utterance and a number."""
    found = [(number, *match.groups()) for number, row in rows if (match := _RECOG.fullmatch(row))]
    keys = {key for _, key, *_ in found if key}
    is_cut = not keys & ids
    for number, key, kind, value in found:
        if kind == "ref":
            try:
                words = ast.literal_eval(value)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                raise InputError(
                    f"expected a list of words, got {shown(value)}", line=number
                ) from None
            text = words if isinstance(words, str) else " ".join(map(str, words))
            yield Reference(text, key and (re.sub("-[0-9]+$", "", key) if is_cut else key), number)


def _trn(rows, ids) -> list[Reference]:
    """The references of a trn file, or none if it is no such file. Words may have brackets."""
    lengths = {len(one) for one in ids}
    matches = [_TRN.fullmatch(row) for _, row in rows]
    keys = [match and _without_speaker(match[2], ids, lengths) for match in matches]
    are_ours = 2 * sum(key in ids for key in keys) > len(rows)
    if not are_ours and (None in keys or len(set(keys)) < len(rows)):
        return []
    found = []
    for (n, row), match, key in zip(rows, matches, keys, strict=True):
        if match is None:
            raise InputError(f"expected `words (id)` as in other lines, got {shown(row)}", line=n)
        found.append(Reference(match[1], key, n))
    return found


def _without_speaker(key, ids, lengths):
    """The id of a list in `speaker-id`, as ESPnet writes it, or the key itself.

    `lengths` are those of the ids.
    """
    starts = [0, *(match.end() for match in re.finditer("[-_]", key))]
    ends = (key[i:] for i in starts if len(key) - i in lengths)
    return next((one for one in ends if one in ids), key)


def _stm(rows) -> Iterator[Reference]:
    for number, row in rows:
        match = _STM.fullmatch(row)
        text = (match and match[1]) or ""
        if text.lower() not in ("ignore_time_segment_in_scoring", "inter_segment_gap"):
            yield Reference(text, row.split(maxsplit=1)[0], number)


def _segments(text) -> list[Reference]:
    """The segments of NIST's and WMT's files: <refset> or <ref> around <seg>."""
    sets = {}  # {its name: segments}
    outer = begin = None  # the tag around segments; where the text of a segment begins
    first = last = None  # the numbers of segments; each document begins with the first one
    for tag in _TAG.finditer(text):
        end, name, attributes = tag[1], tag[2].lower(), tag[3]
        if outer is None:
            if name != "seg" and not end:
                outer, names = name, dict(_ATTRIBUTE.findall(attributes))
                key = names.get("refid", names.get("translator", names.get("sysid", tag[2])))
                segments = sets.setdefault(key, [])
                first = last = None
        elif name == "seg" and begin is None and not end:
            begin = tag.end()
            if match := _NUMBER.search(attributes):
                number = int(match[1])
                if last is not None and last >= number != first:
                    raise InputError(f"segment {number} after segment {last}: expected their order")
                first, last = number if first is None else first, number
            if attributes.endswith("/"):
                segments.append("")
                begin = None
        elif name == "seg" and begin is not None and end:
            segments.append(_unescaped(text[begin : tag.start()]))
            begin = None
        elif name == outer and begin is None and end:
            outer = None
        else:
            raise InputError(f"{shown(tag[0])} is not expected here")
    if outer is not None:
        raise InputError(f"<{'seg' if begin is not None else outer}> has no end")
    if len(sets) != 1:
        raise InputError(
            f"{len(sets)} reference sets: {shown(list(sets))}; expected one"
            if sets
            else "XML or SGML without <refset> or <ref>: expected one set of references"
        )
    return [Reference(" ".join(one.split())) for one in next(iter(sets.values()))]


def _unescaped(text):
    try:
        return html.unescape(text)
    except ValueError:  # thousands of digits
        raise InputError(f"a malformed character reference in {shown(text)}") from None


def _objects(text, ids) -> list[Reference]:
    """Objects with a text and an id or a file, or one object of {id: text}."""
    values = [(value, line) for value, line, _ in iter_json(text)]
    if len(values) == 1 and isinstance(values[0][0], dict):
        document = values[0][0]
        if document and all(isinstance(value, str) for value in document.values()):
            if not named(document, _TEXTS):
                return [Reference(t.strip(), key) for key, t in document.items()]
        elif document and all(isinstance(value, dict) for value in document.values()):
            values = [({"id": key, **value}, None) for key, value in document.items()]
    elif len(values) == 1 and isinstance(values[0][0], list):
        values = [(value, None) for value in values[0][0]]
    rows = []
    for value, line in values:
        if isinstance(value, str):
            value = {"text": value}
        texts = [k for k, v in value.items() if isinstance(v, str)] if type(value) is dict else ()
        name = named(texts, _TEXTS)
        if name is None:
            rule = f'expected an object with a reference as "text", got {shown(value)}'
            raise InputError(rule, line=line)
        rows.append((value, value[name].strip(), line))
    return _with_keys(rows, ids)


def _with_keys(rows, ids) -> list[Reference]:
    """The references, from the named fields, text and line of each.

    Of several ids, that of all lists counts, else the first one.
    """
    found = [id_of(fields) for fields, *_ in rows]
    if not ids.issubset(str(key) for key, _ in found):
        for name in (*IDS, *RECORDINGS):
            named_so = [(named(fields, [name]), fields) for fields, *_ in rows]
            keys = [id_of({key: fields[key]}) for key, fields in named_so if key is not None]
            if keys and ids.issubset(str(key) for key, _ in keys):
                found = keys if len(keys) == len(rows) else found
                break
        else:
            found = _other_ids([fields for fields, *_ in rows], ids) or found
    kinds = {None if key is None else is_recording for key, is_recording in found}
    if len(kinds) > 1:
        raise InputError("some references have an id and others have none")
    return [
        Reference(text, None if key is None else str(key), line, is_recording)
        for (_, text, line), (key, is_recording) in zip(rows, found, strict=True)
    ]


def _other_ids(rows, wanted) -> list[tuple[str, bool]] | None:
    """The first field, of any name and depth, whose values are the ids of most lists, or None.

    They may be files whose stems are the ids. Indices may be anything, so they are not looked for.
    """
    if are_numbered(sorted(wanted, key=lambda one: (len(one), one)), ""):
        return None
    flat = [dict(_leaves(fields)) for fields in rows]
    for path in flat[0] if flat else ():
        values = [one.get(path) for one in flat]
        for keys in (values, [value and stem(value) for value in values]):
            are_distinct = None not in keys and len(set(keys)) == len(keys)
            if are_distinct and 2 * len(wanted.intersection(keys)) > len(wanted):
                return [(str(key), False) for key in keys]
    return None


def _leaves(fields, path=()) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in fields.items():
        if isinstance(value, dict) and len(path) < 9:
            yield from _leaves(value, (*path, key))
        elif type(value) in (str, int) and value != "":
            yield (*path, key), str(value)


def _table(rows, ids) -> list[Reference] | None:
    """Reads a table, or returns None if the rows are none."""
    if len(rows) == len(ids) + 1 and named([rows[0][1].strip().strip('"')], _TEXTS):
        split = [_split(row, ",") for _, row in rows[1:]]
        if any(len(fields) != 1 for fields in split):  # lines with commas, and no quotes
            split = [[row.strip()] for _, row in rows[1:]]
        found = zip(rows[1:], split, strict=True)
        return [Reference(fields[0], None, n) for (n, _), fields in found]
    for delimiter, name in {"\t": "tabs", ",": "commas", "|": "|"}.items():
        split = [_split(row, delimiter) for _, row in rows]
        widths = {len(fields) for fields in split}
        if len(widths) != 1 or (width := widths.pop()) < 2:
            continue
        header = dict.fromkeys(split[0])
        values = [dict(zip(split[0], fields, strict=True)) for fields in split[1:]]
        is_header = named(header, _TEXTS) and (
            named(header, (*IDS, *RECORDINGS)) or _other_ids(values, ids)
        )
        if is_header and not ids.intersection(split[0]):
            texts = [one[named(one, _TEXTS) or ""].strip() for one in values]
            return _with_keys([*zip(values, texts, [n for n, _ in rows[1:]], strict=True)], ids)
        columns = [set(column) for column in zip(*split, strict=True)]
        of_ids = [c for c, cells in enumerate(columns) if 2 * len(ids & cells) > len(ids)]
        if width == 2 and of_ids:
            return [
                Reference(fields[1 - of_ids[0]], fields[of_ids[0]], n)
                for (n, _), fields in zip(rows, split, strict=True)
            ]
        if of_ids or (delimiter == "\t" and len(rows) > 1):
            raise InputError(
                f"a table of {width} columns, separated by {name}: expected a header with the "
                "columns id and reference, or the two columns id and reference"
            )
    return None


def _split(row, delimiter):
    try:
        cells = split_row(row, delimiter)
    except InputError:
        return [row]
    return [cell.strip() for cell in cells]


def are_numbered(ids, start=None):
    """Whether ids are a text and the numbers 0, 1 ... or 1, 2 ..., as ids made from an index are.

    `start` is the text before the numbers; None allows any.
    """
    matches = [re.fullmatch(r"(.*?)(0|[1-9][0-9]{0,8})", i) for i in ids]
    starts = {match and match[1] for match in matches}
    numbers = [int(match[2]) for match in matches if match]
    return (
        len(starts) == 1
        and None not in starts
        and start in (None, *starts)
        and numbers[0] in (0, 1)
        and numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    )
