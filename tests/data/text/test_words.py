"""What a word is: letters with their marks in every script, and the punctuation around them."""

# ruff: noqa: RUF001

import re
import sys
import unicodedata

import pytest

from tests.fake_model import FakeModel
from tta.data.text.words import (
    MARK,
    is_letters,
    is_mark,
    is_punctuation,
    letter_runs,
    split_punctuation,
)
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.normalization import basic
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.words.evidence import UNIT

WORDS = {  # words in many scripts, and signs that stand before and after them
    "Hindi": ("भाषा दिल्ली हिन्दी", "(", "।"),
    "Bengali": ("বাংলা কলকাতা", "“", "।”"),
    "Tamil": ("தமிழ் சென்னை", "(", "),"),
    "Telugu": ("తెలుగు హైదరాబాదు", "'", "'"),
    "Thai": ("กรุงเทพ น้ำ แม่", "(", "!"),
    "Khmer": ("ភ្នំពេញ ស្រុក", "«", "។"),
    "Burmese": ("ရန်ကုန် မြန်မာ", "(", "။"),
    "Sinhala": ("කොළඹ සිංහල", "", "."),
    "Arabic with vowel signs": ("مُحَمَّد مَدِينَة", "«", "؟"),
    "Persian with joiners": ("می\u200cروم نمی\u200cدانم", "(", "؛"),
    "Hebrew with points": ("שָׁלוֹם תֵּל", "(", "."),
    "Latin, composed": ("café Ångström naïve", "¿", "?"),
    "Latin, NFD": (unicodedata.normalize("NFD", "café Ångström Łódź"), '"', '."'),
    "Vietnamese, NFD": (unicodedata.normalize("NFD", "Đường phố Nguyễn"), "-", ","),
    "Korean": ("서울 김", "《", "》"),
    "Korean, jamo": (unicodedata.normalize("NFD", "서울 부산"), "《", "》"),
    "Japanese": ("東京 ガーナ", "「", "」。"),
    "Japanese, NFD": (unicodedata.normalize("NFD", "ガーナ ぱん"), "「", "」"),
    "Chinese": ("北京 李", "（", "）。"),
    "Cyrillic, NFD": (unicodedata.normalize("NFD", "Чайковский её"), "«", "»,"),
    "Greek": ("Αθήνα ΐδια", "«", "»·"),
    "Amharic": ("አዲስ አበባ", "", "።"),
    "Tibetan": ("བོད བླ", "", "།"),
    "Georgian": ("თბილისი", "„", "“"),
}


LM, METRIC, BLEU = FakeModel(), load_metric("wer"), load_metric("bleu")


@pytest.mark.parametrize(("words", "before", "after"), WORDS.values(), ids=WORDS)
def test_marks_are_parts_of_words_in_every_script(words, before, after):
    for word in words.split():
        text = before + word + after
        assert letter_runs(text) == ([word] if "\u200c" not in word else letter_runs(word))
        assert is_letters(word)
        parts = [part for part in (before, word, after) if part]
        assert split_punctuation(text) == parts
        assert [is_punctuation(part) for part in parts] == [part != word for part in parts]
        assert basic(text) == unicodedata.normalize("NFKC", word).lower()
        assert not any(map(is_mark, (unit[0] for unit in UNIT.findall(text))))
        assert not Phrases([word], METRIC).without_common(LM.is_common).common
        for_bleu = Phrases([word], BLEU)
        units = for_bleu.units(text)
        assert "".join(units) == text
        assert not any(is_mark(unit[0]) for unit in units)


@pytest.mark.parametrize(
    ("word", "parts", "why"),
    [
        ("fell.", ["fell", "."], "a full stop"),
        ('"Oh!"', ['"', "Oh", '!"'], "on both sides"),
        ("don't", ["don't"], "inside"),
        ("U.S.,", ["U.S", ".,"], "inside and after"),
        ("--", ["--"], "no word"),
        ("snake_case_", ["snake_case_"], "an underscore is a letter of names"),
        ("love❤\ufe0f!", ["love", "❤\ufe0f!"], "a variation selector stays with its sign"),
        ("👩\u200d🚀ok", ["👩\u200d🚀", "ok"], "a joiner between signs"),
        ("❤\ufe0fok", ["❤\ufe0f", "ok"], "and before a word"),
        ("3\ufe0f\u20e3.", ["3\ufe0f\u20e3", "."], "a digit in a box"),
        ("\u200f(אב\u200f)", ["\u200f(", "אב\u200f", ")"], "marks of direction"),
        ("\u093e.", ["\u093e", "."], "a vowel sign alone"),
        ("", [], "nothing"),
    ],
)
def test_punctuation_apart(word, parts, why):
    assert split_punctuation(word) == parts, why
    assert "".join(parts) == word


def test_a_letter_with_a_mark_is_no_single_letter():
    assert LM.is_common("e a")
    assert not LM.is_common("e\u0301a")


def test_the_class_has_all_marks_of_unicode():
    marks = filter(is_mark, map(chr, range(sys.maxunicode + 1)))
    assert [hex(ord(one)) for one in marks if not re.fullmatch(MARK, one)] == []
