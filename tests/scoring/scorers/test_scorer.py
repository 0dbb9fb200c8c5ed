"""The interface of all scorers: what a subclass inherits, and the errors for missing methods."""

import inspect
import re

import numpy as np
import pytest

from benchmarks import ROOT
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.scoring.scorers.load import KINDS
from tta.scoring.scorers.scorer import Scorer, TokenScores


class Letters(Scorer):
    """Scores every letter -1."""

    name = "letters"

    def score_tokens(self, texts, progress=False):
        return [TokenScores(list(text), np.full(len(text), -1.0)) for text in texts]


def test_scores_and_counts_follow_from_token_scores():
    sums, counts = Letters().score_with_counts(["abc", "", "a"])
    assert (sums.tolist(), counts.tolist()) == ([-3.0, 0.0, -1.0], [3, 0, 1])
    assert (sums.dtype, counts.dtype) == (np.float64, np.int64)
    assert Letters().score(["abc", ""]).tolist() == [-3.0, 0.0]
    assert Letters().score(["abc", ""], reduction="mean").tolist() == [-1.0, 0.0]
    assert Letters().score([]).shape == (0,)


def test_a_perplexity_is_exact_or_refused():
    lm = Letters()
    np.testing.assert_allclose(lm.perplexity(["abc", ""]), [np.e, np.nan])
    lm.normalizer = "learned"
    with pytest.raises(InputError, match=r"load the model with normalizer='exact', not 'learned'"):
        lm.perplexity(["abc"])


def test_prefixes_are_read_and_not_scored():
    class Rising(Scorer):
        """Scores letter i -i, so that a score tells which letters it is of."""

        def score_tokens(self, texts, progress=False):
            return [TokenScores(list(t), -np.arange(len(t), dtype=float)) for t in texts]

    scores = Rising().score(["cd", "", "ef"], prefixes=["ab", "a", ""])
    assert scores.tolist() == [-7.0, 0.0, -3.0]  # after "ab " and " "
    assert Rising().score(["cd"], "mean", prefixes=["ab"]).tolist() == [-3.5]
    with pytest.raises(InputError, match=r"^2 texts have 1 prefixes: expected as many$"):
        Rising().score(["a", "b"], prefixes=["c"])


def test_a_matrix_of_similarities_has_those_of_pairs():
    class Counts(Scorer):
        representations = ("counts",)

        def _encode(self, texts, representation, pooling, progress):
            return np.array([[t.count(c) for c in "abc"] for t in texts], np.float32).reshape(-1, 3)

    lm, first, second = Counts(), ["ab", "", "aab"], ["b", "cab"]
    matrix = lm.similarity_matrix(first, second)
    cosines = [[1 / 2**0.5, 2 / 6**0.5], [0, 0], [1 / 5**0.5, 3 / 15**0.5]]
    np.testing.assert_allclose(matrix, cosines, atol=1e-6)
    for row, text in zip(matrix, first, strict=True):
        np.testing.assert_allclose(row, lm.similarity([text] * 2, second), atol=1e-12)
    assert lm.similarity([], []).shape == (0,)
    with pytest.raises(InputError, match=r"^first has 2 texts, second has 1: expected pairs$"):
        lm.similarity(["a", "b"], ["a"])
    with pytest.raises(TypeError, match=r"^second\[0\] must be a str, not NoneType$"):
        lm.similarity(["a"], [None])
    keywords = {"batch_size": 9, "show_progress_bar": False, "convert_to_numpy": True}
    unit = lm.encode(["aab", ""], **keywords, normalize_embeddings=True)
    np.testing.assert_allclose(unit, [[2 / 5**0.5, 1 / 5**0.5, 0], [0, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(lm.encode("aab"), [2, 1, 0])
    np.testing.assert_allclose(lm.encode("aab", normalize_embeddings=True), unit[0])
    with pytest.raises(InputError, match="convert_to_numpy must be True"):
        lm.encode(["a"], convert_to_numpy=False)


def test_blocks_are_scored_one_by_one_as_they_come():
    drawn, shares = [], []
    blocks = (drawn.append(texts) or texts for texts in (["abc", ""], [], ["a"]))
    scored = Letters().score_blocks(blocks, advance=shares.append)
    sums, counts = next(scored)
    assert (sums.tolist(), counts.tolist()) == ([-3.0, 0.0], [3, 0])
    assert (len(drawn), shares) == (1, [1.0])
    assert [counts.tolist() for _, counts in scored] == [[], [1]]
    (tokens,) = Letters().score_blocks([["ab"]], tokens=True)
    assert tokens[0].tokens == ["a", "b"]


def test_a_model_without_scores_raises_an_error():
    with pytest.raises(InputError, match=r"^model: this kind of model gives no sentence scores$"):
        Scorer().score(["a"])


def test_the_first_representation_is_the_default():
    scorer = Scorer()
    scorer.representations = ("context", "embed")
    assert scorer.choose_representation() == "context"
    assert scorer.choose_representation("embed") == "embed"
    message = "model: representation must be context or embed, not 'cls'"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        scorer.choose_representation("cls")


def test_a_kind_without_a_keras_model_says_so():
    assert Letters().tokenizer is None
    with pytest.raises(InputError, match=r"^letters: this kind of model has no Keras model$"):
        Letters().model  # noqa: B018


def test_the_repr_names_the_kind_and_the_model():
    assert repr(Letters()) == "Letters('letters')"


def parameters(method):
    return [
        (one.name, one.kind, one.default) for one in inspect.signature(method).parameters.values()
    ]


@pytest.mark.parametrize(
    "name", [*KINDS, *(name for name in MODEL_TYPES if MODEL_TYPES.load(name).scorer)]
)
def test_every_scorer_takes_the_arguments_of_the_interface(name):
    scorer = KINDS.load(name) if name in KINDS else MODEL_TYPES.load(name).part("scorer")
    methods = [n for n, method in inspect.getmembers(Scorer, inspect.isfunction) if n[0] != "_"]
    assert "encode" in methods
    for method in methods:
        expected = parameters(getattr(Scorer, method))
        assert parameters(getattr(scorer, method)) == expected, method


def test_every_signature_begins_with_the_name_as_signature_line_writes_it():
    for path in (ROOT / "scoring").rglob("*.py"):
        assert "model:{self.name}" not in path.read_text(encoding="utf-8"), path
