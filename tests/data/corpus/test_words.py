"""A data set of words: the same pipeline with another tokenizer."""

import pytest

from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.records.dataset import load_dataset_info, shard_paths
from tta.data.records.examples import read_sentences
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError

VOCABULARY = WordVocabulary.from_counts({"The": 5, "cat": 4, "sat": 3, ".": 2, "PAD": 1})
LINES = ["The cat sat.", "the Cat", "[PAD] sat sat", "The The The The The cat sat."]


def create(tmp_path, vocabulary=VOCABULARY, **settings):
    vocabulary.save(tmp_path / "words.txt", overwrite=True)
    (tmp_path / "text.txt").write_text("\n".join(LINES))
    settings = {"tokenizer": "words", "max_seq_length": 7, "num_shards": 1} | settings
    output = tmp_path / "data"
    config = LocalCorpusConfig(
        input_file=[str(tmp_path / "text.txt")],
        vocab_file=str(tmp_path / "words.txt"),
        output_dir=str(output),
        heldout_fraction=0,
        **settings,
    )
    info = create_tfrecords(config)
    assert load_dataset_info(output) == info
    (shard,) = shard_paths(output, info, "train")
    names = ["0", "</s>", "?", "<s>", *vocabulary.tokens[4:]]
    return info, {" ".join(names[i] for i in ids) for ids in read_sentences(shard)}


@pytest.mark.tensorflow
def test_sentences_are_words_case_kept(tmp_path):
    info, sentences = create(tmp_path)
    assert sentences == {
        "<s> The cat sat . </s>",
        "<s> ? ? </s>",
        "<s> ? PAD ? sat sat </s>",
        "<s> The The The The The </s>",
    }
    assert info["counts"]["truncated"] == 1
    assert (info["tokenizer"], info["lower_case"]) == ("words", False)
    assert info["normalization"] == "keep_accents"
    assert (info["vocab_size"], info["vocab_sha256"]) == (9, VOCABULARY.sha256)


@pytest.mark.tensorflow
def test_longer_sentences_are_dropped_and_case_is_lowered_if_told(tmp_path):
    lower = WordVocabulary.from_counts({"cat": 4, "sat": 3, ".": 2})
    info, sentences = create(tmp_path, lower, long_sentences="drop", lower_case=True)
    assert sentences == {"<s> ? cat sat . </s>", "<s> ? cat </s>", "<s> ? ? ? sat sat </s>"}
    assert (info["counts"]["dropped_long"], info["lower_case"]) == (1, True)


def test_the_vocabulary_of_the_folder_is_kept(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vocab.txt").write_text("[PAD]\n")
    with pytest.raises(InputError, match=r"vocab\.txt:1: expected a word, a blank and its count"):
        create(tmp_path)
