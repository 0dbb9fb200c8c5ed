"""A model of words from a directory: the tokenizer that its config names."""

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, write_model_directory
from tta.data.vocabulary.word_tokenizer import WordTokenizer
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.scoring.exports.serving.export import export

pytestmark = pytest.mark.tensorflow

V = CONFIG.vocab_size
NAMES = ["The", "cat", "sat", ".", *(f"w{i}" for i in range(V))]
VOCABULARY = WordVocabulary.from_counts({name: 100 - i for i, name in enumerate(NAMES)})


def directory(folder, size):
    write_model_directory(folder, CONFIG.replace(tokenizer="words", do_lower_case=False))
    VOCABULARY.first(size).save(folder / "vocab.txt", overwrite=True)
    return folder


def test_text_is_split_into_words(tmp_path):
    lm = tta.load(directory(tmp_path / "model", V))
    assert isinstance(lm.tokenizer, WordTokenizer)
    assert not lm.tokenizer.open_vocabulary
    (tokens,) = lm.score_tokens(["The cat sat, The zebra."])
    assert tokens.tokens == ["The", "cat", "sat", "[UNK]", "The", "[UNK]", "."]
    np.testing.assert_allclose(
        lm.score(["The cat sat, The zebra."])[0], tokens.log_probabilities.sum(), 1e-6
    )
    assert lm.encode(["The cat"]).shape == (1, CONFIG.hidden_size)


def test_a_vocabulary_may_be_larger_than_the_model_s_but_not_smaller(tmp_path):
    assert tta.load(directory(tmp_path / "more", V + 3)).tokenizer.encode(["w99 cat"])
    rule = rf"vocab\.txt: it has {V - 1} words, but vocab_size in the config is {V}$"
    with pytest.raises(InputError, match=rule):
        tta.load(directory(tmp_path / "less", V - 1))


def test_export_is_refused(tmp_path):
    lm = tta.load(directory(tmp_path / "model", V))
    with pytest.raises(InputError, match="model: only models of word pieces can be exported"):
        export(lm, tmp_path / "served" / "1")
    assert not (tmp_path / "served").exists()
