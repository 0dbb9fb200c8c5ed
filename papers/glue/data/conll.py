"""Named entities in CoNLL columns: a token per line with its tag, a blank line between sentences.

Barack  B-person
Obama   I-person
spoke   O
"""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tta.data.text.files import shown_path
from tta.data.text.lines import iter_lines
from tta.errors import InputError, shown

OUTSIDE = "O"
_NUMBER = re.compile(r"\d+([-.]\d+)?")  # CoNLL-U has ranges and decimals, too
_DOCUMENT = "-DOCSTART-"  # begins a document in the files of CoNLL-2003


@dataclass(frozen=True)
class TaggedSentence:
    """A sentence: its tokens, the IOB2 tag of each, and the line of the first token, from 1."""

    tokens: list[str]
    tags: list[str]
    line: int


def read_conll(path: Path | str) -> list[TaggedSentence]:
    """Reads the sentences of a file, in its order.

    Columns are separated by tabs, or by blanks in a line without tabs. The first is the token, the
    last is the tag, and those between are ignored. Tags are IOB2: `B-type` begins an entity,
    `I-type` continues it, `O` is outside. Lines that begin with -DOCSTART- are skipped.

    An `I-type` at the begin of a sentence or after `O` is an error, because the file is then in
    another scheme, such as IOB1. After an entity of another type it is read (see `stray_tags`).

    Args:
        path: a UTF-8 file, plain or compressed, or `-` for standard input.

    Raises:
        InputError: the file is missing or has no sentence, a line has one column or another number
            of columns than the first, a tag is not IOB2, or the first column numbers the tokens.
    """
    name, columns = str(shown_path(path)), None
    sentences: list[TaggedSentence] = []
    previous = None  # the tag before, None at the begin of a sentence
    for number, line in enumerate(iter_lines(path), 1):
        cells = line.split("\t") if "\t" in line else line.split()
        if not line.strip() or cells[0] == _DOCUMENT:
            previous = None
            continue
        columns = columns or len(cells)
        if len(cells) != columns or columns < 2:
            expected = f"{columns} columns" if columns > 1 else "a token and a tag"
            raise InputError(f"expected {expected}, got {len(cells)}: {shown(line)}", name, number)
        token, tag = cells[0], cells[-1]
        if previous is None:
            sentences.append(TaggedSentence([], [], number))
        _check_tag(tag, previous, name, number)
        sentences[-1].tokens.append(token)
        sentences[-1].tags.append(tag)
        previous = tag
    if not sentences:
        raise InputError("the file has no sentences", name)
    first = [token for sentence in sentences for token in sentence.tokens]
    if columns and columns > 2 and len(first) > 1 and all(map(_NUMBER.fullmatch, first)):
        rule = "the first column must have the tokens, and the last one the tags; got numbers first"
        raise InputError(f"{rule}, {', '.join(first[:3])}", name, sentences[0].line)
    return sentences


def entity_type(tag: str) -> str:
    """The type of the entity that a tag belongs to; "" for `O`."""
    return tag.partition("-")[2]


def stray_tags(sentences: Sequence[TaggedSentence]) -> list[int]:
    """The lines of `I-type` tags that follow an entity of another type.

    They continue no entity. Measured strictly, they belong to none.
    """
    return [
        sentence.line + position
        for sentence in sentences
        for position, (before, tag) in enumerate(itertools.pairwise(sentence.tags), 1)
        if tag.startswith("I-") and entity_type(before) != entity_type(tag)
    ]


def _check_tag(tag, previous, path, line):
    prefix, _, kind = tag.partition("-")
    if tag == OUTSIDE or (prefix == "B" and kind):
        return
    if not (prefix == "I" and kind):
        raise InputError(f"expected a tag as O, B-type or I-type, got {shown(tag)}", path, line)
    if previous in (None, OUTSIDE):
        rule = f"{tag} continues no entity: in IOB2, an entity begins with B-{kind}"
        raise InputError(rule, path, line)
