"""The pages of the service. They load nothing, from this or another host."""

import json
from html import escape
from pathlib import Path
from typing import Any

from tta.scoring.reports.page import CONFIDENCES, LEVELS, style

DEMO = Path(__file__).parent / "templates" / "demo.html"


def demo_page() -> str:
    """The page of tta demo."""
    page = DEMO.read_text(encoding="utf-8").replace("{{ style }}", style())
    return page.replace("{{ levels }}", json.dumps([LEVELS, CONFIDENCES]))


def docs_page(description: dict[str, Any]) -> str:
    """The routes and the fields of their bodies, from the description in OpenAPI."""
    schemas, parts = description["components"]["schemas"], []
    for path, methods in description["paths"].items():
        for method, route in methods.items():
            parts.append(f"<h2>{method.upper()} {escape(path)}</h2>")
            parts.append(f"<p>{escape(route.get('description', ''))}</p>")
            bodies = ("body", route.get("requestBody")), ("answer", route["responses"].get("200"))
            for what, body in bodies:
                content = (body or {}).get("content", {}).get("application/json", {})
                names = _references(content.get("schema", {}))
                parts += [_table(what, name, schemas, set()) for name in names]
    title = f"{escape(description['info']['title'])} {escape(description['info']['version'])}"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{style()} td {{ padding: .2rem .8rem .2rem 0; vertical-align: top; }}</style>"
        f"<main><h1>{title}</h1><p>{escape(description['info']['description'])} "
        f"<code>/openapi.json</code> is the whole description.</p>{''.join(parts)}</main></html>"
    )


def _references(schema: Any) -> list[str]:
    """The names of the schemas that one refers to."""
    if isinstance(schema, list):
        return [name for subschema in schema for name in _references(subschema)]
    if not isinstance(schema, dict):
        return []
    if "$ref" in schema:
        return [schema["$ref"].rpartition("/")[2]]
    return [name for value in schema.values() for name in _references(value)]


def _table(what, name, schemas, seen) -> str:
    """The fields of a schema, and of those that it refers to, which are not `seen`."""
    if name in seen:
        return ""
    seen.add(name)
    rows, required = [], schemas[name].get("required", ())
    for field, value in schemas[name].get("properties", {}).items():
        about = value.get("description", "") or ("" if field in required else "optional")
        cells = f"<code>{escape(field)}</code>", escape(_kind(value)), escape(about)
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    caption = f"<caption>{what}: {escape(name)}</caption>"
    table = f"<table>{caption}<tr>{'<tr>'.join(rows)}</table>"
    references = _references(schemas[name].get("properties", {}))
    return table + "".join(_table(what, reference, schemas, seen) for reference in references)


def _kind(schema) -> str:
    """A type in words."""
    if "$ref" in schema:
        return _references(schema)[0]
    if "anyOf" in schema:
        return " or ".join(map(_kind, schema["anyOf"]))
    if schema.get("type") == "array":
        return f"array of {_kind(schema.get('items', {}))}"
    return schema.get("type") or json.dumps(schema.get("const", schema.get("enum", "any")))
