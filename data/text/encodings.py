"""Names text that is not UTF-8 with line feeds, from the bytes of its first line."""

import codecs
import re
from pathlib import Path

from tta.errors import InputError

_MARKS = {  # The mark of UTF-32 begins with that of UTF-16.
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_UTF8_MARKS = re.compile(b"\\A(?:%b)+" % codecs.BOM_UTF8)
_BINARY = "binary"
_NO_TEXT = "expected text, got binary data"
CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1f]")  # no text has these bytes
_HEAD_BYTES = 4096
# UTF-16 without a mark: the smallest share of bytes that are 0, from blanks and line ends.
_ZEROS = 1 / 32
# The share in Latin UTF-16 is a half. Fewer zeros in what is text without them are stray bytes.
_LATIN_ZEROS = 1 / 4


def check_first_line(raw: bytes, path: Path | str) -> bytes:
    """Removes a UTF-8 byte order mark from the first line of a text file.

    Args:
        raw: the bytes of the file up to its first line feed, included, or a begin of them.
        path: the file, for the error.

    Raises:
        InputError: the file is in UTF-16 or UTF-32 or holds no text, or a carriage return alone
            ends its lines.
    """
    encoding = _wide_encoding(raw[:_HEAD_BYTES])
    if encoding == _BINARY:
        raise InputError(_NO_TEXT, path)
    if encoding is not None:
        name = encoding.removesuffix(" without a byte order mark")
        how = f"iconv -f {name} -t UTF-8 converts it"
        raise InputError(f"expected UTF-8, got {encoding}: {how}", path)
    if raw.startswith(b"version https://git-lfs.github.com"):
        raise InputError("a pointer of Git LFS: git lfs pull fetches the file", path)
    return check_line(raw, path, None, raw.endswith(b"\n"))


def check_line(
    raw: bytes, path: Path | str, number: int | None, may_have_return: bool = True
) -> bytes:
    """Removes UTF-8 byte order marks from a line; joined files have them in the middle, too.

    Args:
        raw, path: as in `check_first_line`.
        number: of the line, for the error; None to name the file alone.
        may_have_return: whether one carriage return may be a part of the text.

    Raises:
        InputError: a carriage return alone ends lines, or there are carriage returns in what is no
            text.
    """
    if b"\r" in raw and raw.rstrip(b"\r\n").count(b"\r") > may_have_return:
        if CONTROLS.search(raw):
            raise InputError(_NO_TEXT, path, number)
        rule = "lines end in a carriage return alone, as on old Macs: tr '\\r' '\\n' converts them"
        raise InputError(rule, path, number)
    return _UTF8_MARKS.sub(b"", raw) if raw.startswith(codecs.BOM_UTF8) else raw


def _wide_encoding(head):
    """UTF-16 or UTF-32 if the bytes are, "binary" if they have as many zeros; else None."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    zeros = head[::2].count(0), head[1::2].count(0)
    is_text = any(head)  # not the zeros of a hole
    if marked or not is_text or sum(zeros) < _ZEROS * len(head) or not any(zeros):
        return marked
    if sum(zeros) < _LATIN_ZEROS * len(head) and _is_utf8(head.replace(b"\0", b"")):
        return _BINARY
    if all(zeros):
        name = "UTF-32LE" if head[:1] != b"\0" else "UTF-32BE"
    else:
        name = "UTF-16BE" if zeros[0] else "UTF-16LE"
    try:
        text = codecs.getincrementaldecoder(name)().decode(head)
    except UnicodeDecodeError:
        return _BINARY
    has_controls = any(c < " " and c not in "\t\n\r" for c in text)
    return _BINARY if has_controls else f"{name} without a byte order mark"


def _is_utf8(head):
    """Whether bytes are UTF-8 without controls; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not CONTROLS.search(head)
