"""Plain lines: N hypotheses for each source, one after another."""

import re

from tta.data.nbest.formats import FORMATS, load_format
from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis
from tta.data.nbest.rows import check_fields, doubt_of_size
from tta.errors import InputError

# sclite's trn and the hypotheses of Sphinx end with an id.
_WITH_IDS = re.compile(r".*\([^\s()]+(\s+-?[0-9.]+)?\)\s*")
_START = re.compile(r"\A[\s\ufeff]+")
_OTHER = re.compile(r"\s*([{\[<]|[^\s0-9]*[0-9]\S*-[0-9]+\s)|.*(\t|\|\|\|)")


class PlainFormat(Format):
    """One hypothesis per line and `beam_size` lines per list, best first, without scores.

    A blank line is an empty hypothesis. Lists get their index, from 0. OpenNMT, CTranslate2 and
    others write such files. They look like any text, so they are detected only with a beam size.
    """

    layout = "one hypothesis per line, with a beam size"
    takes = ("beam_size",)

    def matches(self, source):
        if source.beam_size is None or any(map(_OTHER.match, source.head)):
            return False
        if all(map(_WITH_IDS.fullmatch, source.head)):
            return False
        formats = [load_format(name) for name in FORMATS if name != self.name]
        return not any(other.matches(source) for other in formats if not other.is_folder)

    def doubt(self, source):
        texts, size = [line.strip() for line in source.lines], source.beam_size or 1
        blank = [i for i, text in enumerate(texts) if not text]
        if len(blank) > 1 and blank == list(range(size, len(texts), size + 1)):
            return f"a blank line follows every {size} lines, and would be an empty hypothesis"
        return doubt_of_size(texts, size, self.name)

    def read(self, source, collector):
        size, number = source.beam_size, len(source.lines)
        if size is None:
            raise InputError("plain lines do not separate lists: give the beam size")
        source.check_whole_beams(range(1, number + 1))
        for start in range(0, number, size):
            texts = [_START.sub("", line).rstrip() for line in source.lines[start : start + size]]
            collector.add(start // size, [Hypothesis(text, None) for text in texts])

    def write(self, lists, stream):
        for nbest in lists:
            for hypothesis in nbest.hypotheses:
                check_fields([hypothesis.text], "", nbest, self.name)
                stream.write(hypothesis.text + "\n")
