"""The tokenizer of served graphs: the ids of `Tokenizer`, but for a few characters."""

import pytest
import tensorflow as tf

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
