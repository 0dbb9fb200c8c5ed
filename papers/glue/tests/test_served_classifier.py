"""An exported classifier: its predictions, its operations, and what it refuses."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

import tta
from tests.scoring.exports.serving.test_export import LINKED
from tests.tiny import CONFIG, TOKENS, make_model
from tta.modeling.formats.model_directory import save_model
from tta.modeling.models.language_model import build_model
from tta.papers.glue.config import ClassifierConfig
from tta.scoring.exports.serving.export import export

pytestmark = pytest.mark.tensorflow

FIRST = ["the cat sat", "", "the cat sat on the mat a dog ran home", "a dog"]
SECOND = ["a dog", "cats", "the dog sat on the mat a cat ran home", "a dog ran home on the mat"]


def write_classifier(directory, labels, texts_per_example, model_type="tta", pooling="first"):
    encoder = CONFIG.replace(model_type=model_type)
    config = ClassifierConfig.of(
        encoder,
        labels=labels,
        texts_per_example=texts_per_example,
        max_seq_length=11,
        pooling=pooling,
        separator_id=TOKENS.index("[EOS]"),
    )
    model = build_model(config)
    begun = make_model(encoder).named_weights()
    rng = np.random.default_rng(0)
    for name, variable in model.named_weights().items():
        value = begun.get(name, np.asarray(variable) + rng.normal(0, 0.5, variable.shape))
        variable.assign(np.asarray(value))
    directory.mkdir()
    (directory / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    save_model(model, directory, "A classifier with random weights.\n")
    return tta.load(directory)


@pytest.fixture(scope="module", params=["last", "mean"])
def pairs(tmp_path_factory, request):
    """(a classifier of pairs, the folder of its export)."""
    folder = tmp_path_factory.mktemp("classifier")
    lm = write_classifier(folder / "pairs", ("no", "maybe", "yes"), 2, "unilm", request.param)
    export(lm, folder / "served/1")
    return lm, folder / "served/1"


loaded = functools.cache(tf.saved_model.load)


def signatures(folder):
    return loaded(str(folder)).signatures


def test_labels_and_probabilities_are_those_of_predict(pairs):
    lm, folder = pairs
    served = signatures(folder)
    assert sorted(served) == ["classify", "serving_default"]
    found = served["classify"](first_texts=tf.constant(FIRST), second_texts=tf.constant(SECOND))
    examples = list(zip(FIRST, SECOND, strict=True))
    assert [label.decode() for label in found["labels"].numpy()] == lm.predict(examples)
    chances = lm.predict_probabilities(examples)
    assert np.abs(chances[0] - chances[3]).max() > 1e-3  # what is compared differs
    np.testing.assert_allclose(found["probabilities"].numpy(), chances, atol=1e-5)


def test_many_texts_and_none(pairs):
    lm, folder = pairs
    classify = signatures(folder)["classify"]
    first, second = FIRST * 300, SECOND * 300  # several batches of 4096 tokens
    found = classify(first_texts=tf.constant(first), second_texts=tf.constant(second))
    expected = lm.predict_probabilities(list(zip(FIRST, SECOND, strict=True)))
    np.testing.assert_allclose(found["probabilities"], np.tile(expected, (300, 1)), atol=1e-5)
    empty = tf.constant([], tf.string)
    assert classify(first_texts=empty, second_texts=empty)["probabilities"].shape == (0, 3)


def test_a_server_without_further_operations_runs_it(pairs):
    (meta,) = SavedModel.FromString((pairs[1] / "saved_model.pb").read_bytes()).meta_graphs
    ops = {node.op for node in meta.graph_def.node}
    ops |= {node.op for f in meta.graph_def.library.function for node in f.node_def}
    assert ops > LINKED
    # TensorFlow's own, whatever this process has loaded besides.
    assert {op for op in ops if not hasattr(tf.raw_ops, op)} == LINKED


def test_warm_up_requests_are_answered(pairs):
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    _, folder = pairs
    served = signatures(folder)
    path = folder / "assets.extra/tf_serving_warmup_requests"
    (record,) = tf.data.TFRecordDataset(str(path))
    request = PredictionLog.FromString(record.numpy()).predict_log.request
    inputs = {name: tf.make_ndarray(value) for name, value in request.inputs.items()}
    answer = served[request.model_spec.signature_name](
        **{n: tf.constant(v) for n, v in inputs.items()}
    )
    assert answer["probabilities"].shape == (3, 3)


@pytest.mark.parametrize(
    ("first", "second", "rule"),
    [
        (["a", "b"], ["a"], "tta: every first text must have a second; texts:"),
        ([b"\xff"], ["a"], "tta: not valid UTF-8"),
    ],
)
def test_a_bad_request_is_refused(pairs, first, second, rule):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rule):
        signatures(pairs[1])["classify"](
            first_texts=tf.constant(first), second_texts=tf.constant(second)
        )


def test_single_texts_numbers_and_refused_length(tmp_path):
    lm = write_classifier(tmp_path / "numbers", (), 1)
    strict = tta.load(tmp_path / "numbers", long_sentences="refuse")
    export(strict, tmp_path / "1")
    classify = signatures(tmp_path / "1")["classify"]
    found = classify(texts=tf.constant(["the cat", ""]))
    assert list(found) == ["values"]
    np.testing.assert_allclose(found["values"], lm.predict(["the cat", ""]), atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the model takes 11 tokens, an input"):
        classify(texts=tf.constant([FIRST[2] + " a cat"]))
