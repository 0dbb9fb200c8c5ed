"""Checkpoints of the original T-TA code; those of BERT are in test_bert.py."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.modeling import numpy_tta
from tests.modeling.tiny import batch, tiny_config
from tta.errors import InputError
from tta.modeling.formats.bert import original_names
from tta.modeling.formats.model_directory import load_model

pytestmark = pytest.mark.tensorflow

# Checkpoints with random weights, and the outputs of the original code for them; see its README.
ORIGINAL_REFERENCE = Path(__file__).parents[3] / "goldens" / "original_reference"

# The original config.json has only BERT's keys.
CONFIG = {
    "vocab_size": 23,
    "hidden_size": 15,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "attention_probs_dropout_prob": 0.1,
    "max_position_embeddings": 19,
    "initializer_range": 0.02,
}


def original_variables(seed=0):
    """{original variable name: random array}, with the unused pooler and variables of Adam."""
    d, f = 15, 17
    shapes = {
        "bert/embeddings/word_embeddings": (23, d),
        "bert/embeddings/position_embeddings": (19, d),
        "bert/embeddings/LayerNorm/gamma": (d,),
        "bert/embeddings/LayerNorm/beta": (d,),
        "bert/pooler/dense/kernel": (d, d),
        "bert/pooler/dense/bias": (d,),
        "cls/predictions/transform/dense/kernel": (d, d),
        "cls/predictions/transform/dense/bias": (d,),
        "cls/predictions/transform/LayerNorm/gamma": (d,),
        "cls/predictions/transform/LayerNorm/beta": (d,),
        "cls/predictions/output_bias": (23,),
        "cls/predictions/output_bias/adam_m": (23,),
    }
    for i in range(2):
        layer = f"bert/encoder/layer_{i}"
        for part in ("self/query", "self/key", "self/value", "output/dense"):
            shapes[f"{layer}/attention/{part}/kernel"] = (d, d)
            shapes[f"{layer}/attention/{part}/bias"] = (d,)
        for part in ("attention/output", "output"):
            shapes[f"{layer}/{part}/LayerNorm/gamma"] = (d,)
            shapes[f"{layer}/{part}/LayerNorm/beta"] = (d,)
        shapes[f"{layer}/intermediate/dense/kernel"] = (d, f)
        shapes[f"{layer}/intermediate/dense/bias"] = (f,)
        shapes[f"{layer}/output/dense/kernel"] = (f, d)
        shapes[f"{layer}/output/dense/bias"] = (d,)
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0.0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def write(directory, variables, config=CONFIG, name="model.ckpt", config_name="config.json"):
    """Writes the files that the original code writes."""
    directory.mkdir(exist_ok=True)
    (directory / config_name).write_text(json.dumps(config))
    tf.raw_ops.SaveV2(
        prefix=str(directory / name),
        tensor_names=list(variables),
        shape_and_slices=[""] * len(variables),
        tensors=[tf.constant(value) for value in variables.values()],
    )
    (directory / "checkpoint").write_text(f'model_checkpoint_path: "/long/gone/{name}"\n')
    return directory


@pytest.fixture
def directory(tmp_path):
    return write(tmp_path / "original", original_variables())


def test_outputs_of_the_original_code():
    model = load_model(ORIGINAL_REFERENCE / "tta")
    expected = np.load(ORIGINAL_REFERENCE / "tta" / "outputs.npz")
    real = expected["input_mask"] == 1
    inputs = {"input_ids": expected["input_ids"], "padding_mask": real}
    encoded = model.encode(inputs)
    log_probs = tf.nn.log_softmax(model(inputs)["logits"])
    for found, name in [
        (encoded["hidden_states"], "sequence_output"),
        (encoded["embedding_output"], "embedding_output"),
        (log_probs, "log_probs"),
    ]:
        assert found.shape == expected[name].shape
        np.testing.assert_allclose(found.numpy()[real], expected[name][real], atol=1e-5)


def test_every_variable_has_the_same_use_as_in_the_original(directory):
    variables = original_variables()
    model = load_model(directory)
    assert model.config.first_query_token_id == 4
    weights = {
        ours: variables[theirs].astype(np.float64) for ours, theirs in original_names(2).items()
    }
    assert set(weights) == set(model.named_weights())
    inputs = batch([7, 2])
    found = model(inputs)
    for b, n in enumerate([7, 2]):
        hidden, _ = numpy_tta.encode(weights, model.config, inputs["input_ids"][b, :n])
        np.testing.assert_allclose(found["hidden_states"][b, :n], hidden, atol=1e-5)
        np.testing.assert_allclose(
            found["logits"][b, :n], numpy_tta.logits(weights, hidden), atol=1e-5
        )


def test_a_config_can_set_the_first_query_of_the_paper(tmp_path):
    config = CONFIG | {"first_query_token_id": None}
    model = load_model(write(tmp_path / "original", original_variables(), config))
    assert model.config == tiny_config(
        hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, first_query_token_id=None
    )


def test_the_checkpoint_named_in_the_folder_is_read(directory):
    newer = original_variables(seed=1)
    write(directory, newer, name="model.ckpt-200")
    table = load_model(directory).token_table
    np.testing.assert_array_equal(table, newer["bert/embeddings/word_embeddings"])
    (directory / "checkpoint").unlink()
    with pytest.raises(InputError, match=r"expected one checkpoint .*, found 2"):
        load_model(directory)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"model_checkpoint_path: 5", b"x" * 10**6])
def test_a_damaged_list_of_checkpoints_is_not_used(directory, content):
    (directory / "checkpoint").write_bytes(content)
    expected = original_variables()["bert/embeddings/word_embeddings"]
    np.testing.assert_array_equal(load_model(directory).token_table, expected)


# The names that the original repository gives to a trained model's files.
PIECES = ("[PAD]", "[EOS]", "[UNK]", "[SOS]", "[MASK]", "[CLS]", "[SEP]", *"abcdefghijklmnop")
VOCABULARY = "vocab-lower.sub-32k.txt"


def write_as_its_readme(directory, vocab_file=VOCABULARY):
    config = CONFIG | {"vocab_file": vocab_file}
    names = {"name": "model.ckpt-200", "config_name": "config.layer-3.vocab-lower.sub-32k.json"}
    write(directory, original_variables(), config, **names)
    (directory / VOCABULARY).write_text("".join(f"{piece}\n" for piece in PIECES))
    return directory


def test_a_model_with_the_names_of_the_original_repository_is_read(tmp_path):
    lm = tta.load(write_as_its_readme(tmp_path / "theirs"))
    ours = write(tmp_path / "ours", original_variables())
    (ours / "vocab.txt").write_bytes((tmp_path / "theirs" / VOCABULARY).read_bytes())
    texts = ["a b C", "p o", "q"]
    np.testing.assert_array_equal(lm.score(texts), tta.load(ours).score(texts))
    vocabulary = lm.tokenizer.vocabulary
    assert (vocabulary.tokens, vocabulary.bos_id, vocabulary.eos_id) == (PIECES, 3, 1)


def test_a_vocabulary_outside_the_folder_is_not_read(tmp_path):
    directory = write_as_its_readme(tmp_path / "theirs", vocab_file="../secret.txt")
    (tmp_path / "secret.txt").write_text("secret\n")
    lm = tta.load(directory)
    with pytest.raises(InputError, match=r"the model has no vocab\.txt"):
        lm.score(["a"])
    (directory / VOCABULARY).rename(directory / "vocab.txt")  # as the docs say
    assert np.isfinite(tta.load(directory).score(["a"])).all()


def test_a_vocabulary_s_name_must_be_a_string(tmp_path):
    with pytest.raises(InputError, match=r"sub-32k\.json: vocab_file must be a file name, not 7"):
        tta.load(write_as_its_readme(tmp_path / "theirs", vocab_file=7))


@pytest.mark.parametrize("number", [0, 2])
def test_a_folder_without_one_config_is_refused(directory, number):
    config = (directory / "config.json").read_bytes()
    (directory / "config.json").unlink()
    for name in ("a.json", "b.json")[:number]:
        (directory / name).write_bytes(config)
    with pytest.raises(InputError, match=rf"original: expected one config \(.*\), got {number}$"):
        load_model(directory)


def without(name):
    return {k: v for k, v in original_variables().items() if k != name}


QUERY = "bert/encoder/layer_1/attention/self/query/kernel"
BAD_VARIABLES = [
    (without(QUERY), f"variable {QUERY} is missing"),
    (original_variables() | {"bert/encoder/layer_2/output/dense/bias": np.zeros(15, "float32")},
     "variable bert/encoder/layer_2/output/dense/bias does not belong to a model of this config"),
    ({k: v for k, v in original_variables().items() if not k.startswith("cls/predictions")},
     "no output head (cls/predictions)"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("variables", "rule"), BAD_VARIABLES, ids=[rule for _, rule in BAD_VARIABLES]
)
def test_variables_that_do_not_fit_are_refused(tmp_path, variables, rule):
    with pytest.raises(InputError) as error:
        load_model(write(tmp_path / "original", variables))
    assert str(error.value).startswith(str(tmp_path / "original" / "model.ckpt"))
    assert rule in str(error.value)


def test_damaged_files_are_refused_and_named(directory):
    data, index = directory / "model.ckpt.data-00000-of-00001", directory / "model.ckpt.index"
    content = data.read_bytes()
    damages = [
        (data, content[: len(content) // 2], "it declares 17,360 bytes"),
        (data, bytes([content[0] ^ 1]) + content[1:], "cannot be read"),
        (data, b"", "it declares"),
        (index, b"", "not a readable TensorFlow checkpoint"),
        (index, index.read_bytes()[:99], "not a readable TensorFlow checkpoint"),
    ]
    for path, damaged, rule in damages:
        good = path.read_bytes()
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=rule) as error:
            load_model(directory)
        assert str(error.value).startswith(f"{directory}/model.ckpt: ")
        assert "\n" not in str(error.value)
        path.write_bytes(good)
    data.unlink()
    with pytest.raises(InputError, match=r"it declares|not a readable"):
        load_model(directory)
