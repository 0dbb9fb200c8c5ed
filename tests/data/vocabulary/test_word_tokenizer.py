"""Words of a text, and words that the vocabulary does not have: found again, and forgotten."""

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tta.data.vocabulary import word_tokenizer
from tta.data.vocabulary.word_tokenizer import WordTokenizer, split_words
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

VOCABULARY = WordVocabulary.from_counts({"the": 9, "cat": 5, ",": 4, "[": 3, "UNK": 3, "]": 3})
V = len(VOCABULARY)


@pytest.mark.parametrize(
    ("text", "words", "why"),
    [
        ("The cats sat.", "The cats sat .", "case is kept, punctuation stands alone"),
        ("don't 3.5%", "don ' t 3 . 5 %", "inside words, too"),
        ("a_b 5€ ...", "a _ b 5 € . . .", "symbols are punctuation"),
        ("  the\tcat\u00a0\u2028dog\x00x ", "the cat dog x", "white space only separates"),
        ("हिन्दी naïve cafe\u0301", "हिन्दी naïve cafe\u0301", "accents and signs belong to words"),
        ("straße日本語", "straße日本語", "no blank, no border"),
        ("a😀😀b\U00010400", "a 😀 😀 b\U00010400", "pictographs"),
        ("[UNK] [PAD]", "[ UNK ] [ PAD ]", "no special token"),
        ("", "", "nothing"),
    ],
)
def test_words(text, words, why):
    assert split_words(text) == words.split(" ") if words else split_words(text) == [], why


def test_words_are_those_of_a_plain_loop():
    def plain(text):
        words, word = [], ""
        for c in text:
            kind = unicodedata.category(c)
            is_symbol = kind[0] in "PS" if ord(c) < 1 << 16 else 0x1F000 <= ord(c) < 0x1FC00
            if is_symbol or kind[0] == "Z" or kind == "Cc":
                words += [word, c if is_symbol else ""]
                word = ""
            else:
                word += c
        return [w for w in [*words, word] if w]

    rng = np.random.default_rng(0)
    codes = np.concatenate([rng.integers(0, 256, 5000), rng.integers(0, 0x20000, 20000)])
    text = "".join(chr(c) for c in rng.permutation(codes) if not 0xD800 <= c < 0xE000)
    assert split_words(text) == plain(text)
    assert len(plain(text)) > 3000


def test_unknown_words_and_texts_that_look_like_special_tokens():
    tokenizer = WordTokenizer(VOCABULARY)
    ids, lengths = tokenizer.tokenize_flat(["the dog", "", b"[UNK]", "[PAD]"])
    assert (ids.dtype, lengths.dtype) == (np.int32, np.int64)
    assert lengths.tolist() == [2, 0, 3, 3]
    assert tokenizer.pieces(ids) == ["the", "[UNK]", "[", "UNK", "]", "[", "[UNK]", "]"]
    assert not np.isin(ids, [VOCABULARY.pad_id, VOCABULARY.bos_id, VOCABULARY.eos_id]).any()
    encoded = tokenizer.encode(["the dog", "", "cat"])
    assert [one.tolist() for one in encoded] == [[4, 2], [], [5]]
    assert tokenizer.encode([]) == []
    empty, none = tokenizer.tokenize_flat([])
    assert len(empty) == len(none) == 0


def test_an_open_vocabulary_gives_every_word_an_id_and_back():
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    text = "the zebra , a Zebra [UNK] zebra"
    (ids,) = tokenizer.encode([text])
    assert tokenizer.pieces(ids) == split_words(text)
    known = [word in VOCABULARY for word in split_words(text)]
    np.testing.assert_array_equal(ids < V, known)
    assert ids[1] == ids[-1] == tokenizer.encode(["zebra"])[0][0]
    assert len({*ids[[1, 3, 4]].tolist()}) == 3
    assert tokenizer.encode(["x" * 101])[0].tolist() == [VOCABULARY.unk_id]
    assert tokenizer.encode(["x" * 100])[0][0] >= V


def test_the_words_not_seen_for_the_longest_time_are_forgotten(monkeypatch):
    monkeypatch.setattr(word_tokenizer, "MAX_NEW_WORDS", 3)
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    (ids,) = tokenizer.encode(["a b c a d"])  # "b" is forgotten
    assert tokenizer.pieces(ids[[0, 2, 3, 4]]) == ["a", "c", "a", "d"]
    with pytest.raises(InputError, match=rf"^id {ids[1]} is not in a vocabulary of {V}$"):
        tokenizer.pieces(ids)
    (again,) = tokenizer.encode(["b"])
    assert again[0] not in ids, "an id is not used again at once"
    assert tokenizer.pieces(again) == ["b"]
    assert len(tokenizer._new_words._ids) == len(tokenizer._new_words._words) == 3


def test_ids_stay_in_int32_and_skip_those_in_use(monkeypatch):
    monkeypatch.setattr(word_tokenizer, "MAX_NEW_WORDS", 3)
    monkeypatch.setattr(word_tokenizer, "_MAX_ID", V + 4)
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    for word in "abcdefghijklmnop":
        (ids,) = tokenizer.encode([f"keep {word}"])
        assert tokenizer.pieces(ids) == ["keep", word]
        assert V <= ids.min() < ids.max() <= V + 4
        assert ids[0] == V


def test_threads_agree_on_new_ids():
    tokenizer = WordTokenizer(VOCABULARY, open_vocabulary=True)
    texts = [" ".join(f"w{(i * j) % 997}" for j in range(200)) for i in range(200)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # threads meet at every point
    try:
        with ThreadPoolExecutor(8) as pool:
            encoded = list(pool.map(lambda text: tokenizer.encode([text])[0], texts))
    finally:
        sys.setswitchinterval(interval)
    for text, ids in zip(texts, encoded, strict=True):
        assert tokenizer.pieces(ids) == text.split()
    assert len(np.unique(np.concatenate(encoded))) == 997


@pytest.mark.parametrize("bad", [-1, V])
def test_ids_out_of_range(bad):
    with pytest.raises(InputError, match=f"id {bad} is not in a vocabulary of {V}"):
        WordTokenizer(VOCABULARY, open_vocabulary=True).pieces([0, bad])


@pytest.mark.parametrize("text", ["a\ud800", b"a\xff"])
def test_text_that_is_not_unicode(text):
    with pytest.raises(InputError, match=r"^not valid Unicode: "):
        WordTokenizer(VOCABULARY).encode(["fine", text])
