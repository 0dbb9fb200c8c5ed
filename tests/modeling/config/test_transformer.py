"""config.json: every rule has a row that breaks it."""

import json

import pytest

import tta
from tests.modeling.tiny import tiny_config
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.modeling.config.transformer import TransformerConfig

pytestmark = pytest.mark.tensorflow

BAD_VALUES = [
    ("vocab_size", 0, "vocab_size must be at least 1, not 0"),
    ("vocab_size", "23", "vocab_size must be of type int, not '23'"),
    ("vocab_size", True, "vocab_size must be of type int, not True"),
    ("hidden_size", -15, "hidden_size must be at least 1, not -15"),
    ("hidden_size", 16, "hidden_size must be a multiple of num_attention_heads, not 16 and 3"),
    ("num_hidden_layers", 0, "num_hidden_layers must be at least 1, not 0"),
    ("num_attention_heads", 0, "num_attention_heads must be at least 1, not 0"),
    ("intermediate_size", 0, "intermediate_size must be at least 1, not 0"),
    ("max_position_embeddings", 0, "max_position_embeddings must be at least 1, not 0"),
    ("hidden_act", "tanh", "hidden_act must be gelu or gelu_tanh or relu, not 'tanh'"),
    ("hidden_act", 3, "hidden_act must be of type str, not 3"),
    ("hidden_dropout_prob", 1.0, r"hidden_dropout_prob must lie in [0, 1), not 1.0"),
    ("hidden_dropout_prob", float("nan"), r"hidden_dropout_prob must lie in [0, 1), not nan"),
    ("attention_probs_dropout_prob", -0.1, "attention_probs_dropout_prob must lie in [0, 1)"),
    ("attention_probs_dropout_prob", "0.1", "attention_probs_dropout_prob must be of type float"),
    ("initializer_range", 0.0, "initializer_range must be positive, not 0.0"),
    ("layer_norm_eps", float("inf"), "layer_norm_eps must be positive, not inf"),
    ("layer_norm_eps", -1e-12, "layer_norm_eps must be positive, not -1e-12"),
    ("first_query_token_id", 23, "first_query_token_id must be null or a token's id, not 23"),
    ("first_query_token_id", -1, "first_query_token_id must be null or a token's id, not -1"),
    ("first_query_token_id", "4", "first_query_token_id must be of type"),
    ("model_type", None, "model_type must be of type str, not None"),
    ("learned_normalizer", 1, "learned_normalizer must be of type bool, not 1"),
    ("tokenizer", "letters", "tokenizer must be word_pieces or words, not 'letters'"),
    ("output_layer", "vae", "output_layer must be tied_softmax or softmax"),
    ("head", {}, "head must be the TiedSoftmaxSettings of output_layer tied_softmax, not {}"),
    # Refused by arithmetic, before anything is allocated.
    ("vocab_size", 10**12, "a model has at most 10,000,000,000 parameters, not 16,"),
    ("intermediate_size", 10**4299, "a model has at most 10,000,000,000 parameters, not far more"),
    ("num_hidden_layers", 1001, "a model has at most 1,000 layers, not 1001"),
    ("initializer_range", 10**400, "initializer_range must be of type float, not 1000"),
]

BAD_FILES = [
    (b"", "not JSON: Expecting value"),
    (b'{"vocab_size": 23,\n}', "config.json:2: not JSON"),
    (b"\xff\xfe", "not UTF-8 text"),
    (b"[" * 100_000, "JSON nested too deeply"),
    (b'{"vocab_size": ' + b"9" * 5000 + b"}", "not JSON: Exceeds the limit"),
    (b"[23]", "expected a JSON object, found list"),
    (b"{}", "vocab_size is missing"),
    (b'{"vocab_size": 23, "hiden_size": 15}', "unknown key 'hiden_size'; the keys are "),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD_VALUES)
def test_a_bad_value_is_refused_by_its_rule(tmp_path, name, value, rule):
    check_a_bad_value_is_refused(tmp_path, name, value, rule)


def check_a_bad_value_is_refused(tmp_path, name, value, rule):
    with pytest.raises(InputError) as error:
        tiny_config().replace(**{name: value})
    assert error.value.rule.startswith(rule)
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps({"vocab_size": 23, "hidden_size": 15, "num_attention_heads": 3} | {name: value})
    )
    with pytest.raises(InputError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {rule}")


@pytest.mark.parametrize(("content", "rule"), BAD_FILES, ids=[rule for _, rule in BAD_FILES])
def test_a_bad_file_is_refused_by_its_rule(tmp_path, content, rule):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_config(path)
    assert str(error.value).startswith(str(path))
    assert rule in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path, rule in [(tmp_path / "none.json", "No such file"), (tmp_path, "Is a directory")]:
        with pytest.raises(InputError, match=f"cannot be read: {rule}"):
            read_config(path)


def test_what_is_written_is_read_back(tmp_path):
    config = tiny_config(first_query_token_id=4, hidden_act="relu", do_lower_case=False)
    config.to_json(tmp_path / "config.json")
    assert read_config(tmp_path / "config.json") == config
    values = json.loads((tmp_path / "config.json").read_text())
    assert values["model_type"] == "tta"
    assert values["layer_norm_eps"] == 1e-12


def test_a_file_names_its_format_and_a_later_one_is_refused(tmp_path):
    check_format_version(tiny_config(), tmp_path)


def check_format_version(config, tmp_path):
    path = tmp_path / "config.json"
    config.to_json(path)
    values = json.loads(path.read_text())
    assert next(iter(values.items())) == ("format_version", 1)
    assert read_config(path) == config
    reads = f"tta-lm {tta.__version__} reads versions up to"
    for version, rule in (
        (2, f"format_version is 2, and {reads} 1: upgrade tta-lm"),
        (0, "format_version must be at least 1, not 0"),
        (True, "format_version must be of type int, not True"),
    ):
        path.write_text(json.dumps(values | {"format_version": version, "a_new_key": 3}))
        with pytest.raises(InputError) as error:
            read_config(path)
        assert str(error.value) == f"{path}: {rule}"
    del values["format_version"]  # as earlier versions wrote it
    path.write_text(json.dumps(values))
    assert read_config(path) == config


def test_bert_s_own_keys_are_ignored_and_the_paper_s_size_is_the_default(tmp_path):
    path = tmp_path / "config.json"
    theirs = {"type_vocab_size": 2, "pooler_type": "first", "vocab_file": "vocab.txt"}
    path.write_text(json.dumps({"vocab_size": 30522} | theirs))
    config = read_config(path)
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (
        3,
        512,
        2048,
    )
    assert (config.num_attention_heads, config.max_position_embeddings) == (8, 128)
    assert config.first_query_token_id is None


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("log_normalizer_weight", -0.1, "log_normalizer_weight must be 0 or more, not -0.1"),
        ("contrast_weight", "1", "contrast_weight must be of type float, not '1'"),
    ],
)
def test_bad_loss_weights_of_earlier_versions_are_refused(tmp_path, name, value, rule):
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"vocab_size": 23, name: value}))
    with pytest.raises(InputError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: {rule}")


@pytest.mark.parametrize(("weight", "learned"), [(0.0, False), (0.05, True)])
def test_a_config_of_an_earlier_version_says_whether_its_normalizer_is_learned(
    tmp_path, weight, learned
):
    path = tmp_path / "config.json"
    values = {"vocab_size": 23, "log_normalizer_weight": weight, "contrast_weight": 0.2}
    path.write_text(json.dumps(values))
    assert read_config(path) == TransformerConfig(vocab_size=23, learned_normalizer=learned)


def test_a_file_has_the_tokenizer_only_if_it_is_of_words(tmp_path):
    path = tmp_path / "config.json"
    for tokenizer in ("word_pieces", "words"):
        tiny_config(tokenizer=tokenizer).to_json(path)
        assert ("tokenizer" in json.loads(path.read_text())) == (tokenizer == "words")
        assert read_config(path).tokenizer == tokenizer
