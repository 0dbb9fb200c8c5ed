"""Any text is scored, and any ordered iterable of texts is taken; the rest is a clear error."""

import re
import sys
from collections import deque

import numpy as np
import pytest

from tests.scoring.scorers.test_ngram_model import ARPA
from tests.tiny import TOKENS, make_model
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.scoring.scorers.ngram_model import NgramModel
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.scorers.text_model import TextModel

CHARACTERS = [c for c in map(chr, range(sys.maxunicode + 1)) if not "\ud800" <= c <= "\udfff"]
BLOCK = 512


@pytest.fixture(scope="module")
def lm():
    return TextModel(make_model(), Tokenizer(Vocabulary(TOKENS)))


@pytest.mark.tensorflow
def test_every_character_has_ids(lm):
    blocks = ["".join(CHARACTERS[i : i + BLOCK]) for i in range(0, len(CHARACTERS), BLOCK)]
    spaced = [" ".join(block) for block in blocks]
    for texts in (blocks, spaced):
        ids, lengths = lm.tokenizer.tokenize_flat(texts)
        assert len(lengths) == len(texts)
        assert lengths.sum() == len(ids)
        assert set(ids.tolist()) <= set(range(5, len(TOKENS))) | {lm.tokenizer.vocabulary.unk_id}


@pytest.mark.tensorflow
def test_half_a_surrogate_pair_is_refused(lm):
    with pytest.raises(InputError, match=r"^texts\[1\] is not valid Unicode: 'a\\ud800'$"):
        lm.score(["fine", "a\ud800"])


class Words(Scorer):
    """Scores as many words as a text has; does not check its texts itself."""

    representations = ("embed",)

    def score_tokens(self, texts, progress=False):
        return [TokenScores(text.split(), -np.ones(len(text.split()))) for text in texts]


class Series:
    """Like a pandas Series: its items are the texts, and it has keys."""

    ndim = 1

    def __init__(self, texts):
        self.texts = texts

    def __iter__(self):
        return iter(self.texts)

    def keys(self):
        return range(len(self.texts))


class Frame(Series):
    """Like a pandas DataFrame, which iterates over the names of its columns."""

    ndim = 2


TEXTS = ["the cat", "", "a dog"]
ORDERED = {
    "tuple": tuple,
    "generator": iter,
    "array": np.array,
    "array of objects": lambda texts: np.array(texts, object),
    "Series": Series,
    "deque": deque,
    "keys of a dict": lambda texts: dict.fromkeys(texts).keys(),
    "values of a dict": lambda texts: dict(enumerate(texts)).values(),
}
REFUSED = [
    ("the cat", "{} must be an ordered iterable of str, such as a list, not str"),
    (b"the cat", "{} must be an ordered iterable of str, such as a list, not bytes"),
    ({"the cat"}, "{} must be an ordered iterable of str, such as a list, not set"),
    (frozenset(["a"]), "{} must be an ordered iterable of str, such as a list, not frozenset"),
    ({"the cat": 1}, "{} must be an ordered iterable of str, such as a list, not dict"),
    (None, "{} must be an ordered iterable of str, such as a list, not NoneType"),
    (7, "{} must be an ordered iterable of str, such as a list, not int"),
    ([1, 2], "{}[0] must be a str, not int"),
    (["the", None], "{}[1] must be a str, not NoneType"),
    (["the", "a", b"cat"], "{}[2] must be a str, not bytes"),
    ([["the"]], "{}[0] must be a str, not list"),
    (iter(["the", float("nan")]), "{}[1] must be a str, not float"),
    (np.array([["the"]]), "{} must have one dimension: it is a ndarray"),
    (Frame(["text"]), "{} must have one dimension: it is a Frame"),
]
METHODS = {
    "score": lambda lm, texts: lm.score(texts),
    "score_with_counts": lambda lm, texts: lm.score_with_counts(texts)[0],
    "score_tokens": lambda lm, texts: [sum(o.log_probabilities) for o in lm.score_tokens(texts)],
    "perplexity": lambda lm, texts: lm.perplexity(texts),
    "score_blocks": lambda lm, texts: next(lm.score_blocks(iter([texts])))[0],
    "encode": lambda lm, texts: lm.encode(texts),
    "similarity": lambda lm, texts: lm.similarity(texts, TEXTS),
    "piece_moments": lambda lm, texts: lm.piece_moments(
        texts, "embed", np.ones(len(TOKENS), np.float32)
    )[0],
}
SCORES = ("score", "score_with_counts", "score_tokens", "perplexity", "score_blocks")
CALLS = [
    *(pytest.param("text model", one, marks=pytest.mark.tensorflow) for one in METHODS),
    *(("n-gram model", method) for method in SCORES),
    *(("other", method) for method in SCORES if method != "score_tokens"),
]


@pytest.fixture
def scorer(request, kind, tmp_path):
    if kind == "text model":
        return request.getfixturevalue("lm")
    if kind == "other":
        return Words()
    (tmp_path / "tiny.arpa").write_text(ARPA)
    return NgramModel(tmp_path / "tiny.arpa")


@pytest.mark.parametrize(("kind", "method"), CALLS)
def test_every_ordered_iterable_of_texts_is_taken(scorer, method):
    check_every_ordered_iterable_is_taken(scorer, METHODS[method])


def check_every_ordered_iterable_is_taken(scorer, call):
    expected = call(scorer, TEXTS)
    for name, make in ORDERED.items():
        np.testing.assert_array_equal(call(scorer, make(TEXTS)), expected, name)


@pytest.mark.parametrize(("kind", "method"), CALLS)
def test_anything_else_is_a_clear_error(scorer, method):
    for texts, rule in REFUSED:
        check_anything_else_is_refused(scorer, method, texts, rule)


def check_anything_else_is_refused(scorer, method, texts, rule):
    if (method, texts) == ("encode", "the cat"):  # one text is one vector
        np.testing.assert_array_equal(scorer.encode(texts), scorer.encode([texts])[0])
        return
    texts = iter(["the", float("nan")]) if hasattr(texts, "__next__") else texts
    rule = rule.format("first" if method == "similarity" else "texts")
    with pytest.raises(TypeError, match=f"^{re.escape(rule)}$"):
        METHODS[method](scorer, texts)
