"""Prints a script with which a shell completes `tta`: its commands, flags and choices.

Save it where the shell looks for completions: in bash, as
~/.local/share/bash-completion/completions/tta; in zsh, as _tta in a folder of $fpath.

Example:

    tta completion --shell=zsh
"""

import argparse
import importlib.util
from dataclasses import dataclass

from tta import cli, settings
from tta.commands import COMMANDS
from tta.errors import InputError, install
from tta.settings import Config, setting

SHELLS = ("bash", "zsh", "tcsh")


@dataclass(frozen=True, kw_only=True)
class CompletionConfig(Config):
    """For which shell a script is printed."""

    shell: str = setting("bash", "The shell that completes.", choices=SHELLS)


def completion_script(shell: str) -> str:
    """A script with which a shell completes `tta`: its commands, their flags, choices and files.

    Raises InputError if shtab is not installed.
    """
    if importlib.util.find_spec("shtab") is None:
        raise InputError(f"completion needs shtab: {install('completion')}")
    import shtab

    parser = argparse.ArgumentParser("tta")
    commands = parser.add_subparsers()
    for name in sorted(COMMANDS):
        flags = COMMANDS.load(name)
        about = _plain((flags.__doc__ or "").partition("\n")[0])
        command = commands.add_parser(name.removeprefix("tta-"), help=about, description=about)
        for config in (*flags.run.configs, settings.Limits):
            for field in settings.fields(config):
                _add(command, field, shtab.FILE)
    return shtab.complete(parser, shell)


def _add(parser, field, file):
    """Adds a flag to a parser, which is only read, and never parses."""
    about = _plain(field.setting.help.partition(". ")[0])
    if field.kind is bool:
        parser.add_argument(f"--{field.name}", f"--no{field.name}", action="store_true", help=about)
        return
    action = parser.add_argument(f"--{field.name}", choices=field.setting.choices, help=about)
    if field.kind is str and field.setting.choices is None:
        action.complete = file


def _plain(text):
    """A text without what argparse or a shell would read as its own: % and quotes."""
    return text.translate({ord("%"): " percent", ord("'"): None, ord('"'): None, ord("`"): None})


def main(config: CompletionConfig) -> None:
    print(completion_script(config.shell))


run = cli.command(main, CompletionConfig)
