"""Vocabularies of words: ids by frequency, special tokens by position, one order for all sizes."""

import pytest

from tta.data.text.lines import MAX_LINE_BYTES
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.load import load_vocabulary
from tta.data.vocabulary.train import create_vocab
from tta.data.vocabulary.words import WORD_SPECIALS, WordVocabulary
from tta.errors import InputError

COUNTS = {"the": 7, "b": 2, "a": 2, "##": 3, "[UNK]": 5, "[PAD]": 1, "é": 2}
ORDER = ["the", "[UNK]", "##", "a", "b", "é", "[PAD]"]


def vocabulary():
    return WordVocabulary.from_counts(COUNTS, num_sentences=11)


def test_ids_are_by_falling_frequency_and_ties_by_name():
    made = vocabulary()
    assert list(made.tokens) == [*WORD_SPECIALS, *ORDER]
    assert made.counts.tolist() == [0, 11, 0, 11, 7, 5, 3, 2, 2, 2, 1]
    assert (made.pad_id, made.eos_id, made.unk_id, made.bos_id) == (0, 1, 2, 3)
    other = WordVocabulary.from_counts(dict(reversed(COUNTS.items())), 11)
    assert (other, other.sha256) == (made, made.sha256)
    assert WordVocabulary.from_counts(COUNTS, 11, max_length=2).tokens[4:] == ("##", "a", "b", "é")


def test_words_that_look_like_special_tokens_are_words():
    made = vocabulary()
    assert (made.ids["[UNK]"], made.ids["[PAD]"], made.ids["##"]) == (5, 10, 6)
    assert "[EOS]" not in made
    assert len(made.ids) == len(COUNTS)
    assert not made.continues_word.any()


def test_a_file_is_read_back(tmp_path):
    made = vocabulary()
    made.save(tmp_path / "vocab.txt")
    assert (tmp_path / "vocab.txt").read_text().startswith("[PAD] 0\n[EOS] 11\n[UNK] 0\n")
    read = load_vocabulary("words", tmp_path / "vocab.txt")
    assert read == made
    assert read.sha256 == made.sha256
    assert read != made.first(9)
    assert read != WordVocabulary(made.tokens, made.counts * 2)


SPECIALS = "".join(f"{name} 0\n" for name in WORD_SPECIALS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[PAD]\n[EOS]\n", "1: expected a word, a blank and its count, got '[PAD]'; tta create-v"),
        ("the 5\n", "1: a vocabulary of words begins with [PAD] [EOS] [UNK] [SOS]; got the"),
        ("[PAD] 0\n[EOS] 0\n", "3: a vocabulary of words begins with [PAD] [EOS] [UNK] [SOS]; got"),
        (SPECIALS + "the\n", "5: expected a word, a blank and its count, got 'the'"),
        (SPECIALS + "the \n", "5: expected a word, a blank and its count, got 'the '"),
        (SPECIALS + "the -5\n", "5: expected a word, a blank and its count, got 'the -5'"),
        (SPECIALS + "the ٣\n", "5: expected a word, a blank and its count, got 'the ٣'"),
        (SPECIALS + "a b 5\n", "5: expected a word, a blank and its count, got 'a b 5'"),
        (SPECIALS + f"a {'9' * 19}\n", "5: expected a word, a blank and its count, got 'a 999"),
        (SPECIALS + " 5\n", "5: expected a word without white space, got ''"),
        (SPECIALS + "a\u00a0b 5\n", "5: expected a word without white space, got 'a\\xa0b'"),
        (SPECIALS + "a 5\nb 4\na 3\n", "7: duplicate word 'a', first on line 5"),
        (SPECIALS + "a 5\nb 4\nc 6\n", "7: words must be in the order of their counts, got 6 aft"),
        ("", " the file is empty"),
    ],
)
def test_every_way_a_file_can_be_wrong(tmp_path, text, message):
    path = tmp_path / "vocab.txt"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        WordVocabulary.from_file(path)
    assert str(error.value).startswith(f"{path}:{message}")
    assert "\n" not in str(error.value)


def test_counts_and_tokens_must_match():
    with pytest.raises(InputError, match="5 tokens need as many counts, not 4"):
        WordVocabulary((*WORD_SPECIALS, "a"), [0, 0, 0, 0])
    with pytest.raises(InputError, match="a count must be 0 or more, not -1"):
        WordVocabulary((*WORD_SPECIALS, "a"), [0, 0, 0, 0, -1])


def test_a_mask_token_is_the_fifth_one_if_there_is_any(tmp_path):
    with pytest.raises(InputError, match=r"has no mask token.*tta create-vocab --mask_token adds"):
        _ = vocabulary().mask_id
    counts = COUNTS | {"[MASK]": 1}
    made = WordVocabulary.from_counts(counts, 11, has_mask=True)
    assert (made.mask_id, made.num_specials) == (4, 5)
    assert made.tokens == (*WORD_SPECIALS, "[MASK]", *ORDER[:-1], "[MASK]", "[PAD]")
    assert made.counts[:6].tolist() == [0, 11, 0, 11, 0, 7]
    assert made.ids["[MASK]"] == 11  # a word of the text
    made.save(tmp_path / "v")
    assert WordVocabulary.from_file(tmp_path / "v").mask_id == 4
    assert made.first(6).mask_id == 4
    with pytest.raises(InputError, match="has more than 5 tokens, not 5"):
        made.first(5)
    without = WordVocabulary.from_counts({"[MASK]": 3, "a": 1}, 1)  # a word of that name
    assert without.ids["[MASK]"] == 4
    assert without.num_specials == 4
    assert vocabulary().origins(made)[4] == (made.ids["the"],)
    assert made.origins(vocabulary())[4:6] == [(2,), (4,)]
    assert made.origins(made) == [(i,) for i in range(len(made))]


def test_a_mask_token_is_made_on_demand(tmp_path):
    (tmp_path / "text.txt").write_text("a b a\n")
    given = {"input_file": [str(tmp_path / "text.txt")], "tokenizer": "words"}
    config = VocabularyConfig(**given, vocab_file=str(tmp_path / "v"), mask_token=True)
    assert create_vocab(config).tokens == (*WORD_SPECIALS, "[MASK]", "a", "b")
    plain = VocabularyConfig(**given, vocab_file=str(tmp_path / "w"))
    assert create_vocab(plain).tokens == (*WORD_SPECIALS, "a", "b")


def create(tmp_path, text, **settings):
    (tmp_path / "text.txt").write_text(text)
    settings = {"tokenizer": "words", "vocab_file": str(tmp_path / "vocab.txt")} | settings
    made = create_vocab(VocabularyConfig(input_file=[str(tmp_path / "text.txt")], **settings))
    assert load_vocabulary("words", tmp_path / "vocab.txt") == made
    return made


@pytest.mark.parametrize(("text", "often"), [("\n", ""), ("a b\n", " occurs 2 times")])
def test_a_text_without_words(tmp_path, text, often):
    with pytest.raises(InputError, match=rf"text\.txt: no word in the input{often}$"):
        create(tmp_path, text, min_count=2)
    assert not (tmp_path / "vocab.txt").exists()


def test_a_word_as_long_as_a_line_is_left_out(tmp_path):
    made = create(tmp_path, "a\n" + "b" * (MAX_LINE_BYTES - 2))
    assert made.tokens[4:] == ("a",)


def test_kinds_that_do_not_fit(tmp_path):
    vocabulary().save(tmp_path / "vocab.txt")
    with pytest.raises(InputError, match=r"vocab\.txt:1: expected a token without white space"):
        load_vocabulary("word_pieces", tmp_path / "vocab.txt")
    with pytest.raises(InputError, match="tokenizer must be word_pieces or words, not 'letters'"):
        load_vocabulary("letters", tmp_path / "vocab.txt")
