"""The text of `--help`: what a command does, an example, and its flags in groups."""

import shutil
import textwrap
from collections.abc import Iterable

from tta import settings

_KINDS = {int: "INTEGER", float: "NUMBER"}


def help_text(about: str, configs: Iterable[type]) -> str:
    """Renders the help of a command.

    Required flags come first. The others are grouped by the `group` of their settings, in the order
    of the configs, whose fields are the flags, and the common flags come last. `about` is what the
    command does, with an example: the docstring of its module.

    Returns lines as wide as the terminal, at most 100 characters; 80 if there is none.
    """
    width = min(shutil.get_terminal_size().columns, 100)
    groups: dict[str, list[str]] = {"Required flags": []}
    for field in (field for config in configs for field in settings.fields(config)):
        title = "Required flags" if field.required else field.group
        groups.setdefault(title, []).append(_entry(usage(field), meaning(field), width))
    common = groups.pop(settings.COMMON, [])
    groups[settings.COMMON] = [
        *common,
        _entry("--flagfile=FILE", "Read flags from a file, one per line.", width),
        _entry("-h, --help", "Show this help. --helpfull adds the flags of absl.", width),
        _entry("--version", "Show the version.", width),
    ]
    listed = [f"{title}:\n" + "\n".join(flags) for title, flags in groups.items() if flags]
    return "\n\n".join([about.strip(), *listed]) + "\n"


def usage(field: settings.Field) -> str:
    """How a flag is written, such as `--num_shards=INTEGER`."""
    if field.kind is bool:
        return f"--[no]{field.name}"
    if field.setting.choices is not None:
        value = "|".join(field.setting.choices)
    else:  # vocab_file -> FILE
        value = _KINDS.get(field.kind, field.name.rpartition("_")[2].upper())
    return f"--{field.name}={value}" + ",..." * (field.is_list and not field.setting.repeated)


def meaning(field: settings.Field, *notes: str) -> str:
    """The help of a flag, then notes: its default, its bounds, whether it adds up, its other name.

    Further `notes` come first.
    """
    found = list(notes)
    if field.default is not None and field.default is not False:
        value = ",".join(map(str, field.default)) if field.is_list else field.default
        found.append(f"default: {'true' if value is True else value}")
    if field.setting.bounds:
        found.append(field.setting.bounds)
    if field.is_list and not field.setting.repeated:
        found.append("may be repeated")
    if field.setting.alias is not None:
        found.append(f"also --{field.setting.alias}")
    return field.setting.help + f" [{'; '.join(found)}]" * bool(found)


def _entry(usage, meaning, width):
    text = textwrap.fill(
        meaning,
        width,
        initial_indent=" " * 6,
        subsequent_indent=" " * 6,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return f"  {usage}\n{text}"
