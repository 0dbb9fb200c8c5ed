"""When and on which channel words were spoken, in the responses of each tool."""

import contextlib
import math
import re
from collections.abc import Mapping
from typing import Any

from tta.data.nbest.formats.documents.table import KeyPath, value_at
from tta.data.nbest.lists import parse_number

TimedWord = tuple[str, float, float]  # its start and its end in seconds

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

    A word may be empty, if only its times are there. Raises InputError if a time is not a finite
    number.
    """
    for key in _ARRAYS:
        entries = row.get(key)
        if isinstance(entries, list) and entries:
            with contextlib.suppress(LookupError, TypeError):
                return [(_word(entry), *_times(entry)) for entry in entries if not _is_mark(entry)]
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
        value = next((holder[name] for name in _CHANNELS if name in holder), channel)
        if isinstance(value, list) and value:  # Deepgram's stream: index and number
            channel = f"ch_{value[0]}"
        elif isinstance(value, (int, str)):  # Azure counts from 0
            channel = value + 1 if type(value) is int and "nBest" in holder else value or 1
        if match := re.fullmatch("ch_([0-9]{1,9})", str(channel)):
            channel = int(match[1]) + 1
    return "_".join(str(channel).split())


def _word(entry):
    """The text of a timed word, or "" """
    texts = entry[:1] if isinstance(entry, list) else map(entry.get, _WORDS)
    return next((text for text in texts if isinstance(text, str)), "")


def _is_mark(entry):
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
    ends = [entry[key] for key in _ENDS if key in entry]
    return start, _seconds(ends[0])


def _seconds(value):
    """Seconds of a number, of text such as "1.3s", or of protobuf's seconds and nanos."""
    if isinstance(value, Mapping):
        parts = (parse_number(value.get(key, 0), "a time") for key in ("seconds", "nanos"))
        return sum(map(math.prod, zip(parts, (1, 1e-9), strict=True)))
    return parse_number(value.removesuffix("s") if isinstance(value, str) else value, "a time")
