"""Both engines give the same scores and vectors, and the new one refuses what it cannot do."""

from pathlib import Path

import numpy as np
import pytest

import tta
from tests.modeling import numpy_tta
from tests.tiny import TOKENS, make_model, of_family, write_model_directory
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model, save_model
from tta.modeling.kits.onnx.language_model import Network
from tta.modeling.layers import base as layers
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.onnxruntime.loading import load_onnx
from tta.scoring.engines.options import EngineOptions
from tta.scoring.engines.tensorflow.engine import TensorFlowEngine
from tta.scoring.scorers.text_model import TextModel

pytestmark = pytest.mark.tensorflow

TRAIN = Path(__file__).resolve().parents[4] / "examples/train.txt"
# Empty, longer than a window, with unknown words, in batches of several lengths.
TEXTS = [
    "the cat sat on the mat.",
    "a dog",
    "",
    "the cats ran home 'quickly' zebra the cat the dog the cat",
    "the",
    "Ω on",
]
FAMILIES = {
    "tta": {},
    "tta, first query of a token": {"first_query_token_id": 4, "hidden_act": "gelu_tanh"},
    "bilm": {"hidden_act": "relu"},
    "bilm, segments": {"num_segments": 2},
    "unilm": {},
    "unilm, own table": {"output_layer": "softmax"},
    "cloze": {"num_tower_layers": 2},
    "cloze, relative": {"norm_first": True, "max_relative_distance": 2},
}


# Ids of tokens with padding; a sentence of a begin and an end token, of a single token, and one of
# which no score is wanted. The pieces 13, "##s", continue words.
LENGTHS = np.array([9, 2, 1, 5, 7])
MASK = np.arange(9) < LENGTHS[:, None]
IDS = np.where(MASK, np.random.default_rng(0).integers(5, len(TOKENS), MASK.shape), 0)
IDS[0, 3:5] = IDS[4, 2] = TOKENS.index("##s")
IDS = IDS.astype(np.int32)
WANTED = MASK & (np.arange(9) > 0) & (np.arange(9) < LENGTHS[:, None] - 1)
WANTED[3] = False


@pytest.fixture(scope="module", params=FAMILIES)
def directory(request, tmp_path_factory):
    family, changes = request.param.partition(",")[0], FAMILIES[request.param]
    config = of_family(family, learned_normalizer=True, **changes)
    return write_model_directory(tmp_path_factory.mktemp("model"), config)


@pytest.fixture(scope="module")
def keras_model(directory):
    return load_model(directory)


# TensorFlow takes seconds to compile a function, so these tests call the functions that it would
# compile.


def keras_graph(model, directory, variant="original", normalizer="exact"):
    tokenizer = tokenizer_in(directory, model.config)
    options = EngineOptions(pll_variant=variant, normalizer=normalizer)
    return TensorFlowEngine(model, tokenizer, options, is_shared=False)


def onnx_engine(directory, variant="original", normalizer="exact"):
    return load_onnx(directory, EngineOptions(pll_variant=variant, normalizer=normalizer))


def variants(model_type):
    return ("original", "within_word_l2r", "maskless")[: 3 if model_type == "bilm" else 2]


def test_scores_agree(directory, keras_model):
    batch = {"input_ids": IDS, "padding_mask": MASK}
    for variant in variants(keras_model.config.model_type):
        options = variant, "learned" if variant == "within_word_l2r" else "exact"
        expected = keras_graph(keras_model, directory, *options).scores(batch, WANTED)
        found = onnx_engine(directory, *options).token_scores()(IDS, MASK, WANTED)
        np.testing.assert_allclose(found[WANTED], expected[WANTED], atol=1e-4, err_msg=variant)


def test_vectors_agree(directory, keras_model):
    batch = {"input_ids": IDS, "padding_mask": MASK}
    variant = variants(keras_model.config.model_type)[-1]
    graph, engine = keras_graph(keras_model, directory, variant), onnx_engine(directory, variant)
    for name in engine.vector_sizes:
        wanted = WANTED if name == "context" else MASK
        expected = np.asarray(graph.vectors(batch, wanted, None, name))
        found = engine.token_vectors(name)(IDS, MASK, wanted)
        np.testing.assert_allclose(found[wanted], expected[wanted], atol=2e-5, err_msg=name)


def test_masked_states_agree(tmp_path):
    write_model_directory(tmp_path, of_family("bilm"))
    batch = {"input_ids": IDS, "padding_mask": MASK}
    expected = keras_graph(load_model(tmp_path), tmp_path).vectors(batch, WANTED, None, "context")
    found = onnx_engine(tmp_path).token_vectors("context")(IDS, MASK, WANTED)
    np.testing.assert_allclose(found[WANTED], np.asarray(expected)[WANTED], atol=2e-5)


def test_texts_are_read_in_the_same_way(tmp_path):
    """Windows, boundary tokens, batches; sums, tokens and pooled vectors."""
    write_model_directory(tmp_path)
    options: dict = {"batch_tokens": 40, "score_boundary_tokens": True}
    first, second = (
        tta.load(tmp_path, engine=engine, **options) for engine in ("tensorflow", "onnxruntime")
    )
    np.testing.assert_allclose(second.score(TEXTS), first.score(TEXTS), atol=1e-4)
    for one, other in zip(first.score_tokens(TEXTS), second.score_tokens(TEXTS), strict=True):
        assert one.tokens == other.tokens
        np.testing.assert_allclose(other.log_probabilities, one.log_probabilities, atol=1e-4)
    np.testing.assert_allclose(second.encode(TEXTS), first.encode(TEXTS), atol=2e-5)


@pytest.mark.parametrize("family", ["tta", "unilm"])
def test_signatures_and_representations_differ_in_the_engine_only(family, tmp_path):
    write_model_directory(tmp_path, of_family(family))
    first, second = (tta.load(tmp_path, engine=e) for e in ("tensorflow", "onnxruntime"))
    assert second.signature == first.signature.replace(":tensorflow|", ":onnxruntime|")
    assert second.representations == first.representations


LONG = (
    "it was a bright cold day in april and the clocks were striking thirteen when a man in a long "
    "coat slipped quickly through the glass doors though not quickly enough to prevent a swirl of "
    "gritty dust from entering along with him"
)


def test_learned_scores_of_the_built_in_model_are_those_in_float64():
    """The last LayerNorm has scales of 46: computed plainly, this score is off by 1e-3 or 2e-3."""
    engines = [tta.load(engine=e, normalizer="learned") for e in ("tensorflow", "onnxruntime")]
    tokenizer, weights = engines[1].tokenizer, engines[1].engine.weights()
    weights = {name: array.astype(np.float64) for name, array in weights.items()}
    vocabulary = tokenizer.vocabulary
    ids = np.array([vocabulary.bos_id, *tokenizer.encode([LONG])[0], vocabulary.eos_id])
    states, _ = numpy_tta.encode(weights, engines[1].config, ids)
    logits = numpy_tta.logits(weights, states[1:-1])
    expected = np.take_along_axis(logits, ids[1:-1, None], 1).sum()
    for lm in engines:
        np.testing.assert_allclose(lm.score([LONG]), expected, atol=8e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_layer_norm_alone_is_centred(monkeypatch, family):
    """In both engines, wherever it is; in a graph, it is the one with three outputs."""
    model = make_model(of_family(family.partition(",")[0], **FAMILIES[family]))
    config, centred = model.config, []
    last = f"layer_{config.num_hidden_layers - 1}/feed_forward_norm"
    last = "final_norm" if config.norm_first else last
    centred_layer_norm = layers.centred_layer_norm
    monkeypatch.setattr(
        layers, "centred_layer_norm", lambda x, w: centred.append(w) or centred_layer_norm(x, w)
    )
    model.encode({"input_ids": IDS, "padding_mask": MASK})
    assert centred == [model.encoder.of(f"{last}/norm")] == [model.encoder.output_norm]
    arrays = {name: np.asarray(weight) for name, weight in model.named_weights().items()}
    nodes = Network(config, arrays, "original", "exact").states().model().graph.node
    outputs = [len(node.output) for node in nodes if node.op_type == "LayerNormalization"]
    assert outputs == [1] * (len(outputs) - 1) + [3]


def test_the_built_in_model_agrees():
    texts = ["the cat sat on the mat", "i scream you scream we all scream for ice cream", "a"]
    first, second = (tta.load(engine=engine) for engine in ("tensorflow", "onnxruntime"))
    np.testing.assert_allclose(second.score(texts), first.score(texts), atol=2e-4)
    # The last LayerNorm magnifies rounding in a single dimension up to 46 times: 1.5e-4 on a
    # processor with AMX.
    np.testing.assert_allclose(second.encode(texts), first.encode(texts), atol=5e-4)
    joint = [lm.encode(texts, "joint") for lm in (first, second)]
    np.testing.assert_allclose(*joint, atol=1e-4)


def test_tokens_that_are_not_wanted_have_no_score(tmp_path):
    lm = tta.load(write_model_directory(tmp_path), engine="onnxruntime")
    ids, wanted = np.full((2, 5), 6, np.int32), np.zeros((2, 5), bool)
    score = lm.engine.token_scores()
    assert not score(ids, ~wanted, wanted).any()
    wanted[1, 2] = True
    assert np.array_equal(score(ids, np.ones_like(wanted), wanted) != 0, wanted)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"precision": "bfloat16"}, "precision bfloat16 needs engine tensorflow"),
        ({"pll_variant": "maskless"}, "pll_variant must be original or within_word_l2r"),
        ({"normalizer": "learned"}, "no learned normalizer"),
        ({"engine": "jax"}, "engine must be auto or tensorflow or onnxruntime"),
    ],
)
def test_options_that_it_does_not_have_are_one_line(options, rule, tmp_path):
    write_model_directory(tmp_path)
    with pytest.raises(InputError, match=rule) as caught:
        tta.load(tmp_path, **{"engine": "onnxruntime"} | options)
    assert "\n" not in str(caught.value)


def test_what_needs_tensorflow_is_one_line(tmp_path):
    made = load_onnx(write_model_directory(tmp_path / "tta"))
    with pytest.raises(InputError, match=r"lm\.model is a Keras model, and this model was not"):
        TextModel(made).model  # noqa: B018
    config = of_family("tta", output_layer="semfit", target_size=5)
    save_model(make_model(config), tmp_path / "semfit", "")
    with pytest.raises(InputError, match="does not run output_layer semfit: use engine"):
        tta.load(tmp_path / "semfit", engine="onnxruntime")
    with pytest.raises(InputError, match="does not run models of type elmo"):
        tta.load("elmo-s-small", engine="onnxruntime")


@pytest.mark.parametrize("family", ["tta", "bilm", "unilm", "cloze"])
def test_int8_rounds_scores_a_little(family, tmp_path):
    directory = write_model_directory(tmp_path, of_family(family))
    exact, rounded = (
        tta.load(directory, engine="onnxruntime", precision=precision)
        for precision in ("float32", "int8")
    )
    difference = np.abs(rounded.score(TEXTS) - exact.score(TEXTS))
    assert 0 < difference.max() < 3
    assert "|precision:int8|engine:onnxruntime|" in rounded.signature
    # Each row of a product has a scale of its own.
    alone = [rounded.score([text])[0] for text in TEXTS]
    np.testing.assert_allclose(rounded.score(TEXTS), alone, atol=1e-4)


def test_int8_ranks_sentences_as_float32_does():
    texts = TRAIN.read_text(encoding="utf-8").splitlines()[:200]
    first, second = (
        tta.load(engine="onnxruntime", precision=precision, normalizer="learned").score(texts)
        for precision in ("float32", "int8")
    )
    ranks = [np.argsort(np.argsort(scores)) for scores in (first, second)]
    assert np.corrcoef(*ranks)[0, 1] > 0.9992
    assert (second - first).std() < 0.4  # 1.03 with the last layer's products in int8
