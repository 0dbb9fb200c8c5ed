"""What every command shares: flags made from configs, exit status, one-line errors."""

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


def command(main: Callable[..., None], *configs: type, **options: Any) -> Callable[[], None]:
    """Makes the `run` of a module in flags/; arguments as in `run`. An executed module runs now."""

    def start() -> None:
        run(main, *configs, **options)

    if main.__module__ == "__main__":  # as in `python -m tta.flags.score`
        start()
    return start


def run(
    main: Callable[..., None],
    *configs: type,
    check: Callable[..., None] | None = None,
    passes_on: bool = False,
) -> None:
    """Turns flags into configs, calls `main` with them and exits.

    The exit status is 0 (done), 1 (failed) or 2 (wrong flags). SIGTERM ends a command like Ctrl-C:
    unfinished files are removed.

    Args:
        main: called with one instance of each config. The docstring of its module heads `--help`.
        *configs: dataclasses whose fields have a `tta.settings.Setting`. Each field becomes a flag.
        check: called like `main`, before it. An InputError that it raises counts as wrong flags.
        passes_on: whether the arguments after `--` belong to another program. They are then the
            last argument of `main`, as a list of str.
    """
    for config in configs:
        define_flags(config)
    sys.modules["__main__"].__doc__ = sys.modules[main.__module__].__doc__
    flags.FLAGS.set_gnu_getopt(True)
    extra: list[list[str]] = [[]] if passes_on else []
    if passes_on and "--" in sys.argv:
        place = sys.argv.index("--")
        sys.argv, extra = sys.argv[:place], [sys.argv[place + 1 :]]
    made: list[Any] = []

    def parse(argv: list[str]) -> list[str]:
        rest = _parse(argv)
        try:
            made.extend(from_flags(config) for config in configs)
            if check:
                check(*made)
        except InputError as error:
            _wrong_flags(error)
        return rest

    app.run(lambda _: _guarded(lambda: main(*made, *extra)), flags_parser=parse)


def define_flags(config: type) -> None:
    """Defines a flag for every setting of a config and lists it in `--help`."""
    for field in settings.fields(config):
        setting, name = field.setting, field.name
        arguments: list[Any] = [name, field.default, setting.help]
        bounds: list[Any] = [setting.minimum, setting.maximum]
        options: dict[str, Any] = {"required": field.required}
        if field.is_list and field.kind is float:
            serializer = flags.CsvListSerializer(",")
            flags.DEFINE(_NumbersParser(), *arguments, serializer=serializer, **options)
        elif field.is_list and setting.repeated:
            flags.DEFINE_multi_string(*arguments, **options)
        elif field.is_list:
            flags.DEFINE_list(*arguments, **options)
        elif setting.choices is not None:
            flags.DEFINE_enum(name, field.default, list(setting.choices), setting.help, **options)
        elif field.kind is bool:
            flags.DEFINE_bool(*arguments, **options)
        elif field.kind is int:
            flags.DEFINE_integer(*arguments, *bounds, **options)
        elif field.kind is float:
            flags.DEFINE_float(*arguments, *bounds, **options)
        else:
            flags.DEFINE_string(*arguments, allow_overwrite=not setting.once, **options)
        # absl's --help shows the flags of the main module only.
        flags.FLAGS.register_key_flag_for_module(sys.argv[0], flags.FLAGS[name])


def from_flags(config: type) -> Any:
    """The config that the parsed flags describe.

    Raises:
        InputError: a value breaks a rule of the config.
    """
    return config(
        **{field.name: flags.FLAGS[field.name].value for field in settings.fields(config)}
    )


class _NumbersParser(flags.ListParser):
    """Parses comma-separated numbers into a list of float."""

    def parse(self, argument) -> Any:
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
        _wrong_flags("; ".join(str(error).splitlines()))  # absl writes one rule per line
    except SystemExit:  # absl exits with 1 after --help
        sys.exit(0)
    if len(rest) > 1:
        _wrong_flags(f"unexpected argument {rest[1]!r}: every option is a --flag=value")
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
    """Raised on SIGTERM; only `_guarded` catches it."""


def _terminate(*_):
    raise _Terminated


def _wrong_flags(rule: object) -> typing.NoReturn:
    _stop(f"{rule} (--help lists the flags)", WRONG_FLAGS)


def _stop(message: object, status: int) -> typing.NoReturn:
    print(f"error: {message}", file=sys.stderr)
    sys.exit(status)
