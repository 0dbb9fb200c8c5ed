"""Flags of the command line and of files (`--flagfile`): of two sources, the later one counts.

A file stands for its flags at its place, as absl has it. Its flags replace those before it, and
flags after it replace its own, lists too. Within one source a flag of one value is given once, and
a list may be given in parts.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from absl import flags

from tta.errors import InputError

_FLAGFILE = re.compile(r"--?flagfile(?:=(.*))?")
_UNDEFOK = re.compile("--?undefok=")  # names flags that may be unknown
_COMMENT = re.compile(r"(?:^|\s)(?:#|//\s).*|^//.*")


@dataclass(frozen=True, eq=False)
class Source:
    """One reading of a file of flags, or the command line, which has the path None."""

    path: str | None


COMMAND_LINE = Source(None)


def parse_flags(
    values: flags.FlagValues,
    argv: Sequence[str],
    instead_of: Callable[[str], str | None] = lambda name: None,
    positional: str | None = None,
) -> None:
    """Parses the arguments of a command, and of files of flags that they name.

    Args:
        values: the flags, which get their values.
        argv: the name of the command, and its arguments.
        instead_of: says what to do in place of an unknown flag, if that is known.
        positional: the list that arguments without a flag belong to.

    Raises:
        InputError: a file cannot be read, a flag is unknown, a value is wrong, or an argument
            belongs to no flag. It names the file.
        GivenTwiceError: a flag of one value is given twice in one source.
    """
    times: Counter[tuple[flags.Flag, Source]] = Counter()
    set_by: dict[flags.Flag, Source] = {}
    all_flags = {values[name] for name in values}
    runs = [*_runs(argv[1:], COMMAND_LINE)]
    undefok = [argument for _, run in runs for argument in run if _UNDEFOK.match(argument)]
    for source, run in runs:
        before = {flag: int(set_by.get(flag) is source) for flag in all_flags}
        for flag in all_flags:  # absl lets a list that is present grow, and replaces another one
            flag.present = before[flag]
        for word in _parse_run(values, [argv[0], *undefok, *run], source, instead_of):
            if positional is None:
                rule = f"unexpected argument {word!r}: every option is a --flag=value"
                if os.path.exists(word):
                    rule += "; a glob is quoted, as --flag='*.txt'"
                raise InputError(rule, source.path)
            values[positional].parse(word)
        for flag in all_flags:
            if count := flag.present - before[flag]:
                times[flag, source] += count
                set_by[flag] = source
    for (flag, source), count in times.items():
        if count > 1 and not isinstance(flag.value, list):
            rule = f"--{flag.name} is given more than once, and it takes one value"
            raise GivenTwiceError(rule, source.path)


class GivenTwiceError(InputError):
    """A flag of one value has two in one source."""


def _parse_run(values, argv, source, instead_of):
    """Parses arguments of one source; returns those that belong to no flag."""
    try:
        return values(argv)[1:]
    except flags.UnrecognizedFlagError as error:
        raise InputError(instead_of(error.flagname) or str(error), source.path) from None
    except flags.Error as error:
        rules = "; ".join(str(error).splitlines())  # absl writes one rule per line
        raise InputError(rules, source.path) from None


def _runs(
    arguments: Sequence[str], source: Source, outer: tuple[str, ...] = ()
) -> Iterator[tuple[Source, list[str]]]:
    """Yields the arguments in their order, in runs of one source; `outer` are the files around."""
    run: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        match = _FLAGFILE.fullmatch(argument)
        if argument == "--":
            run += [argument, *remaining]
        elif match is None:
            run.append(argument)
        else:
            path = match[1] if match[1] is not None else next(remaining, "")
            yield source, run
            yield from _runs_of_file(os.path.expanduser(path.strip()), source, outer)
            run = []
    yield source, run


def _runs_of_file(path, source, outer):
    if not path:
        raise InputError("--flagfile needs the name of a file", source.path)
    if os.path.realpath(path) in outer:
        raise InputError("a file of flags that reads itself", path)
    lines = (_COMMENT.sub("", line).strip() for line in _read_lines(path))
    arguments = [line for line in lines if line]
    yield from _runs(arguments, Source(path), (*outer, os.path.realpath(path)))


def _read_lines(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read().splitlines()
    except UnicodeDecodeError:
        raise InputError("expected flags in UTF-8", path) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path) from None
