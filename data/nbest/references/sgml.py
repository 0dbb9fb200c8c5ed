"""References in the SGML of NIST's mteval and in the XML of WMT, in the order of the lists."""

import html
import re
from dataclasses import dataclass, field

from tta.data.nbest.references.reading import Reading, Reference
from tta.errors import InputError, shown

_TAG = re.compile(r"(?i)<(/?)(refset|ref|seg)\b([^<>]*)>")
_NUMBER = re.compile(r"\bid\s*=\s*[\"']?([0-9]{1,9})\b")
_ATTRIBUTE = re.compile(r'\b(\w+)\s*=\s*"([^"]*)"')


def read_sgml(text: str) -> Reading:
    """Reads `<seg>` inside `<refset>` or `<ref>`, of which a file has one set.

    Raises InputError if tags are not paired, segments not in their order, or there are several sets
    or none.
    """
    segments = _Segments()
    for tag in _TAG.finditer(text):
        segments.take(text, tag)
    if segments.outer is not None:
        open_tag = segments.outer if segments.text_start is None else "seg"
        raise InputError(f"<{open_tag}> has no end")
    if not segments.sets:
        raise InputError("XML or SGML without <refset> or <ref>: expected one set of references")
    if len(segments.sets) > 1:
        count, names = len(segments.sets), list(segments.sets)
        raise InputError(f"{count} reference sets: {shown(names)}; expected one")
    (texts,) = segments.sets.values()
    return Reading([Reference(" ".join(segment.split())) for segment in texts])


@dataclass
class _Segments:
    """The segments before a tag.

    Attributes:
        sets: {name of a reference set: its segments}.
        outer: the open tag around segments.
        text_start: where the text of the open segment begins.
        first_number, last_number: of the segments in the open tag. A document begins with the first
            number again.
    """

    sets: dict[str, list[str]] = field(default_factory=dict)
    outer: str | None = None
    text_start: int | None = None
    first_number: int | None = None
    last_number: int | None = None
    _set: list[str] = field(default_factory=list)

    def take(self, text: str, tag: re.Match[str]) -> None:
        """Takes the next tag of the text."""
        is_end, name, attributes = bool(tag[1]), tag[2].lower(), tag[3]
        is_segment, is_inside = name == "seg", self.text_start is not None
        if self.outer is None:
            if not is_segment and not is_end:
                self._open_set(name, attributes, tag[2])
        elif is_segment and not is_inside and not is_end:
            self._check_number(attributes)
            if attributes.endswith("/"):
                self._set.append("")
            else:
                self.text_start = tag.end()
        elif is_segment and is_inside and is_end:
            self._set.append(_unescaped(text[self.text_start : tag.start()]))
            self.text_start = None
        elif name == self.outer and not is_inside and is_end:
            self.outer = None
        else:
            raise InputError(f"{shown(tag[0])} is not expected here")

    def _open_set(self, name, attributes, default_name):
        by_name = dict(_ATTRIBUTE.findall(attributes))
        names = (by_name[key] for key in ("refid", "translator", "sysid") if key in by_name)
        self._set = self.sets.setdefault(next(names, default_name), [])
        self.outer, self.first_number, self.last_number = name, None, None

    def _check_number(self, attributes):
        match = _NUMBER.search(attributes)
        if match is None:
            return
        number, last = int(match[1]), self.last_number
        if last is not None and last >= number != self.first_number:
            raise InputError(f"segment {number} after segment {last}: expected their order")
        self.first_number = number if self.first_number is None else self.first_number
        self.last_number = number


def _unescaped(text):
    try:
        return html.unescape(text)
    except ValueError:  # thousands of digits
        raise InputError(f"a malformed character reference in {shown(text)}") from None
