"""Both engines give the same scores and vectors, and the new one refuses what it cannot do."""

import threading
from pathlib import Path

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, make_model, of_family, write_model_directory
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model, save_model
from tta.scoring.engines.onnxruntime.weights import Arrays, shapes

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


@pytest.fixture(scope="module", params=FAMILIES)
def directory(request, tmp_path_factory):
    family, changes = request.param.partition(",")[0], FAMILIES[request.param]
    config = of_family(family, learned_normalizer=True, **changes)
    return write_model_directory(tmp_path_factory.mktemp("model"), config)


def variants(model_type):
    return ("original", "within_word_l2r", "maskless")[: 3 if model_type == "bilm" else 2]


def test_scores_agree(directory):
    config = load_model(directory, build=Arrays).config
    for variant in variants(config.model_type):
        options: dict = {"pll_variant": variant, "batch_tokens": 40}
        # Both normalizers, with and without boundary tokens: TensorFlow takes long to compile.
        if variant == "within_word_l2r":
            options |= {"normalizer": "learned", "score_boundary_tokens": True}
        first, second = (
            tta.load(directory, engine=engine, **options)
            for engine in ("tensorflow", "onnxruntime")
        )
        np.testing.assert_allclose(second.score(TEXTS), first.score(TEXTS), atol=1e-4)
        for one, other in zip(first.score_tokens(TEXTS), second.score_tokens(TEXTS), strict=True):
            assert one.tokens == other.tokens
            np.testing.assert_allclose(other.log_probabilities, one.log_probabilities, atol=1e-4)


def test_vectors_agree(directory):
    config = load_model(directory, build=Arrays).config
    for variant in variants(config.model_type)[-1:]:
        first, second = (
            tta.load(directory, engine=engine, pll_variant=variant)
            for engine in ("tensorflow", "onnxruntime")
        )
        assert first.representations == second.representations
        for representation in set(first.representations) - {"joint"}:
            np.testing.assert_allclose(
                second.encode(TEXTS, representation),
                first.encode(TEXTS, representation),
                atol=2e-5,
                err_msg=representation,
            )


def test_signatures_differ_in_the_engine_only(directory):
    first, second = (tta.load(directory, engine=e) for e in ("tensorflow", "onnxruntime"))
    assert second.signature == first.signature.replace(":tensorflow|", ":onnxruntime|")


@pytest.mark.parametrize("name", FAMILIES)
def test_weights_are_those_of_the_keras_model(name):
    config = of_family(name.partition(",")[0], **FAMILIES[name])
    expected = {n: tuple(v.shape) for n, v in make_model(config).named_weights().items()}
    assert list(shapes(config)) == list(expected.items())


def test_the_built_in_model_agrees():
    texts = ["the cat sat on the mat", "i scream you scream we all scream for ice cream", "a"]
    first, second = (tta.load(engine=engine) for engine in ("tensorflow", "onnxruntime"))
    np.testing.assert_allclose(second.score(texts), first.score(texts), atol=5e-4)
    # The last LayerNorm magnifies rounding up to 46 times: 1.5e-4 on a processor with AMX.
    np.testing.assert_allclose(second.encode(texts), first.encode(texts), atol=5e-4)
    joint = [lm.encode(texts, "joint") for lm in (first, second)]
    np.testing.assert_allclose(*joint, atol=1e-4)


def test_no_token_sees_itself():
    """The score of a token does not depend on it: two sentences that differ in it have its row."""
    lm = tta.load(engine="onnxruntime")
    states = lm.engine.token_vectors("context")
    ids = np.array([[3, 50, 60, 70, 1], [3, 50, 61, 70, 1]], np.int32)
    rows = states(ids, np.ones(ids.shape, bool), np.ones(ids.shape, bool))
    np.testing.assert_array_equal(rows[0, 2], rows[1, 2])
    assert not np.array_equal(rows[0, 1], rows[1, 1])


def test_tokens_that_are_not_wanted_have_no_score(tmp_path):
    lm = tta.load(write_model_directory(tmp_path), engine="onnxruntime")
    ids, wanted = np.full((2, 5), 6, np.int32), np.zeros((2, 5), bool)
    score = lm.engine.token_scores()
    assert not score(ids, ~wanted, wanted).any()
    wanted[1, 2] = True
    assert np.array_equal(score(ids, np.ones_like(wanted), wanted) != 0, wanted)


def test_several_threads_may_score(tmp_path):
    lm = tta.load(write_model_directory(tmp_path), engine="onnxruntime")
    expected, found = lm.score(TEXTS), {}
    threads = [
        threading.Thread(target=lambda i=i: found.update({i: lm.score(TEXTS)})) for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for scores in found.values():
        np.testing.assert_allclose(scores, expected, atol=1e-6)
    assert len(found) == 4


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
    lm = tta.load(write_model_directory(tmp_path / "tta"), engine="onnxruntime")
    with pytest.raises(InputError, match=r"lm\.model is a Keras model: .* engine='tensorflow'"):
        lm.model  # noqa: B018
    config = of_family("tta", output_layer="semfit", target_size=5)
    save_model(make_model(config), tmp_path / "semfit", "")
    with pytest.raises(InputError, match="does not run output_layer semfit: use engine"):
        tta.load(tmp_path / "semfit", engine="onnxruntime")
    with pytest.raises(InputError, match="does not run models of type elmo"):
        tta.load("elmo-s-small", engine="onnxruntime")


def test_damaged_weights_are_refused_as_by_the_other_engine(tmp_path):
    directory = write_model_directory(tmp_path)
    other = CONFIG.replace(hidden_size=15)
    other.to_json(directory / "config.json")
    with pytest.raises(InputError, match="the config requires"):
        tta.load(directory, engine="onnxruntime")


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


def test_int8_needs_onnxruntime(tmp_path):
    write_model_directory(tmp_path)
    assert tta.load(tmp_path, precision="int8").engine.name == "onnxruntime"
    with pytest.raises(InputError, match="precision int8 needs engine onnxruntime"):
        tta.load(tmp_path, engine="tensorflow", precision="int8")


def test_int8_ranks_sentences_as_float32_does():
    texts = TRAIN.read_text(encoding="utf-8").splitlines()[:200]
    first, second = (
        tta.load(engine="onnxruntime", precision=precision).score(texts)
        for precision in ("float32", "int8")
    )
    ranks = [np.argsort(np.argsort(scores)) for scores in (first, second)]
    assert np.corrcoef(*ranks)[0, 1] > 0.995


def test_a_token_that_sees_no_other_gets_no_value(tmp_path):
    write_model_directory(tmp_path)
    ids, mask = np.array([[7, 0, 0]], np.int32), np.array([[True, False, False]])
    first, second = (
        tta.load(tmp_path, engine=engine).engine.token_vectors("context")(ids, mask, mask)
        for engine in ("tensorflow", "onnxruntime")
    )
    np.testing.assert_allclose(second[0, 0], first[0, 0], atol=1e-5)
