"""Hostile rows of nearly a mebibyte: each took hours in an earlier version.

Regular expressions were quadratic in the length of a row, or exponential. Reading takes seconds. A
test fails after a minute of processor time, in place of hours.
"""

import contextlib
import signal

import pytest

from tests.fuzzing import READERS
from tests.fuzzing_models import TENSORFLOW_READERS
from tta.data.nbest.files import read_nbest
from tta.errors import InputError


def read_plain(path):
    """Detects a format that is detected only with a beam size."""
    read_nbest(path, beam_size=2)


ALL = READERS | TENSORFLOW_READERS
LONG = 900_000  # bytes
MOSES, DECIPHER = "0 ||| {} ||| -1\n", "NBestList2.0\n(-9) {}\n"

ROWS = [
    ("nbest_moses", "0 ||| a ||| " + 60 * "0,0" + "x ||| -1\n", "probabilities without blanks"),
    ("nbest_moses", "0 ||| a ||| " + 60 * "1-1" + "x ||| -1\n", "alignments without blanks"),
    ("nbest_moses", MOSES.format(LONG // 2 * "a|" + "|"), "factors"),
    ("nbest_moses", MOSES.format(LONG // 4 * "|UNK" + "|"), "unknown words"),
    ("nbest_moses", MOSES.format("a" + LONG * " " + "b"), "blanks before a segmentation"),
    (read_plain, LONG // 2 * "0-" + "\n", "what may be an id and a number"),
    ("nbest_srilm", DECIPHER.format(LONG * "a"), "a word that may have times"),
    ("nbest_srilm", DECIPHER.format("a ( st: 1 et: " + LONG * "0"), "a time without an end"),
    ("nbest_any", f"{LONG * '0'}\n{LONG * '0'}\n", "what may be an id"),
    ("nbest_any", f"{LONG * '0'}!\n{LONG * '1'}!\n", "what may be the id of an ESPnet 2 folder"),
    ("references", "a" + LONG * " " + "b (0)\n", "blanks before an id"),
    ("references", "{" + LONG // 3 * " / " + "(0)\na (1)\n", "several readings"),
    ("references", LONG // 2 * "(%" + " (0)\na (1)\n", "a hesitation"),
    ("references", f"a ({LONG * '-'}0)\nb (1)\n", "speakers before an id"),
    ("references", f"<refset>{LONG // 4 * '<ref'}", "tags that do not end"),
    ("references", f"<refset>{LONG // 5 * '<seg>'}", "segments that do not end"),
    ("references", f"<refset {LONG * 'a'}><seg>a</seg></refset>", "a tag without attributes"),
    ("arpa_counts", "\\data\\\nngram 1=" + 60_000 * " " + "x\n", "a count after blanks"),
    ("tf1_state", 'model_checkpoint_path: "' + LONG * "/", "folders without an end"),
]


MARKS = dict.fromkeys(TENSORFLOW_READERS, pytest.mark.tensorflow)
PARAMETERS = [pytest.param(*row[:2], id=row[2], marks=MARKS.get(row[0], ())) for row in ROWS]


@pytest.mark.parametrize(("reader", "content"), PARAMETERS)
def test_time_follows_the_size_of_a_row(tmp_path, reader, content):
    path = tmp_path / "file"
    path.write_text(content)
    handler = signal.signal(signal.SIGVTALRM, fail)
    signal.setitimer(signal.ITIMER_VIRTUAL, 60)
    try:
        with contextlib.suppress(InputError):
            (reader if callable(reader) else ALL[reader].check)(path)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, handler)


def fail(*_):
    raise AssertionError("it takes more than a minute")
