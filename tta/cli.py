"""What every command shares: flags made of configs, exit status, one-line errors."""

import os
import signal
import sys
import typing
from collections.abc import Callable
from typing import Any

from absl import app, flags

from tta import settings
from tta._quiet import silence_tensorflow
from tta.errors import InputError

FAILED, WRONG_FLAGS, INTERRUPTED, TERMINATED = 1, 2, 130, 143


def run(main: Callable[..., None], *configs: type, passes_on: bool = False) -> None:
    """Turns flags into configs, calls `main` with them and exits.

    The exit status is 0 (done), 1 (failed) or 2 (wrong flags). SIGTERM ends a command as Ctrl-C
    does: unfinished files are removed.

    Args:
        main: called with one instance of each config. The docstring of its module heads `--help`.
        *configs: dataclasses whose fields are `tta.settings.Setting`s. Each field becomes a flag.
        passes_on: whether the arguments after `--` belong to another program. `main` then gets
            them last, as a list of str.
    """
    for config in configs:
        define_flags(config)
    sys.modules["__main__"].__doc__ = sys.modules[main.__module__].__doc__
    flags.FLAGS.set_gnu_getopt(True)
    others: list[str] = []
    if passes_on and "--" in sys.argv:
        place = sys.argv.index("--")
        sys.argv, others = sys.argv[:place], sys.argv[place + 1 :]
    extra = [others] if passes_on else []
    made: list[Any] = []

    def parse(argv: list[str]) -> list[str]:
        rest = _parse(argv)
        try:
            made.extend(from_flags(config) for config in configs)
        except InputError as error:
            _stop(f"{error} (--help lists the flags)", WRONG_FLAGS)
        return rest

    app.run(lambda _: _guarded(lambda: main(*made, *extra)), flags_parser=parse)


def define_flags(config: type) -> None:
    """Defines a flag for every setting of a config; each shows up in `--help`."""
    for field in settings.fields(config):
        setting, name = field.setting, field.name
        text, default = setting.help, field.default
        arguments: dict[str, Any] = {"required": field.required}
        if field.is_list and field.kind is float:
            flags.DEFINE(
                _NumbersParser(),
                name,
                default,
                text,
                serializer=flags.CsvListSerializer(","),
                **arguments,
            )
        elif field.is_list and setting.repeated:
            flags.DEFINE_multi_string(name, default, text, **arguments)
        elif field.is_list:
            flags.DEFINE_list(name, default, text, **arguments)
        elif setting.choices is not None:
            flags.DEFINE_enum(name, default, list(setting.choices), text, **arguments)
        elif field.kind is bool:
            flags.DEFINE_bool(name, default, text, **arguments)
        elif field.kind in (int, float):
            define = flags.DEFINE_integer if field.kind is int else flags.DEFINE_float
            define(name, default, text, setting.minimum, setting.maximum, **arguments)
        else:
            flags.DEFINE_string(name, default, text, **arguments)
        # absl's --help shows the flags of the main module.
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS[name])


def from_flags(config: type) -> Any:
    """The config that the parsed flags describe.

    Raises:
        InputError: a value breaks a rule of the config.
    """
    return config(**{field.name: flags.FLAGS[field.name].value for field in settings.fields(config)})


class _NumbersParser(flags.ListParser):
    """Parses comma-separated numbers into a list of float."""

    def parse(self, argument):
        numbers = [float(part) for part in super().parse(argument)]
        if not numbers:
            raise ValueError("expected a number")
        return numbers

    def flag_type(self):
        return "comma separated list of numbers"


def _parse(argv: list[str]) -> list[str]:
    try:
        rest = flags.FLAGS(argv)
    except flags.Error as error:
        rules = "; ".join(str(error).splitlines())  # absl puts each rule on a line of its own
        _stop(f"{rules} (--help lists the flags)", WRONG_FLAGS)
    except SystemExit:  # absl exits with 1 after --help
        sys.exit(0)
    if len(rest) > 1:
        _stop(f"unexpected argument {rest[1]!r}: every option is a --flag=value", WRONG_FLAGS)
    return rest


def _guarded(main: Callable[[], None]) -> None:
    silence_tensorflow()
    signal.signal(signal.SIGTERM, _terminate)
    try:
        main()
        sys.stdout.flush()
    except InputError as error:
        _stop(error, FAILED)
    except BrokenPipeError:  # the reader of our output has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except OSError as error:
        shown = f"{error.filename}: {error.strerror or error}" if error.filename else str(error)
        _stop(" ".join(shown.split()), FAILED)
    except KeyboardInterrupt:
        _stop("interrupted", INTERRUPTED)
    except _Terminated:
        _stop("terminated", TERMINATED)


class _Terminated(BaseException):
    """Raised on SIGTERM; only the frame of the command catches it."""


def _terminate(*_):
    raise _Terminated


def _stop(message: object, status: int) -> typing.NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(status)
