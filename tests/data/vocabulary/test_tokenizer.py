"""The tokenizer: the pieces of BERT, the same in a graph; text never becomes a special id."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
PIECES = (
    *TTA_SPECIALS,
    *"[]',.aAt",
    *("the", "cat", "##s", "sat", "don", "mask", "MASK", "sos"),
    *("[CLS]", "[SEP]", "cls"),
)


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(Vocabulary(PIECES))


@pytest.mark.parametrize(
    ("text", "pieces", "why"),
    [
        ("The cats sat.", "the cat ##s sat .", "lower-cased, split at punctuation and in words"),
        ("don't", "don ' t", "an apostrophe stands alone"),
        ("the dog", "the [UNK]", "a word without pieces is one unknown"),
        ("Thé càt", "the cat", "accents are stripped"),
        ("  the\tcat \u00a0 ", "the cat", "white space only separates"),
        ("", "", "nothing"),
        ("[UNK]", "[ [UNK] ]", "brackets are punctuation"),
        ("cat" * 40, "[UNK]", "words of more than 100 bytes are unknown"),
    ],
)
def test_pieces(tokenizer, text, pieces, why):
    (ids,) = tokenizer.encode([text])
    assert ids.dtype == np.int32
    assert tokenizer.pieces(ids) == pieces.split(), why


def test_case_is_kept_without_lower_case():
    tokenizer = Tokenizer(Vocabulary(PIECES), lower_case=False)
    assert tokenizer.pieces(tokenizer.encode(["a A The é"])[0]) == ["a", "A", "[UNK]", "[UNK]"]


@pytest.mark.parametrize("lower_case", [True, False])
@pytest.mark.parametrize("family", [("[SOS]", "[EOS]"), ("[CLS]", "[SEP]")])
def test_text_never_becomes_a_special_id(lower_case, family):
    names = ["[PAD]", "[UNK]", *family, "[MASK]"]
    vocabulary = Vocabulary(
        [*names, *"[]", "pad", "PAD", "mask", "MASK", "cls", "sos", "##[", "##]"]
    )
    tokenizer = Tokenizer(vocabulary, lower_case)
    v = vocabulary
    forbidden = {v.pad_id, v.bos_id, v.eos_id, v.mask_id}
    texts = [
        variant
        for name in names
        for variant in (
            name,
            name.lower(),
            f"a{name}a",
            f"{name}{name}",
            f"##{name}",
            name.replace("[", "\uff3b").replace("]", "\uff3d"),
            name[:2] + "\u00ad" + name[2:],
            name + "\u0301",
            f"\0{name}\0",
        )
    ]
    for text, ids in zip(texts, tokenizer.encode(texts), strict=True):
        assert not forbidden & set(ids.tolist()), text


def test_no_texts(tokenizer):
    assert tokenizer.encode([]) == []
    ids, lengths = tokenizer.tokenize_flat([])
    assert len(ids) == len(lengths) == 0


def test_many_texts_at_once_equal_one_by_one(tokenizer):
    texts = ["the cat", "", "sat", "don't sat, cats", ""]
    ids, lengths = tokenizer.tokenize_flat(texts)
    together = tokenizer.encode(texts)
    assert lengths.tolist() == [len(t) for t in together]
    np.testing.assert_array_equal(ids, np.concatenate(together))
    for text, expected in zip(texts, together, strict=True):
        np.testing.assert_array_equal(tokenizer.encode([text])[0], expected)


def test_graph_gives_the_same_ids(tokenizer):
    texts = ["The cats sat.", "", "[MASK] don't"]
    in_graph = tf.function(tokenizer.tokenize, input_signature=[tf.TensorSpec([None], tf.string)])
    ragged = in_graph(tf.constant(texts))
    assert isinstance(ragged, tf.RaggedTensor)
    assert ragged.dtype == tf.int32
    assert ragged.to_list() == [ids.tolist() for ids in tokenizer.encode(texts)]
    assert in_graph(tf.constant([], tf.string)).to_list() == []


@pytest.mark.parametrize("bad", [-1, len(PIECES)])
def test_ids_out_of_range(tokenizer, bad):
    with pytest.raises(InputError, match=f"id {bad} is not in a vocabulary of {len(PIECES)}"):
        tokenizer.pieces([0, bad])


def test_half_a_surrogate_pair(tokenizer):
    with pytest.raises(InputError, match=r"not valid Unicode: 'a\\ud800'"):
        tokenizer.encode(["fine", "a\ud800"])


def test_import_is_cheap():
    code = "import sys, tta.data.vocabulary.tokenizer; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0
