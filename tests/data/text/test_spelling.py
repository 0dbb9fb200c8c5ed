"""Texts as tokenizers spell them are read as words where that is certain, with a note."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tta.data.text.spelling import _SIGNS, _SPELLINGS, plain_texts

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
    (["Ġthe Ġcafé"], ["the café"], "GPT-2, decoded"),
    (["▁a <unk> ▁b", "▁a ⁇ ▁b"], ["a <unk> b", "a ⁇ b"], "unknown pieces"),
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
    (["</s> en_XX open it </s>", "</s> en_XX open"], ["open it", "open"], "mBART"),
    (["<eng><asr><0.00> open it<1.20>", "<eng><asr> <0.00> now"], ["open it", "now"], "OWSM"),
    (["T H E <space> C A T"], ["THE CAT"], "letters"),
    (["T H E | C A T |", "A | C A T |"], ["THE CAT", "A CAT"], "wav2vec 2.0"),
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
    (["the locale en_XX"], 0),
    (["<b>a</b> <s>b</s> c", "use <s> here"], 1),
    (["a </s> b"], 1),
    (["bob @@ home", "@@"], 0),
    (["a | b", "c d"], 1),
    (["｟mrk_case_modifier_C｠ a"], 1),
    (["<mask> a", "[MASK]", "<extra_id_0>"], 1),
]


NON_WORDS = [
    # texts, without what is no word, why
    (["turn <eps> on", "turn on !SIL"], ["turn on", "turn on"], "Kaldi"),
    (["<SPOKEN_NOISE> on <NSN> <UNK>", "on"], ["on", "on"], "Kaldi's garbage"),
    (["[noise] on [LAUGHTER] it [vocalized-noise]"], ["on it"], "Switchboard"),
    (["<sil> turn", "<sil> on"], ["turn", "on"], "Sphinx; not codes of languages"),
    (["++BREATH++ on +noise+ [SMACK]"], ["on"], "Sphinx"),
    (["[unk] on", "[ Music ] on", "[BLANK_AUDIO]"], ["on", "on", ""], "Vosk, YouTube, Whisper"),
    (["%HESITATION on {laugh} it"], ["on it"], "IBM, LDC"),
    (["SENT-START on !EXIT -pau-"], ["on"], "HTK, SRILM"),
    (["TURN SIL ON SIL SIL", "SIL"], ["TURN ON", ""], "silence between capitals"),
    (["turn on SIL"], ["turn on"], "silence after small letters"),
    (["<sil>打开<noise>窗户", "打开 <sil> 窗户"], ["打开窗户", "打开 窗户"], "without blanks"),
    (["▁turn <sil> ▁o n", "▁SIL ▁on"], ["turn on", "on"], "in word pieces"),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "words", "why"), NON_WORDS, ids=[row[2] for row in NON_WORDS])
def test_what_is_no_word_is_left_out_with_a_note_that_counts_it(texts, words, why):
    found, notes = plain_texts(texts)
    assert found == words, why
    assert any(re.search(r"none \([1-9] |name \([1-9] ", note) for note in notes), notes
    kept, notes = plain_texts(texts, keep_non_words=True)
    assert "▁" in texts[0] or kept == texts
    assert not any("none" in note or "silence" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("we met SIL International here", "a name beside small letters and capitals"),
        ("el sil de la sal", "a word"),
        ("press [enter] and <tab> to see the noise", "other names in brackets"),
        ("[laughter-yes] [inaudible] it <unk>", "they stand for words"),
        ("c++ ++i++ a+b +1 !STOP", "signs"),
    ],
)
def test_what_looks_like_no_word_is_kept(text, why):
    assert plain_texts([text, "and on"])[0] == [text, "and on"], why


@pytest.mark.parametrize(("texts", "words", "why"), SPELLED, ids=[row[2] for row in SPELLED])
def test_the_spelling_of_tokenizers_is_undone_with_a_note(texts, words, why):
    found, notes = plain_texts(texts)
    assert found == words, why
    assert notes
    assert all("written back as they were" in note for note in notes if "unknown" not in note)


@pytest.mark.parametrize(("texts", "num_notes"), KEPT)
def test_what_may_be_words_is_kept(texts, num_notes):
    found, notes = plain_texts(texts)
    assert found == texts
    assert len(notes) == num_notes
    assert all("they count as words" in note for note in notes)


@settings(max_examples=2, deadline=None)
@given(st.data())
def test_each_spelling_has_one_of_the_signs_that_are_searched_first(data):
    for one in _SPELLINGS:
        text = data.draw(st.from_regex(one.pattern))
        assert _SIGNS.search(text), one.name
