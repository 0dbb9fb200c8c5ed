"""Writes the pages of the documentation site, which a generator then builds.

    python docs/pages.py && zensical serve

They are the pages in docs/, the repository's own pages, and reference from the code: commands,
flags and the keys of `config.json` are read from the configs, so these pages say what the code
does. `$REPOSITORY_URL`, which mkdocs.yml reads too, is where links to files of the code lead.
"""

import dataclasses
import html
import inspect
import os
import posixpath
import re
import shutil
import sys
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tta import settings  # noqa: E402
from tta.commands import COMMANDS  # noqa: E402
from tta.help import meaning, usage  # noqa: E402
from tta.modeling.config.model_types import HEADS, MODEL_TYPES  # noqa: E402

# Pages of the site that are files of the repository outside docs/.
PAGES = {
    "index.md": "README.md",
    "architecture.md": "modeling/README.md",
    "examples.md": "examples/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
SOURCES = {source: page for page, source in PAGES.items()}
# What GitHub writes around a link: "](target)" and "](target#anchor)".
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def write(folder):
    """Writes all pages and pictures into a folder, in place of what it had."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.py", "__pycache__", "theme")
    )
    sources = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    pages = {page: f"docs/{page}" for page in sources} | PAGES
    texts = {
        page: relinked((ROOT / source).read_text(encoding="utf-8"), source)
        for page, source in pages.items()
    }
    texts |= {"reference/commands.md": commands_page(), "reference/config.md": config_page()}
    for page, text in texts.items():
        (folder / page).write_text(text, encoding="utf-8")


def relinked(text, source):
    """A file of the repository with links that work on the site.

    A link to a page becomes one to that page. A link to another file becomes one to the repository,
    or the file's name where its address is not known.
    """
    home = os.environ.get("REPOSITORY_URL")
    page = SOURCES.get(source, source.removeprefix("docs/"))

    def replace(match):
        mark, label, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path in SOURCES:
            path = SOURCES[path]
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
        elif (ROOT / path).exists():
            if home:
                return f"{mark}[{label}]({home}/blob/HEAD/{path}{anchor or ''})"
            return label if label.startswith("`") else f"{label} (`{path}`)"
        else:
            return match[0]  # the generator names it
        link = os.path.relpath(path, posixpath.dirname(page) or ".")
        return f"{mark}[{label}]({link}{anchor or ''})"

    return LINK.sub(replace, text)


def commands_page():
    """Every command: what it does, its example and its flags."""
    lines = ["# Commands", "", "Generated from the code.", ""]
    for name in sorted(COMMANDS):
        flags = COMMANDS.load(name)
        lines += [f"## {name}", "", flags.__doc__.strip(), ""]
        group = None
        for config in flags.run.configs:
            for field in settings.fields(config):
                if field.group != group:
                    group = field.group
                    lines += ["", f"**{group}**", ""]
                about = meaning(field, *["**required**"] * field.required)
                lines.append(f"- `{usage(field)}`: {plain(about)}")
        lines.append("")
    return "\n".join(lines)


def config_page():
    """The keys of `config.json`: of each family and of each head."""
    lines = ["# Keys of config.json", ""]
    lines += [
        "`config.json` is one flat object. `model_type` names the family of the model, and"
        " `output_layer` its head. Each has its own keys, here with their defaults. Generated from"
        " the code.",
        "",
    ]
    for name in MODEL_TYPES:
        config = MODEL_TYPES.load(name).part("config")
        lines += [f"## model_type {name}", "", *keys(attributes(config), config), ""]
    lines += ["# Keys of the heads", ""]
    for name in HEADS:
        head = HEADS.load(name)
        meanings = {field.name: field.setting.help for field in settings.fields(head)}
        about = inspect.getdoc(head).partition("\n")[0].replace("`", "")
        lines += [f"## output_layer {name}", "", about, "", *keys(meanings, head), ""]
    return "\n".join(lines)


def keys(meanings, config):
    """A line for each field of a config; `meanings` is {field: text}."""
    lines = []
    for field in dataclasses.fields(config):
        if field.name == "head":
            continue
        default = "required" if field.default is dataclasses.MISSING else f"`{field.default}`"
        lines.append(f"- `{field.name}` ({default}): {plain(meanings.get(field.name, ''))}")
    return lines or ["It has no keys of its own."]


def attributes(config):
    """{name: meaning} of the attributes in the docstrings of a class and its bases."""
    found = {}
    for one in reversed(config.__mro__):
        docstring = griffe.Docstring(inspect.cleandoc(one.__doc__ or ""))
        for section in griffe.parse_google(docstring, warnings=False):
            if section.kind is griffe.DocstringSectionKind.attributes:
                for attribute in section.value:
                    for name in attribute.name.split(","):
                        found[name.strip()] = attribute.description
    return found


def plain(text):
    """A text on one line, in which `<` outside code begins no HTML."""
    parts = " ".join(text.split()).split("`")
    parts[::2] = [html.escape(part, quote=False) for part in parts[::2]]
    return "`".join(parts)


if __name__ == "__main__":
    write(ROOT / "build/docs")
