"""Training a vocabulary: specials first, repeatable, from a uniform sample of bounded size."""

import collections
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.train import alphabet, create_vocab
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
SENTENCE = "the cat sat on the mats and the dogs ran after cats in the sun"
WORDS = SENTENCE.split()


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    lines = [" ".join([*WORDS[i % 7 :], "The Café!"]) for i in range(200)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return [str(path)]


@pytest.fixture
def train(tmp_path):
    def train(text, **settings):
        return create_vocab(
            VocabularyConfig(
                input_file=text, vocab_file=str(tmp_path / "vocab"), overwrite=True, **settings
            )
        )

    return train


def test_specials_then_characters_then_pieces(train, text, tmp_path):
    vocabulary = train(text, vocab_size=80)
    assert Vocabulary.from_file(tmp_path / "vocab") == vocabulary
    assert vocabulary.tokens[:5] == TTA_SPECIALS
    letters = sorted(set("".join(WORDS) + "cafe!"))
    assert vocabulary.tokens[5 : 5 + len(letters)] == tuple(letters)
    assert "##s" in vocabulary
    assert "##!" not in vocabulary, "punctuation is never inside a word"
    assert "the" in vocabulary
    assert "cafe" in vocabulary, "lower-cased, without accents"
    assert len(vocabulary) <= 80


def test_same_seed_same_vocabulary(train, text, tmp_path):
    # The trainer's own order of characters differs between processes, so use another one.
    path = tmp_path / "vocab.txt"
    command = [sys.executable, "-m", "tta.flags.create_vocab", f"--input_file={text[0]}"]
    command += [f"--vocab_file={path}", "--vocab_size=70", "--max_sentences=50", "--seed=3"]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    here = train(text, vocab_size=70, max_sentences=50, seed=3)
    assert tuple(path.read_text(encoding="utf-8").split()) == here.tokens


def test_rare_characters_are_left_out(train, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("aaaa bbb cc\n" * 3 + "d z\n")
    assert alphabet(collections.Counter("aaaa bbb cc" + "z d"), 4) == ["a", "b", "c", "d"]
    vocabulary = train([str(path)], vocab_size=30, limit_alphabet=3)
    assert "c" in vocabulary
    assert "d" not in vocabulary
    assert "##z" not in vocabulary


def test_too_small_for_its_characters(train, text):
    with pytest.raises(InputError, match="vocab_size 20 is too small for 16 characters"):
        train(text, vocab_size=20)


def test_no_text(train, tmp_path):
    path = tmp_path / "blank.txt"
    path.write_text("\n \n")
    with pytest.raises(InputError, match=r"blank\.txt: no line of text in the input"):
        train([str(path)])


SCRIPTS = """ΟΔΟΣ ὁδός ς straße STRASSE ½ ² ™ … ﬁne ﬂow \uff21\uff42c İstanbul naïve 한국어 조선
    x² km² e\u0301 我们在这里。你好吗\uff1f 日本語のテキスト ภาษาไทยไม่มีช่องว่าง हिन्दी नमस्ते
    שָׁלוֹם مَرْحَبًا 1½ µm a\u00adb don't"""


@pytest.mark.parametrize("lower_case", [True, False])
def test_every_trained_piece_occurs(tmp_path, train, lower_case):
    """The text of a piece is one word that is this piece; the rest of a word continues a word."""
    path = tmp_path / "scripts.txt"
    path.write_text(f"{SCRIPTS}\n" * 9, encoding="utf-8")
    vocabulary = train([str(path)], lower_case=lower_case, vocab_size=900)
    tokenizer = Tokenizer(vocabulary, lower_case, "strip_latin" if lower_case else "keep_accents")
    assert "…" in vocabulary
    assert "我" in vocabulary
    assert "##我" not in vocabulary
    for piece in vocabulary.tokens[len(TTA_SPECIALS) :]:
        text = piece.removeprefix("##")
        if unicodedata.combining(text[0]):
            continue  # marks on a Latin letter are stripped
        (ids,) = tokenizer.encode([text if text == piece else f"x{text}"])
        shown = tokenizer.pieces(ids)
        if text == piece:
            assert shown == [piece]
        else:
            assert "".join(one.removeprefix("##") for one in shown) == f"x{text}"
            assert all(one.startswith("##") for one in shown[1:]), piece


def test_what_the_text_loses_is_said(tmp_path, train, capsys):
    path = tmp_path / "text.txt"
    path.write_text("".join(chr(0x4E00 + i) * 2 + "\n" for i in range(300)), encoding="utf-8")
    train([str(path)], limit_alphabet=100)
    note = (
        "note: --limit_alphabet=100 leaves out 200 characters, 66.67% of the text; words with them"
    )
    assert note in capsys.readouterr().err
    path.write_text("über die brücke\n" * 9, encoding="utf-8")
    pieces = train([str(path)], limit_alphabet=100).tokens
    assert "note: 100% of the lines lose accents; --strip_acc" in capsys.readouterr().err
    assert "ü" not in pieces
    kept = train([str(path)], strip_accents=False)
    assert "note" not in capsys.readouterr().err
    assert "ü" in kept.tokens
