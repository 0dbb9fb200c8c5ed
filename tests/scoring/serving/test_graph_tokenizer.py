"""The tokenizer of served graphs: the ids of `Tokenizer`, but for a few characters."""

import pytest
import tensorflow as tf

from tta.data.vocabulary.spelling import SpellingCosts
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.scoring.serving.graph_tokenizer import GraphTokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(Vocabulary((*TTA_SPECIALS, *"[]',.a", "the", "cat", "##s", "don", "t")))


def test_graph_gives_the_same_ids(tokenizer):
    texts = ["The cats sat.", "", "[MASK] don't"]
    in_graph = tf.function(
        GraphTokenizer(tokenizer).tokenize, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    ragged = in_graph(tf.constant(texts))
    assert isinstance(ragged, tf.RaggedTensor)
    assert ragged.dtype == tf.int32
    assert ragged.to_list() == [ids.tolist() for ids in tokenizer.encode(texts)]
    assert in_graph(tf.constant([], tf.string)).to_list() == []


def test_graph_gives_the_same_costs_of_unknown_words(tokenizer):
    texts = ["The cats sat.", "", "你好 Þa cats", "ÀÉ ☺☺ the", "a]b^"]
    in_graph = tf.function(
        lambda texts: GraphTokenizer(tokenizer).spelling_costs(texts, 2.0),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    costs = in_graph(tf.constant(texts))
    found = [[cost for cost in row if cost] for row in costs.to_list()]
    expected = [SpellingCosts(tokenizer, 2.0).of_text(text) for text in texts]
    assert list(map(len, found)) == [1, 0, 3, 2, 2]
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other)
    assert [len(row) for row in costs.to_list()] == list(map(len, tokenizer.encode(texts)))
    assert in_graph(tf.constant([], tf.string)).to_list() == []
