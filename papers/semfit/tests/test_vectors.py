"""Training towards vectors, and its held-out measures, against plain NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from tests.modeling.tiny import VOCAB_SIZE, Vocabulary, batch, tiny_model, training_config
from tta.modeling.objectives.language_model import (
    CausalLanguageModeling,
    LanguageAutoencoding,
    MaskedLanguageModeling,
)
from tta.papers.semfit.measures import describe_vectors, measure_vectors

pytestmark = pytest.mark.tensorflow

M = 17
TABLE = np.random.default_rng(0).normal(size=(VOCAB_SIZE, M)).astype(np.float16)
TABLE[[7, 11]] = 0.0  # two pieces without a vector
OBJECTIVES = {
    "tta": LanguageAutoencoding,
    "bilm": MaskedLanguageModeling,
    "unilm": CausalLanguageModeling,
}
every_family = pytest.mark.parametrize("model_type", OBJECTIVES)


def make_batch(lengths=(11, 7, 2), seed=0):
    inputs = batch(list(lengths), seed=seed)
    inputs["target_vectors"] = TABLE[inputs["input_ids"]]
    return {name: tf.constant(value) for name, value in inputs.items()}


def make(model_type, **changes):
    model = tiny_model(
        model_type=model_type, output_layer="semfit", target_size=M, semfit_distance="l2", **changes
    )
    return model, OBJECTIVES[model_type](Vocabulary(), training_config())


@every_family
def test_the_targets_are_the_vectors_of_the_predicted_tokens(model_type):
    given = make_batch()
    task = OBJECTIVES[model_type](Vocabulary()).task(given, 0)
    plain = {name: given[name] for name in ("input_ids", "padding_mask")}
    ids = OBJECTIVES[model_type](Vocabulary()).task(plain, 0).targets.numpy()
    np.testing.assert_array_equal(task.targets, TABLE[ids])
    assert not task.weights.numpy()[np.isin(ids, (7, 11))].any(), "no vector, no target"


@every_family
def test_the_loss_is_the_head_s(model_type):
    model, objective = make(model_type)
    task = objective.task(make_batch(), 0)
    states = model.encode(task.inputs)["hidden_states"]
    squares = np.square(model.head(states).numpy() - task.targets.numpy()).sum(-1)
    expected = float((squares * task.weights.numpy()).sum())
    assert float(objective.loss(model, task).total) == pytest.approx(expected, rel=1e-4)


def predictions(model, model_type, ids):
    """The head's output that predicts each token of one sentence, one at a time: [T, M]."""
    found = []
    for place in range(len(ids)):
        seen, at = ids.copy(), place
        if model_type == "bilm":
            seen[place] = Vocabulary.mask_id
        if model_type == "unilm":
            seen, at = ids[:-1], place - 1
        inputs = {"input_ids": seen[None], "padding_mask": np.ones((1, len(seen)), bool)}
        found.append(model(inputs)["fit"].numpy()[0, at])
    return np.array(found)


@every_family
def test_measures_equal_plain_numpy(model_type):
    (model, objective), batches = make(model_type), [make_batch(), make_batch((5, 9), seed=1)]
    measured = [objective.evaluate(model, one) for one in batches]
    columns = {
        name: tuple(np.concatenate([m[name][i].numpy() for m in measured]) for i in (0, 1))
        for name in measured[0]
    }
    assert [len(columns[name][0]) for name in ("distance", "target")] == [5, 5]
    found = objective.summarize(columns)

    rows = {"distance": [], "cosine": [], "nearest": [], "targets": []}
    for one in batches:
        ids, mask = one["input_ids"].numpy(), one["padding_mask"].numpy()
        for sentence, length in zip(ids, mask.sum(axis=1), strict=True):
            fits = predictions(model, model_type, sentence[:length])
            inner = range(1, length - 1)
            places = [place for place in inner if sentence[place] not in (7, 11)]
            if not places:
                continue
            tokens, vectors = sentence[places], fits[places].astype(np.float64)
            targets = TABLE[tokens].astype(np.float64)
            units = targets / np.linalg.norm(targets, axis=1, keepdims=True)
            unit_vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
            rows["distance"] += list(((vectors - targets) ** 2).sum(1))
            rows["cosine"] += list((unit_vectors * units).sum(1))
            nearest = np.argmax(unit_vectors @ units.T, axis=1)
            rows["nearest"] += list(tokens[nearest] == tokens)
            rows["targets"] += list(units)
    expected = {name: np.mean(rows[name]) for name in ("distance", "cosine", "nearest")}
    expected["constant_cosine"] = np.linalg.norm(np.mean(rows["targets"], axis=0))
    assert found == pytest.approx(expected, rel=1e-4)
    assert columns["distance"][1].sum() == len(rows["distance"])


class Known:
    """A head whose predictions are given."""

    def __init__(self, predictions):
        self.predictions = tf.constant(predictions, tf.float32)

    def __call__(self, states):
        return self.predictions

    def distance(self, vectors, targets):
        return tf.zeros(targets.shape[:-1])


def test_only_tokens_that_count_are_neighbours():
    # Token 1 is predicted to be token 2, which is nearest only if it is a candidate. The other
    # place of token 3 is not its own, but has its vector.
    vectors = np.eye(4, M, dtype=np.float32)
    ids = np.array([[1, 2, 3, 3]], np.int32)
    predictions = vectors[ids].copy()
    predictions[0, 0] = vectors[2] + 0.5 * vectors[1]
    for weights, right in (([1, 0, 1, 1], 3), ([1, 1, 1, 1], 3), ([1, 0, 0, 1], 2)):
        given = tf.constant([weights], tf.float32)
        known = Known(predictions)
        measured = measure_vectors(known, None, ids, vectors[ids], given)
        assert float(measured["nearest"][0][0]) == right, weights


def test_what_a_reader_sees():
    values = {"distance": -0.5, "cosine": 0.5, "nearest": 0.25, "constant_cosine": 0.125}
    assert describe_vectors(values) == (
        "distance -0.5000, cosine 0.5000 (a constant prediction 0.1250), nearest neighbour 25.00 %"
    )
