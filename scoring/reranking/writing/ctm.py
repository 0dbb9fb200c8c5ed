"""NIST's CTM of the picks: a line `recording channel start duration word confidence` per word."""

from collections.abc import Sequence
from typing import TextIO

from rapidfuzz.distance import LCSseq

from tta.data.nbest.formats.base import Format, TimedWord
from tta.data.nbest.lists import NBestList
from tta.data.text.spelling import plain_texts
from tta.errors import InputError, located, shown
from tta.scoring.combining.decision import Decision
from tta.scoring.metrics.normalization import basic
from tta.scoring.words.confidence import Confidences
from tta.scoring.words.evidence import UNIT


def check_times(chosen: Format, lists: Sequence[NBestList], path: str) -> None:
    """Raises InputError if a hypothesis has no times, or has times that are none."""
    for nbest_list in lists:
        for hypothesis in nbest_list.hypotheses:
            with located(f"list {shown(nbest_list.utterance_id)}", path=path):
                timed, before = chosen.word_times(hypothesis), 0.0
                if hypothesis.text and not timed:
                    rule = "a CTM needs the times of all words, and a hypothesis lacks them"
                    raise InputError(f"{rule}: {shown(hypothesis.text)}")
                for word, start, end in timed or ():
                    if not before <= start <= end:
                        times = f"{start:g} to {end:g} s, after {before:g} s"
                        raise InputError(f"times run backwards: {shown(word)} is at {times}")
                    before = start


def write_ctm(
    stream: TextIO, chosen: Format, decision: Decision, confidences: Confidences
) -> list[str]:
    """Writes the words of the picks, in seconds. Returns a note on those without times, if any.

    The results of a recording have its name. Records with one id are one recording if the times of
    each channel go on from record to record; else each list has its own name.
    """
    rows, without, several = [], [], set()
    last = {}  # {recording and channel: the record and the end of its last word}
    for nbest_list, pick, words in zip(
        decision.lists.nbest, decision.picks, confidences.words, strict=True
    ):
        name, channel, record = chosen.recording(nbest_list)
        timed = chosen.word_times(nbest_list.hypotheses[pick]) if words else None
        for word, times in zip(words, align([w.word for w in words], timed or ()), strict=True):
            if times is None:
                without.append(word.word)
                continue
            before = last.get((name, channel), (record, 0.0))
            if before[0] != record and times[0] < before[1]:
                several.add(name)
            last[name, channel] = record, max(before[1], times[1])
            rows.append((name, nbest_list.utterance_id, channel, *times, word))
    rows = [
        (utterance_id if name in several else name, channel, start, end, word)
        for name, utterance_id, channel, start, end, word in rows
    ]
    order = {name: number for number, name in enumerate(dict.fromkeys(row[0] for row in rows))}
    for name, channel, start, end, word in sorted(rows, key=lambda r: (order[r[0]], *r[1:3])):
        place = f"{'_'.join(name.split())} {channel} {start:.3f} {end - start:.3f}"
        stream.write(f"{place} {word.word} {word.probability:.4f}\n")
    if not without:
        return []
    return [f"words without times, not in the CTM: {len(without):,}, first {without[0]!r}"]


def align(words: Sequence[str], timed: Sequence[TimedWord]) -> list[tuple[float, float] | None]:
    """The start and end of each word in seconds, from the words that were spoken; None: unknown.

    The spoken words may be written in another way: "twenty one" for "21", or without punctuation.
    Words between the same neighbours share the time between them, by their numbers or letters. In
    scripts without blanks, characters share the time of their word.
    """
    units = [(number, unit) for number, word in enumerate(words) for unit in _units(word)]
    spoken: list[TimedWord] = []
    for word, start, end in timed:
        if word in words or not word or plain_texts([word])[0][0]:  # not <eps>
            parts = [""] if not word else _units(word)
            spoken += _shared(parts, start, end)
    blocks = LCSseq.opcodes([unit for _, unit in units], [unit for unit, *_ in spoken])
    times: dict[int, list[float]] = {}
    i = j = 0
    for block in blocks.as_matching_blocks():
        units_between, spoken_between = units[i : block.a], spoken[j : block.b]
        if units_between and spoken_between and len(units_between) != len(spoken_between):
            spoken_between = _shared(
                [unit for _, unit in units_between], spoken_between[0][1], spoken_between[-1][2]
            )
        i, j = block.a + block.size, block.b + block.size
        pairs = [
            *zip(units_between, spoken_between, strict=False),
            *zip(units[block.a : i], spoken[block.b : j], strict=True),
        ]
        for (number, _), (_, start, end) in pairs:
            times.setdefault(number, []).extend((start, end))
    return [(min(times[n]), max(times[n])) if n in times else None for n in range(len(words))]


def _units(word):
    """What is compared of a word: its parts without case and signs, or its characters."""
    return UNIT.findall(basic(word))


def _shared(parts, start, end) -> list[TimedWord]:
    """Gives each part its share of a time, by its letters."""
    step = (end - start) / max(1, sum(map(len, parts)) or len(parts))
    times, at = [], start
    for part in parts:
        times.append((part, at, at := at + step * (len(part) or 1)))
    return times
