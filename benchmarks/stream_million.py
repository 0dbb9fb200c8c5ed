"""Scores a million generated hypotheses with tta score, and records its memory and progress bar.

    python -m benchmarks.stream_million --json=stream.json --figure=stream.png
    python -m benchmarks.stream_million --count=20000 --interval=10

The hypotheses resemble the N-best lists of a recogniser: sentences of about ten words of the
built-in vocabulary, with 50 variants of each. tta score runs in a separate process with a terminal,
so that it draws its progress bar. Its resident set is read from /proc (Linux). Arguments after --
are passed to tta score.
"""

import fcntl
import itertools
import json
import os
import pty
import random
import re
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT, child_environment

FLAGS = flags.FLAGS
flags.DEFINE_integer("count", 1_000_000, "Number of hypotheses.", lower_bound=1)
flags.DEFINE_float("interval", 60.0, "Seconds between the rows of the table.", lower_bound=0.1)
flags.DEFINE_string("json", None, "Output file of the rows, JSON.")
flags.DEFINE_string("figure", None, "Output file of the plot (.png, .svg).")

VARIANTS, MEAN_WORDS = 50, 10


@dataclass
class Row:
    """The state at one moment.

    Attributes:
        seconds: time since the process began.
        resident_mib: its resident set, MiB.
        sentences: scored sentences, as shown by the bar.
        rate: sentences per second since the previous row.
        percent: progress shown by the bar; None before the bar appears.
        claimed_left: remaining seconds shown by the bar; None if it shows none.
        true_left: actual seconds until the process ended.
    """

    seconds: float
    resident_mib: float
    sentences: int = 0
    rate: float = 0.0
    percent: int | None = None
    claimed_left: float | None = None
    true_left: float = 0.0


def main(argv):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hypotheses.txt"
        write_hypotheses(path, FLAGS.count)
        rows = watch(path, Path(folder) / "scores.jsonl", argv[1:], FLAGS.interval)
    print(format_rows(rows))
    if FLAGS.json:
        content = {"count": FLAGS.count, "arguments": argv[1:], "rows": [asdict(r) for r in rows]}
        Path(FLAGS.json).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    if FLAGS.figure:
        draw(rows, FLAGS.figure)


def write_hypotheses(path, count, seed=0):
    """Writes `count` lines: `VARIANTS` variants per sentence, one to three words changed."""
    rng = random.Random(seed)
    vocabulary = (ROOT / "tta/small/vocab.txt").read_text(encoding="utf-8").splitlines()
    words = [word for word in vocabulary if re.fullmatch("[a-z]+", word)]
    rng.shuffle(words)
    frequencies = (1 / rank for rank in range(1, len(words) + 1))  # Zipf's law
    cumulated = list(itertools.accumulate(frequencies))  # computed once instead of for every draw

    def draw_words(number):
        return rng.choices(words, cum_weights=cumulated, k=number)

    with open(path, "w", encoding="utf-8") as file:
        for number in range(count):
            if number % VARIANTS == 0:
                sentence = draw_words(max(1, round(rng.gauss(MEAN_WORDS, 3))))
            variant = list(sentence)
            for _ in range(rng.randint(1, 3) if number % VARIANTS else 0):
                place = rng.randrange(len(variant) + 1)  # inserts, deletes or replaces a word
                variant[place : place + rng.randint(0, 1)] = draw_words(rng.randint(0, 1))
            file.write(" ".join(variant) + "\n")


def watch(path, output, arguments, interval):
    """Runs tta score and returns its state every `interval` seconds as a list of `Row`."""
    screen = Screen()
    files = [f"--input_file={path}", f"--output_file={output}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tta.flags.score", *arguments, *files],
        stderr=screen.terminal,
        env=child_environment(),
    )
    screen.begin()
    start, rows = time.monotonic(), []
    try:
        while not _wait(process, start + interval * (len(rows) + 1)):
            row = Row(time.monotonic() - start, resident_mib(process.pid))
            row.sentences, row.percent, row.claimed_left = screen.look()
            before = rows[-1] if rows else Row(0.0, 0.0)
            row.rate = (row.sentences - before.sentences) / (row.seconds - before.seconds)
            rows.append(row)
        end = time.monotonic() - start
    finally:
        process.kill()
        process.wait()
        screen.close()
    if process.returncode:
        sys.exit(f"tta score failed:\n{screen.text()}")
    for row in rows:
        row.true_left = end - row.seconds
    return rows


def _wait(process, moment):
    """Waits for the end of the process, but not past the moment; returns whether it ended."""
    try:
        process.wait(max(0.0, moment - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def resident_mib(pid):
    """The resident set of a process, MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) / 1024


class Screen:
    """A terminal on which a process draws its bar; a thread reads it continuously.

    Attributes:
        terminal: file descriptor for the process's standard error.
    """

    def __init__(self):
        self._reading, self.terminal = pty.openpty()
        size = struct.pack("4H", 24, 120, 0, 0)  # rows, columns: space for the bar
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, size)
        self._drawn = b""
        self._reader = threading.Thread(target=self._read, daemon=True)

    def begin(self):
        """Starts reading; call it after the process has started. Reading ends with the process."""
        os.close(self.terminal)
        self._reader.start()

    def _read(self):
        while True:
            try:
                new = os.read(self._reading, 4096)
            except OSError:  # the process has closed the terminal
                return
            if not new:
                return
            self._drawn = (self._drawn + new)[-8192:]

    def close(self):
        self._reader.join()
        os.close(self._reading)

    def text(self):
        """The latest part of the terminal's text."""
        return self._drawn.decode(errors="replace").replace("\r", "\n")

    def look(self):
        """The state of the bar: (sentences, percent or None, seconds left or None)."""
        return read_bar(self.text())


def read_bar(text):
    """Reads the last complete bar in a text: (sentences, percent or None, seconds left or None).

    >>> read_bar("scoring:  40%|####      | 20.5M/51.2M [12:30<18:45, 27.3kB/s, 409,600 sentences]")
    (409600, 40, 1125)
    """
    bars = re.findall(r"(\d+)%\|.*?\[[\d:]+<([\d:?]+),(.*?)\]", text)
    if not bars:
        return 0, None, None
    percent, left, rest = bars[-1]
    seconds = None
    if "?" not in left:
        seconds = sum(int(part) * 60**power for power, part in enumerate(reversed(left.split(":"))))
    sentences = re.search(r"([\d,]+) sentences", rest)
    return int(sentences.group(1).replace(",", "")) if sentences else 0, int(percent), seconds


def format_rows(rows):
    """The rows as a table."""

    def shown(value, format):
        return "-" if value is None else format.format(value)

    lines = [
        f"{'minute':>8}{'resident MiB':>14}{'sentences':>12}{'per second':>12}{'bar %':>7}"
        f"{'left, shown':>15}{'left, actual':>14}"
    ]
    for row in rows:
        lines.append(
            f"{row.seconds / 60:8.1f}{row.resident_mib:14.0f}{row.sentences:12,}{row.rate:12.0f}"
            f"{shown(row.percent, '{}'):>7}{shown(row.claimed_left, '{:.0f} s'):>15}"
            f"{f'{row.true_left:.0f} s':>14}"
        )
    return "\n".join(lines)


def draw(rows, path):
    """Plots the resident set, and the remaining time as shown and actual, against time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 6), layout="constrained")
    memory, left = figure.subplots(2, sharex=True)
    minutes = [row.seconds / 60 for row in rows]
    memory.plot(minutes, [row.resident_mib for row in rows])
    memory.set(ylabel="resident set, MiB", ylim=(0, None))
    claims = [(row.seconds / 60, row.claimed_left / 60) for row in rows if row.claimed_left]
    left.plot(minutes, [row.true_left / 60 for row in rows], label="actual")
    left.plot(*zip(*claims, strict=True), ".", label="shown by the bar")
    left.set(xlabel="minutes", ylabel="minutes left", ylim=(0, None))
    left.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    app.run(main)
