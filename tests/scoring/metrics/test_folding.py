"""Notes on what a normalization takes from words of other languages, and on case that it leaves."""

import json
import unicodedata

import pytest

from tests.commands import run_command
from tta.scoring.metrics.folding import folding_notes

# ruff: noqa: RUF001
LOSSES = [  # normalization, texts of a list, parts of the note (none: there is no note), why
    ("whisper", ["schon gut", "schön gut"], "'schön' and 'schon' become the same word", "German"),
    ("whisper", ["die straße", "die strasse"], "'straße' and 'strasse'", "German, a ligature"),
    ("whisper", ["Über uns"], "from words in 1 of 1 texts, such as 'Über'; use", "without a pair"),
    ("whisper", ["ไม่ไป", "ไมไป"], "marks from words in 1 of 2", "Thai"),
    ("whisper", ["น้ำ"], "takes letters or marks", "Thai, a vowel of two parts"),
    ("whisper", ["كَتَبَ", "كُتِبَ"], "become the same word", "Arabic with vowel signs"),
    ("whisper", ["أنا", "انا"], "'أنا' and 'انا' become the same word", "Arabic, a letter's sign"),
    ("whisper", ["हिन्दी"], "takes letters or marks", "Hindi"),
    ("whisper", ["שָׁלוֹם"], "takes letters or marks", "Hebrew with points"),
    ("whisper", ["が", "か"], "become the same word", "Japanese"),
    ("whisper", ["мой", "мои"], "become the same word", "Russian"),
    ("whisper", ["má", "mà"], "become the same word", "Vietnamese"),
    ("whisper", [unicodedata.normalize("NFD", "schön")], "takes letters", "marks of their own"),
    ("whisper", ["она", "они"], "has the rules of English, and 2 of 2 texts are in another script",
     "a script without marks"),
    ("whisper", ["我们", "他们"], "2 of 2 texts are in another script", "Chinese"),
    ("whisper", ["한국어"], "1 of 1 texts are in another script", "Korean keeps its letters"),
    ("whisper", ["the cat", "the “cat” — it’s 5 °C"], "", "English, with signs"),
    ("whisper", [*["the cat"] * 20, "a café", "the α particle"], "", "few English words"),
    ("whisper", [*["the cat"] * 20, "a café", "a cafe"], "'café' and 'cafe'", "that meet"),
    ("whisper", ["twenty colours", "20 colors"], "", "English rules"),
    *(
        (name, [text, other], "", "other normalizations keep letters")
        for name in ("none", "lower", "basic")
        for text, other in (("schön", "schon"), ("ไม่", "ไม"), ("أنا", "انا"), ("が", "か"))
    ),
    ("basic", ["ﬁne ½ ＡＢ ❤️ 3️⃣", "fine ϐ"], "", "compatible letters"),
]  # fmt: skip
CASES = [
    ("lower", ["DIŞ", "dış"], "'DIŞ' and 'dış'", "Turkish"),
    ("basic", ["(DIŞ), x.", "dış x"], "'DIŞ' and 'dış'", "Turkish"),
    ("lower", ["İstanbul", "istanbul"], "'İstanbul' and 'istanbul'", "Turkish, one capital"),
    ("lower", ["DİZ", "diz"], "'DİZ' and 'diz'", "Turkish"),
    ("lower", ["DIE STRASSE", "die Straße"], "'STRASSE' and 'Straße'", "German"),
    ("basic", ["ΚΑΛΗΜΕΡΑ", "καλημέρα"], "'ΚΑΛΗΜΕΡΑ' and 'καλημέρα'", "Greek"),
    ("basic", ["ETE", "été"], "'ETE' and 'été'", "French"),
    ("lower", ["ΟΔΟΣ", "οδος"], "", "Greek, the last letter"),
    ("lower", ["STRAßE ÜBER", "straße über"], "", "letters with capitals"),
    ("lower", ["DIS", "dıs"], "'DIS' and 'dıs'", "Turkish, ASCII capitals"),
    ("lower", ["cafe", "café"], "", "accents, not case"),
    ("lower", ["kirmizi", "kırmızı"], "", "accents, not case"),
    ("lower", ["A", "à"], "", "a letter"),
    ("none", ["DIŞ", "dış"], "", "case counts"),
    ("whisper", ["STRASSE", "straße"], "", "the rules make them equal"),
]


def notes(name, texts):
    if name == "whisper":
        pytest.importorskip("whisper_normalizer")
    return list(folding_notes(name, [texts]))


@pytest.mark.parametrize(("name", "texts", "part", "why"), LOSSES)
def test_letters_that_are_lost_are_noted(name, texts, part, why):
    found = [note for note in notes(name, texts) if "case" not in note]
    assert len(found) == bool(part), (why, found)
    assert part in "".join(found), why


@pytest.mark.parametrize(("name", "texts", "part", "why"), CASES)
def test_case_that_stays_is_noted(name, texts, part, why):
    found = [note for note in notes(name, texts) if "case" in note]
    assert len(found) == bool(part), (why, found)
    assert part in "".join(found), why


def test_reranking_prints_the_notes(tmp_path):
    texts = [{"text": "DIŞ", "score": -1}, {"text": "iç", "score": -2}]
    row = {"id": "a", "hypotheses": texts, "reference": "dış"}
    (tmp_path / "lists.jsonl").write_text(json.dumps(row) + "\n")
    flags = f"--nbest_file={tmp_path}/lists.jsonl", "--model=none", "--normalize=lower"
    assert (
        "first 'DIŞ' and 'dış'; write all texts in one case"
        in run_command("tta-rerank", *flags).stdout
    )
