"""The spoken form of a sentence."""

import pytest

from tta.data.corpus.chunks import spoken_form


@pytest.mark.parametrize(
    ("line", "spoken", "why"),
    [
        ("The cat, sat.", "the cat sat", "no case, no punctuation"),
        ("“Don\u2019t!” he said—twice", "don't he said twice", "curly quotes and dashes"),
        ("'Twas the dogs' well-known 'bone'", "twas the dogs well known bone", "inner ' only"),
        ("O'Neill's o'clock", "o'neill's o'clock", "every ' inside a word"),
        ("The U.S. ( ; ) army", "the u s army", "letters with stops are spoken one by one"),
        ("Café naïve Ünder", "cafe naive under", "accents are stripped"),
        ("cats & dogs", "cats and dogs", "a sign that is a word"),
        ("snake_case and/or", "snake case and or", "underscores and slashes part words"),
        ("in 1942", None, "a recogniser spells numbers"),
        ("ten %", None, "a sign that is read aloud"),
        ("£", None, "a sign that is read aloud"),
        ("the letter ß", None, "no letter from a to z"),
        ("слово", None, "no letter from a to z"),
        ("x²", None, "a digit in disguise"),
        ("...", None, "no word"),
        ("", None, "no word"),
    ],
)
def test_spoken_form(line, spoken, why):
    assert spoken_form(line) == spoken, why


@pytest.mark.parametrize(
    ("line", "spoken", "why"),
    [
        ("Über die Brücke, sagt\u2019s Jörg.", "über die brücke sagt's jörg", "umlauts stay"),
        ("Cafe\u0301", "café", "composed"),
        ("हिन्दी में, नमस्ते!", "हिन्दी में नमस्ते", "marks belong to words"),
        ("'Ça' — l'été", "ça l'été", "inner ' only"),
        ("می\u200cروم", "میروم", "invisible characters are no blanks"),
        ("5 Äpfel", None, "a digit"),
        ("५ सेब", None, "a digit of another script"),
        ("Äpfel & Birnen", None, "a sign that is a word of its language"),
        ("...", None, "no word"),
    ],
)
def test_with_accents_the_letters_are_those_of_any_language(line, spoken, why):
    assert spoken_form(line, strip_accents=False) == spoken, why
