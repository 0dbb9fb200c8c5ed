"""The N-best lists of SRILM and of the Decipher recognizer: a file per utterance."""

import math
import re

from tta.data.nbest.formats.base import Format
from tta.data.nbest.lists import Hypothesis, parse_number
from tta.data.nbest.rows import check_fields, mostly
from tta.errors import InputError, located, shown

_BYTELOG = 1024 / 10000.5  # natural log of one unit
_LOG10 = math.log(10)
_NUMBER = r"[-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?"
_DECIPHER = re.compile(rf"\(({_NUMBER})\)(?:\s+(.*))?")
_STANDARD = re.compile(rf"({_NUMBER})\s+({_NUMBER})\s+([0-9]+)(?:\s+(.*))?")
# A word of NBestList2.0: its start and end in seconds, and its scores.
_TIMED = re.compile(r"(?<!\S)(\S+)\s+\(\s*st:\s*(\S+)\s+et:\s*([^\s()]+)(?![^\s()])([^()]*)\)")


class SrilmFormat(Format):
    """One list in one of the layouts of SRILM's nbest-format(5), or a folder of such files.

    - `ascore lscore nwords words`, logs of base 10. The score is their sum, as a natural log. The
      acoustic and language model scores are the features `am_score` and `lm_score`, in base 10.
    - `NBestList1.0` in the first line, then `(score) words`, in bytelogs.
    - `NBestList2.0`, then `(score) word ( st: 0.1 et: 0.5 g: -1 a: -2 ) ...`. Phones and states
      inside a word are left out.

    The id is the name of the file. A new score is written as the acoustic score that makes the sum
    right.
    """

    layout = "ascore lscore nwords words, or NBestList1.0 and (score) words"
    reads_folders = True

    def matches(self, source):
        if _header(source.head[0]):
            return True
        return mostly(source.head, _is_standard)

    def read(self, source, collector):
        header = _header(source.rows[0][1])
        hypotheses = []
        for number, row in source.rows[1:] if header else source.rows:
            with located(line=number):
                hypotheses.append(self._parse(row.strip(), header))
        collector.add(source.stem or "0", hypotheses)

    def _parse(self, row, header):
        match = (_DECIPHER if header else _STANDARD).fullmatch(row)
        if match is None:
            expected = "(score) words" if header else "ascore lscore nwords words"
            raise InputError(f"expected {expected}, got {shown(row)}")
        features, surface = {}, match[match.re.groups] or ""
        if header:
            score = parse_number(match[1], "score") * _BYTELOG
            text = _timed_words(surface) if header == 2 else surface
        else:
            names = "am_score", "lm_score"
            features = {n: parse_number(match[i], n) for i, n in enumerate(names, 1)}
            score, text = sum(features.values()) * _LOG10, surface
        text = " ".join(text.split())
        extra = {"header": header, "surface": surface, "text": text, "columns": match.groups()[1:3]}
        return Hypothesis(text, score, {self.name: extra}, features)

    def word_times(self, hypothesis):
        extra = self.extra_of(hypothesis)
        if extra.get("header") != 2:
            return None
        return [*_timed(extra["surface"])]

    def write(self, lists, stream):
        if len(lists) > 1:
            raise InputError("srilm lists are a file each: expected one list, or a folder")
        for nbest in lists:
            extras = [self.extra_of(h) for h in nbest.hypotheses]
            header = next((extra["header"] for extra in extras if extra), 0)
            if header:
                stream.write(f"NBestList{header}.0\n")
            for hypothesis, extra in zip(nbest.hypotheses, extras, strict=True):
                is_same = hypothesis.text == extra.get("text")
                text = extra["surface"] if is_same else hypothesis.text
                check_fields([text], "", nbest, self.name)
                score = self.score_of(hypothesis, nbest)
                if header:
                    start = f"({score / _BYTELOG!r})"
                else:
                    lm, words = extra.get("columns") or ("0", str(len(text.split())))
                    start = f"{score / _LOG10 - float(lm)!r} {lm} {words}"
                stream.write(f"{start} {text}".rstrip() + "\n")


def _header(line):
    """1 or 2 for the header of the Decipher formats, else 0."""
    match = re.fullmatch(r"NBestList([12])\.0\s*", line)
    return int(match[1]) if match else 0


def _is_standard(line):
    match = _STANDARD.fullmatch(line.strip())
    if not match:
        return False
    words = (match[4] or "").split()
    return len(words) - int(match[3]) in (0, 1, 2)  # <s> and </s> may be there


def _timed_words(surface):
    """The words of NBestList2.0; all of them have times, or none."""
    untimed = _TIMED.sub("", surface).strip()
    if untimed == surface.strip():
        return untimed
    if untimed.strip("() "):
        raise InputError(f"expected word ( st: 0.1 et: 0.5 ... ), got {shown(untimed)}")
    return " ".join(word for word, *_ in _timed(surface))


def _timed(surface):
    """Yields (word, start, end) of the words with times, without phones and states inside them."""
    end = -math.inf
    for word, start, until, _ in _TIMED.findall(surface):
        if (begin := parse_number(start, "a time")) >= end:
            end = parse_number(until, "a time")
            yield word, begin, end
