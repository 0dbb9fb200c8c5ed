"""Word and character error rate. The errors of a hypothesis are counted only once.

The marks of reports and the confidences of words come from the same edits.
"""

import re
from collections.abc import Sequence

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from tta.data.text.spelling import WITHOUT_BLANKS
from tta.errors import InputError, shown
from tta.scoring.metrics.normalization import METRIC_NORMALIZATIONS

# How rapidfuzz names the edits of a reference that give a hypothesis: a word is another one, too
# many, or missing. `src_pos` of an edit is the position in the reference, `dest_pos` that in the
# hypothesis.
SUBSTITUTION, INSERTION, DELETION = "replace", "insert", "delete"
SUBSTITUTIONS, INSERTIONS, DELETIONS, REFERENCE_WORDS = range(4)
CHARACTER_ERRORS, REFERENCE_CHARACTERS = 4, 5
_WORD_LENGTH = 5  # characters, with a blank
# Most hypotheses of a list differ in fewer characters. rapidfuzz looks for so few edits first; its
# result is the same for any number.
_USUAL_EDITS = 10
# Blanks beside scripts that are written without blanks.
_NO_BLANK = re.compile(f"(?<={WITHOUT_BLANKS.pattern}) | (?={WITHOUT_BLANKS.pattern})")
_COLUMN = {SUBSTITUTION: SUBSTITUTIONS, INSERTION: INSERTIONS, DELETION: DELETIONS}


class WordErrorRate:
    """WER in percent, a `tta.scoring.metrics.metric.Metric`; the CER is one of its details.

    WER = (substitutions + insertions + deletions) / reference words, over a corpus. Words are
    separated by white space. CER is the same of characters; the blank between two words is one of
    them, as in jiwer, except beside characters of scripts without blanks, such as Chinese.

    Args:
        normalize: a key of `METRIC_NORMALIZATIONS`, how hypotheses and references are read. With
            `none`, case and punctuation count. An unknown one raises InputError.
    """

    name = "WER"
    loss_name = "word errors"
    higher_is_better = False
    of_speech, by_character = True, False

    def __init__(self, normalize: str = "none"):
        self.normalize = METRIC_NORMALIZATIONS.load(normalize)
        self.signature = f"WER|words:whitespace|CER:blanks count|normalize:{normalize}"

    def statistics(self, hypotheses: Sequence[str], reference: str, *more: str) -> np.ndarray:
        """[n, 6] int64: substitutions, insertions, deletions and reference words; character errors
        and reference characters.
        """
        if more:
            rule = f"several references, {shown(reference)} and {len(more)} more"
            raise InputError(f"{rule}: the {self.name} takes one; bleu, chrf and ter take several")
        expected = self.normalize(reference).split()
        letters = characters(expected)
        counts = np.zeros([len(hypotheses), 6], np.int64)
        counts[:, REFERENCE_WORDS] = len(expected)
        counts[:, REFERENCE_CHARACTERS] = len(letters)
        for row, hypothesis in zip(counts, hypotheses, strict=True):
            words = self.normalize(hypothesis).split()
            for edit in Levenshtein.editops(expected, words):
                row[_COLUMN[edit.tag]] += 1
            row[CHARACTER_ERRORS] = Levenshtein.distance(letters, characters(words))
        return counts

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 6] summed statistics -> [...] float64, WER in percent: a ratio of sums, not a mean.

        Raises InputError if the references have no words.
        """
        errors = np.asarray(totals)[..., :REFERENCE_WORDS].sum(-1)
        return _rate(errors, totals, REFERENCE_WORDS, "word")

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 6] -> [...] float64, the number of word errors.

        The hypotheses of a list share a reference, so the fewest errors give the lowest WER.
        """
        return statistics[..., :REFERENCE_WORDS].sum(-1).astype(np.float64)

    def losses(self, texts: Sequence[str]) -> np.ndarray:
        """The number of word errors of text i if text j is correct: [n, n] float32."""
        # Strings of one character per word are compared much faster than lists of words.
        characters: dict[str, str] = {}
        coded = [
            "".join(characters.setdefault(word, chr(len(characters) + 1)) for word in words)
            for words in (self.normalize(text).split() for text in texts)
        ]
        return cdist(coded, coded, scorer=Levenshtein.distance, dtype=np.float32)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """The kinds of word errors in percent of the reference words, and the CER in percent."""
        rates = 100.0 * totals / totals[REFERENCE_WORDS]
        return {
            "sub": rates[SUBSTITUTIONS],
            "ins": rates[INSERTIONS],
            "del": rates[DELETIONS],
            "CER": 100.0 * totals[CHARACTER_ERRORS] / totals[REFERENCE_CHARACTERS],
        }


class CharacterErrorRate(WordErrorRate):
    """CER in percent, a `tta.scoring.metrics.metric.Metric`; the WER is its detail.

    It counts as the CER of `WordErrorRate` does, whose arguments it takes: words are joined by
    single blanks, and the blanks count. For scripts that separate no words, or other than words.
    """

    name, by_character = "CER", True
    loss_name = "character errors"

    def __init__(self, normalize: str = "none"):
        super().__init__(normalize)
        self.signature = f"CER|blanks count|normalize:{normalize}"

    def corpus(self, totals: np.ndarray) -> np.ndarray:
        """[..., 6] summed statistics -> [...] float64, CER in percent: a ratio of sums.

        Raises InputError if the references have no characters.
        """
        errors = np.asarray(totals)[..., CHARACTER_ERRORS]
        return _rate(errors, totals, REFERENCE_CHARACTERS, "character")

    def errors(self, statistics: np.ndarray) -> np.ndarray:
        """[..., 6] -> [...] float64, character errors divided by the length of a word."""
        return statistics[..., CHARACTER_ERRORS] / _WORD_LENGTH

    def losses(self, texts: Sequence[str]) -> np.ndarray:
        """The number of character errors of text i if text j is correct: [n, n] float32."""
        joined = [characters(self.normalize(text).split()) for text in texts]
        return character_edits(joined).astype(np.float32)

    def details(self, totals: np.ndarray) -> dict[str, float]:
        """The WER in percent."""
        return {"WER": float(super().corpus(totals))}


def _rate(errors, totals, column, unit):
    lengths = np.asarray(totals)[..., column]
    if not np.all(lengths):
        raise InputError(f"the references have no {unit}s: the {unit} error rate is not defined")
    return 100.0 * errors / lengths


def character_edits(texts: Sequence[str]) -> np.ndarray:
    """The number of characters by which each text differs from each other one: [n, n] int32."""
    return cdist(texts, texts, scorer=Levenshtein.distance, score_hint=_USUAL_EDITS, dtype=np.int32)


def characters(words: Sequence[str]) -> str:
    """The characters of a text that the CER compares, with the blanks that count."""
    text = " ".join(words)
    return text if text.isascii() else _NO_BLANK.sub("", text)
