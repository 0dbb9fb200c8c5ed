"""Texts in another language than the vocabulary's take more pieces per word."""

from pathlib import Path

import pytest

import tta
from tta.data.vocabulary.other_language import split_in_other_language
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary

SMALL = Tokenizer(Vocabulary.from_file(Path(tta.__file__).parent / "small" / "vocab.txt"))

FOREIGN = {
    "German": "Ich fahre morgen nach München und kaufe dort ein neues Fahrrad.",
    "German, as recognised": "ich fahre morgen nach münchen und kaufe dort ein neues fahrrad",
    "French": "Je voudrais réserver une table pour deux ce soir à huit heures, s'il vous plaît.",
    "Spanish": "El perro de mi hermana está durmiendo debajo de la mesa de la cocina.",
    "Polish": "Jutro rano po szkole pojadę do Krakowa, żeby odwiedzić naszą babcię.",
    "Portuguese": "Amanhã de manhã vamos ao mercado comprar frutas e legumes para o jantar.",
}
OWN = {
    "English": "We will meet at the station at noon and take the train to the coast.",
    "capitals": "MISTER QUILTER IS THE APOSTLE OF THE MIDDLE CLASSES AND WE ARE GLAD",
    "names": "Krzysztof Kieslowski met Wojciech Jaruzelski and Lech Walesa in Swinoujscie.",
    "names, as recognised": "wolfgang schwarzenegger met krzysztof kieslowski in aschaffenburg",
    "a list of names": "kowalczyk nguyen okonkwo yilmaz ivanova adeyemi bauer nowak mehta xu",
    "long words": "the patient received acetaminophen metoprolol and hydrochlorothiazide",
    "numbers": "20 345 1,999 42nd 3.14159 0x7f 12:45 9876543210 1e-9",
    "short": "guten Tag",
    "nothing": "",
    "without capitals": "窗户 窗口 打开 关上 今天 明天 我们 他们",
}


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_another_language_is_noticed(text):
    found = split_in_other_language(SMALL, [text])
    assert found is not None
    size, split, typical = found
    assert size > 1.5
    assert split > 2 * typical


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_the_own_language_names_numbers_and_short_texts_are_not(text):
    assert split_in_other_language(SMALL, [text]) is None


def test_a_small_vocabulary_splits_many_words_of_its_own_language():
    letters = [chr(i) for i in range(97, 123)]
    words = ["the", "cat", "is", "on", "mat", "and", "we", "see", "it"]
    tokens = ["[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]", *letters, *words]
    pieces = Tokenizer(Vocabulary((*tokens, *(f"##{letter}" for letter in letters))))
    text = "the dog was here and saw that the mat is gone but not who took it away"
    assert split_in_other_language(pieces, [text]) is None
