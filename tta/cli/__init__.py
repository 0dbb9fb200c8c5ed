"""What every command shares: flags made from configs, exit status, one-line errors."""

import errno
import os
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from absl import app, flags

import tta
from tta import settings
from tta.atomic import handle_termination, ignore_hang_up
from tta.cli.flag_files import GivenTwiceError, parse_flags
from tta.doors import Door, through
from tta.errors import InputError, install
from tta.help import answer, help_text
from tta.standard_streams import prepare_streams, quiet_tensorflow

FAILED, WRONG_FLAGS, INTERRUPTED, CLOSED_PIPE, TERMINATED = 1, 2, 130, 141, 143

# The packages of the extra `train`.
OF_TRAINING = {"tensorflow", "keras", "tensorboard", "tensorflow_text", "tensorflow_serving"}
OF_TRAINING |= {"jax", "google_crc32c"}

HELP = {"-h", "-help", "--help", "--helpshort", "-?"}
VERSION = {"-version", "--version"}
_SEE_HELP = "(--help lists the flags)"


@dataclass(frozen=True)
class Command:
    """The `run` of a module in flags/: a call runs the command and exits, see `run`.

    Attributes:
        main, configs, options: the arguments of `run`.
    """

    main: Callable[..., None]
    configs: tuple[type, ...]
    options: Mapping[str, Any]

    def __call__(self) -> None:
        run(self.main, *self.configs, **self.options)


def command(main: Callable[..., None], *configs: type, **options: Any) -> Command:
    """Makes the `run` of a module in flags/; arguments as in `run`. An executed module runs now."""
    entry_point = Command(main, configs, options)
    if main.__module__ == "__main__":  # as in `python -m tta.flags.score`
        entry_point()
    return entry_point


def run(
    main: Callable[..., None],
    *configs: type,
    check: Callable[..., None] | None = None,
    gone: Mapping[str, str] | None = None,
) -> None:
    """Turns flags into configs, calls `main` with them and exits.

    The exit status is 0 (done), 1 (failed), 2 (wrong flags), 130 (Ctrl-C), 141 (the reader of the
    output has closed it) or 143 (SIGTERM, or SIGHUP of a terminal that was closed). Ctrl-C and
    these signals end a command in the same way: unfinished files are removed, or named.

    Args:
        main: called with one instance of each config. The docstring of its module, which says what
            the command does and gives an example, heads `--help`.
        *configs: dataclasses whose fields have a `tta.settings.Setting`. Each field becomes a flag.
        check: called like `main`, before it. An InputError that it raises counts as wrong flags.
        gone: {flag of earlier versions: what to do instead}.
    """
    prepare_streams()
    for config in (*configs, settings.Limits):
        define_flags(config)
    about = sys.modules[main.__module__].__doc__ or ""
    sys.modules["__main__"].__doc__ = about  # for --helpfull
    flags.FLAGS.set_gnu_getopt(True)
    if configs and HELP & set(sys.argv):  # without configs, absl shows the flags of the program
        show(help_text(about, (*configs, settings.Limits)))
    if VERSION & set(sys.argv):
        show(version_text())
    instances: list[Any] = []

    def parse(argv: list[str]) -> list[str]:
        _parse(argv, configs, gone or {})
        _check_required(configs)
        try:
            instances.extend(from_flags(config) for config in configs)
            settings.limits = from_flags(settings.Limits)
            settings.check_outputs(*instances)
            if check:
                check(*instances)
        except InputError as error:
            wrong_usage(f"{error} {_SEE_HELP}")
        return argv[:1]

    with through(Door.COMMAND):
        app.run(lambda _: _guarded(lambda: main(*instances)), flags_parser=parse)


def version_text() -> str:
    """What `--version` prints."""
    return f"tta-lm {tta.__version__}\n"


def define_flags(config: type) -> None:
    """Defines a flag for every setting of a config."""
    for field in settings.fields(config):
        setting, name = field.setting, field.name
        arguments: list[Any] = [name, field.default, setting.help]
        bounds: list[Any] = [setting.minimum, setting.maximum]
        if field.is_list and setting.repeated:
            flags.DEFINE_multi_string(*arguments)
        elif field.is_list:
            parser = _NumbersParser() if field.kind is float else flags.ListParser()
            flags.DEFINE_flag(ListFlag(parser, flags.CsvListSerializer(","), *arguments))
        elif setting.choices is not None:
            flags.DEFINE_enum(name, field.default, list(setting.choices), setting.help)
        elif field.kind is bool:
            flags.DEFINE_bool(*arguments)
        elif field.kind is int:
            flags.DEFINE_integer(*arguments, *bounds)
        elif field.kind is float:
            flags.DEFINE_float(*arguments, *bounds)
        else:
            flags.DEFINE_string(*arguments)
        if setting.alias is not None:
            flags.DEFINE_alias(setting.alias, name)


def from_flags(config: type) -> Any:
    """The config of the parsed flags. Raises InputError if a value breaks one of its rules."""
    return config(
        **{field.name: flags.FLAGS[field.name].value for field in settings.fields(config)}
    )


class ListFlag(flags.Flag):
    """A flag whose value is a list. A repeated flag adds to the list."""

    def parse(self, argument):
        before = self.value if self.present else None
        super().parse(argument)
        self.value = [*(before or []), *(self.value or [])]


class _NumbersParser(flags.ListParser):
    """Parses comma-separated numbers into a list of float."""

    def parse(self, argument) -> Any:
        numbers = [float(part) for part in super().parse(argument)]
        if not numbers:
            raise ValueError("expected a number")
        return numbers

    def flag_type(self):
        return "comma separated list of numbers"


def _parse(argv: list[str], configs: tuple[type, ...], gone: Mapping[str, str]) -> None:
    def instead_of(name: str) -> str | None:
        instead = gone.get(name) or gone.get(name.removeprefix("no"))
        return f"--{name} is gone: {instead}" if instead else answer(name)

    bare = (f.name for config in configs for f in settings.fields(config) if f.setting.bare)
    try:
        parse_flags(flags.FLAGS, argv, instead_of, positional=next(bare, None))
    except GivenTwiceError as error:
        _stop(f"{error} {_SEE_HELP}", FAILED)
    except InputError as error:
        wrong_usage(f"{error} {_SEE_HELP}")
    except SystemExit:  # absl exits with 1 after its help
        show("")


def _check_required(configs):
    """Stops with one sentence that names all required flags that are missing."""
    required = (f.name for config in configs for f in settings.fields(config) if f.required)
    missing = [f"--{name}" for name in required if flags.FLAGS[name].value is None]
    if missing:
        *names_before, last = missing
        names = f"{', '.join(names_before)} and {last} are" if names_before else f"{last} is"
        wrong_usage(f"{names} required {_SEE_HELP}")


def _excepthook(kind, error, trace):
    """Shows an InputError of an import in one line, too: that of a package's table."""
    if not isinstance(error, InputError):
        return sys.__excepthook__(kind, error, trace)
    print(f"error: {error}", file=sys.stderr)


sys.excepthook = _excepthook


def show(text: str) -> typing.NoReturn:
    """Prints a text and exits with status 0, even if the reader of the output has closed it."""
    try:
        print(text, end="", flush=True)
    except BrokenPipeError:
        _drop_output(sys.stdout)
    except OSError as error:
        _drop_output(sys.stdout)
        _stop(f"standard output: {error.strerror}", FAILED)
    sys.exit(0)


def _drop_output(stream):
    """Drops output that cannot be written, which Python would report again when it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _guarded(main: Callable[[], None]) -> None:
    quiet_tensorflow()
    handle_termination(_terminate)
    if sys.stdout is None:
        _stop("standard output is closed", FAILED)
    try:
        main()
        sys.stdout.flush()
    except InputError as error:
        _stop(error, FAILED)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in OF_TRAINING:
            raise
        needed = f"this needs the packages of training, and {package} is not installed"
        _stop(f"{needed}: {install()}", FAILED)
    except BrokenPipeError:  # the reader of our output has closed it
        _drop_output(sys.stdout)
        sys.exit(CLOSED_PIPE)
    except UnicodeEncodeError as error:
        character = ascii(error.object[error.start])
        _stop(f"{character} cannot be written as {error.encoding}", FAILED)
    except OSError as error:
        # Writers of files name theirs.
        path = error.filename or ("standard output" if error.errno == errno.ENOSPC else None)
        message = f"{path}: {error.strerror or error}" if path else str(error)
        _stop(" ".join(message.split()), FAILED)
    except MemoryError:
        _stop("out of memory", FAILED)
    except KeyboardInterrupt as error:  # which may say how to go on
        _stop("; ".join(["interrupted", *map(str, error.args)]), INTERRUPTED)
    except _Terminated as error:
        _stop("; ".join(["terminated", *map(str, error.args)]), TERMINATED)


class _Terminated(BaseException):
    """Raised on SIGTERM and SIGHUP; only `_guarded` catches it."""


def _terminate(*_):
    ignore_hang_up()
    raise _Terminated


def wrong_usage(message: object) -> typing.NoReturn:
    """Prints one line on standard error and exits with status 2."""
    _stop(message, WRONG_FLAGS)


def _stop(message: object, status: int) -> typing.NoReturn:
    try:
        print(f"error: {message}", file=sys.stderr, flush=True)
    except OSError:  # of a terminal that was closed
        _drop_output(sys.stderr)
    sys.exit(status)
