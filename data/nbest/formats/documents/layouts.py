"""Where the JSON of each tool has its N-best lists: a table of layouts.

A list is an object with an array of hypotheses, anywhere in a record. docs/nbest.md names the
tools, and the sources in which their layouts were checked.
"""

import contextlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tta.data.nbest.fields import HYPOTHESES, TRANSCRIPTS
from tta.data.nbest.formats.json_hypotheses import check_arrays, columns
from tta.data.nbest.lists import parse_number

KeyPath = tuple[str | int, ...]
TimedWord = tuple[str, float, float]  # its start and its end in seconds

# Values of these keys say that a result is not the last one for its audio.
_INTERIM = {"isFinal": False, "is_final": False, "final": False, "IsPartial": True}
# Arrays of hypotheses with these names belong to the format jsonl.
_OTHERS = ("hypotheses", "nbest", "hyps")
MAX_DEPTH = 20  # of a list in a record


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
    references: tuple[str, ...] = ("reference", "ref", "references")
    sign: int = 1
    new: KeyPath = ()

    def rows(self, item: dict[str, Any]) -> list[dict[str, Any]] | None:
        """The hypotheses of an object, or None if it is no list of this layout."""
        found = item.get(self.array)
        rows: list[Any] = [self.row(one) for one in found] if isinstance(found, list) else [None]
        if not all(isinstance(row, dict) for row in rows):
            return None
        is_ours = any(isinstance(row.get(key), str) for row in rows for key in self.texts)
        return rows if is_ours or not any(found or ()) else None  # tools leave out empty texts

    def put(self, item: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Replaces the hypotheses of an object."""
        item[self.array] = list(map(self.entry, rows))

    def row(self, entry: Any) -> Any:
        """The entry of the array as an object; something else if it is no hypothesis."""
        return entry

    def entry(self, row: dict[str, Any]) -> Any:
        """The inverse of `row`."""
        return row

    def check(self, item: dict[str, Any]) -> None:
        """Raises `InputError` if something in a list of this layout does not fit."""

    def text_key(self, rows: Sequence[dict[str, Any]]) -> str:
        """The key of the texts of a list."""
        return next((key for key in self.texts if all(key in row for row in rows)), self.texts[0])


@dataclass(frozen=True)
class Pairs(Layout):
    """Hypotheses are arrays of text and score: `{"beams": [["the cat", -3.2]]}`."""

    def row(self, entry):
        if isinstance(entry, list) and len(entry) > 1 and isinstance(entry[0], str):
            return {"text": entry[0], "score": entry[1], "more": entry[2:]}
        return None

    def entry(self, row):
        return [row["text"], row.get("score"), *row.get("more", ())]


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
        beside = columns(item, len(texts))
        del beside[self.array]
        rows = [
            {"text": text} | {key: column[i] for key, column in beside.items()}
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

    The score is the sum of the tokens' log-probabilities. A new score is written as `score`.
    """

    def row(self, entry):
        if not isinstance(entry, dict):
            return None
        message = entry.get("message")
        text = {"text": message.get("content") or ""} if isinstance(message, dict) else {}
        return entry | text | _total(entry)

    def entry(self, row):
        entry = {key: value for key, value in row.items() if key != "logprob"}
        if isinstance(entry.get("message"), dict):
            entry["message"] = entry["message"] | {"content": entry.pop("text")}
        score = row.get("logprob")
        return entry if score == _total(entry).get("logprob") else entry | {"score": score}


def _total(choice: dict[str, Any]) -> dict[str, Any]:
    """`{"logprob": the sum of the log-probabilities of the tokens}`; {} if a token has none.

    What has no sum stays as it is, and is refused as a score.
    """
    found = choice.get("logprobs")
    found = found if isinstance(found, dict) else {}
    tokens = found.get("token_logprobs") or found.get("content") or []
    if not isinstance(tokens, list):
        return {"logprob": [tokens]}
    values: list[Any] = [one.get("logprob") if isinstance(one, dict) else one for one in tokens]
    if not values or any(type(value) not in (int, float) for value in values):
        return {}
    try:
        return {"logprob": math.fsum(values)}
    except (OverflowError, ValueError):  # such as an infinity and its opposite
        return {"logprob": values}


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
    "nemo": (
        Pairs("beams", ("text",), best="pred_text", references=("text",)),
        Layout("beams", (*TRANSCRIPTS, *HYPOTHESES), "score", "pred_text", ("text",)),
    ),
    "sockeye": (Columns("translations", ("text",), score="scores", best="translation", sign=-1),),
}


@dataclass(frozen=True)
class Found:
    """A list in a record: where it is, its layout and its hypotheses."""

    path: KeyPath
    layout: Layout
    rows: list[dict[str, Any]]


def find_lists(
    record: Any, layouts: Sequence[Layout], is_final: bool = True, path: KeyPath = ()
) -> Iterator[Found]:
    """Yields the lists of a record in their order, without interim results if `is_final`."""
    if len(path) > MAX_DEPTH:
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


def layout_format_of(record: Any) -> str | None:
    """The name of the format in `LAYOUTS` whose lists a record has, or None."""
    if not isinstance(record, dict) or any(map(_is_other, map(record.get, _OTHERS))):
        return None
    for name, layouts in LAYOUTS.items():
        if any(found.rows for found in find_lists(record, layouts)):
            return name
    return None


def value_at(record: Any, path: KeyPath) -> Any:
    """The value in a record at a path."""
    for key in path:
        record = record[key]
    return record


def _is_other(array):
    return isinstance(array, list) and any(
        isinstance(one, str) or (isinstance(one, dict) and "text" in one) for one in array
    )


# The array of words beside the text of a hypothesis: Google, Deepgram and Azure, Azure's batches,
# Vosk, gst-kaldi, Amazon, IBM (arrays of word, start and end).
_ARRAYS = ("words", "Words", "displayWords", "result", "word-alignment", "items", "timestamps")
_WORDS = ("word", "Word", "displayText", "content", "text")
_CHANNELS = ("channelTag", "channel_tag", "channel", "channel_index", "ChannelId", "channel_label")
_STARTS = ("startTime", "start_time", "startOffset", "start_offset", "start")
_ENDS = ("endTime", "end_time", "endOffset", "end_offset", "end")
_TICK = 1e-7  # seconds; Azure counts in ticks


def word_times(row: Mapping[str, Any]) -> list[TimedWord] | None:
    """The words that were timed in a hypothesis, or None if it has no times.

    A word may be empty, if only its times are there.

    Raises:
        InputError: a time is not a finite number.
    """
    for key in _ARRAYS:
        entries = row.get(key)
        if isinstance(entries, list) and entries:
            with contextlib.suppress(LookupError, TypeError):
                spoken = [one for one in entries if not _is_punctuation(one)]
                return [(_word(one), *_times(one)) for one in spoken]
    return None


def channel_of(record: Any, path: KeyPath) -> str:
    """The channel of a list in a record, from 1: that of an object around it, or an index."""
    channel: Any = 1
    for length, key in enumerate((*path, None)):
        holder = value_at(record, path[:length])
        if isinstance(holder, list):
            if isinstance(key, int) and path[length - 1 : length] == ("channels",):
                channel = key + 1
            continue
        found = next((holder[name] for name in _CHANNELS if name in holder), channel)
        if isinstance(found, list) and found:  # Deepgram's stream: index and number
            channel = f"ch_{found[0]}"
        elif isinstance(found, (int, str)):  # Azure counts from 0
            channel = found + 1 if type(found) is int and "nBest" in holder else found or 1
        if match := re.fullmatch("ch_([0-9]{1,9})", str(channel)):
            channel = int(match[1]) + 1
    return "_".join(str(channel).split())


def _word(entry):
    """The text of a timed word, or "" """
    texts = entry[:1] if isinstance(entry, list) else map(entry.get, _WORDS)
    return next((text for text in texts if isinstance(text, str)), "")


def _is_punctuation(entry):
    return isinstance(entry, Mapping) and entry.get("type") == "punctuation"


def _times(entry) -> tuple[float, float]:
    """The times of one word. Raises LookupError if there are none."""
    if isinstance(entry, list):
        return _seconds(entry[1]), _seconds(entry[2])
    for begin, length in (("Offset", "Duration"), ("offsetInTicks", "durationInTicks")):
        if begin in entry:
            start = _seconds(entry[begin]) * _TICK
            return start, start + _seconds(entry[length]) * _TICK
    start = _seconds(next((entry[key] for key in _STARTS if key in entry), 0))
    if "length" in entry:
        return start, start + _seconds(entry["length"])
    found = [entry[key] for key in _ENDS if key in entry]
    return start, _seconds(found[0])


def _seconds(value):
    """Seconds of a number, of text such as "1.3s", or of protobuf's seconds and nanos."""
    if isinstance(value, Mapping):
        parts = (parse_number(value.get(key, 0), "a time") for key in ("seconds", "nanos"))
        return sum(map(math.prod, zip(parts, (1, 1e-9), strict=True)))
    return parse_number(value.removesuffix("s") if isinstance(value, str) else value, "a time")
