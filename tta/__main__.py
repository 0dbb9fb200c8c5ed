"""All commands under one name: `tta rerank --flag=value ...`, also as `python -m tta`."""

import re
import sys

from tta import cli
from tta.commands import COMMANDS, GONE
from tta.errors import did_you_mean
from tta.standard_streams import prepare_streams

_PREFIX = "tta-"


def run() -> None:
    """Runs the command that the first argument names, and exits with its status (`tta.cli.run`)."""
    prepare_streams()
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name in cli.HELP:
        cli.show(overview())
    if name in cli.VERSION:
        cli.show(cli.version_text())
    if f"{_PREFIX}{name}" not in COMMANDS:
        cli.wrong_usage(f"{_wrong(name)} (tta --help lists the commands)")
    sys.argv = [f"tta {name}", *sys.argv[2:]]
    COMMANDS.load(f"{_PREFIX}{name}").run()


def overview() -> str:
    """The text of `tta --help`: every command, and what it does."""
    names = _names()
    width = max(map(len, names))
    lines = []
    for name in names:
        about = re.split(r"[:,.]", COMMANDS.load(f"{_PREFIX}{name}").__doc__ or "")[0]
        lines.append(f"  {name:{width}}  {about}\n")
    return (
        "Scores, reranks and compares sentences with deep bidirectional language models.\n\n"
        "Usage: tta COMMAND --flag=value ...\n\n"
        f"Commands:\n{''.join(lines)}\n"
        "tta COMMAND --help shows the flags of a command.\n"
        "Each command has a name of its own, too: tta-rerank is tta rerank.\n"
    )


def _names():
    """The commands in order."""
    return sorted(name.removeprefix(_PREFIX) for name in COMMANDS)


def _wrong(name):
    """What is wrong with a first argument that names no command."""
    if not name:
        return "a command is required"
    if instead := GONE.get(f"{_PREFIX}{name}"):
        return f"tta {name} is gone: {instead}"
    return f"no command is named {name!r}{did_you_mean(name, _names())}"


if __name__ == "__main__":
    run()
