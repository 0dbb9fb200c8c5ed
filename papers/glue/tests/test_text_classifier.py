"""The text classifier against NumPy: which token it reads, its head, its losses, its segments."""

import json

import numpy as np
import pytest

from tests.modeling.formats.test_bert import (
    SEGMENTS,
    google_variables,
    huggingface_tensors,
    write_google,
    write_huggingface,
)
from tests.modeling.numpy_tta import layer_norm, softmax
from tests.modeling.tiny import arrays, batch, randomize, tiny_config
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.formats.model_directory import load_model
from tta.modeling.models.language_model import build_model
from tta.papers.glue.config import ClassifierConfig
from tta.papers.glue.objective import Classification
from tta.papers.semfit.config import ElmoConfig

pytestmark = pytest.mark.tensorflow

LENGTHS = [7, 3, 5]
ELMO = ElmoConfig(vocab_size=23, hidden_size=5, lstm_size=3, output_layer="softmax")
POOLED = {"tta": "first", "bilm": "first", "unilm": "last", "cloze": "first"}


def config_of(model_type, labels=("a", "b", "c"), **changes):
    encoder = changes.pop("encoder", tiny_config(model_type=model_type, num_hidden_layers=1))
    values = {"max_seq_length": 19, "pooling": POOLED.get(model_type), "dropout": 0.0}
    return ClassifierConfig.of(encoder, labels=labels, **values | changes)


def classifier(model_type, **changes):
    model = build_model(config_of(model_type, **changes))
    randomize(model.named_weights())
    return model


def language_model(model):
    """A `LanguageModel` with the encoder of a classifier."""
    made = build_model(model.config.encoder)
    weights = model.named_weights()
    for name, variable in made.named_weights().items():
        if name.startswith("encoder/"):
            variable.assign(weights[name])
    return made


def logits_of(model, inputs):
    return np.array(model(inputs)["logits"])


@pytest.mark.parametrize("model_type", POOLED)
def test_logits_are_those_of_the_head_on_the_pooled_token(model_type):
    model, inputs = classifier(model_type), batch(LENGTHS)
    hidden = np.array(language_model(model).encode(inputs)["hidden_states"], np.float64)
    w = arrays(model)
    for row, length in enumerate(LENGTHS):
        state = hidden[row, length - 1 if model_type == "unilm" else 0]
        pooled = np.tanh(state @ w["head/pooler/kernel"] + w["head/pooler/bias"])
        expected = pooled @ w["head/output/kernel"] + w["head/output/bias"]
        np.testing.assert_allclose(logits_of(model, inputs)[row], expected, atol=2e-5)


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("model_type", POOLED)
def test_means_are_those_of_the_tokens_of_each_text(model_type, texts):
    model = classifier(model_type, pooling="mean", texts_per_example=texts, separator_id=5)
    inputs = batch([8, 4, 4])
    texts_of_two(inputs)
    hidden = np.array(language_model(model).encode(inputs)["hidden_states"], np.float64)
    zeros, w = np.zeros(hidden.shape[-1]), arrays(model)
    for row, (u, v) in enumerate(
        [
            (hidden[0, 1:3].mean(axis=0), hidden[0, 4:7].mean(axis=0)),
            (hidden[1, 1], zeros),
            (zeros, hidden[2, 2]),
        ]
    ):
        state = u if texts == 1 else np.concatenate([u, v, np.abs(u - v), u * v])
        pooled = np.tanh(state @ w["head/pooler/kernel"] + w["head/pooler/bias"])
        expected = pooled @ w["head/output/kernel"] + w["head/output/bias"]
        np.testing.assert_allclose(logits_of(model, inputs)[row], expected, atol=2e-5)


def texts_of_two(inputs):
    """Makes the batch [8, 4, 4] pairs of texts: two and three tokens; one, and none; none, one."""
    ids = inputs["input_ids"]
    ids[ids == 5] = 6
    ids[0, [3, 7]] = ids[1, [2, 3]] = ids[2, [1, 3]] = 5
    inputs["padding_mask"][1:, 4:] = False
    return [([1, 2, 3], [4, 5, 6, 7]), ([1, 2], [3]), ([1], [2, 3])]


@pytest.mark.parametrize("texts", [1, 2])
@pytest.mark.parametrize("model_type", POOLED)
def test_a_mix_reads_the_layers_of_each_text_alone(model_type, texts):
    changes = {"pooling": "mix", "lstm_size": 3, "texts_per_example": texts, "separator_id": 5}
    model, inputs = classifier(model_type, **changes), batch([8, 4, 4])
    language, w = language_model(model), arrays(model)
    for row, places in enumerate(texts_of_two(inputs)):
        each = []
        for chosen in places[:texts]:
            ids = inputs["input_ids"][[row]][:, [0, *chosen]]
            outputs = language.encode({"input_ids": ids, "padding_mask": ids >= 0})
            names = ("embedding_output", "hidden_states")
            layers = np.concatenate([np.array(outputs[name]) for name in names], axis=-1)
            each.append(np.array(model.reader(layers, ids >= 0))[0].max(axis=0))
        u, v = each[0], each[-1]
        state = u if texts == 1 else np.concatenate([u, v, np.abs(u - v), u * v])
        pooled = np.tanh(state @ w["head/pooler/kernel"] + w["head/pooler/bias"])
        expected = pooled @ w["head/output/kernel"] + w["head/output/bias"]
        np.testing.assert_allclose(logits_of(model, inputs)[row], expected, atol=2e-5)


def test_with_a_mix_the_encoder_is_not_trained():
    model = classifier("tta", pooling="mix")
    assert not any(v.path.startswith("encoder/") for v in model.trainable_variables)
    assert any(name.startswith("encoder/") for name in model.named_weights())
    assert any("scalar_mix" in v.path or "/mix/" in v.path for v in model.trainable_variables)
    again = config_of("tta", pooling="mix", lstm_size=7)
    assert ClassifierConfig.from_dict(again.to_dict()) == again
    assert "lstm_size" not in config_of("tta").to_dict()


@pytest.mark.parametrize("model_type", POOLED)
def test_every_token_but_the_pooled_one_of_a_tta_or_cloze_counts_and_no_padding_does(model_type):
    model, inputs = classifier(model_type), batch([7], width=9)
    before = logits_of(model, inputs)
    for place in range(9):
        changed = {name: value.copy() for name, value in inputs.items()}
        changed["input_ids"][0, place] = (changed["input_ids"][0, place] + 1) % 23
        is_unknown = place == 0 and model_type in ("tta", "cloze")
        is_seen = place < 7 and not is_unknown
        assert (logits_of(model, changed) != before).any() == is_seen, place


@pytest.mark.parametrize("labels", [("a", "b", "c"), ()])
def test_the_loss_is_the_weighted_cross_entropy_or_squared_error(labels):
    model, inputs = classifier("tta", labels=labels), batch(LENGTHS)
    targets = np.array([2, 0, 1], np.float32)
    objective = Classification()
    task = objective.task(inputs | {"target": targets}, 0)
    weights = np.array([0.2, 0.5, 0.3], np.float32)
    logits = logits_of(model, inputs).astype(np.float64)
    if labels:
        losses = [-np.log(softmax(row)[int(t)]) for row, t in zip(logits, targets, strict=True)]
    else:
        assert logits.shape == (3, 1)
        losses = (logits[:, 0] - targets) ** 2
    loss = objective.loss(model, task._replace(weights=weights)).total
    assert float(loss) == pytest.approx(float(np.sum(weights * losses)), rel=1e-5)
    sums, counts = objective.evaluate(model, inputs | {"target": targets})["loss"]
    np.testing.assert_allclose(np.array(sums), losses, rtol=1e-5)
    assert np.array(counts).tolist() == [1, 1, 1]


def test_the_second_text_is_segment_1():
    encoder = tiny_config(model_type="bilm", num_segments=2)
    model = classifier("bilm", encoder=encoder, separator_id=9, texts_per_example=2)
    inputs = batch([7, 5], seed=3)
    inputs["input_ids"][inputs["input_ids"] == 9] = 8
    inputs["input_ids"][0, [3, 6]] = inputs["input_ids"][1, [1, 4]] = 9
    w = arrays(model)
    segments = [[0, 0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1, 1]]
    total = w["encoder/embeddings/token_table"][inputs["input_ids"]]
    total = total + w["encoder/embeddings/position_table"][:7]
    total = total + w["encoder/embeddings/segment_table"][segments]
    norm = (w[f"encoder/embeddings/norm/{name}"] for name in ("gamma", "beta"))
    expected = layer_norm(total, *norm)
    found = np.array(model.encode(inputs)["embedding_output"])
    np.testing.assert_allclose(found[inputs["padding_mask"]], expected[inputs["padding_mask"]],
                               atol=1e-5)  # fmt: skip


@pytest.mark.parametrize("kind", ["google", "huggingface"])
def test_a_bert_keeps_its_segments_for_a_classifier(kind, tmp_path):
    variables = google_variables()
    if kind == "google":
        write_google(tmp_path, variables)
    else:
        write_huggingface(tmp_path, huggingface_tensors(variables))
    folded, kept = load_model(tmp_path), load_model(tmp_path, keep_segments=True)
    inputs = batch([7, 3], vocab_size=folded.config.vocab_size)
    np.testing.assert_allclose(
        np.array(kept(inputs)["logits"]), np.array(folded(inputs)["logits"]), atol=1e-4
    )
    weights = arrays(kept)
    np.testing.assert_array_equal(weights["encoder/embeddings/segment_table"], variables[SEGMENTS])
    assert "encoder/embeddings/segment_table" not in arrays(folded)


def test_the_config_survives_a_file_and_holds_the_encoders(tmp_path):
    config = config_of("bilm", encoder=tiny_config(model_type="bilm", num_segments=2))
    config.to_json(tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == config
    values = json.loads((tmp_path / "config.json").read_text())
    assert values["model_type"] == "classifier"
    assert values["labels"] == ["a", "b", "c"]
    assert values["encoder"]["model_type"] == "bilm"
    assert values["encoder"]["num_segments"] == 2


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"labels": ["a"]}, "labels must be two or more, all different, or none, not ['a']"),
        ({"labels": ["a", "a"]}, "labels must be two or more"),
        ({"labels": ["a", 1]}, "labels must be texts"),
        ({"labels": "ab"}, "labels must be a list"),
        ({"encoder": 3}, "encoder must be an object"),
        ({"encoder": {"vocab_size": 0}}, "vocab_size must be at least 1"),
        ({"encoder": {"model_type": "classifier"}}, "of type classifier has no encoder"),
        ({"encoder": {"model_type": "x"}}, "model_type must be tta or"),
        ({"pooling": "middle"}, "pooling must be first or last or mean or mix"),
        ({"encoder": ELMO.to_dict()}, "pooling must be mix over a model of type elmo, not 'first'"),
        ({"lstm_size": 0}, "lstm_size must be at least 1"),
        ({"max_seq_length": 20}, "max_position_embeddings, 19, not 20"),
        ({"texts_per_example": 3}, "texts_per_example must be 1 or 2"),
        ({"separator_id": 23}, "separator_id must be a token's id"),
        ({"dropout": 1.0}, "dropout must lie in [0, 1)"),
        ({"dropout": "x"}, "dropout must be of type float"),
        ({"hidden_size": 7}, "unknown key 'hidden_size'"),
    ],
)
def test_a_broken_config_is_one_line(changes, rule, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config_of("tta").to_dict() | changes))
    with pytest.raises(InputError) as error:
        read_config(path)
    assert rule in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
