"""The served graph computes what `TextModel` and `combining` compute. Run eagerly, not exported."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from tests.tiny import loaded, of_family
from tta.scoring.exports.serving.served_model import UTF8, ServedModel, split_windows
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


@pytest.mark.parametrize(("boundary", "batch_tokens"), [(False, 1), (True, 25)])
def test_scores_of_texts_of_all_lengths_in_batches_of_any_size(
    lm, monkeypatch, boundary, batch_tokens
):
    """Those of one, and of a few; the tests below have all texts in a batch."""
    lm = of_type(lm.model_type, score_boundary_tokens=boundary)
    served = ServedModel(lm)  # from now on, weights are no constants: what it scores is compiled
    sums, counts = lm.score_with_counts(TEXTS)
    monkeypatch.setattr(lm.engine, "batch_tokens", batch_tokens)
    got = numpy(served.score(tf.constant(TEXTS)))
    np.testing.assert_allclose(got["scores"], sums, atol=1e-4)
    np.testing.assert_array_equal(got["num_tokens"], counts)
    assert got["scores"].dtype == np.float64
    pieces = numpy(served.score_tokens(tf.constant(["the"])))["pieces"][0].tolist()
    assert [p.decode() for p in pieces] == lm.score_tokens(["the"])[0].tokens


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


@pytest.mark.parametrize("boundary", [False, True])
def test_only_the_positions_that_count_are_computed(lm, monkeypatch, boundary):
    """As in Python: no rows of the head for padding, nor for boundary tokens that do not count."""
    lm = of_type(lm.model_type, score_boundary_tokens=boundary)
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


@pytest.fixture(scope="module")
def served():
    return ServedModel(of_type("tta"))


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
