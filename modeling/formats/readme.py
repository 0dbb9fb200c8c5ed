"""Reads README.md of a model directory: its metadata, its text, and what the model is for."""

import re
from pathlib import Path

from tta.names import README


def read_readme(directory: Path | str) -> tuple[str, str]:
    """The metadata, lines of YAML without "---", and the text after it; "" if there is no file."""
    path = Path(directory) / README
    if not path.is_file():
        return "", ""
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    if head := re.match(r"---\n(.*?\n)---\n", text, re.DOTALL):
        return head[1], text[head.end() :].strip()
    return "", text.strip()


def summary(directory: Path | str) -> str:
    """The first sentence after the title, on one line; "" if there is none."""
    paragraphs = read_readme(directory)[1].split("\n\n")
    text = next(
        (" ".join(paragraph.split()) for paragraph in paragraphs if not paragraph.startswith("#")),
        "",
    )
    return re.split(r"(?<=\.) ", text, maxsplit=1)[0]
