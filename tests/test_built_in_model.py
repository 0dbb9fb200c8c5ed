"""The model in the package: it loads, and prefers English to noise."""

import random

import numpy as np
import pytest

import tta
from tta.modeling.formats.trained_models import BUILT_IN


@pytest.fixture(scope="module")
def lm():
    return tta.load()


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        ("the cat sat on the mat", "the cat sat on that mad"),
        ("he went to the store to buy some bread", "he went to the store to by some bred"),
        (
            "she has been living in london for two years",
            "she has bin living in london four to ears",
        ),
        ("They were waiting for the train.", "They were weighting for the train."),
    ],
)
def test_better_sentences_score_higher(lm, better, worse):
    good, bad = lm.score([better, worse], reduction="mean")
    assert good > bad


def test_paraphrases_are_nearer_than_other_sentences(lm):
    texts = [
        "A man is playing a guitar.",
        "A man plays the guitar.",
        "The parliament was dissolved.",
    ]
    vectors = lm.encode(texts)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_it_is_small():
    assert (BUILT_IN / "model.weights.h5").stat().st_size <= 16 * 2**20


@pytest.mark.parametrize(
    "engine", [pytest.param("tensorflow", marks=pytest.mark.tensorflow), "onnxruntime"]
)
def test_scores_hardly_depend_on_the_size_of_batches(engine):
    rng = random.Random(0)
    words = [token for token in tta.load().tokenizer.vocabulary.tokens if token.isalpha()]
    texts = [" ".join(rng.choices(words, k=rng.randint(2, 20))) for _ in range(12)]
    scores = [tta.load(engine=engine, batch_tokens=size).score(texts) for size in (None, 1)]
    assert np.ptp(scores, axis=0).max() < 1e-3  # 0.0002 on a processor with AMX (docs/scoring.md)
