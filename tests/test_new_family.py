"""New families of models need no change in the package: all of them is here and in toy_encoder."""

import functools
import json
import signal
from dataclasses import dataclass

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from keras import ops
from tokenizers import Tokenizer

import tta
from tests.modeling.tiny import tiny_config
from tests.scoring.exports.test_formats import TOKEN_SCORES, exported
from tests.scoring.exports.test_formats import run as in_process
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.config.checks import require
from tta.modeling.config.heads import HeadSettings
from tta.modeling.config.language_model import LanguageModelConfig
from tta.modeling.config.model_types import HEADS, MODEL_TYPES, ModelType
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.config.weights import Weight, dense, layer_norm, named
from tta.modeling.encoders.base import Encoder
from tta.modeling.heads.base import Head
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.objectives.base import Loss, Objective, Task
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain
from tta.settings import setting

pytestmark = pytest.mark.tensorflow


class ToyConfig(LanguageModelConfig):
    @property
    def encoder_weights(self):
        return {"table": Weight((self.vocab_size, self.hidden_size), 0.02)}


class ToyEncoder(Encoder):
    def build(self, inputs_shape=None):
        self.add_weights(self.config.encoder_weights)

    def call(self, inputs, training=None):
        return {"hidden_states": ops.take(self.table, inputs["input_ids"], axis=0)}


class ToyHead(Head):
    def call(self, hidden_states, table=None):
        return ops.sum(ops.matmul(hidden_states, self.kernel), axis=-1)

    def loss(self, hidden_states, targets, weights, table):
        return ops.sum(weights * ops.square(self(hidden_states) - targets))


@dataclass(frozen=True, kw_only=True)
class ToySettings(HeadSettings):
    layer = ToyHead
    num_voices: int = setting(2, "Predictions that are added up.", 1)

    def check(self, config):
        require(self.num_voices <= config.vocab_size, "num_voices must be small", self.num_voices)

    def weights(self, config):
        return {"kernel": Weight((config.hidden_size, self.num_voices), 0.02)}


class ToyObjective(Objective):
    def task(self, batch, step):  # A float per token is wanted, and the loss grows by the step.
        def stop_at_5(step):
            if step == 5:
                signal.raise_signal(signal.SIGTERM)
            return step + 1

        factor = ops.cast(tf.numpy_function(stop_at_5, [step], tf.int64), "float32")
        return Task(batch, batch["pitch"], factor * ops.cast(batch["padding_mask"], "float32"))

    def loss(self, model, task):
        return Loss(model.loss_of(model.encode(task.inputs)["hidden_states"], *task[1:3]), {})

    def evaluate(self, model, batch):
        errors = ops.square(model(batch)["outputs"] - batch["pitch"])
        return {"squares": (ops.sum(errors, axis=1), ops.sum(ops.ones_like(errors), axis=1))}


def test_it_trains_is_stopped_resumes_saves_loads_and_has_no_scores(tmp_path, monkeypatch):
    family = ModelType(None, objectives=("toy",), config=ToyConfig, layer=ToyEncoder)
    for registry, entry in (
        (MODEL_TYPES, family),
        (HEADS, ToySettings),
        (OBJECTIVES, ToyObjective),
    ):
        monkeypatch.setitem(registry, "toy", entry)
    write_dataset(tmp_path, sentences(60), sentences(9), extra={"pitch": float})
    values = {"vocab_size": len(VOCABULARY), "model_type": "toy", "output_layer": "toy"}
    (tmp_path / "toy.json").write_text(json.dumps(values))
    run = {"input_dir": str(tmp_path), "config_file": f"{tmp_path}/toy.json", "objective": "toy"}
    run |= {"output_dir": f"{tmp_path}/toy", "num_train_steps": 9, "num_warmup_steps": 0}
    model = build_model(read_config(run["config_file"]))
    assert list(model.named_weights()) == [name for name, _ in named(model.config.weights)]
    stopped, resumed = (pretrain(PretrainingConfig(**run)) for _ in range(2))
    assert (stopped.step, stopped.finished, resumed.step, resumed.finished) == (6, False, 9, True)
    assert tta.load(f"{tmp_path}/toy").encode(["a b c"]).shape == (1, 512)
    with pytest.raises(InputError, match="a model of type toy gives no sentence scores"):
        tta.load(f"{tmp_path}/toy").score(["a b c"])


class OthersConfig(TransformerConfig):
    """Of `tests/toy_encoder.py`."""

    last_norm, magnified_products = "norm", ("mix",)
    sharpness = 2.0  # what its encoder reads of it, exports have

    @property
    def encoder_weights(self):
        size, start = self.hidden_size, self.initializer_range
        tables = {"token_table": Weight((self.vocab_size, size), start)}
        return {"embeddings": tables, "mix": dense(size, size, start), "norm": layer_norm(size)}


@pytest.mark.parametrize("torch", [False, pytest.param(True, marks=pytest.mark.large)])
def test_an_encoder_of_one_file_and_one_line_runs_in_every_kit(tmp_path, monkeypatch, torch):
    likelihood = MODEL_TYPES["tta"].likelihood
    family = ModelType("tests.toy_encoder:encode", ("lae",), likelihood, OthersConfig)
    monkeypatch.setitem(MODEL_TYPES, "toy", family)
    write_dataset(tmp_path, sentences(60), sentences(9))
    config = tiny_config(vocab_size=len(VOCABULARY), initializer_range=0.5).to_dict()
    config["model_type"] = "toy"
    (tmp_path / "toy.json").write_text(json.dumps(config))
    run = {"input_dir": str(tmp_path), "config_file": f"{tmp_path}/toy.json", "objective": "lae"}
    run |= {"output_dir": f"{tmp_path}/toy", "num_train_steps": 9, "num_warmup_steps": 0}
    assert pretrain(PretrainingConfig(**run)).finished
    for engine in ("onnxruntime", "tensorflow"):
        rule = "pll_variant must be original for a model of type toy, not 'within_word_l2r'"
        with pytest.raises(InputError, match=rule):
            tta.load(run["output_dir"], engine=engine, pll_variant="within_word_l2r")
    texts, engines = ["a b c", "b b a c"], ("onnxruntime", "tensorflow")
    light, full = (tta.load(run["output_dir"], engine=e, unknown="model") for e in engines)
    expected = [one.log_probabilities for one in full.score_tokens(texts)]
    assert expected[0][0] != expected[1][0]
    same = functools.partial(np.testing.assert_allclose, atol=1e-5)
    for found, row in zip(light.score_tokens(texts), expected, strict=True):
        same(found.log_probabilities, row)
    same(light.encode(texts, "context"), full.encode(texts, "context"))
    in_torch = exported(light, tmp_path / "torch")
    assert json.loads((in_torch / "config.json").read_text())["sharpness"] == 2.0
    if torch:
        scores, _ = in_process(TOKEN_SCORES, in_torch, tmp_path, texts)
        for found, row in zip(scores, expected, strict=True):
            same(found, row)
    folder = exported(light, tmp_path / "onnx", "onnx")
    session = onnxruntime.InferenceSession(folder / "scores.onnx")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    for text, row in zip(texts, expected, strict=True):
        ids = np.array([tokenizer.encode(text).ids], np.int32)
        mask, characters = np.ones(ids.shape, bool), np.zeros((*ids.shape, 1), np.int32)
        given = {"input_ids": ids, "padding_mask": mask, "wanted": mask, "characters": characters}
        same(session.run(["scores"], given)[0][0, 1:-1], row)


def test_a_new_head_of_a_known_family_brings_its_settings_and_counts_its_weights(
    tmp_path, monkeypatch
):
    monkeypatch.setitem(HEADS, "toy", ToySettings)
    config = tiny_config(output_layer="toy", num_voices=7)
    model, path = build_model(config), tmp_path / "config.json"
    assert model.config.num_parameters == model.count_params()
    assert config.num_parameters - config.replace(num_voices=2).num_parameters == 5 * 15
    config.to_json(path)
    assert read_config(path) == config
    values = json.loads(path.read_text())
    assert values["num_voices"] == 7
    assert "num_voices" not in config.replace(output_layer="softmax").to_dict()
    for change, rule in (
        ({"num_voices": 0}, "num_voices must be at least 1, not 0"),
        ({"num_voices": "7"}, "num_voices must be of type int, not '7'"),
        ({"num_voices": 29}, "num_voices must be small, not 29"),
        ({"output_layer": "softmax"}, "num_voices needs output_layer toy, not softmax"),
    ):
        path.write_text(json.dumps(values | change))
        with pytest.raises(InputError) as error:
            read_config(path)
        assert str(error.value) == f"{path}: {rule}"
