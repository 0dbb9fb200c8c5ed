"""From a file, or a folder, to the lists in it; which format it has."""

import contextlib
import itertools
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tta.data.nbest.fields import ANY_FIELDS, NamedFields
from tta.data.nbest.formats import FORMATS, load_format
from tta.data.nbest.formats.base import HEAD_ROWS, Format, Source
from tta.data.nbest.lists import ListCollector, NBestList
from tta.data.text.files import STANDARD_STREAM, each_path, shown_path
from tta.data.text.lines import MAX_LINE_BYTES, JoinedLines, iter_lines
from tta.data.text.parquet import is_parquet
from tta.doors import option_named
from tta.errors import InputError, located

# The longest line of a format that may have a whole list or file in one line, such as JSON.
MAX_DOCUMENT_BYTES = 1 << 28

# What JSON of Whisper's programs, its tables, lines and subtitles have; lists in unknown layouts.
_TRANSCRIPT = re.compile(
    r'-->|\Astart[\t,]end[\t,]text|"(start|timestamps?|offsets|segments|chunks)"\s*:'
    r"|\[[\d.]+s -> |\[\d+:\d+\.\d+\]"
    r'|\A\s*\{\s*"text"\s*:\s*"(\\.|[^"\\])*"\s*(\}\s*\Z|,\s*"usage")',
    re.I,
)
_ALTERNATIVES = re.compile(
    r'"(alternative|\w*n_?best|hyp|beam(?!_size)|candidate|choice)\w*"', re.I
)
_PACKED = (".gz", ".bz2", ".xz")


def iter_lists(
    path: Path | str | Sequence[Path | str],
    format: str | None,
    score_file: Path | str | Sequence[str] | None,
    beam_size: int | None,
    partial_references: bool = False,
    fields: NamedFields = ANY_FIELDS,
) -> Iterator[tuple[Format, NBestList]]:
    """Yields the format and a list, for each list; see `tta.data.nbest.files.read_nbest`.

    Scores are those that the format reads. Lists from a folder of files know the file.
    """
    if beam_size is not None and beam_size < 1:
        raise InputError(f"the beam size must be at least 1, got {beam_size}")
    collector = ListCollector(partial_references)
    options = {"score_file": score_file, "beam_size": beam_size, "fields": fields}
    with located(path=shown_path(path)):
        if (folder := _folder_of(path)) is not None:
            yield from _read_folder(folder, format, options, collector)
            return
        if format and load_format(format).is_folder:
            raise InputError(f"{format} lists are {load_format(format).layout}, not a file")
        joined = JoinedLines(path, MAX_DOCUMENT_BYTES)
        lines = iter(joined)
        head = read_head(lines)
        first = str(joined.paths[0])
        stem = "" if first == STANDARD_STREAM else _stem(first)
        source = Source(head, joined.starts, stem=stem, **options)
        chosen = choose_format(format, source)
        with joined.naming_files(), _read_as(chosen, format):
            is_streamed = chosen.is_streamed(source)
            if len(joined.paths) > 1 and chosen.reads_folders and not is_streamed:
                yield from _read_files(map(Path, joined.paths), chosen, options, collector)
            elif is_streamed:
                for number, line in enumerate(itertools.chain(head, lines), 1):
                    if line.strip(" "):
                        chosen.read_row(number, line, collector)
                        yield from ((chosen, nbest) for nbest in collector.take())
            else:
                if later_lines := [*lines]:
                    source = replace(source, lines=[*head, *later_lines])
                if format is None and (doubt := chosen.doubt(source)):
                    raise InputError(f"the file may be in the format {chosen.name}, but {doubt}")
                _read_whole(chosen, source, collector)
                yield from ((chosen, nbest) for nbest in collector.take())
            _check_any(collector, "file")


def name_in_folder(nbest: NBestList) -> str | None:
    """The name of the file that a list was read from, if that was one of a folder of files."""
    return (nbest.extra or {}).get("file")


def _read_folder(folder, format, options, collector) -> Iterator[tuple[Format, NBestList]]:
    """Reads the folder of a format that is one, or a folder of files."""
    chosen = _format_of_files(folder, format, options)
    if chosen is None:
        source = Source((), folder=folder, **options)
        files = [file for file in _files(folder) if file.suffix]
        if format is None and files and not matching_formats(source):
            _explain(files[0], options)
        chosen = choose_format(format, source)
        with _read_as(chosen, format):
            chosen.read(source, collector)
            yield from ((chosen, nbest) for nbest in collector.take())
            _check_any(collector, "folder")
        return
    with _read_as(chosen, format):
        yield from _read_files(_files(folder), chosen, options, collector)
        _check_any(collector, "folder")


def _folder_of(path: Path | str | Sequence[Path | str]) -> Path | None:
    """The folder that the path names; None if it names files. Raises InputError for a mixture."""
    paths = each_path(path)
    for file in paths:
        if str(file) == STANDARD_STREAM and len(paths) > 1:
            raise InputError("standard input is read alone, not with other files", shown_path(file))
        if os.path.isdir(file) and not is_parquet(str(file)):
            if len(paths) > 1:
                raise InputError("a folder is read alone, not with other files", file)
            return Path(file)
    return None


def _read_files(
    files: Iterable[Path], chosen: Format, options: Mapping[str, Any], collector: ListCollector
) -> Iterator[tuple[Format, NBestList]]:
    """Yields the format and a list, for each list of files that are written back as a folder."""
    names: set[str] = set()
    for file in files:
        with located(path=file):
            if file.name in names:
                raise InputError(f"two files are called {file.name}: read their folders apart")
            names.add(file.name)
            lines = list(iter_lines(file, max_bytes=MAX_DOCUMENT_BYTES))
            _read_whole(chosen, Source(lines, stem=_stem(file.name), **options), collector)
        for nbest in collector.take():
            yield chosen, replace(nbest, extra={**(nbest.extra or {}), "file": file.name})


def _explain(file, options):
    """Raises InputError: what the first file of a folder is that is not read as a folder."""
    with located(path=file):
        head = read_head(iter_lines(file))
        chosen = choose_format(None, Source(head, stem=_stem(file.name), **options))
        raise InputError(f"a folder of files in the format {chosen.name} is not read: join them")


def _read_whole(chosen, source, collector):
    for number, line in source.rows if not chosen.has_long_lines else ():
        if len(line) > MAX_LINE_BYTES:
            raise InputError(f"a line is longer than {MAX_LINE_BYTES:,} bytes", line=number)
    if source.head:
        chosen.read(source, collector)


def _check_any(collector, what):
    if not collector.count:
        raise InputError(f"the {what} holds no list")
    if collector.has_scores is None:
        raise InputError("all lists are empty")


def _format_of_files(folder: Path, name: str | None, options) -> Format | None:
    """The format of the files of a folder; None if the folder itself should have a format."""
    if name is not None:
        return chosen if (chosen := _load(name, options["fields"])).reads_folders else None
    if matching_formats(Source((), folder=folder, **options)):
        return None
    for file in _files(folder):
        opened: Any = iter_lines(file)
        with contextlib.suppress(InputError), contextlib.closing(opened) as lines:
            source = Source(read_head(lines), stem=_stem(file.name), **options)
            matching = matching_formats(source)
            if len(matching) == 1 and matching[0].reads_folders:
                return matching[0]
    return None


def _files(folder: Path) -> list[Path]:
    """The files of a folder in the order of their names: those of JSON, or all if none is."""
    files = sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))
    packed = "|".join(map(re.escape, _PACKED))
    return [p for p in files if re.search(rf"\.(json|jsonl|ndjson)({packed})?$", p.name)] or files


def _stem(path: str) -> str:
    """The name of a file without its folder, compression and suffix."""
    name = Path(path)
    return (name.with_suffix("") if name.suffix in _PACKED else name).stem


@contextlib.contextmanager
def _read_as(chosen: Format, named: str | None) -> Iterator[None]:
    """Adds the name of a format that was detected to errors in the file."""
    try:
        yield
    except InputError as error:
        if error.path is not None or named is not None:
            raise
        raise InputError(f"{error.rule} (read as {chosen.name})", None, error.line) from None


def choose_format(name: str | None, source: Source) -> Format:
    """Loads the named format or detects it, and checks that it takes the options of the source.

    Raises InputError if no format fits, or several do, or the format does not take an option.
    """
    chosen = _load(name, source.fields) if name else _detect(source)
    if source.folder and not chosen.is_folder:
        raise InputError(f"{chosen.name} lists are a file: expected a file, got a folder")
    _check_fields(chosen, source.fields)
    for option in ("score_file", "beam_size"):
        if getattr(source, option) is not None and option not in chosen.takes:
            raise InputError(f"the format {chosen.name} takes no {option.replace('_', ' ')}")
    return chosen


def _load(name: str, fields: NamedFields) -> Format:
    """The format of that name, which reads these fields if it takes them."""
    chosen = load_format(name)
    return chosen.naming(fields) if "fields" in chosen.takes else chosen


def _check_fields(chosen: Format, fields: NamedFields) -> None:
    """Raises InputError if fields are named and the format is not one of JSON."""
    names = [f"{kind}_field" for kind, name in vars(fields).items() if name is not None]
    if names and "fields" not in chosen.takes:
        raise InputError(f"{names[0]} names a field of JSON, and the format is {chosen.name}")


def matching_formats(source: Source) -> list[Format]:
    """The formats that a source looks like. Formats that are folders only match folders."""
    formats = [_load(name, source.fields) for name in FORMATS]
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
    if not source.head and not source.folder:
        raise InputError("the file is empty")
    if "".join(source.head).split() in (["[]"], ["{}"], ["[", "]"]):
        raise InputError("the file holds no list")
    matching = matching_formats(source)
    if len(matching) == 1:
        return matching[0]
    is_transcript = _TRANSCRIPT.search(source.start) and not _ALTERNATIVES.search(source.start)
    if not matching and is_transcript:
        raise InputError(
            "this is a transcript, with one text for each time: an N-best list needs the others, "
            "too; decode again and keep all beams (docs/tutorials/whisper.md)"
        )
    if matching:
        names = " or ".join(format.name for format in matching)
        raise InputError(f"could be {names}: name the format")
    appearance = _appearance(source)
    rule = f"no known format of N-best lists; it looks like {appearance}"
    if appearance.endswith("semicolons"):
        raise InputError(f"{rule}: save it with commas or tabs, and with decimal points")
    formats = [load_format(name) for name in FORMATS]
    folders = [format for format in formats if format.is_folder]
    for format in folders if source.folder else formats:
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
    advice = f"{option_named('beam_size')} says how many lines are a list"
    return f"plain text, one sentence per line ({advice})"
