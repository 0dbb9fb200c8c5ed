"""Texts as tokenizers spell them are read as words where that is certain, with a note."""

import pytest

from tta.data.text.spelling import plain_texts

SPELLED = [
    # texts, as words, why
    (["it &apos;s open", "its open"], ["it 's open", "its open"], "Moses"),
    (["&quot; a &amp; b &lt; c &gt; &#91; &#93; &#124;"], ['" a & b < c > [ ] |'], "Moses"),
    (["a &bar; &bra; b &ket; don&#39;t"], ["a | [ b ] don't"], "older Moses, HTML"),
    (["&amp;apos;"], ["&apos;"], "once"),
    (["a well @-@ known and @/@ or 1 @,@ 000 @.@ 5"], ["a well-known and/or 1,000.5"], "Moses -a"),
    (["open the win@@ dow", "open the wind"], ["open the window", "open the wind"], "BPE"),
    (["th@@ e en@@"], ["the en"], "cut"),
    (["win @@dow"], ["window"], "marks at the start"),
    (["don &apos;@@ t"], ["don 't"], "BPE after Moses"),
    (["▁open ▁the ▁win dow </s>", "▁open"], ["open the window", "open"], "SentencePiece"),
    (["▁THE▁CAT<eos>", "▁A▁CAT"], ["THE CAT", "A CAT"], "ESPnet"),
    (["▁5 <0xE2> <0x82> <0xAC>"], ["5€"], "bytes"),
    (["open Ġthe Ġwin dow Ġca fÃ©"], ["open the window café"], "GPT-2"),
    (["open</w> win dow</w>"], ["open window"], "ends of words"),
    (["[CLS] open the win ##dow [SEP] [PAD]"], ["open the window"], "BERT"),
    (["￭Hello￭, well ￭-￭ known"], ["Hello, well-known"], "OpenNMT"),
    (["<s> open it </s> <pad><pad>", "<S> open"], ["open it", "open"], "ends"),
    (["<|startoftranscript|><|en|><|0.00|> open it<|1.50|><|2.00|> now<|endoftext|>"],
     ["open it now"], "Whisper"),
    (["<|en|><|HAPPY|><|Speech|><|withitn|>open it<|en|>now"], ["open it now"], "SenseVoice"),
    (["<|zh|><|NEUTRAL|><|Speech|>打开<|zh|>窗户"], ["打开窗户"], "SenseVoice, without blanks"),
    (["[_BEG_] open it[_TT_50]"], ["open it"], "whisper.cpp"),
    (["eng_Latn open it", "en_XX shut it", "__en__ shut it"], ["open it", "shut it", "shut it"],
     "codes of languages"),
    (["T H E <space> C A T"], ["THE CAT"], "letters"),
    (["THE<space>CAT <eos>"], ["THE CAT"], "letters that are joined"),
]  # fmt: skip

KEPT = [
    (["a cat", "AT&T", "x@y.z, it's", "C# [a] <b>", "&c.", "a_b", "# title", "@ home"], 0),
    (["a ⁇ cat"], 1),
    (["the <unk> cat"], 1),
    (["the cat", "the hat", "a ▁ sign"], 1),
    (["Ġurdan", "a", "b"], 1),
    (["it's", "that's", "say &apos;"], 1),
    (["en_XX", "the locale en_XX", "a", "b", "c"], 1),
]


@pytest.mark.parametrize(("texts", "words", "why"), SPELLED, ids=[row[2] for row in SPELLED])
def test_the_spelling_of_tokenizers_is_undone_with_a_note(texts, words, why):
    found, notes = plain_texts(texts)
    assert found == words, why
    assert notes
    assert all("written back as they were" in note for note in notes)


@pytest.mark.parametrize(("texts", "num_notes"), KEPT)
def test_what_may_be_words_is_kept(texts, num_notes):
    found, notes = plain_texts(texts)
    assert found == texts
    assert len(notes) == num_notes
    assert all("they count as words" in note for note in notes)
