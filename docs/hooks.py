"""What mkdocs adds to the pages in docs/: the repository's own pages, and reference from the code.

mkdocs.yml names this file. Commands, flags and the keys of `config.json` are read from the configs,
so these pages say what the code does.
"""

import dataclasses
import importlib
import inspect
import os
import posixpath
import re
import sys
from pathlib import Path

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tta import settings  # noqa: E402
from tta.commands import COMMANDS  # noqa: E402
from tta.help import meaning, usage  # noqa: E402
from tta.modeling.config.model_types import HEADS, MODEL_TYPES  # noqa: E402
from tta.registry import resolve  # noqa: E402

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


def on_files(files, config):
    """Adds the pages of the repository and the generated ones."""
    for page, source in PAGES.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=relinked(text, source)))
    made = {"reference/commands.md": commands_page(), "reference/config.md": config_page()}
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, **_):
    """Makes the links of a page in docs/ those of the site; generated pages have them already."""
    if page.file.generated_by is None:
        markdown = relinked(markdown, f"docs/{page.file.src_uri}")
    return markdown


def relinked(text, source):
    """A file of the repository with links that work on the site.

    A link to a page becomes one to that page; a link to another file becomes its name.
    """
    page = SOURCES.get(source, source.removeprefix("docs/"))

    def replace(match):
        mark, label, target, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if path in SOURCES:
            path = SOURCES[path]
        elif path.startswith("docs/"):
            path = path.removeprefix("docs/")
        elif (ROOT / path).exists():
            return label if label.startswith("`") else f"{label} (`{path}`)"
        else:
            return match[0]  # mkdocs names it
        link = os.path.relpath(path, posixpath.dirname(page) or ".")
        return f"{mark}[{label}]({link}{anchor or ''})"

    return LINK.sub(replace, text)


def commands_page():
    """Every command: what it does, its example and its flags."""
    lines = ["# Commands", ""]
    lines += ["`tta COMMAND` and `tta-COMMAND` are the same. Generated from the code.", ""]
    for name, module in COMMANDS.items():
        flags = importlib.import_module(module)
        lines += [f"## {name}", "", flags.__doc__.strip(), ""]
        group = None
        for config in flags.run.configs:
            for field in settings.fields(config):
                if field.group != group:
                    group = field.group
                    lines += ["", f"**{group}**", "", "| flag | meaning |", "|---|---|"]
                about = meaning(field, *["**required**"] * field.required)
                lines.append(f"| `{cell(usage(field))}` | {cell(about)} |")
        lines.append("")
    return "\n".join(lines)


def config_page():
    """The keys of `config.json`: of each family and of each head."""
    lines = ["# Keys of config.json", ""]
    lines += [
        "`config.json` is one flat object. `model_type` names the family of the model, and"
        " `output_layer` its head. Each has its own keys. Generated from the code.",
        "",
    ]
    for name in MODEL_TYPES:
        config = resolve(MODEL_TYPES[name].config)
        lines += [f"## model_type {name}", "", *key_table(attributes(config), config), ""]
    lines += ["# Keys of the heads", ""]
    for name in HEADS:
        head = HEADS.load(name)
        meanings = {field.name: field.setting.help for field in settings.fields(head)}
        about = inspect.getdoc(head).partition("\n")[0].replace("`", "")
        lines += [f"## output_layer {name}", "", about, "", *key_table(meanings, head), ""]
    return "\n".join(lines)


def key_table(meanings, config):
    """Rows for the fields of a config; `meanings` is {field: text}."""
    rows = ["| key | default | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(config):
        if field.name == "head":
            continue
        default = "required" if field.default is dataclasses.MISSING else f"`{field.default}`"
        rows.append(f"| `{field.name}` | {default} | {cell(meanings.get(field.name, ''))} |")
    return rows if len(rows) > 2 else ["It has no keys of its own."]


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


def cell(text):
    """A text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")
