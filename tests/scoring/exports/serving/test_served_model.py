"""The served graph computes what `TextModel` and `combining` compute. Run eagerly, not exported."""

import math
import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny import loaded, of_family
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.exports.serving.served_model import UTF8, ServedModel, split_windows
from tta.scoring.metrics.error_rate import WordErrorRate
from tta.scoring.metrics.risk import PairwiseLosses
from tta.scoring.scorers.inference import batches

pytestmark = pytest.mark.tensorflow

LONG = "the cat sat on the mat a dog ran home on the mat the cat sat"
TEXTS = ["the cat sat on the mat.", "", "a dog", "\u3000 ", LONG, "the", "Éz \U0001f600 [MASK]"]
TYPES = ("tta", "bilm", "unilm", "cloze")


def of_type(model_type, **options):
    """A model of one layer."""
    return loaded(of_family(model_type, num_hidden_layers=1), **options)


@pytest.fixture(scope="module", params=TYPES)
def lm(request):
    return of_type(request.param)


def numpy(outputs):
    return {key: value.numpy() for key, value in outputs.items()}


def test_windows_are_those_of_the_text_model():
    """All numbers of pieces up to several windows, all small sizes."""
    for size in (1, 2, 3, 5, 8, 9):
        lengths = range(4 * size + 3)
        got = [x.numpy() for x in split_windows(tf.constant(lengths, tf.int64), size)]
        expected = [
            (
                n,
                window.start,
                window.stop,
                0 if window.start == 0 else window.keep_start + 1,
                n + 2 if window.stop == n else window.keep_stop + 1,
            )
            for n in lengths
            for window in batches.split_windows(n, size)
        ]
        assert list(zip(*got, strict=True)) == expected, size


def test_scores_of_texts_of_all_lengths_in_batches_of_any_size(lm, monkeypatch):
    """Those of one; the tests below have a few texts in a batch, and all of them."""
    served = ServedModel(lm)  # from now on, weights are no constants: what it scores is compiled
    sums, counts = lm.score_with_counts(TEXTS)
    monkeypatch.setattr(lm.engine, "batch_tokens", 1)
    got = numpy(served.score(tf.constant(TEXTS)))
    np.testing.assert_allclose(got["scores"], sums, atol=1e-4)
    np.testing.assert_array_equal(got["num_tokens"], counts)
    assert got["scores"].dtype == np.float64


def test_score_tokens_gives_pieces_padded_to_the_longest(lm):
    got = numpy(ServedModel(lm).score_tokens(tf.constant(TEXTS)))
    for i, (tokens, scores) in enumerate(lm.score_tokens(TEXTS)):
        length = len(tokens)
        assert got["lengths"][i] == length
        assert [piece.decode() for piece in got["pieces"][i, :length]] == tokens
        np.testing.assert_allclose(got["log_probabilities"][i, :length], scores, atol=1e-4)
        assert set(got["pieces"][i, length:]) <= {b""}
        assert not got["log_probabilities"][i, length:].any()
    assert got["pieces"].shape[1] == got["lengths"].max()


def test_encode_gives_the_vectors(lm):
    got = numpy(ServedModel(lm).encode(tf.constant(TEXTS)))["vectors"]
    np.testing.assert_allclose(got, lm.encode(TEXTS), atol=1e-5)
    assert not got[1].any(), "a text without a piece"


def test_boundary_tokens_count_if_requested(lm, monkeypatch):
    lm = of_type(lm.model_type, score_boundary_tokens=True)
    monkeypatch.setattr(lm.engine, "batch_tokens", 25)
    sums, counts = lm.score_with_counts(TEXTS)
    served = ServedModel(lm)
    got = numpy(served.score(tf.constant(TEXTS)))
    np.testing.assert_allclose(got["scores"], sums, atol=1e-4)
    np.testing.assert_array_equal(got["num_tokens"], counts)
    pieces = numpy(served.score_tokens(tf.constant(["the"])))["pieces"][0].tolist()
    assert [p.decode() for p in pieces] == lm.score_tokens(["the"])[0].tokens


@pytest.mark.parametrize("boundary", [False, True])
def test_only_the_positions_that_count_are_computed(lm, monkeypatch, boundary):
    """As in Python: no rows of the head for padding, nor for boundary tokens that do not count."""
    options = {"score_boundary_tokens": True} if boundary else {}
    lm = of_type(lm.model_type, **options)
    monkeypatch.setattr(lm.engine, "batch_tokens", 25)
    served, asked, pieces = ServedModel(lm), [], sum(map(len, lm.tokenizer.encode(TEXTS)))
    functions = lm.engine.scores, lm.engine.states
    for name, function in zip(("scores", "states"), functions, strict=True):

        def spy(batch, wanted, function=function):
            asked.append(int(tf.math.count_nonzero(wanted)))
            return function(batch, wanted)

        monkeypatch.setattr(lm.engine, name, spy)
    counts = served.score(tf.constant(TEXTS))["num_tokens"].numpy()
    first = 0 if lm.likelihood.scores_first_token or not boundary else len(TEXTS)
    assert sum(asked) == counts.sum() + first, "a uniLM's begin token is asked for, and is free"
    asked.clear()
    served.encode(tf.constant(TEXTS))
    assert sum(asked) == pieces


def test_bfloat16_only_rounds():
    lm = of_type("tta", precision="bfloat16")
    got = numpy(ServedModel(lm).score(tf.constant(TEXTS)))["scores"]
    np.testing.assert_allclose(got, lm.score(TEXTS), rtol=0.01, atol=0.1)


@pytest.mark.parametrize(
    ("model_type", "variant"),
    [("tta", "within_word_l2r"), ("bilm", "within_word_l2r"), ("bilm", "maskless")],
)
def test_pll_variants_are_served(model_type, variant):
    lm = of_type(model_type, pll_variant=variant)
    texts = [*TEXTS, "the cats ran"]  # cat ##s
    got = numpy(ServedModel(lm).score(tf.constant(texts)))["scores"]
    np.testing.assert_allclose(got, lm.score(texts), atol=1e-4)
    original = of_type(model_type).score(texts)
    assert np.abs(got - original).max() > 1e-3


def test_an_empty_batch_gives_empty_outputs(lm):
    served, none = ServedModel(lm), tf.constant([], tf.string)
    shapes = {
        name: {key: value.shape for key, value in numpy(getattr(served, name)(none)).items()}
        for name in ("score", "score_tokens", "encode")
    }
    assert shapes == {
        "score": {"scores": (0,), "num_tokens": (0,)},
        "score_tokens": {"pieces": (0, 0), "log_probabilities": (0, 0), "lengths": (0,)},
        "encode": {"vectors": (0, 12)},
    }
    nothing = numpy(served.rerank(none, tf.constant([], tf.float32), 0.5, 0.0, 1.0))
    assert {key: value.shape for key, value in nothing.items()} == dict.fromkeys(
        ("order", "combined_scores", "posteriors", "expected_losses"), (0,)
    )


@pytest.fixture(scope="module")
def served():
    return ServedModel(of_type("tta"))


NBEST = ["a dog ran home", "", "a\u3000dog ran\u2028", "a dog ran home", LONG, "  "]
FIRST_PASS = [-3.25, -0.5, -4.0, -3.25, -60.0, -7.5]


@pytest.mark.parametrize("scale", [0.0, 0.25, math.inf])
@pytest.mark.parametrize(
    ("lm_weight", "bonus", "reduction"),
    [(0.0, 0.0, "sum"), (0.25, 0.75, "mean"), (1.0, -1.5, "sum"), (1.0, 0.75, "mean")],
)
def test_rerank_is_the_rule_of_run_rerank(served, lm_weight, bonus, scale, reduction):
    """With empty hypotheses, equal ones (which keep their order) and a long one."""
    texts = dict(zip(NBEST, zip(*served.lm.score_with_counts(NBEST), strict=True), strict=True))
    one = NBestList("u", tuple(map(Hypothesis, NBEST, FIRST_PASS)))
    losses = PairwiseLosses.build([one], WordErrorRate())
    lists = ScoredLists.build([one], texts, losses=losses)
    expected = decide(lists, RerankWeights(lm_weight, bonus, reduction, scale=scale))
    inputs = map(tf.constant, (NBEST, FIRST_PASS, lm_weight, bonus, scale))
    got = numpy(ServedModel(served.lm, reduction).rerank(*inputs))
    np.testing.assert_allclose(got["combined_scores"], expected.combined[0], atol=1e-4)
    np.testing.assert_allclose(got["posteriors"], expected.posteriors[0], atol=1e-4)
    if expected.expected_losses is not None:
        np.testing.assert_allclose(got["expected_losses"], expected.expected_losses[0], atol=1e-3)
    ranks = got["order"].tolist()
    assert ranks == expected.ranking(0)
    assert ranks.index(0) < ranks.index(3), "equals keep their order"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lm_weight": 1.5}, "lm_weight must be between 0 and 1"),
        ({"lm_weight": float("nan")}, "lm_weight must be between 0 and 1"),
        ({"lm_weight": [0.5, 0.5]}, "not compatible with expected shape []"),
        ({"length_bonus": [0.0]}, "not compatible with expected shape []"),
        ({"scale": [1.0]}, "not compatible with expected shape []"),
        ({"scale": -0.5}, "scale must be at least 0"),
        ({"scale": float("nan")}, "scale must be at least 0"),
        ({"scale": -math.inf}, "scale must be at least 0"),
        ({"length_bonus": float("inf")}, "length_bonus must be finite numbers"),
        ({"first_pass_scores": [-1.0]}, "every hypothesis must have a first-pass score"),
        ({"first_pass_scores": [-1.0, float("nan")]}, "first_pass_scores and length_bonus must"),
        ({"hypotheses": [["a", "b"]]}, "not compatible with expected shape [?]"),
        ({"hypotheses": ["a", b"\xff"]}, "not valid UTF-8, texts (from 0):"),
        ({"hypotheses": ["a", "a " * 5_001]}, "has at most 5,000 words, and hypotheses"),
        (
            {"hypotheses": ["a"] * 40 + ["a " * 2_500], "first_pass_scores": [0.0] * 41},
            "hypotheses times words of the longest are at most 100,000",
        ),
    ],
)
def test_rerank_refuses_wrong_inputs(served, changes, message):
    inputs = {
        "hypotheses": ["a dog", "a cat"],
        "first_pass_scores": [-1.0, -2.0],
        "lm_weight": 0.5,
        "length_bonus": 0.0,
        "scale": 1.0,
    }
    inputs = {key: tf.constant(value) for key, value in (inputs | changes).items()}
    with pytest.raises((tf.errors.InvalidArgumentError, ValueError)) as error:
        served.rerank(**inputs)
    assert message in str(error.value)


def test_a_list_that_is_too_large_is_not_scored(served, monkeypatch):
    monkeypatch.setattr(served, "_scored", None)
    with pytest.raises(tf.errors.InvalidArgumentError, match="at most 5,000 words"):
        served.rerank(tf.constant(["a " * 5_001]), tf.constant([0.0]), 0.5, 0.0, 1.0)


@pytest.mark.parametrize("name", ["score", "score_tokens", "encode"])
def test_text_that_is_not_utf8_is_refused_with_its_index(served, name):
    texts = tf.constant(["good", b"\xff", "good", b"cut \xe2\x82"])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)not valid UTF-8.*1, 3"):
        getattr(served, name)(texts)


def test_utf8_is_the_same_as_in_python():
    rng = np.random.default_rng(0)
    bytes_ = np.frombuffer(
        b"a \x00\x7f\x80\xbf\xc0\xc2\xdf\xe0\xa0\x9f\xed\xf0\x90\x8f\xf4\xf5\xff", np.uint8
    )
    cases = [rng.choice(bytes_, rng.integers(1, 5)).tobytes() for _ in range(20_000)]
    cases += [chr(i).encode("utf-8", "surrogatepass") for i in range(0x10000)]
    cases += [chr(i).encode() for i in range(0x10000, sys.maxunicode + 1, 97)]

    def is_utf8(case):
        try:
            case.decode()
        except UnicodeDecodeError:
            return False
        return True

    expected = np.array([is_utf8(case) for case in cases])
    assert 0.05 < expected[:20_000].mean() < 0.95
    np.testing.assert_array_equal(tf.strings.regex_full_match(cases, UTF8), expected)


def test_long_sentences_are_refused_if_requested():
    served = ServedModel(of_type("tta", long_sentences="refuse"))
    assert served.score(tf.constant([], tf.string))["scores"].shape == [0]
    fits = tf.constant(["the " * 9])
    assert served.score(fits)["num_tokens"].numpy().tolist() == [9]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"(?s)takes 9 pieces, .*10"):
        served.score(tf.constant(["the " * 10]))


def test_the_served_decision_leaves_out_words_that_are_none(lm):
    scores, weights = tf.constant([-1.0, -2.0]), [tf.constant(x) for x in (0.5, 0.25, 1.0)]
    tagged, plain = (tf.constant(t) for t in (["the [noise] cat", "<eps> a"], ["the cat", "a"]))
    left_out, bare = (numpy(ServedModel(lm).rerank(t, scores, *weights)) for t in (tagged, plain))
    kept = numpy(ServedModel(lm, keep_non_words=True).rerank(tagged, scores, *weights))
    np.testing.assert_allclose(left_out["combined_scores"], bare["combined_scores"])
    assert (kept["combined_scores"] != bare["combined_scores"]).all()
