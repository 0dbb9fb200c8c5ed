"""The language model over text, as `tta.load` returns it."""

import json
import pickle
import threading

import keras
import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.tiny import CONFIG, TOKENS, loaded, of_family, write_model_directory
from tta.errors import InputError
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import MODEL_TYPES, ModelType
from tta.scoring.engines.tensorflow.engine import TensorFlowEngine
from tta.scoring.scorers.arguments import SentenceError
from tta.scoring.scorers.inference import runtime
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.text_model import TextModel

pytestmark = pytest.mark.tensorflow

TEXTS = ["the cat sat on the mat.", "", "a dog", "the", "dogs ran home, the cat sat on a mat."]
LONG = "the cat sat on the mat a dog ran home on the mat the cat sat"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return write_model_directory(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def lm():
    return loaded()


def plain_scores(lm, ids, targets=None):
    """[T] log-probability of each target (default: the ids themselves), by a full softmax."""
    return plain_rows(lm, [ids], [ids if targets is None else targets])[0]


def plain_rows(lm, ids, targets, **inputs):
    """[N, T] the same of several rows."""
    ids, targets = np.array(ids, np.int32), np.array(targets, np.int32)
    out = lm.engine._model({"input_ids": ids, "padding_mask": np.ones_like(ids, bool)} | inputs)
    log_softmax = keras.ops.convert_to_numpy(keras.ops.log_softmax(out["logits"]))
    return np.take_along_axis(log_softmax, targets[..., None], -1)[..., 0]


def test_score_is_the_sum_of_its_pieces_without_boundaries(lm):
    ids = [TOKENS.index(t) for t in ["[SOS]", "the", "cat", "sat", "[EOS]"]]
    expected = plain_scores(lm, ids)[1:-1]
    assert lm.score(["the cat sat"]) == pytest.approx(expected.sum(), abs=1e-5)
    assert lm.score(["the cat sat"], reduction="mean") == pytest.approx(expected.mean(), abs=1e-5)
    tokens, scores = lm.score_tokens(["the cat sat"])[0]
    assert tokens == ["the", "cat", "sat"]
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_boundary_tokens_count_if_requested():
    lm = loaded(score_boundary_tokens=True)
    ids = [TOKENS.index(t) for t in ["[SOS]", "the", "cat", "sat", "[EOS]"]]
    sums, counts = lm.score_with_counts(["the cat sat", ""])
    assert sums[0] == pytest.approx(plain_scores(lm, ids).sum(), abs=1e-5)
    assert counts.tolist() == [5, 2]
    assert lm.score_tokens(["the"])[0].tokens == ["[SOS]", "the", "[EOS]"]


def test_scores_do_not_depend_on_the_batch_or_the_order(lm, monkeypatch):
    alone = np.array([lm.score([text])[0] for text in TEXTS])
    np.testing.assert_allclose(lm.score(TEXTS), alone, atol=1e-5)
    np.testing.assert_allclose(lm.score(TEXTS[::-1]), alone[::-1], atol=1e-5)
    monkeypatch.setattr(runtime, "BLOCK_TEXTS", 2)
    one_at_a_time = loaded(batch_tokens=1)
    np.testing.assert_allclose(one_at_a_time.score(TEXTS), alone, atol=1e-5)


def test_vectors_do_not_depend_on_the_batch_or_the_order(lm):
    for representation in ("context", "embed"):
        alone = np.concatenate([lm.encode([text], representation) for text in TEXTS])
        np.testing.assert_allclose(lm.encode(TEXTS, representation), alone, atol=1e-5)
        assert alone.shape == (len(TEXTS), CONFIG.hidden_size)
        assert alone.dtype == np.float32


def last_layer(lm, pieces):
    """[T, D] the last layer's outputs for these pieces between begin and end token."""
    ids = np.array([[TOKENS.index(t) for t in ["[SOS]", *pieces, "[EOS]"]]], np.int32)
    encoded = lm.engine._model.encode({"input_ids": ids, "padding_mask": np.ones_like(ids, bool)})
    return keras.ops.convert_to_numpy(encoded["hidden_states"])[0]


def test_cls_and_eos_are_the_last_layer_at_the_boundary_tokens(lm):
    """Of a text in windows, of its first and its last one."""
    texts, size = ["the cat", "", LONG], CONFIG.max_position_embeddings - 2
    pieces = [one.tokens for one in lm.score_tokens(texts)]
    assert len(pieces[2]) > size
    begin = [last_layer(lm, one[:size])[0] for one in pieces]
    end = [last_layer(lm, one[-size:])[-1] for one in pieces]
    np.testing.assert_allclose(lm.encode(texts, "cls"), begin, atol=1e-5)
    np.testing.assert_allclose(lm.encode(texts, "eos"), end, atol=1e-5)


def test_the_repr_names_the_model(directory):
    assert repr(tta.load(directory, precision="bfloat16")) == (
        f"TextModel({directory.name!r}, type=tta, parameters={CONFIG.num_parameters:,}, "
        "normalizer=exact, precision=bfloat16)"
    )


def test_a_model_from_a_directory_can_be_pickled(directory, monkeypatch):
    monkeypatch.chdir(directory.parent)
    lm = tta.load(directory.name, score_boundary_tokens=True)
    pickled = pickle.dumps(lm)
    assert len(pickled) < 1000  # the weights stay in the directory
    monkeypatch.chdir(directory)
    copy = pickle.loads(pickled)
    assert copy.signature == lm.signature
    np.testing.assert_array_equal(copy.score(TEXTS), lm.score(TEXTS))


def test_a_model_whose_weights_may_have_changed_cannot_be_pickled(directory):
    lm = tta.load(directory)
    pickle.dumps(lm)
    other = TextModel(lm.model, lm.tokenizer)
    with pytest.raises(TypeError, match=r"^cannot pickle the model model: it has no directory$"):
        pickle.dumps(other)
    with pytest.raises(
        TypeError, match=rf"^cannot pickle the model {lm.name}: lm\.model was used, "
    ):
        pickle.dumps(lm)


def test_no_texts_and_texts_without_pieces(lm):
    assert lm.score([]).shape == (0,)
    assert lm.encode([]).shape == (0, CONFIG.hidden_size)
    assert lm.score_tokens([]) == []
    sums, counts = lm.score_with_counts(["", "  "])
    assert sums.tolist() == [0, 0]
    assert counts.tolist() == [0, 0]
    assert not lm.encode([""]).any()
    assert lm.score_tokens([""])[0].tokens == []


@pytest.mark.parametrize(
    ("model_type", "pll_variant", "at_once"),
    [("tta", "original", 2), ("bilm", "original", 1), ("bilm", "maskless", 2)],
)
def test_two_batches_are_in_flight_if_a_score_takes_one_pass(
    monkeypatch, model_type, pll_variant, at_once
):
    # One sentence per batch.
    lm = loaded(of_family(model_type), batch_tokens=1, pll_variant=pll_variant)
    expected, compiled = lm.score(TEXTS), lm.engine.token_scores()
    threads, both_run = set(), threading.Event()

    def watched(*arguments):
        threads.add(threading.get_ident())
        if len(threads) == at_once:
            both_run.set()
        assert both_run.wait(120), "only one batch is in flight"
        return compiled(*arguments)

    monkeypatch.setattr(TensorFlowEngine, "token_scores", lambda _: watched)
    np.testing.assert_array_equal(lm.score(TEXTS), expected)
    assert len(threads) == at_once


def test_blocks_are_scored_as_lists_are(lm):
    blocks = [TEXTS, [], [LONG, "the"], [""]]
    for texts, (sums, counts) in zip(blocks, lm.score_blocks(blocks), strict=True):
        expected = lm.score_with_counts(texts)
        np.testing.assert_array_equal(sums, expected[0])
        np.testing.assert_array_equal(counts, expected[1])
    for texts, scored in zip(blocks, lm.score_blocks(blocks, tokens=True), strict=True):
        for got, expected in zip(scored, lm.score_tokens(texts), strict=True):
            assert got.tokens == expected.tokens
            np.testing.assert_array_equal(got.log_probabilities, expected.log_probabilities)


def test_the_share_of_a_batch_is_its_share_of_the_tokens():
    lm = loaded(batch_tokens=1)  # one sentence per batch
    shares = []
    list(lm.score_blocks([["the cat", "", "a"], [], [""]], advance=shares.append))
    assert shares == pytest.approx([4 / 9, 3 / 9, 2 / 9, 1.0])


def test_the_error_of_a_refused_sentence_has_its_index_in_the_block():
    lm = loaded(long_sentences="refuse")
    blocks = lm.score_blocks([["the", "a"], ["the", LONG]])
    next(blocks)
    with pytest.raises(SentenceError, match=r"^sentence 2 has \d+ pieces, the model") as error:
        next(blocks)
    assert error.value.index == 1
    assert error.value.sentence_rule.startswith("has ")


def test_bfloat16_is_close(directory, lm):
    low = tta.load(directory, precision="bfloat16")
    np.testing.assert_allclose(low.score(TEXTS, "mean"), lm.score(TEXTS, "mean"), atol=0.05)
    assert "precision:bfloat16" in low.signature


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda lm: lm.score(["a"], reduction="max"), "reduction must be sum or mean, not 'max'"),
        (lambda lm: TextModel(lm.engine._model, lm.tokenizer,
                              options=ScoreOptions(pll_variant="maskless")),
         "pll_variant must be original or within_word_l2r for a model of type tta, not 'maskl"),
    ],
)  # fmt: skip
def test_wrong_choices(lm, call, message):
    with pytest.raises(ValueError, match=message):
        call(lm)


def test_without_a_vocabulary_only_the_model_works(directory, tmp_path):
    for name in ("config.json", "model.weights.h5"):
        (tmp_path / name).write_bytes((directory / name).read_bytes())
    lm = tta.load(tmp_path)
    assert lm.model({"input_ids": np.array([[3, 5, 1]]), "padding_mask": np.ones((1, 3), bool)})
    with pytest.raises(InputError, match=r"no vocab\.txt"):
        lm.score(["the"])


def train(model):
    """A training step in a compiled function."""
    optimizer = keras.optimizers.SGD(0.5)
    optimizer.build(model.trainable_variables)

    @tf.function
    def step():
        optimizer.apply([tf.ones(v.shape) for v in model.trainable_variables])

    step()


@pytest.mark.parametrize(
    ("change", "from_directory"),
    [
        (lambda model: model.token_table.assign(-model.token_table), True),
        (lambda model: model.set_weights([-weight for weight in model.get_weights()]), False),
    ],
    ids=["assign", "set_weights"],
)
def test_a_change_of_the_weights_takes_effect(directory, change, from_directory):
    lm = tta.load(directory, engine="tensorflow")
    if not from_directory:
        lm = TextModel(lm.model, lm.tokenizer)
    ids = [TOKENS.index(t) for t in ["[SOS]", "a", "dog", "[EOS]"]]
    for one in (change, train):
        before, signature, vectors = lm.score(TEXTS), lm.signature, lm.encode(TEXTS)
        model = lm.model
        assert lm.signature == signature
        one(model)
        assert lm.score(["a dog"])[0] == pytest.approx(plain_scores(lm, ids)[1:-1].sum(), abs=1e-5)
        assert lm.signature != signature
        assert np.abs(lm.score(TEXTS) - before).max() > 1e-2
        assert np.abs(lm.encode(TEXTS) - vectors).max() > 1e-2


@pytest.mark.parametrize(
    "name",
    ["model", "tokenizer", "name", "options", "likelihood", "normalizer", "batch_tokens", "engine"],
)
def test_settings_cannot_be_changed(lm, name):
    with pytest.raises(AttributeError, match=f"property {name!r} of .* has no setter"):
        setattr(lm, name, None)
    with pytest.raises(AttributeError):
        lm.options.score_boundary_tokens = True
    with pytest.raises(AttributeError):
        lm.likelihood.normalizer = "learned"


class ToyConfig(LanguageModelConfig):
    """A family without position embeddings."""

    encoder_weights = property(lambda self: {})


class ToyModel(keras.Model):
    """Hidden states that are the token's id, without scores and without a token table."""

    def __init__(self, config, **kwargs):
        super().__init__()
        self.config = config

    def encode(self, inputs, training=None):
        ids = keras.ops.cast(inputs["input_ids"], "float32")
        return {"hidden_states": keras.ops.repeat(ids[..., None], self.config.hidden_size, -1)}

    def named_weights(self):
        return {}


def test_a_family_without_positions_and_token_table_encodes_texts_of_any_length(lm, monkeypatch):
    monkeypatch.setitem(MODEL_TYPES, "toy", ModelType(None, (), config=ToyConfig))
    config = ToyConfig(vocab_size=len(TOKENS), hidden_size=3, model_type="toy")
    toy = TextModel(ToyModel(config), lm.tokenizer)
    assert toy.representations == ("context", "embed", "cls", "eos")
    long = "the cat " * 9_999
    expected = [np.mean([TOKENS.index(t) for t in words]) for words in (("a",), ("the", "cat"))]
    np.testing.assert_allclose(toy.encode(["a", long])[:, 0], expected, rtol=1e-5)
    with pytest.raises(InputError, match=r"^a model of type toy has no representation embed$"):
        toy.encode(["the"], "embed")


# All white space of Python, of which BERT removes the control characters.
BLANKS = [chr(i) for i in range(0x3001) if chr(i).isspace()]


@pytest.mark.parametrize("model_type", ["tta", "unilm"])
@pytest.mark.parametrize("boundary", [False, True])
def test_words_have_the_sums_of_their_tokens(model_type, boundary):
    lm = loaded(of_family(model_type), score_boundary_tokens=boundary)
    texts = ["  the dogs, cats\u3000sat ", "", "\u0301 the", "the cat " * 20]
    texts += [f"the{blank}cats{blank} on" for blank in BLANKS]
    words, tokens = lm.score_words(texts), lm.score_tokens(texts)
    begin = ["[SOS]"] * (boundary and model_type == "tta")
    end = ["[EOS]"] * boundary
    assert words[0].tokens == [*begin, "the", "dogs,", "cats", "sat", *end]
    assert tokens[0].tokens == [*begin, "the", "dog", "##s", ",", "cat", "##s", "sat", *end]
    first, shift = words[0].log_probabilities[len(begin) :], len(begin)
    for word, (start, stop) in enumerate([(0, 1), (1, 4), (4, 6), (6, 7)]):
        of_tokens = tokens[0].log_probabilities[shift + start : shift + stop]
        assert first[word] == pytest.approx(of_tokens.sum())
    assert words[1].tokens == begin + end
    assert words[2].log_probabilities[len(begin)] == 0.0, "an accent alone has no token"
    np.testing.assert_allclose(
        [one.log_probabilities.sum() for one in words], lm.score(texts), atol=1e-4
    )
    read_as_one = [b for b, one in zip(BLANKS, words[4:], strict=True) if "the" not in one.tokens]
    assert read_as_one == list("\x0b\x0c\x1c\x1d\x1e\x1f\x85")
    json.dumps(words[0].to_dict())


def test_a_saved_model_is_read_back(tmp_path):
    lm = tta.load(write_model_directory(tmp_path / "model"))
    weight = lm.model.token_table
    weight.assign(np.asarray(weight) * 1.5)
    lm.save(tmp_path / "saved")
    texts = ["the cat sat on the mat", "dogs"]
    saved, weights = tta.load(tmp_path / "saved"), lm.engine.weights()
    assert saved.engine.weights().keys() == weights.keys()
    for name, value in saved.engine.weights().items():
        np.testing.assert_array_equal(value, weights[name])
    # TensorFlow rounds products with constants and with variables differently.
    np.testing.assert_allclose(saved.score(texts), lm.score(texts), atol=1e-5)
    with pytest.raises(InputError, match=r"saved: exists; choose another folder"):
        lm.save(tmp_path / "saved")
