"""Where the tokens of a text stand, what begins it and what it cannot spell; without transformers.

A stand-in has what tokenizers of transformers have, around the package `tokenizers`.
"""

import numpy as np
import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from tta.data.vocabulary.unknown_words import UNSEEN_CHARACTER_PRICE
from tta.errors import InputError
from tta.modeling.config.language_model import UNKNOWN_PRICE
from tta.scoring.scorers.huggingface.tokens import TextTokens


class StandIn:
    """A tokenizer as in transformers; a slow one does not say where its tokens stand."""

    def __init__(self, pipeline, is_fast=True, bos=None, eos=None, unknown=None, template=None):
        self.backend_tokenizer, self.is_fast, self.chat_template = pipeline, is_fast, template
        self.bos_token, self.eos_token, self.unk_token = bos, eos, unknown
        self.unk_token_id, self.eos_token_id = map(self.get_vocab().get, (unknown, eos))
        self.all_special_tokens = [token for token in (bos, eos, unknown) if token]

    def get_vocab(self):
        return self.backend_tokenizer.get_vocab()

    def __call__(
        self,
        text,
        add_special_tokens=True,
        return_offsets_mapping=False,
        return_special_tokens_mask=False,
    ):
        if return_offsets_mapping and not self.is_fast:
            raise NotImplementedError
        found = self.backend_tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return {
            "input_ids": found.ids,
            "offset_mapping": found.offsets,
            "special_tokens_mask": found.special_tokens_mask,
        }


def byte_level(trim=False, merges=("Ġ t", "t h", "Ġt h", "Ġth e", "th e", "c a", "ca t", "Ġ cat")):
    """As in GPT-2: after a blank, a word has other tokens than at the begin of a text."""
    pairs = [tuple(merge.split()) for merge in merges]
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *("".join(pair) for pair in pairs)]
    pipeline = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, pairs))
    pipeline.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pipeline.post_processor = processors.ByteLevel(trim_offsets=trim)
    return pipeline


def word_pieces():
    """As in BERT."""
    tokens = ["[UNK]", "[CLS]", "[SEP]", "the", "cat", "##s", "#", "sat", ".", "a", "e"]
    pipeline = Tokenizer(models.WordPiece({t: i for i, t in enumerate(tokens)}, unk_token="[UNK]"))
    pipeline.normalizer = normalizers.BertNormalizer()
    pipeline.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pipeline.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return pipeline


def sentence_piece():
    """As in Llama: a blank is written ▁, also before the first word."""
    scores = [("<unk>", 0.0), ("▁", -3.0), ("▁the", -1.0), ("▁cat", -1.0), ("s", -2.0), ("a", -2.0)]
    pipeline = Tokenizer(models.Unigram(scores, 0))
    pipeline.normalizer = normalizers.Sequence(
        [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
    )
    return pipeline


def tokens_of(pipeline, unknown=None, **options):
    return TextTokens(StandIn(pipeline, unknown=unknown, **options))


@pytest.mark.parametrize("is_fast", [True, False])
@pytest.mark.parametrize(
    ("pipeline", "text", "words", "lengths"),
    [
        (byte_level(), "the cat the", "the cat the", [1, 1, 1]),  # the, Ġcat, Ġthe
        (byte_level(), "tha the", "tha the", [2, 1]),
        (byte_level(), "the 😀 cat", "the 😀 cat", [1, 5, 1]),  # a blank and four bytes
        (byte_level(trim=True), "the x the", "the x the", [1, 2, 1]),
        (byte_level(), "the  cat", "the cat", [1, 2]),  # of two blanks, one is a token
        (byte_level(), " the cat ", "the cat", [1, 2]),  # the last blank, too
        (word_pieces(), "The cats sat.", "The cats sat.", [1, 2, 2]),
        (word_pieces(), "cats 你好 the", "cats 你好 the", [2, 2, 1]),
        (sentence_piece(), "the cats a", "the cats a", [1, 2, 2]),
        (byte_level(), "", "", []),
    ],
)
def test_a_word_has_its_own_tokens(pipeline, text, words, lengths, is_fast):
    tokens = tokens_of(pipeline, is_fast=is_fast)
    found = tokens.word_lengths(text, words.split())
    assert found.tolist() == lengths
    assert found.sum() == len(tokens.ids(text))


def test_a_word_without_blanks_around_has_its_tokens():
    found = tokens_of(word_pieces()).word_lengths("你好the", ["你", "好", "the"])
    assert found.tolist() == [1, 1, 1]


@pytest.mark.parametrize("is_fast", [True, False])
@pytest.mark.parametrize(
    ("pipeline", "prefix", "text", "number"),
    [
        (byte_level(), "the", "the", 1),  # Ġthe, where the text alone is the
        (byte_level(), "cat", "tha", 2),  # Ġth a, where the text alone is th a
        (byte_level(), "the", "x", 2),
        (byte_level(trim=True), "the", "x y", 4),
        (word_pieces(), "the", "cats.", 3),
        (sentence_piece(), "the", "cats", 2),
    ],
)
def test_tokens_after_a_prefix(pipeline, prefix, text, number, is_fast):
    tokens = tokens_of(pipeline, is_fast=is_fast)
    assert tokens.word_lengths(f"{prefix} {text}", [prefix, text])[1] == number


L, U = UNKNOWN_PRICE, UNSEEN_CHARACTER_PRICE


@pytest.mark.parametrize(
    ("pipeline", "unknown", "text", "costs"),
    [
        (word_pieces(), "[UNK]", "the cats", [0, 0, 0]),
        (word_pieces(), "[UNK]", "你好 the", [U, U, 0]),
        (word_pieces(), "[UNK]", "THþ é", [2 * L + U, 0]),  # lower-cased, without accents
        (word_pieces(), "[UNK]", "tea the ☺☺", [3 * L, 0, 2 * U]),
        (sentence_piece(), "<unk>", "the þþ s", [0, 0, 2 * U, 0, 0]),  # ▁ costs nothing
        (byte_level(), None, "the þ", None),
    ],
)
def test_an_unknown_word_costs_a_price_for_each_character(pipeline, unknown, text, costs):
    tokens = tokens_of(pipeline, unknown)
    costs = np.zeros(len(tokens.ids(text))) if costs is None else costs
    np.testing.assert_allclose(tokens.spelling_costs(text), costs)


def test_a_slow_tokenizer_pays_once_for_each_word():
    tokens = tokens_of(word_pieces(), "[UNK]", is_fast=False)
    costs = tokens.spelling_costs("the 你好 你")
    assert [bool(cost) for cost in costs] == [False, True, False, True]
    np.testing.assert_allclose(costs.sum(), 3 * U)


CHAT = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}"


def chat(tokens="<|im_start|> <|im_end|> <|endoftext|> <s> a", added=None):
    pipeline = Tokenizer(models.WordLevel({t: i for i, t in enumerate(tokens.split())}, "a"))
    if added is not None:
        ids = [(one, pipeline.token_to_id(one)) for one in added.split()]
        pipeline.post_processor = processors.TemplateProcessing(
            single=f"{added} $A <|im_end|>", special_tokens=[*ids, ("<|im_end|>", 1)]
        )
    return pipeline


START, END, TEXT, S = "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<s>"


@pytest.mark.parametrize(
    ("named", "added", "bos", "eos", "template", "expected"),
    [
        (None, None, S, END, None, [3]),  # the tokenizer's begin token
        (None, None, None, TEXT, None, [2]),  # as in Qwen, which has only an end token
        (None, None, START, END, CHAT, [2]),  # begins the turns of a chat, not texts
        (None, None, None, END, CHAT, [2]),
        (None, None, S, END, CHAT, [3]),
        (None, None, START, END, None, [0]),
        (None, S, S, END, f"{S}{CHAT}", [3]),  # the tokenizer writes it before each text
        (None, f"{S} {TEXT}", None, END, None, [3, 2]),  # as in GLM
        (START, S, S, END, CHAT, [0]),  # the user's
        (TEXT, None, None, None, None, [2]),
    ],
)
def test_what_begins_a_text(named, added, bos, eos, template, expected):
    tokens = tokens_of(chat(added=added), bos=bos, eos=eos, template=template)
    assert tokens.begin(named) == expected


def test_without_the_separator_a_chat_token_stays():
    tokens = tokens_of(chat("<|im_start|> <|im_end|> a"), bos=START, eos=END, template=CHAT)
    assert tokens.begin() == [0]


@pytest.mark.parametrize(
    ("named", "rule"),
    [
        ("<bos>", "begin_token must be a token of the tokenizer, not '<bos>'"),
        ("", "begin_token must be a token of the tokenizer, not ''"),
        (None, "a causal model needs a begin or an end token; begin_token names another one"),
    ],
)
def test_a_begin_token_that_the_tokenizer_lacks_is_one_line(named, rule):
    with pytest.raises(InputError) as caught:
        tokens_of(chat()).begin(named)
    assert str(caught.value) == rule
