"""Records of JSON with their lists reordered, and everything else as it was."""

import copy
from collections.abc import Sequence
from typing import Any

from tta.data.nbest.formats.documents.layouts import Found, value_at


def rewrite(
    record: dict[str, Any], lists: Sequence[Found], written: Sequence[tuple[Found, list]]
) -> dict[str, Any]:
    """Returns a copy of a record with other rows in its lists.

    Args:
        record: the record.
        lists: all lists of the record.
        written: lists with their new rows. The others are removed.
    """
    new = copy.deepcopy(record)
    for found, rows in written:
        item = value_at(new, found.path)
        found.layout.put(item, rows)
        best = found.layout.best
        if best and rows:
            old, text = (_text(found, one) for one in (found.rows, rows))
            for key in item:
                # `pred_text_model` may be of another model, and is then another text.
                if key == best or (key.startswith(best) and item[key] == old):
                    item[key] = text
    if [_best(found.rows) for found in lists] != [_best(rows) for _, rows in written]:
        _join(new, [(found, rows) for found, rows in written if rows])
    kept = {found.path for found, _ in written}
    for path in sorted({found.path for found in lists} - kept, reverse=True):
        del value_at(new, path[:-1])[path[-1]]
    return new


def _text(found, rows):
    return rows[0].get(found.layout.text_key(rows), "") if rows else ""


def _best(rows):
    return [{k: v for k, v in row.items() if isinstance(v, str)} for row in rows[:1]]


def _join(record, written):
    """Updates the texts of the whole audio, which are the best texts of its lists, joined."""
    results = record.get("results")
    if isinstance(results, dict) and isinstance(results.get("transcripts"), list):  # Amazon
        texts = [rows[0]["transcript"].strip() for _, rows in written if "transcript" in rows[0]]
        if len(results["transcripts"]) == 1 and isinstance(results["transcripts"][0], dict):
            results["transcripts"][0]["transcript"] = " ".join(texts)
    phrases = record.get("combinedRecognizedPhrases")  # Azure
    for combined in phrases if isinstance(phrases, list) else ():
        if not isinstance(combined, dict):
            continue
        rows = [
            rows[0]
            for found, rows in written
            if value_at(record, found.path).get("channel") == combined.get("channel")
        ]
        for key in ("lexical", "itn", "maskedITN", "display"):
            if key in combined:
                values = (row.get(key) for row in rows)
                combined[key] = " ".join(v for v in values if v and isinstance(v, str))
