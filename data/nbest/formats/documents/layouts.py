"""Where the JSON of each tool has its N-best lists: a table of layouts.

A list is an object with an array of hypotheses, anywhere in a record. docs/nbest.md names the
tools, and the sources in which their layouts were checked.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.formats.json_text import check_arrays

Path = tuple[str | int, ...]

# Values of these keys say that a result is not the last one for its audio.
_INTERIM = {"isFinal": False, "is_final": False, "final": False, "IsPartial": True}
# Arrays of hypotheses with these names belong to the format jsonl.
_OTHERS = ("hypotheses", "nbest", "hyps")
_MAX_DEPTH = 20


@dataclass(frozen=True)
class Layout:
    """Objects with an array of hypotheses, which are objects: `{"alternatives": [{"text"}]}`.

    Attributes:
        array: the key of the array.
        texts: keys of the text of a hypothesis. The first that all hypotheses of a list have
            counts.
        score: the key of the score, or None.
        best: the key beside the array that repeats the best text, or None. So do other keys that
            start with it and have that text.
        references: keys of the reference, beside the array or in the record.
        sign: -1 if the scores are costs.
        new: the keys around the object in a new record.
    """

    array: str
    texts: tuple[str, ...]
    score: str | None = None
    best: str | None = None
    references: tuple[str, ...] = ("reference", "ref")
    sign: int = 1
    new: Path = ()

    def rows(self, item: dict[str, Any]) -> list[dict[str, Any]] | None:
        """The hypotheses of an object, or None if it is no list of this layout."""
        found = item.get(self.array)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            return None
        is_ours = any(isinstance(one.get(key), str) for one in found for key in self.texts)
        return found if is_ours or not any(found) else None  # tools leave out empty texts

    def check(self, item: dict[str, Any]) -> None:
        """Raises `InputError` if something in a list of this layout does not fit."""

    def put(self, item: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Replaces the hypotheses of an object."""
        item[self.array] = rows

    def text_key(self, rows: Sequence[dict[str, Any]]) -> str:
        """The key of the texts of a list."""
        return next((key for key in self.texts if all(key in row for row in rows)), self.texts[0])


@dataclass(frozen=True)
class Pairs(Layout):
    """Hypotheses are arrays of text and score: `{"beams": [["the cat", -3.2]]}`."""

    def rows(self, item):
        found = item.get(self.array)
        if not isinstance(found, list) or not all(
            isinstance(one, list) and len(one) > 1 and isinstance(one[0], str) for one in found
        ):
            return None
        return [{"text": one[0], "score": one[1], "more": one[2:]} for one in found]

    def put(self, item, rows):
        item[self.array] = [[r["text"], r.get("score"), *r.get("more", ())] for r in rows]


@dataclass(frozen=True)
class Columns(Layout):
    """Arrays beside each other: `{"translations": ["the cat"], "scores": [[1.2]]}`.

    A score may be an array, of which the first number counts.
    """

    def rows(self, item):
        texts = item.get(self.array)
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            return None
        if self.score not in item:
            return None
        columns = {
            key: value
            for key, value in item.items()
            if key != self.array and isinstance(value, list) and len(value) == len(texts)
        }
        rows = [
            {"text": text} | {key: column[i] for key, column in columns.items()}
            for i, text in enumerate(texts)
        ]
        for row in rows:
            if isinstance(row.get(self.score), list) and row[self.score]:
                row[self.score], *row["more"] = row[self.score]
        return rows

    def check(self, item):
        check_arrays(item, (self.score or "",), len(item[self.array]))

    def put(self, item, rows):
        item[self.array] = [row["text"] for row in rows]
        score = self.score or "scores"
        item.setdefault(score, [None] * len(rows))
        for key in dict.fromkeys(key for row in rows for key in row if key not in ("text", "more")):
            item[key] = [row.get(key) for row in rows]
        if any("more" in row for row in rows):
            item[score] = [[row.get(score), *row.get("more", ())] for row in rows]
        if rows and isinstance(item.get("score"), (int, float)) and score in rows[0]:
            item["score"] = rows[0][score]


@dataclass(frozen=True)
class Choices(Layout):
    """Hypotheses of a chat: `{"choices": [{"message": {"content": "..."}, "logprobs": {...}}]}`.

    The score is the sum of the log-probabilities of the tokens, unless there is a new `score`.
    """

    def rows(self, item):
        found = item.get(self.array)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            return None
        rows = [{**one, **_total(one)} for one in found]
        for row in rows:
            if isinstance(row.get("message"), dict):
                row["text"] = row["message"].get("content") or ""
        return rows if any(isinstance(row.get("text"), str) for row in rows) else None

    def put(self, item, rows):
        item[self.array] = []
        for row in rows:
            new = {key: value for key, value in row.items() if key != "logprob"}
            if isinstance(new.get("message"), dict):
                new["message"] = new["message"] | {"content": new.pop("text")}
            if (score := row.get("logprob")) != _total(new).get("logprob"):
                new["score"] = score
            item[self.array].append(new)


def _total(choice: dict[str, Any]) -> dict[str, float]:
    """The sum of the log-probabilities of tokens as `logprob`, if all have one."""
    found = choice.get("logprobs")
    found = found if isinstance(found, dict) else {}
    tokens = found.get("token_logprobs") or found.get("content") or ()
    values: list[Any] = [one.get("logprob") if isinstance(one, dict) else one for one in tokens]
    numbers = [value for value in values if type(value) in (int, float)]
    return {"logprob": math.fsum(numbers)} if values and numbers == values else {}


# The names of formats -> their layouts. The first one is that of new records.
LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "responses": (
        # Google, Amazon Transcribe (segments), Deepgram, IBM Watson
        Layout("alternatives", ("transcript",), new=("results", 0)),
        # Amazon Transcribe, streaming
        Layout("Alternatives", ("Transcript",)),
        # SpeechRecognition with show_all
        Layout("alternative", ("transcript",)),
        # Azure: one phrase, and batches
        Layout("NBest", ("Display", "ITN", "MaskedITN", "Lexical"), best="DisplayText"),
        Layout("nBest", ("display", "itn", "maskedITN", "lexical")),
        # Vosk, whose confidence is a log-likelihood
        Layout("alternatives", ("text",), score="confidence"),
        # gst-kaldi-nnet2-online and its server
        Layout("hypotheses", ("transcript", "utterance"), score="likelihood"),
        # OpenAI's interface, and vLLM
        Choices("choices", ("text",)),
        Layout("outputs", ("text",)),
    ),
    "nemo": (Pairs("beams", ("text",), best="pred_text", references=("text",)),),
    "sockeye": (Columns("translations", ("text",), score="scores", best="translation", sign=-1),),
}


@dataclass(frozen=True)
class Found:
    """A list in a record: where it is, its layout and its hypotheses."""

    path: Path
    layout: Layout
    rows: list[dict[str, Any]]


def find_lists(
    record: Any, layouts: Sequence[Layout], is_final: bool = True, path: Path = ()
) -> Iterator[Found]:
    """Yields the lists of a record in their order, without interim results if `is_final`."""
    if len(path) > _MAX_DEPTH:
        return
    if isinstance(record, dict):
        if is_final and any(record.get(key) is value for key, value in _INTERIM.items()):
            return
        for layout in layouts:
            if (rows := layout.rows(record)) is not None:
                yield Found(path, layout, rows)
                return
    inner = record.items() if isinstance(record, dict) else enumerate(record)
    for key, value in inner:
        if isinstance(value, (dict, list)):
            yield from find_lists(value, layouts, is_final, (*path, key))


def format_of(record: Any) -> str | None:
    """The name of the format in `LAYOUTS` whose lists a record has, or None."""
    if not isinstance(record, dict) or any(map(_is_other, map(record.get, _OTHERS))):
        return None
    for name, layouts in LAYOUTS.items():
        if any(found.rows for found in find_lists(record, layouts)):
            return name
    return None


def value_at(record: Any, path: Path) -> Any:
    """The value in a record at a path."""
    for key in path:
        record = record[key]
    return record


def _is_other(array):
    return isinstance(array, list) and any(
        isinstance(one, str) or (isinstance(one, dict) and "text" in one) for one in array
    )
