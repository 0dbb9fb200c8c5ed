"""How a list stands in JSON. A layout reads hypotheses as rows, their fields by name, and back."""

import functools
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.fields import (
    HYPOTHESES,
    PARTS,
    SCORES,
    TRANSCRIPTS,
    RowKind,
    named,
    reference_name,
    score_key,
    values_at,
)
from tta.data.text.json_text import expect
from tta.doors import option_named
from tta.errors import InputError, shown

Row = dict[str, Any]
_NUMBERED = re.compile(r"hyp_[0-9]{1,9}")
# The fields of a hypothesis that is an array, by its length: a pair, or a beam of pyctcdecode.
_FIELDS = {
    2: ("text", "score"),
    5: ("text", "last_lm_state", "text_frames", "logit_score", "lm_score"),
}


@dataclass(frozen=True)
class Layout:
    """An array of objects: `{"alternatives": [{"transcript": "the cat"}, ...]}`.

    Attributes:
        array: the key of the array.
        texts: keys of the text, or paths to it. The first that all hypotheses of a list have
            counts.
        scores: names of the score; the first one with a value counts (see `read_scores`).
        best: the key beside the array that repeats the best text, or None. So do other keys that
            start with it and have that text.
        references: names of the reference, beside the array or in the record.
        sign: -1 if the scores are costs.
    """

    array: str
    texts: tuple[str, ...] = ()
    scores: tuple[str, ...] = ("score",)
    best: str | None = None
    references: tuple[str, ...] = ("reference", "ref", "references")
    sign: int = 1

    end = ""  # of a new text
    is_stripped = True  # Blanks around a text are not part of it.

    def entries(self, item: Row) -> Any:
        """The hypotheses as they are in an object; no list if it has none."""
        return item.get(self.array)

    def labels(self, item: Row) -> Iterable[str]:
        """What errors call each hypothesis."""
        return itertools.repeat("")

    def check(self, item: Row, entries: list[Any]) -> None:
        """Raises `InputError` if something in a list of this layout does not fit."""

    def rows(self, item: Row) -> list[Row] | None:
        """The hypotheses of an object, or None if it is no list of this layout."""
        return self.rows_of(item, self.entries(item))

    def rows_of(self, item: Row, entries: Any) -> list[Row] | None:
        """The rows of an object whose `entries` are these, or None as in `rows`."""
        rows: list[Any] = list(map(self.row, entries)) if isinstance(entries, list) else [None]
        if not all(isinstance(row, dict) for row in rows):
            return None
        texts = (text for row in rows for key in self.texts for text in values_at(row, key))
        is_ours = any(isinstance(text, str) for text in texts)
        if any(entries) and not is_ours:  # tools leave out empty texts
            return None
        # Confidences of 0, if only the first hypothesis has another, are not set.
        first, *later = [row.get("confidence") for row in rows] or [None]
        if first and not any(later):
            rows[1:] = [{k: v for k, v in row.items() if k != "confidence"} for row in rows[1:]]
        return rows

    def names(self, rows: list[Row], entries: list[Any]) -> tuple[str | None, Sequence[str]]:
        """The key of the texts of a list, None if each has its own; and names of the score."""
        shared = [key for key in self.texts if all(key in row for row in rows)]
        return (shared or self.texts)[0], self.scores

    def put(self, item: Row, rows: list[Row], entries: list[Any]) -> None:
        """Replaces the hypotheses of an object; `entries` are those that were read."""
        item[self.array] = list(map(self.entry, rows, entries))

    def row(self, entry: Any) -> Any:
        """A hypothesis as a row; something else if it is none."""
        return entry

    def entry(self, row: Row, read: Any) -> Any:
        """The inverse of `row`; `read` is the entry that was read."""
        return row

    def text(self, row: Row, key: str) -> Any:
        """The text of a hypothesis; something else if it has none."""
        text = row.get(key, "")
        return text.strip() if self.is_stripped and isinstance(text, str) else text

    def signed(self, score: float | None) -> float | None:
        """A score of the file as one in memory, and back."""
        return score if score is None or self.sign > 0 else 0.0 - score

    def holders(self, item: Row, record: Row) -> tuple[list[Row], Any]:
        """The objects that have the reference, and its key in them; None if none has."""
        for holder in (item, record):
            fields = {key: value for key, value in holder.items() if value is not None}
            fields.pop(self.array, None)
            if (key := reference_name(fields, self.references)) is not None:
                return [holder], key
        return [record], None


class Pairs(Layout):
    """Arrays of text and score: `{"beams": [["the cat", -3.2], ...]}`."""

    def row(self, entry):
        if isinstance(entry, list) and len(entry) > 1 and isinstance(entry[0], str):
            return {"text": entry[0], "score": entry[1], "more": entry[2:]}
        return None

    def entry(self, row, read):
        return [row["text"], row.get("score"), *row.get("more", ())]


class Choices(Layout):
    """Answers of a chat: `{"choices": [{"message": {"content": "..."}, "logprobs": {...}}]}`.

    The score is the sum of the tokens' log-probabilities. A new score is written as `score`.
    """

    def row(self, entry):
        if not isinstance(entry, dict):
            return None
        message = entry.get("message")
        text = {"text": message.get("content") or ""} if isinstance(message, dict) else {}
        return entry | text | _total(entry)

    def entry(self, row, read):
        entry = {key: value for key, value in row.items() if key != "logprob"}
        if isinstance(entry.get("message"), dict):
            entry["message"] = entry["message"] | {"content": entry.pop("text")}
        score = row.get("logprob")
        return entry if score == _total(entry).get("logprob") else entry | {"score": score}


def _total(choice: Row) -> Row:
    """`{"logprob": the sum of the log-probabilities of the tokens}`; {} if a token has none.

    What has no sum stays as it is, and is refused as a score.
    """
    logprobs = choice.get("logprobs")
    logprobs = logprobs if isinstance(logprobs, dict) else {}
    tokens = logprobs.get("token_logprobs") or logprobs.get("content") or []
    if not isinstance(tokens, list):
        return {"logprob": [tokens]}
    values: list[Any] = [
        token.get("logprob") if isinstance(token, dict) else token for token in tokens
    ]
    if not values or any(type(value) not in (int, float) for value in values):
        return {}
    try:
        return {"logprob": math.fsum(values)}
    except (OverflowError, ValueError):  # such as an infinity and its opposite
        return {"logprob": values}


class Outputs(Layout):
    """ESPnet 1: `{"output": [{"rec_text": "a cat <eos>", "name": "target1[1]", "text": ref}]}`."""

    end = " <eos>"

    def check(self, item, entries):
        for output in entries:
            expect(expect(output, dict, "an output").get("rec_text"), str, '"rec_text"')
        references = [output.get("text") for output in entries]
        targets = {str(output.get("name", "")).partition("[")[0] for output in entries} - {""}
        several = [text for text in references[1:] if text and text != references[0]]
        texts = [output["rec_text"] for output in entries]
        if len(targets) > 1 or (several and references != texts):
            rule = "expected hypotheses of one target with one reference, such as one speaker"
            raise InputError(f"{rule}, got {shown(sorted(targets))}, {shown(references)}")

    def put(self, item, rows, entries):
        item[self.array] = [row | {"name": f"target1[{n}]"} for n, row in enumerate(rows, 1)]

    def holders(self, item, record):
        return item[self.array] or [{}], "text"  # All hypotheses have the reference.


class Numbered(Layout):
    """Objects by number: `{"hyp_1": {"score": -3.2, "text": "the cat"}, ..., "ref": "..."}`."""

    is_stripped = False

    def labels(self, item):
        return sorted(filter(_NUMBERED.fullmatch, item), key=lambda key: int(key[4:]))

    def entries(self, item):
        return [item[key] for key in self.labels(item)]

    def check(self, item, entries):
        numbers = [int(key[4:]) for key in item if _NUMBERED.fullmatch(key)]
        if len(set(numbers)) < len(numbers):
            number = min(number for number in numbers if numbers.count(number) > 1)
            raise InputError(f"duplicate hypothesis number {number}")
        keys = [key for key in item if not _NUMBERED.fullmatch(key)]
        for key in keys:
            if isinstance(item[key], dict) and "text" in item[key]:
                raise InputError(f"a hypothesis is called hyp_N, got {shown(key)}")
        if {*keys} - {*self.references} and not numbers:
            raise InputError(f'expected keys "hyp_1", "hyp_2" ..., got {shown(keys)}')

    def rows_of(self, item, entries):
        return entries

    def names(self, rows, entries):
        return None, SCORES

    def put(self, item, rows, entries):
        numbered = {f"hyp_{number}": row for number, row in enumerate(rows, 1)}
        fields = {key: value for key, value in item.items() if not _NUMBERED.fullmatch(key)}
        references = {key: fields.pop(key) for key in self.references if key in fields}
        item.clear()
        item |= numbered | fields | references


@dataclass(frozen=True)
class Lists(Layout):
    """Texts, with arrays beside them: `{"hyps": ["the cat", ...], "scores": [-3.2, ...]}`.

    Arrays with one entry for each hypothesis have their fields; `scores` names those of the score.
    Texts may be arrays of tokens. Hypotheses may also be objects with the names of
    `tta.data.nbest.fields`, arrays of text and score, or beams of pyctcdecode. Keys that repeat
    the first one, as in results of sherpa-onnx, follow the new first one.

    Attributes:
        others: the key of the hypotheses after the first one, if `array` has only that one.
    """

    others: str = ""

    is_stripped = False

    def entries(self, item) -> Any:
        first, later = item.get(self.array), item.get(self.others, [])
        if not self.others or isinstance(first, list):
            return first
        if isinstance(later, str):
            rule = f'expected "{self.others}" as an array of hypotheses, got one text, which may be'
            raise InputError(f"{rule} several: {shown(later)}")
        return [first, *expect(later, list, f'"{self.others}"')]

    def check(self, item, entries):
        texts, key = list(map(is_text, entries)), score_key(item, self.scores)
        if any(texts) and key in ("scores", self.scores[0]) and item.get(key) is not None:
            expect(item[key], list, f'"{key}"')
        names = (*self.scores, *PARTS, *(f"{name}s" for name in PARTS if all(texts)))
        arrays = [name for name in names if isinstance(item.get(name), list)]
        for name in arrays:
            if len(item[name]) != len(entries):
                got = f"{len(item[name])} for {len(entries)}"
                raise InputError(f'expected one number in "{name}" per hypothesis, got {got}')
        for entry in entries if arrays and not any(texts) else ():
            expect(entry, str, f'a hypothesis beside "{arrays[0]}"')

    def rows_of(self, item, entries):
        if not all(map(is_text, entries)):
            return list(map(self.row, entries))
        beside = columns(item, len(entries)) | {self.array: entries}
        return [{key: column[i] for key, column in beside.items()} for i in range(len(entries))]

    def names(self, rows, entries):
        return (self.array, self.scores) if all(map(is_text, entries)) else (None, SCORES)

    def put(self, item, rows, entries):
        old, is_one = self.entries(item), isinstance(item.get(self.array), str)
        are_texts = all(self.array in r and is_text(e) for r, e in zip(rows, entries, strict=True))
        if not are_texts:
            values = list(map(self.entry, rows, entries))
            first, new = (old or [None])[0], values[0]
            if isinstance(first, dict) and isinstance(new, dict):
                same = first.keys() & new.keys() & item.keys()
                item |= {key: new[key] for key in same if item[key] == first[key]}
            item[self.array] = values
            return
        beside = {} if rows or not all(map(is_text, old)) else columns(item, len(old))
        for key in {self.array: 0} | beside | dict.fromkeys(key for row in rows for key in row):
            item[key] = [row.get(key) for row in rows]
        if is_one and rows:
            item[self.array], *item[self.others] = item[self.array]

    def row(self, entry):
        if is_text(entry):
            return {"text": entry if isinstance(entry, str) else " ".join(entry)}
        if isinstance(entry, list) and len(entry) in _FIELDS and isinstance(entry[0], str):
            return dict(zip(_FIELDS[len(entry)], entry, strict=True))
        return entry

    def entry(self, row, read):
        if isinstance(read, list) and not is_text(read):
            return [row.get(name) for name in _FIELDS[len(read)]]
        return read if row == self.row(read) else row

    def text(self, row, key):
        text = super().text(row, key)
        return " ".join(text) if key == self.array and isinstance(text, list) else text


class Translations(Lists):
    """Sockeye: `{"translations": ["the cat", ...], "scores": [[1.2], ...], "score": 1.2}`.

    A score may be an array, of which the first number counts.
    """

    is_stripped = True

    def rows_of(self, item, entries):
        is_ours = isinstance(entries, list) and all(isinstance(text, str) for text in entries)
        rows: Any = super().rows_of(item, entries) if is_ours and "scores" in item else None
        for row in rows or ():
            if isinstance(row.get("scores"), list) and row["scores"]:
                row["scores"], *row["more"] = row["scores"]
        return rows

    def put(self, item, rows, entries):
        if rows and isinstance(item.get("score"), (int, float)):
            item["score"] = rows[0].get("scores")
        for row in rows:
            if "more" in row:
                row["scores"] = [row.get("scores"), *row.pop("more")]
        super().put(item, rows, entries)


def text_key(row: Row, kind: RowKind) -> str:
    """The key of the text of a hypothesis whose keys have any names; `kind` is its `kind_of`."""
    key = _text_key(kind)
    if key is None:
        rule = f'a hypothesis has no "text": {shown(row)}'
        for name, parts in row.items():
            parts = parts if isinstance(parts, list) else []
            if any(isinstance(part, dict) and "text" in part for part in parts):
                rule += (
                    f"; {option_named('text_field', f'{name}[].text')} joins those of its {name}"
                )
        raise InputError(rule)
    if key != "text" and isinstance(row.get("text"), str) and row["text"] != row[key]:
        rule = f'"text" may be the hypothesis, or the reference of "{key}": keep one of them'
        raise InputError(rule)
    return key


@functools.lru_cache(1000)
def _text_key(kind: RowKind) -> str | None:
    names = (*HYPOTHESES, *TRANSCRIPTS)
    texts = [field for field, value_type in zip(*kind, strict=True) if value_type is str]
    return named(texts, names) or named(kind.fields, names)


def is_text(value: Any) -> bool:
    """Whether a hypothesis is a text, or an array of tokens, which have no blanks."""
    tokens = value if isinstance(value, list) else [value]
    may_have_blanks = len(tokens) == 1
    return all(isinstance(t, str) and (may_have_blanks or not re.search(r"\s", t)) for t in tokens)


def columns(item: Row, count: int) -> dict[str, list[Any]]:
    """The arrays of an object with `count` entries, one for each hypothesis."""
    return {k: v for k, v in item.items() if isinstance(v, list) and len(v) == count}
