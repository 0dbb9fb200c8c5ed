"""Which format of N-best lists a file or folder has."""

import re
from collections.abc import Iterable

from tta.data.nbest.formats import FORMATS, load_format
from tta.data.nbest.formats.base import HEAD_ROWS, Format, Source
from tta.errors import InputError


def choose_format(name: str | None, source: Source) -> Format:
    """Loads the named format or detects it, and checks that it takes the options of the source.

    Raises:
        InputError: no format fits, or several do, or the format does not take an option.
    """
    chosen = load_format(name) if name else _detect(source)
    if source.folder and not chosen.is_folder:
        raise InputError(f"{chosen.name} lists are a file: expected a file, got a folder")
    for option in ("score_file", "beam_size"):
        if getattr(source, option) is not None and option not in chosen.takes:
            raise InputError(f"the format {chosen.name} takes no {option.replace('_', ' ')}")
    return chosen


def matching_formats(source: Source) -> list[Format]:
    """The formats that a source looks like. Formats that are folders only match folders."""
    formats = map(load_format, FORMATS)
    of_kind = [format for format in formats if format.is_folder == bool(source.folder)]
    return [format for format in of_kind if format.matches(source)]


def read_head(lines: Iterable[str]) -> list[str]:
    """Takes as many lines from an iterator as detection needs; see `Source.lines`."""
    lines, head, rows = iter(lines), [], 0
    for line in lines:
        head.append(line)
        rows += bool(line.strip(" "))
        if rows == HEAD_ROWS:
            break
    first = next((line.strip() for line in head if line.strip()), "")
    if first.startswith(("{", "[")) and not Source([first]).values:
        head += lines  # a document on several lines
    return head


def _detect(source: Source) -> Format:
    if not source.rows and not source.folder:
        raise InputError("the file is empty")
    found = matching_formats(source)
    if len(found) == 1:
        return found[0]
    if found:
        names = " or ".join(format.name for format in found)
        raise InputError(f"could be {names}: name the format")
    rule = f"no known format of N-best lists; it looks like {_appearance(source)}"
    formats = [load_format(name) for name in FORMATS]
    for format in [one for one in formats if one.is_folder] if source.folder else formats:
        if missing := format.missing(source):
            nearest = f"the nearest is {format.name}, {format.layout}; missing: {missing}"
            raise InputError(f"{rule}; {nearest}")
    raise InputError(f"{rule}; these are known: {', '.join(FORMATS)}")


def _appearance(source):
    """What a source looks like, in words."""
    if source.folder:
        return "a folder"
    first = source.start.lstrip()
    if first.startswith("{"):
        is_lines = len(source.head) > 1 and all(row.lstrip()[:1] == "{" for row in source.head)
        return "JSON objects, one per line" if is_lines else "a JSON object"
    if re.match(r'\[\s*(\[|\{|"|$)', first):
        return "a JSON array"
    if first.startswith("<"):
        return "XML or HTML"
    separators = {"\t": "tabs", ",": "commas", "|||": "|||", ";": "semicolons"}
    for separator, name in separators.items():
        counts = {row.count(separator) for row in source.head}
        if len(source.head) > 1 and len(counts) == 1 and 0 not in counts:
            return f"a table of {counts.pop() + 1} columns, separated by {name}"
    if all(re.match(r"[^\s0-9]*[0-9]\S*\s+\S", row) for row in source.head):
        return "an id and words on each line"
    return "plain text, one sentence per line"
