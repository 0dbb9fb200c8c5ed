"""References in JSON: objects with a text, one per line or in an array, and `{id: text}`."""

from collections.abc import Iterator
from typing import Any

from tta.data.nbest.fields import REFERENCES, TRANSCRIPTS, named
from tta.data.nbest.references.reading import IdColumn, IdKind, Reading, Reference, named_columns
from tta.data.text.json_text import JsonDocument, JsonDocuments
from tta.errors import InputError, shown

# Names of the field with the text, in JSON and in tables.
TEXTS = (*REFERENCES, *TRANSCRIPTS, "output", "caption", "normalized_text", "words")


def read_json(text: str) -> Reading:
    """Reads the references of JSON text.

    Raises InputError if it is malformed, or a value holds no reference.
    """
    documents = list(JsonDocuments(text))
    if len(documents) == 1 and _is_object_of(str, documents[0].value):
        texts_by_id = documents[0].value
        if not named(texts_by_id, TEXTS):
            references = [Reference(value.strip()) for value in texts_by_id.values()]
            return Reading(references, [IdColumn(IdKind.ID, [(key,) for key in texts_by_id])])
    references, rows, names = [], [], []
    for record, line in _records(documents):
        fields = {"text": record} if isinstance(record, str) else record
        name = _text_name(fields)
        if name is None:
            rule = f'expected an object with a reference as "text", got {shown(record)}'
            raise InputError(rule, line=line)
        references.append(Reference(fields[name].strip(), line))
        rows.append(fields)
        names.append(name)
    return Reading(references, named_columns(rows, names))


def _records(documents: list[JsonDocument]) -> Iterator[tuple[Any, int | None]]:
    """Yields (record, line) of lines of JSON, of one array, or of an object of objects by id."""
    if len(documents) != 1:
        yield from ((document.value, document.line) for document in documents)
        return
    value = documents[0].value
    if isinstance(value, list):
        yield from ((record, None) for record in value)
    elif _is_object_of(dict, value):
        yield from (({"id": key, **fields}, None) for key, fields in value.items())
    else:
        yield value, documents[0].line


def _is_object_of(kind, document):
    is_object = isinstance(document, dict) and bool(document)
    return is_object and all(isinstance(value, kind) for value in document.values())


def _text_name(record):
    """The name of the field with the reference, or None."""
    if not isinstance(record, dict):
        return None
    return named([name for name, value in record.items() if isinstance(value, str)], TEXTS)
