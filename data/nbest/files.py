"""Reads and writes N-best lists: files or folders to lists of `NBestList` and back.

A score in memory is always a natural log, higher is better, in every format. Lists are usually
written in the format that they were read from:

>>> file = read_nbest("dev.json")
>>> reranked = [dataclasses.replace(l, hypotheses=best_first(l)) for l in file.lists]
>>> write_nbest("dev.reranked.json", reranked, file.format)
"""

import contextlib
import gc
import itertools
import math
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TextIO

from tta.atomic import Together, whole_folder
from tta.data.nbest.conversion import as_read, in_file, in_memory, plain_lists
from tta.data.nbest.fields import NamedFields
from tta.data.nbest.formats import TRANSLATIONS, load_format
from tta.data.nbest.lists import NBestList, distinct_references
from tta.data.nbest.references.files import read_references
from tta.data.nbest.sources import iter_lists, name_in_folder
from tta.data.text.files import STANDARD_STREAM, each_path, open_output, shown_path, withdrawn
from tta.doors import option_named
from tta.errors import InputError, located, shown


@dataclass(frozen=True)
class NBestFile:
    """The lists of one file or folder, in its order, and the name of its format.

    Attributes:
        names: the names of the files, if they are a folder of files of a format that is not itself
            a folder; else ().
        notes: what was done about the spelling of tokenizers (`tta.data.text.spelling`), and that a
            score is a mean.
    """

    lists: list[NBestList]
    format: str
    names: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_nbest(
    path: Path | str | Sequence[Path | str],
    format: str | None = None,
    reference_file: Path | str | Sequence[str] | None = None,
    score_file: Path | str | Sequence[str] | None = None,
    beam_size: int | None = None,
    scores: str | None = None,
    keep_non_words: bool | None = None,
    partial_references: bool = False,
    score_field: str | None = None,
    text_field: str | None = None,
) -> NBestFile:
    """Reads a file of N-best lists.

    Either all hypotheses have a score or none, and either all lists have a reference or none. A
    list may be empty, but not all of them. Texts spelled by a tokenizer are read as words
    (`tta.data.text.spelling`), and `write_nbest` writes them as they were.

    Args:
        path: the file, `-` for standard input, plain or compressed; several files or globs of one
            format, one after another; or the folder of a format that is a folder, or of files in a
            format that reads such folders.
        format: a key of `FORMATS`; None detects it from the content.
        reference_file: references that replace those of the file; see
            `tta.data.nbest.references.files.read_references`. Several files give each list several;
            a blank one counts only if all are blank.
        score_file: the costs of a Kaldi list (`utt-N cost`, negative natural log). Of several files
            the sum is the cost, and each is a feature named after its file: `score_ac`.
        beam_size: hypotheses per list, for formats that do not separate lists (NeMo's TSV).
        scores: what the scores of the file are, one of `tta.choices.SCORE_KINDS`; None: what the
            format says. In memory they are natural logs in any case.
        keep_non_words: whether words that are none, such as `<eps>`, count; None: only in the
            formats of `TRANSLATIONS`.
        partial_references: whether some lists may have a reference and others none.
        score_field, text_field: in formats of JSON, the fields of a hypothesis that hold its score
            and its text, in place of those of docs/nbest.md; or paths, such as `segments[].text`.

    Raises:
        InputError: a file is missing, empty or malformed, or breaks a rule above; the message
            names file, line (if there is one) and rule.
    """
    with _without_collecting():
        numbered_lists = iter_lists(
            path,
            format,
            score_file,
            beam_size,
            partial_references=partial_references,
            fields=NamedFields(text_field, score_field),
        )
        read = list(_with_natural_logs(numbered_lists, path, scores))
    name, lists = read[0][0].name, [nbest for _, nbest in read]
    names = tuple(dict.fromkeys(filter(None, map(name_in_folder, lists))))
    if reference_file is not None:
        lists = _with_references_of(each_path(reference_file), lists, partial_references)
    lists, notes = plain_lists(lists, _keeps(keep_non_words, name))
    return NBestFile(lists, name, names, (*notes, *_mean_notes(score_field)))


@contextlib.contextmanager
def _without_collecting() -> Iterator[None]:
    """Leaves out the search for cycles of objects: reading makes many objects, and drops few."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _with_references_of(
    files: Sequence[Path | str], lists: Sequence[NBestList], partial: bool
) -> list[NBestList]:
    """The lists with the references of files, in place of their own."""
    ids = [nbest.utterance_id for nbest in lists]
    of_files = [read_references(file, ids, partial) for file in files]
    return [
        _with_references(nbest, [text for text in texts if text is not None])
        for nbest, texts in zip(lists, zip(*of_files, strict=True), strict=True)
    ]


def _with_references(nbest: NBestList, texts: Sequence[str]) -> NBestList:
    first, *more_references = distinct_references(texts) or [None]
    return replace(nbest, reference=first, more_references=tuple(more_references))


def write_nbest(
    target: Path | str | TextIO,
    lists: Sequence[NBestList],
    format: str,
    overwrite: bool = False,
    scores: str | None = None,
) -> None:
    """Writes N-best lists in a format of `FORMATS`, with hypotheses in the order given.

    The target is a path (`-` for standard output) or a text stream; see `open_nbest_output`. Other
    contents of the original file (`extra`) are written back if the format is the same. Lists that
    were read from a folder of files become one, with the same names.

    `scores` is that of `read_nbest`. Costs are written for "cost"; natural logs for the others.
    Raises InputError if a file exists already or cannot be written, a score is not finite, or the
    format cannot hold a text (a line break) or an empty list, needs scores that are missing, or is
    a folder and the target a stream.
    """
    if isinstance(target, (str, Path)):
        scored = any(h.score is not None for nbest in lists for h in nbest.hypotheses)
        names = [name for nbest in lists if (name := name_in_folder(nbest)) is not None]
        with open_nbest_output(
            target, format, overwrite, has_scores=scored, scores=scores, names=names
        ) as write:
            write(lists)
        return
    chosen = load_format(format)
    if chosen.is_folder:
        raise InputError(f"{format} lists are a folder, not a stream")
    chosen.write(_writable(lists, chosen, scores), target)


@contextlib.contextmanager
def open_nbest_output(
    path: Path | str,
    format: str,
    overwrite: bool = False,
    has_scores: bool = True,
    scores: str | None = None,
    names: Sequence[str] = (),
) -> Iterator[Callable[[Sequence[NBestList]], None]]:
    """Opens a file or folder for lists, and yields the function that writes them, once.

    The file or folder appears, complete, when the `with` block ends; nothing appears if it raises.
    The costs of a Kaldi file go to the same name with `.scores` added, unless `has_scores` is
    false.

    `names` are the files of the folder that was read, `NBestFile.names`; () for one file. The other
    arguments and the errors are those of `write_nbest`, with a path as the target.
    """
    chosen = load_format(format)
    with Together() as stack:
        if chosen.is_folder or (names and chosen.reads_folders):
            folder = stack.enter_context(open_output_folder(path, overwrite, names))

            def write(lists):
                lists = _writable(lists, chosen, scores)
                if chosen.is_folder:
                    chosen.write_folder(lists, folder)
                else:
                    _write_files(lists, chosen, folder)
        else:
            stream, costs = stack.enter_context(open_output(path, overwrite)), None
            if "score_file" in chosen.takes and has_scores and str(path) != STANDARD_STREAM:
                costs = stack.enter_context(open_output(f"{path}.scores", overwrite))
                stack.enter_context(withdrawn(path))

            def write(lists):
                lists = _writable(lists, chosen, scores)
                chosen.write(lists, stream)
                if costs is not None:
                    chosen.write_scores(lists, costs)

        yield write


def _writable(lists, chosen, scores):
    """Checks lists, and returns them with the scores that the format is to write."""
    for nbest in lists:
        for hypothesis in nbest.hypotheses:
            if hypothesis.score is not None and not math.isfinite(hypothesis.score):
                rule = f"list {shown(nbest.utterance_id)}: score {hypothesis.score} is not finite"
                raise InputError(rule)
        if not nbest.hypotheses and not chosen.has_long_lines:
            rule = f"list {shown(nbest.utterance_id)}: {chosen.name} cannot hold an empty list"
            raise InputError(rule)
    return [in_file(as_read(nbest), chosen.score_kind, scores) for nbest in lists]


def _write_files(lists, chosen, folder):
    """Writes the lists of each file of a folder to a file of the same name."""
    for name, group in itertools.groupby(lists, key=lambda one: name_in_folder(one) or ""):
        if not name:
            raise InputError("some lists are not from a folder of files")
        with open_output(folder / name) as stream:
            chosen.write(list(group), stream)


def _keeps(keep_non_words, format):
    return format in TRANSLATIONS if keep_non_words is None else keep_non_words


def _mean_notes(score_field: str | None) -> Iterator[str]:
    """Yields a note if the field of the score looks like a mean over tokens."""
    if score_field is not None and _MEAN.search(score_field):
        yield (
            f"{score_field} looks like a mean per token, which is no sum: it is used as it is, so "
            "long hypotheses have no lower scores; if you can, name the sum, which is the mean "
            "times the number of tokens"
        )


def _with_natural_logs(found, path, scores):
    """Yields the format and a list with scores that are natural logs, for each list."""
    for chosen, nbest in found:
        with located(f"list {shown(nbest.utterance_id)}", path=shown_path(path)):
            converted = in_memory(nbest, chosen.score_kind, scores)
        yield chosen, converted


# In the name of a field: the score is a mean over tokens.
_MEAN = re.compile(r"(?i)(avg|average|mean)(?![a-z])|per_?token")

# What an ESPnet 2 folder consists of. Only such a folder is replaced.
_OURS = re.compile(r"[0-9]+best_recog(/(text|score|token|token_int))?")


@contextlib.contextmanager
def open_output_folder(
    path: Path | str, overwrite: bool = False, names: Collection[str] = ()
) -> Iterator[Path]:
    """Yields an empty folder. It gets its name when the `with` block ends, or is removed.

    Args:
        path: the name of the folder.
        overwrite: whether a folder of N-best lists, without other files, may be replaced.
        names: the files that will be written, if it is a folder of files of one format; () for the
            folders of ESPnet 2.

    Raises:
        InputError: the path exists and may not be replaced, is standard output, or its parent is
            missing or not writable.
        OSError: writing failed. The error names the path.
    """
    if str(path) == STANDARD_STREAM:
        raise InputError("expected a folder to write, got standard output")
    check = partial(_check_replaceable, path, overwrite, names)
    check()
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise InputError(f"no such folder: {target.parent}", path)
    with whole_folder(path, check) as folder:
        yield folder


def _check_replaceable(path, overwrite, names):
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path):
        raise InputError("expected a folder to write, got a file", path)
    if not overwrite:
        raise InputError(f"exists; pass {option_named('overwrite', True)} to replace it", path)
    for file in sorted(Path(path).rglob("*")):
        name = file.relative_to(path).as_posix()
        if name not in names if names else not _OURS.fullmatch(name):
            raise InputError(f"has {name}, which is not of N-best lists: it is not replaced", path)
