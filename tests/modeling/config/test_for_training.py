"""A family completes its config by what the data set of a run brings."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest

from tta.errors import InputError
from tta.modeling.config.base import DataFacts, config_from

VECTORS = SimpleNamespace(path=Path("v/vectors.npy"), size=19)
PLAIN = DataFacts(
    tokenizer="word_pieces",
    lower_case=False,
    max_seq_length=11,
    vocab_size=23,
    vocab_file="vocab.txt",
    pad_id=3,
)
WITH_VECTORS = dataclasses.replace(PLAIN, vectors=VECTORS)
LARGE = dataclasses.replace(PLAIN, vocab_size=29)
WORDS_ALONE = dataclasses.replace(LARGE, tokenizer="words")  # the model knows 23 of 29
WORDS = dataclasses.replace(WORDS_ALONE, vectors=VECTORS)
ELMO = {"model_type": "elmo", "output_layer": "softmax", "tokenizer": "words"}
SEMFIT = {"output_layer": "semfit"}


def config(**values):
    return config_from({"vocab_size": 23} | values)


@pytest.mark.parametrize(
    ("values", "data", "changes", "features"),
    [
        ({}, PLAIN, {}, ()),
        ({"model_type": "autoencoder"}, PLAIN, {"pad_id": 3}, ()),
        (ELMO, WORDS, {"input_size": 19}, ("input_vectors",)),
        (ELMO | {"input_layer": "characters"}, WORDS_ALONE, {}, ("characters",)),
        (ELMO | {"input_layer": "tokens"}, WORDS_ALONE, {}, ()),
        (SEMFIT, WITH_VECTORS, {"target_size": 19}, ("target_vectors",)),
        (SEMFIT | {"target_size": 19}, WITH_VECTORS, {}, ("target_vectors",)),
        (
            ELMO | SEMFIT,
            WORDS,
            {"input_size": 19, "target_size": 19},
            ("input_vectors", "target_vectors"),
        ),
    ],
)
def test_it_takes_what_the_family_needs(values, data, changes, features):
    ready = config(**values).for_training(data)
    assert ready == config(**values).replace(do_lower_case=False, normalization="bert", **changes)
    assert ready.features == features


@pytest.mark.parametrize(
    ("values", "data", "rule"),
    [
        ({}, LARGE, r"^vocab_size is 23, but vocab\.txt has 29 tokens; without vocab"),
        (ELMO, dataclasses.replace(WORDS, vocab_size=19), "^vocab_size is 23, "),
        ({"tokenizer": "words"}, PLAIN, "^tokenizer is 'words', but the data set was made with"),
        ({"max_position_embeddings": 10}, PLAIN, "max_position_embeddings is 10, but the data has"),
        ({}, WITH_VECTORS, "^vectors needs output_layer semfit or input_layer vectors$"),
        ({"model_type": "autoencoder"}, WITH_VECTORS, "^vectors needs output_layer semfit or"),
        (ELMO | SEMFIT, WORDS_ALONE, "^output_layer semfit needs vectors"),
        (SEMFIT, PLAIN, "^output_layer semfit needs vectors; tta create-vectors makes them$"),
        (ELMO, WORDS_ALONE, "^input_layer vectors needs vectors; tta create-vectors makes them$"),
        (SEMFIT | {"target_size": 7}, WITH_VECTORS, "v/vectors.npy: its vectors have 19 numbers"),
    ],
)  # fmt: skip
def test_a_data_set_that_does_not_fit_is_refused(values, data, rule):
    with pytest.raises(InputError, match=rule):
        config(**values).for_training(data)


def test_every_dropout_that_a_family_names_is_a_field():
    for values in ({}, ELMO, {"model_type": "autoencoder"}):
        one = config(**values)
        changed = one.replace(**dict.fromkeys(one.dropouts, 0.25))
        assert {getattr(changed, name) for name in one.dropouts} == {0.25}
