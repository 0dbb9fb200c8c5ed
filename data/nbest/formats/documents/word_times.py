"""The times of words in the responses of speech services and recognisers."""

import contextlib
from collections.abc import Mapping
from typing import Any

from tta.data.nbest.lists import parse_number
from tta.errors import InputError

# The array of words beside the text of a hypothesis: Google, Deepgram and Azure, Azure's batches,
# Vosk, gst-kaldi, Amazon, IBM (arrays of word, start and end).
_ARRAYS = ("words", "Words", "displayWords", "result", "word-alignment", "items", "timestamps")
_STARTS = ("startTime", "start_time", "startOffset", "start_offset", "start")
_ENDS = ("endTime", "end_time", "endOffset", "end_offset", "end")
_TICK = 1e-7  # seconds; Azure counts in ticks


def word_times(row: Mapping[str, Any]) -> list[tuple[float, float]] | None:
    """The start and end in seconds of the words of a hypothesis, or None if it has no times."""
    for key in _ARRAYS:
        entries = row.get(key)
        if isinstance(entries, list) and entries:
            with contextlib.suppress(InputError, LookupError, TypeError):
                spoken = [one for one in entries if not _is_punctuation(one)]
                return [_times(one) for one in spoken]
    return None


def _is_punctuation(entry):
    return isinstance(entry, Mapping) and entry.get("type") == "punctuation"


def _times(entry):
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
        return float(value.get("seconds", 0)) + float(value.get("nanos", 0)) / 1e9
    return parse_number(value.removesuffix("s") if isinstance(value, str) else value, "a time")
