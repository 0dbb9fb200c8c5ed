"""The table of weights against what the Keras layers of every family create."""

import math
import time

import numpy as np
import pytest

from tests.modeling.tiny import of_core
from tta.errors import InputError
from tta.modeling.config.base import config_from
from tta.modeling.config.model_types import HEADS, MODEL_TYPES
from tta.modeling.config.weights import count, named
from tta.modeling.models.language_model import build_model

pytestmark = pytest.mark.tensorflow

TRANSFORMER = {
    "vocab_size": 23,
    "hidden_size": 15,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "intermediate_size": 17,
    "max_position_embeddings": 19,
    "initializer_range": 0.03,
}
CLOZE = {"num_tower_layers": 3, "num_hidden_layers": 1}


def language_model(model_type, output_layer, **changes):
    own = CLOZE if model_type == "cloze" else {}
    values = {"model_type": model_type, "output_layer": output_layer}
    return config_from({**TRANSFORMER, **own, **values, **changes})


def all_configs():
    for family in ("tta", "bilm", "unilm", "cloze"):
        for head in ("tied_softmax", "softmax"):
            yield language_model(family, head)
    yield language_model("bilm", "tied_softmax", num_segments=2)
    for norm_first, distance in ((True, 0), (False, 4), (True, 4)):
        changes = {"norm_first": norm_first, "max_relative_distance": distance}
        yield language_model("cloze", "tied_softmax", **changes)


CONFIGS = {f"{i}-{config.model_type}": config for i, config in enumerate(all_configs())}


def test_every_family_and_every_head_is_there():
    assert {config.model_type for config in CONFIGS.values()} == of_core(MODEL_TYPES)
    heads = {getattr(config, "output_layer", "tied_softmax") for config in CONFIGS.values()}
    assert heads == of_core(HEADS)


def check_start(name, array, start):
    """The values of a new weight are those of its initializer."""
    if not isinstance(start, str):  # Keras's truncated normal ends at two deviations
        assert np.abs(array).max() <= 2.0 * start, name
        assert array.size < 50 or 0.6 * start < array.std() < 1.2 * start, name
    elif start in ("zeros", "ones"):
        np.testing.assert_array_equal(array, float(start == "ones"), name)
    elif start == "unit_forget_bias":
        np.testing.assert_array_equal(array, np.repeat([0, 1, 0, 0], array.size // 4), name)
    elif start == "orthogonal":
        rows = array if array.shape[0] <= array.shape[1] else array.T
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-5, err_msg=name)
    elif start == "glorot_uniform":
        fans = math.prod(array.shape[:-2]) * (array.shape[-2] + array.shape[-1])
        assert 0.5 < np.abs(array).max() / math.sqrt(6.0 / fans) <= 1.0 + 1e-6, name
    else:
        assert start == "random_normal", name
        assert 0.04 < array.std() < 0.06, name


@pytest.mark.parametrize("name", CONFIGS)
def test_the_layers_create_the_weights_of_the_table_and_no_others(name):
    """Names, order, shapes and initial values."""
    check_weights(CONFIGS[name])


def check_weights(config):
    model = build_model(config)
    expected = dict(named(config.weights))
    assert len(expected) == len(list(named(config.weights)))
    found = [(name, tuple(variable.shape)) for name, variable in model.named_weights().items()]
    assert found == [(name, weight.shape) for name, weight in expected.items()]
    assert config.num_parameters == count(config.weights) == model.count_params()
    for name, variable in model.named_weights().items():
        check_start(name, np.asarray(variable), expected[name].initializer)


def test_the_largest_config_that_is_accepted_is_counted_at_once():
    values = {"model_type": "cloze", "vocab_size": 7, "hidden_size": 8, "intermediate_size": 8}
    start = time.process_time()
    config = config_from(values | {"num_hidden_layers": 1000, "num_tower_layers": 1000})
    assert config.num_parameters == count(config.weights) > 3000 * 6 * 64
    for name in ("num_hidden_layers", "num_tower_layers"):
        with pytest.raises(InputError, match="has at most 1,000 layers, not 1000000000000"):
            config_from(values | {name: 10**12})
    assert time.process_time() - start < 5.0
