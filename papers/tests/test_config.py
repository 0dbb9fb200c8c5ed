"""config.json of the families and output layers of papers/: every rule has a row that breaks it."""

import json

import pytest

from tests.modeling.config.test_transformer import (
    check_a_bad_value_is_refused,
    check_format_version,
)
from tests.modeling.tiny import tiny_config
from tta.errors import InputError
from tta.modeling.config.base import read_config
from tta.papers.glue.config import ClassifierConfig
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.semfit.config import ElmoConfig

pytestmark = pytest.mark.tensorflow

BAD_VALUES = [
    ("output_layer", "vae", "output_layer must be tied_softmax or softmax or adaptive_softmax or "),
    ("target_size", 7, "target_size needs output_layer semfit, not tied_softmax"),
    ("adaptive_factor", 4, "adaptive_factor needs output_layer adaptive_softmax, not tied_softmax"),
]


@pytest.mark.parametrize(("name", "value", "rule"), BAD_VALUES)
def test_a_bad_value_is_refused_by_its_rule(tmp_path, name, value, rule):
    check_a_bad_value_is_refused(tmp_path, name, value, rule)


FAMILIES = {
    "elmo": ElmoConfig(vocab_size=23, output_layer="softmax"),
    "autoencoder": AutoencoderConfig(vocab_size=23, hidden_size=15, num_attention_heads=3),
    "classifier": ClassifierConfig.of(tiny_config(), labels=("a", "b"), max_seq_length=19),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_names_its_format_and_a_later_one_is_refused(family, tmp_path):
    check_format_version(FAMILIES[family], tmp_path)


def test_settings_of_semfit_are_written_with_this_output_layer_only(tmp_path):
    path = tmp_path / "config.json"
    config = tiny_config(output_layer="semfit", semfit_distance="vmf", target_size=17)
    config.to_json(path)
    assert read_config(path) == config
    assert json.loads(path.read_text())["vmf_lambda_1"] == 0.02
    config.replace(output_layer="tied_softmax").to_json(path)
    assert (
        not {"target_size", "semfit_distance", "vmf_lambda_1"} & json.loads(path.read_text()).keys()
    )


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("semfit_distance", "dot", "semfit_distance must be cosine or l2 or vmf, not 'dot'"),
        ("target_size", 0, "target_size must be at least 1 with semfit_distance cosine, not 0"),
        ("target_size", 3.0, "target_size must be of type int | None, not 3.0"),
        ("vmf_lambda_1", -0.1, "vmf_lambda_1 must be at least 0, not -0.1"),
        ("vmf_lambda_2", float("inf"), "vmf_lambda_2 must be a finite number, not inf"),
        ("adaptive_factor", 4, "adaptive_factor needs output_layer adaptive_softmax, not semfit"),
        ("target_sice", 7, "unknown key 'target_sice'; the keys are "),
    ],
)
def test_a_bad_setting_of_a_head_is_refused_by_its_rule(tmp_path, name, value, rule):
    config, path = tiny_config(output_layer="semfit"), tmp_path / "config.json"
    path.write_text(json.dumps(config.to_dict() | {name: value}))
    for make in (lambda: config.replace(**{name: value}), lambda: read_config(path)):
        with pytest.raises(InputError) as error:
            make()
        assert error.value.rule.startswith(rule)
    assert "target_size" in str(error.value) or name != "target_sice"


def test_vmf_needs_a_size_for_which_its_expansion_is_precise():
    with pytest.raises(
        InputError, match="target_size must be at least 16 with semfit_distance vmf"
    ):
        tiny_config(output_layer="semfit", semfit_distance="vmf", target_size=15)
