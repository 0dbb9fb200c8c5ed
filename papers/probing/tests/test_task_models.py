"""Models of tasks over frozen layers: what they compute, and their losses."""

import numpy as np
import pytest
from scipy.special import log_softmax

from tests.modeling.tiny import randomize
from tta.papers.probing.task_models import LabelModel, TagModel

pytestmark = pytest.mark.tensorflow

SIZES = {"num_layers": 2, "num_labels": 5, "size": 14, "lstm_size": 3}


def inputs(lengths, seed=0):
    mask = np.arange(max(lengths)) < np.array(lengths)[:, None]
    layers = np.random.default_rng(seed).normal(size=(*mask.shape, SIZES["size"]))
    return {"layers": layers.astype(np.float32), "padding_mask": mask}


def built(kind, **changes):
    model = kind(**SIZES | changes)
    randomize({v.path: v for v in model.trainable_variables})
    return model


@pytest.mark.parametrize("texts", [1, 2])
def test_labels_are_read_off_the_maxima_of_each_text(texts):
    model, given = built(LabelModel, texts_per_example=texts), inputs([4, 1, 3, 2])
    states = np.array(model.reader(given["layers"], given["padding_mask"]))
    maxima = [
        one[real].max(axis=0) for one, real in zip(states, given["padding_mask"], strict=True)
    ]
    features = maxima
    if texts == 2:
        pairs = [(maxima[0], maxima[1]), (maxima[2], maxima[3])]
        features = [np.hstack([u, v, abs(u - v), u * v]) for u, v in pairs]
    kernel, bias = (v.numpy() for v in model.output_dense.weights)
    expected = np.array(features) @ kernel + bias
    np.testing.assert_allclose(model(given), expected, atol=1e-5)
    np.testing.assert_array_equal(model.best_labels(given), expected.argmax(axis=1))
    y = np.arange(len(expected))
    loss = -np.mean(log_softmax(expected, axis=1)[y, y])
    np.testing.assert_allclose(model.compute_loss(given, y, expected), loss, rtol=1e-5)


def test_the_loss_of_tags_is_that_of_the_crf():
    model, given = built(TagModel), inputs([4, 1, 3])
    emitted = model(given)
    tags = np.random.default_rng(1).integers(0, 5, (3, 4)).astype(np.int32)
    likelihoods = model.crf.log_likelihood(emitted, tags, given["padding_mask"])
    loss = model.compute_loss(given, tags, emitted)
    np.testing.assert_allclose(loss, -np.mean(likelihoods), rtol=1e-6)
    best = model.crf.best_tags(emitted, given["padding_mask"])
    np.testing.assert_array_equal(model.best_labels(given), best)
