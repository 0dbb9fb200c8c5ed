"""Word vectors as a sentence encoder."""

import re

import numpy as np
import pytest

import tta
from tests.scoring.scorers.test_any_text import (
    METHODS,
    REFUSED,
    check_anything_else_is_refused,
    check_every_ordered_iterable_is_taken,
)
from tta.errors import InputError

VECTORS = b"the 1 0\ncat 0 2\nUS 4 0\nus 0 8\ndon't 16 16\nx-ray 3 5\n. 100 100\n"


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "tiny.txt"
    path.write_bytes(VECTORS)
    return path


@pytest.mark.parametrize("kind", ["glove", "word2vec"])
@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("the cat", [0.5, 1.0]),
        ("The CAT.", [0.5, 1.0]),  # not known unchanged, but in lower case
        ("the cat .", [0.5, 1.0]),  # a full stop is not a word, attached or not
        ("the the cat", [2 / 3, 2 / 3]),  # a word counts as often as it occurs
        ("US us Us", [4 / 3, 16 / 3]),  # unchanged first, then in lower case
        ("“Don't!”", [16.0, 16.0]),  # only punctuation at the ends is removed
        ("(x-ray)", [3.0, 5.0]),
        ("the zebra", [1.0, 0.0]),  # unknown words are skipped
        ("zebra", [0.0, 0.0]),
        ("", [0.0, 0.0]),
    ],
)
def test_a_text_is_the_mean_of_its_known_words(path, kind, text, vector):
    encoded = tta.load(f"{kind}:{path}").encode([text])
    assert encoded.dtype == np.float32
    np.testing.assert_allclose(encoded, [vector], rtol=1e-6)


def test_the_file_is_read_only_for_words_not_looked_up_before(path):
    lm = tta.load(f"glove:{path}")
    first = lm.encode(["the zebra"])
    path.unlink()
    np.testing.assert_array_equal(lm.encode(["zebra the"]), first)
    with pytest.raises(InputError, match=r"tiny\.txt: no such file"):
        lm.encode(["cat"])


def test_it_has_one_representation_and_no_scores(path):
    lm = tta.load(f"glove:{path}", precision="bfloat16", score_boundary_tokens=True)
    assert lm.representations == ("embed",)
    np.testing.assert_array_equal(lm.encode(["the"], "embed"), lm.encode(["the"]))
    with pytest.raises(InputError, match=r"^tiny\.txt: representation must be embed, not 'cls'$"):
        lm.encode(["the"], "cls")
    message = r"^tiny\.txt: word vectors give no sentence scores$"
    for call in (lm.score, lm.score_with_counts, lm.score_tokens):
        with pytest.raises(InputError, match=message):
            call(["the"])


def test_there_is_one_pooling(path):
    with pytest.raises(InputError, match="pooling must be mean, not 'max'"):
        tta.load(f"glove:{path}").encode(["the cat"], pooling="max")


each_method = pytest.mark.parametrize("method", ["encode", "similarity"])


@each_method
def test_every_ordered_iterable_of_texts_is_taken(path, method):
    check_every_ordered_iterable_is_taken(tta.load(f"glove:{path}"), METHODS[method])


@each_method
@pytest.mark.parametrize(("texts", "rule"), REFUSED, ids=[rule for _, rule in REFUSED])
def test_anything_else_is_a_clear_error(path, method, texts, rule):
    check_anything_else_is_refused(tta.load(f"glove:{path}"), method, texts, rule)


def test_the_signature_shows_what_the_vectors_depend_on(path):
    lm = tta.load(f"glove:{path}")
    assert re.fullmatch(
        r"model:tiny.txt\|type:word_vectors\|size:2\|file:[0-9a-f]{8}\|case:as is, then lower"
        rf"\|version:{re.escape(tta.__version__)}",
        lm.signature,
    )
    before = lm.signature
    path.write_bytes(VECTORS.replace(b"cat 0 2", b"cat 0 3"))
    assert tta.load(f"glove:{path}").signature != before
