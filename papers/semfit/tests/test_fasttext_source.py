"""tta create-vectors --source=fasttext: words and n-grams, from a file or trained; refused."""

import os
import re

import numpy as np
import pytest
from gensim.models import fasttext

import tta
from tests.tiny_dataset import sentences, write_dataset
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.vocabulary.words import WordVocabulary
from tta.errors import InputError
from tta.papers.semfit.create import create_vectors, whitening_over
from tta.papers.semfit.create_config import VectorsConfig
from tta.papers.semfit.vectors.fasttext import SubwordVectors
from tta.papers.semfit.vectors.ngrams import NgramVectors
from tta.papers.semfit.vectors.target_vectors import TargetVectors

pytestmark = pytest.mark.tensorflow

NAMES = ["walk", "walks", "walked", "naïve", "the", "The", "日本語"]
COUNTS = {name: 20 - i for i, name in enumerate(NAMES)} | {"absent": 1, "xy": 1}
VOCABULARY = WordVocabulary.from_counts(COUNTS)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("words")
    rng = np.random.default_rng(0)
    lines = [" ".join([*rng.permutation(NAMES), "unseen"]) for _ in range(60)]
    (folder / "text.txt").write_text("\n".join(lines))
    VOCABULARY.save(folder / "words.txt")
    create_tfrecords(
        LocalCorpusConfig(
            input_file=[str(folder / "text.txt")],
            vocab_file=str(folder / "words.txt"),
            output_dir=str(folder / "data"),
            num_shards=2,
            heldout_fraction=0.1,
            tokenizer="words",
        )
    )
    return folder / "data"


def create(dataset, output, **settings):
    settings = {"source": "fasttext", "size": 8, "num_buckets": 53, "num_epochs": 2} | settings
    made = create_vectors(VectorsConfig(input_dir=str(dataset), output_dir=str(output), **settings))
    vectors = TargetVectors(output, VOCABULARY)
    vectors.check_values()
    np.testing.assert_array_equal(vectors.array, made.astype(np.float16))
    return made


def test_trained_on_the_data_set(dataset, tmp_path):
    made = create(dataset, tmp_path / "a")
    v = VOCABULARY
    assert made.any(axis=1).tolist() == [False, True, False] + [True] * (len(v) - 3)
    np.testing.assert_array_equal(made[v.bos_id], made[v.eos_id])
    ngrams = NgramVectors(tmp_path / "a")
    assert ngrams.array.shape == (53, 8)
    assert ngrams.array.dtype == np.float16
    assert (ngrams.settings.min_n, ngrams.settings.max_n) == (3, 6)
    assert not ngrams.settings.lower_case
    words = ["absent", "xy"]  # they do not occur: n-grams alone
    ids = [v.ids[word] for word in words]
    np.testing.assert_allclose(made[ids], ngrams.vectors(words), atol=2e-3 * np.abs(made).max())
    known = v.ids["walk"]
    assert np.abs(made[known] - ngrams.vectors(["walk"])[0]).max() > 1e-2 * np.abs(made).max()
    card = (tmp_path / "a" / "README.md").read_text()
    assert "13 words, 8 numbers\neach, 2 words without a vector" in card
    assert "--source=fasttext --seed=0 --window=5 --num_epochs=2 --num_buckets=53" in card
    np.testing.assert_array_equal(create(dataset, tmp_path / "b"), made)
    assert not np.array_equal(create(dataset, tmp_path / "c", seed=1), made)


def write_file(path, size=8):
    lines = [["walk", "jog", "</s>"]] * 30
    made = fasttext.FastText(lines, vector_size=size, min_count=1, bucket=40, workers=1)
    fasttext.save_facebook_model(made, str(path))
    return path


def test_from_a_file(dataset, tmp_path):
    path = write_file(tmp_path / "f.bin", size=6)
    made = create(dataset, tmp_path / "v", fasttext_file=str(path))
    words = SubwordVectors.read(path)
    v = VOCABULARY
    np.testing.assert_array_equal(made[4:], words.vectors(v.tokens[4:]))
    np.testing.assert_array_equal(made[[v.bos_id, v.eos_id]], words.vectors(["</s>"] * 2))
    assert not made[[v.pad_id, v.unk_id]].any()
    assert made.shape == (len(v), 6)
    np.testing.assert_array_equal(
        NgramVectors(tmp_path / "v").array, words.ngrams.astype(np.float16)
    )
    assert "--fasttext_file=" in (tmp_path / "v" / "README.md").read_text()


def test_whitened(dataset, tmp_path, monkeypatch):
    monkeypatch.setattr("tta.papers.semfit.create._BLOCK_ROWS", 3)
    raw, made = create(dataset, tmp_path / "a"), create(dataset, tmp_path / "b", whiten=True)
    v = VOCABULARY
    np.testing.assert_array_equal(made.any(axis=1), raw.any(axis=1))
    # Over the text, the mean is 0 and the covariance the identity.
    shares = np.where(raw.any(axis=1), v.counts, 0) / v.counts[raw.any(axis=1)].sum()
    np.testing.assert_allclose(shares @ made, 0, atol=1e-4)
    np.testing.assert_allclose((shares[:, None] * made).T @ made, np.eye(8), atol=1e-2)
    # A word that does not occur is still the mean of its n-grams.
    words = ["absent", "xy"]
    expected = NgramVectors(tmp_path / "b").vectors(words)
    np.testing.assert_allclose(made[[v.ids[word] for word in words]], expected, atol=0.05)
    assert "--whiten=true" in (tmp_path / "b" / "README.md").read_text()


def test_whitening_needs_a_word_with_a_vector():
    with pytest.raises(InputError, match="no whitening: no word of the text has a vector"):
        whitening_over(np.zeros((5, 3), np.float32), np.zeros(5, np.int64))


def test_whitening_is_of_fasttext_and_svd_only():
    with pytest.raises(InputError, match="whiten needs source fasttext or svd, not skip_gram"):
        VectorsConfig(input_dir="x", output_dir="y", whiten=True)


def test_other_vectors_leave_no_ngrams_of_old_ones(dataset, tmp_path):
    create(dataset, tmp_path)
    create(dataset, tmp_path, source="random", overwrite=True)
    assert set(os.listdir(tmp_path)) == {"README.md", "vectors.npy", "vocab.txt"}


def test_old_vectors_are_gone_before_new_ngrams_are_there(dataset, tmp_path, monkeypatch):
    create(dataset, tmp_path)
    replaced, replace = [], os.replace

    def spy(source, target):
        replaced.append((os.path.basename(target), (tmp_path / "vectors.npy").exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", spy)
    create(dataset, tmp_path, seed=1, overwrite=True)
    assert ("ngrams.npy", False) in replaced
    assert ("ngrams.json", False) in replaced
    assert replaced[-1] == ("vectors.npy", False)


def test_what_does_not_fit(dataset, tmp_path):
    pieces = write_dataset(tmp_path / "pieces", sentences(5))
    with pytest.raises(InputError, match=r"pieces: source fasttext needs a data set of words"):
        create(pieces, tmp_path / "v")
    with pytest.raises(InputError, match="fasttext_file needs source fasttext, not random"):
        VectorsConfig(input_dir="x", output_dir="y", source="random", fasttext_file="z")
    (tmp_path / "bad.bin").write_bytes(b"bad")
    with pytest.raises(InputError, match=r"bad\.bin: not a binary file \(\.bin\) of fastText"):
        create(dataset, tmp_path / "v", fasttext_file=str(tmp_path / "bad.bin"))
    assert os.listdir(tmp_path / "v") == []


def means(vectors):
    return np.mean(vectors, axis=0, dtype=np.float64)


def test_a_file_encodes_texts(tmp_path):
    path = write_file(tmp_path / "f.bin")
    lm, words = tta.load(f"fasttext:{path}"), SubwordVectors.read(path)
    texts = ["walk Jogging, walk!", "", "日本語", "..."]
    found = lm.encode(texts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], means(words.vectors(["walk", "Jogging", "walk"])), 1e-5)
    np.testing.assert_allclose(found[2], words.vectors(["日本語"])[0], 1e-6)
    assert found.any(axis=1).tolist() == [True, False, True, False]
    assert not np.array_equal(lm.encode(["Jogging"]), lm.encode(["jogging"])), "case is kept"
    assert [len(one) for one in lm.encode_words([["a", "walk"], []])] == [2, 0]
    assert "f.bin|type:word_vectors|size:8|file:" in lm.signature
    assert "|case:as is|" in lm.signature
    with pytest.raises(InputError, match="word vectors give no sentence scores"):
        lm.score(["walk"])


def test_a_word_without_ngrams_is_left_out_of_the_mean(tmp_path):
    made = fasttext.FastText([["walk"]] * 30, vector_size=8, min_count=1, min_n=5, workers=1)
    fasttext.save_facebook_model(made, str(tmp_path / "f.bin"))
    lm = tta.load(f"fasttext:{tmp_path / 'f.bin'}")
    np.testing.assert_array_equal(lm.encode(["a walk"]), lm.encode(["walk"]))


def test_a_folder_encodes_texts(dataset, tmp_path):
    folder = tmp_path / "v"
    made = create(dataset, folder).astype(np.float16).astype(np.float64)
    lm, ngrams = tta.load(f"vectors:{folder}"), NgramVectors(folder)
    walk, naive = (made[VOCABULARY.ids[word]] for word in ("walk", "naïve"))
    new = ngrams.vectors(["walking"])[0]
    found = lm.encode(["walk-walking: naïve.", "?!", "xyz"])
    np.testing.assert_allclose(found[0], means([walk, new, naive]), 1e-5)
    assert not found[1].any()
    np.testing.assert_allclose(found[2], ngrams.vectors(["xyz"])[0], 1e-6)
    before = lm.signature
    create(dataset, folder, seed=1, overwrite=True)
    assert tta.load(f"vectors:{folder}").signature != before


def test_a_folder_of_lower_case_words(dataset, tmp_path):
    create(dataset, tmp_path)
    (tmp_path / "ngrams.json").write_text('{"min_n": 3, "max_n": 6, "lower_case": true}')
    lm = tta.load(f"vectors:{tmp_path}")
    np.testing.assert_array_equal(lm.encode(["WALK THE"]), lm.encode(["walk the"]))
    assert "|case:lower|" in lm.signature


@pytest.mark.parametrize(
    ("word", "text", "why"),
    [
        ("bär", "BÄR", "lower-cased words keep their accents"),
        ("bär", "ba\u0308r", "also where the text has them decomposed"),
        ("naive", "naïve", "no word has an accent, so the text has none"),
        ("Bär", "Bär", "cased words"),
    ],
)
def test_a_folder_keeps_the_accents_of_its_words(tmp_path, word, text, why):
    words = WordVocabulary.from_counts({word: 3, "tür" if "ä" in word else "tur": 2})
    words.save(tmp_path / "vocab.txt")
    table = np.arange(12, dtype=np.float16).reshape(6, 2)
    np.save(tmp_path / "vectors.npy", table)
    found = tta.load(f"vectors:{tmp_path}").encode([text])
    np.testing.assert_array_equal(found[0], table[4], why)


def test_a_folder_of_words_without_ngrams(dataset, tmp_path):
    made = create(dataset, tmp_path).astype(np.float16).astype(np.float64)
    for name in ("ngrams.npy", "ngrams.json"):
        (tmp_path / name).unlink()
    lm = tta.load(f"vectors:{tmp_path}")
    walk, naive = (made[VOCABULARY.ids[word]] for word in ("walk", "naïve"))
    found = lm.encode(["walk-walking: naïve.", "xyz", "Walk"])
    np.testing.assert_allclose(found[0], means([walk, naive]), 1e-5)
    assert not found[1].any(), "a new word is unknown"
    assert "|case:as is|" in lm.signature
    assert not found[2].any(), "'The' is in the vocabulary, so case counts"
    vocabulary = (tmp_path / "vocab.txt").read_text().replace("The", "thee")
    (tmp_path / "vocab.txt").write_text(vocabulary)
    lm = tta.load(f"vectors:{tmp_path}")
    assert "|case:lower|" in lm.signature
    np.testing.assert_allclose(lm.encode(["Walk"])[0], walk, 1e-5)


@pytest.mark.parametrize(
    ("name", "content", "rule"),
    [
        ("ngrams.npy", None, "ngrams.npy: no such file; tta create-vectors writes it"),
        ("ngrams.npy", np.zeros((53, 8), np.float16), "ngrams.npy: all vectors are zero"),
        ("ngrams.npy", np.ones((53, 9), np.float16), "ngrams.npy: its vectors have 9 numbers, but"),
        ("vectors.npy", np.full((13, 8), np.nan, np.float16), "the vector of '[PAD]' is not fini"),
    ],
)
def test_a_damaged_folder(dataset, tmp_path, name, content, rule):
    create(dataset, tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        np.save(tmp_path / name, content)
    with pytest.raises(InputError, match=re.escape(rule)):
        tta.load(f"vectors:{tmp_path}")
