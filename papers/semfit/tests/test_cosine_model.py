"""SemFit models in `tta.load`: `fit`, refused probabilities, and scores that are cosines."""

import pickle
import re

import numpy as np
import pytest

import tta
from tests.tiny import CONFIG, TOKENS, make_model, write_model_directory
from tta.errors import InputError
from tta.modeling.formats.model_directory import save_model
from tta.scoring.exports.serving.export import export
from tta.scoring.scorers.pooling import fit_pooling

pytestmark = pytest.mark.tensorflow

M = 17
TEXTS = ["the cat sat on the mat", "dogs ran home .", "cat", ""]
WITHOUT_VECTOR = TOKENS.index("mat")
TARGETS = np.random.default_rng(0).normal(size=(len(TOKENS), M)).astype(np.float16)
TARGETS[WITHOUT_VECTOR] = 0.0
REFUSED = "the model predicts vectors, not probabilities, so it gives no sentence scores"


def write_semfit(directory, model_type="tta"):
    directory.mkdir()
    (directory / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    np.save(directory / "vectors.npy", TARGETS)
    config = CONFIG.replace(model_type=model_type, output_layer="semfit", target_size=M)
    save_model(make_model(config), directory, "A tiny SemFit model.\n")
    return directory


@pytest.fixture(scope="module", params=["tta", "bilm", "unilm"])
def directory(request, tmp_path_factory):
    return write_semfit(tmp_path_factory.mktemp("models") / request.param, request.param)


@pytest.fixture(scope="module")
def tta_directory(tmp_path_factory):
    return write_semfit(tmp_path_factory.mktemp("models") / "tta")


def predictions(lm, text):
    """(ids [n], predicted vectors [n, M]) of the pieces, each computed without its piece."""
    vocabulary = lm.tokenizer.vocabulary
    (pieces,) = lm.tokenizer.encode([text])
    ids = np.concatenate([[vocabulary.bos_id], pieces, [vocabulary.eos_id]]).astype(np.int32)
    found = []
    for place in range(1, len(pieces) + 1):
        seen, at = ids.copy(), place
        if lm.model.config.model_type == "bilm":
            seen[place] = vocabulary.mask_id
        if lm.model.config.model_type == "unilm":
            seen, at = ids[:place], place - 1
        inputs = {"input_ids": seen[None], "padding_mask": np.ones((1, len(seen)), bool)}
        found.append(np.asarray(lm.model(inputs)["fit"], np.float64)[0, at])
    return pieces, np.array(found).reshape(-1, M)


def test_fit_is_the_mean_of_the_predicted_vectors(directory):
    lm = tta.load(directory)
    assert lm.representations[:2] == ("context", "fit")
    found = lm.encode(TEXTS, "fit")
    assert found.shape == (4, M)
    assert not found[3].any()
    for text, vector in zip(TEXTS[:3], found, strict=False):
        np.testing.assert_allclose(vector, predictions(lm, text)[1].mean(0), rtol=1e-3, atol=1e-4)
    assert lm.encode(TEXTS, "context").shape == lm.encode(TEXTS).shape == (4, CONFIG.hidden_size)


def test_scores_of_cosine_models_are_cosines_minus_1(directory):
    lm, ranker = tta.load(directory), tta.load(f"cosine:{directory}", normalizer="auto")
    sums, counts = ranker.score_with_counts(TEXTS)
    for text, found, count in zip(TEXTS, sums, counts, strict=True):
        ids, vectors = predictions(lm, text)
        targets = TARGETS[ids].astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(targets, axis=1)
        cosines = (vectors * targets).sum(1) / np.where(norms, norms, 1.0)
        assert not cosines[ids == WITHOUT_VECTOR].any()
        assert (count, found) == (len(ids), pytest.approx((cosines - 1).sum(), abs=1e-4))
    np.testing.assert_allclose(ranker.score(TEXTS, "mean"), sums / np.maximum(counts, 1))
    assert "|score:cosine of prediction and target minus 1|" in ranker.signature
    assert not re.search("log|normalizer", ranker.signature)
    hypotheses = ["the cat sat on the mat", "the cat sat on a mat", "the cat ran on the mat"]
    ranked = tta.rerank(hypotheses, [-1.0, -1.1, -1.2], ranker)
    assert sorted(ranked.texts) == sorted(hypotheses)


def test_probabilities_are_refused_in_one_line(tta_directory):
    lm = tta.load(tta_directory)
    assert not lm.gives_scores
    for call in (lm.score, lm.score_tokens, lm.perplexity, lambda t: next(lm.score_blocks([t]))):
        with pytest.raises(InputError, match=f"^tta: {REFUSED}; cosine:DIRECTORY reranks") as error:
            call(TEXTS)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=REFUSED):
        tta.rerank(TEXTS, None, lm)


def test_a_cosine_model_only_compares(tta_directory):
    lm = tta.load(f"cosine:{tta_directory}")
    for call in (lm.score_tokens, lm.perplexity, lambda texts: next(lm.score_blocks([texts]))):
        with pytest.raises(InputError, match=r"^tta: cosines are not log-probabilities: they comp"):
            call(TEXTS)


def test_it_is_not_exported(tta_directory, tmp_path):
    with pytest.raises(InputError, match=REFUSED):
        export(tta.load(tta_directory), tmp_path / "1")
    assert not (tmp_path / "1").exists()


@pytest.mark.parametrize("kind", ["", "cosine:"])
def test_it_can_be_pickled(tta_directory, kind):
    lm = tta.load(f"{kind}{tta_directory}")
    again = pickle.loads(pickle.dumps(lm))
    assert type(again) is type(lm)
    np.testing.assert_array_equal(again.encode(TEXTS, "fit"), lm.encode(TEXTS, "fit"))


def test_poolings_of_fit_have_their_own_size(tmp_path):
    directory = write_semfit(tmp_path / "model")
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(TOKENS[5:14], rng.integers(1, 9))) for _ in range(200)]
    lm = tta.load(directory)
    with open(directory / "pooling.npz", "wb") as file:
        fit_pooling(lm, texts, 150).write(file)
    assert lm.pooling_statistics.whitenings["fit"].matrix.shape == (M, M)
    assert lm.encode(TEXTS, "fit", "whitened").shape == (4, M)
    assert lm.encode(TEXTS, "context", "whitened").shape == (4, CONFIG.hidden_size)


def test_a_language_model_has_no_fit_and_no_cosines(tmp_path):
    directory = write_model_directory(tmp_path / "lm")
    assert "fit" not in tta.load(directory).representations
    with pytest.raises(InputError, match=r"^lm: it predicts no vectors: cosine: needs the direct"):
        tta.load(f"cosine:{directory}")
    with pytest.raises(InputError, match=r"^nowhere: no such model directory, nor a model of that"):
        tta.load("cosine:nowhere")


def test_missing_changed_and_foreign_vectors_are_refused(tmp_path):
    directory = write_semfit(tmp_path / "model")
    path = directory / "vectors.npy"
    np.save(path, TARGETS[::-1])
    with pytest.raises(
        InputError, match=r"vectors\.npy: damaged or changed since its weights were"
    ):
        tta.load(directory)
    path.unlink()
    assert tta.load(directory).encode(TEXTS, "fit").any(), "only cosines need the targets"
    with pytest.raises(InputError, match=r"vectors\.npy: no such file"):
        tta.load(f"cosine:{directory}")
