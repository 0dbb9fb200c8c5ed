"""The face of heads: what a head cannot do, it refuses in one line."""

from types import SimpleNamespace

import pytest

from tests.modeling.tiny import tiny_config, training_config
from tta.errors import InputError
from tta.modeling.heads.base import Head

pytestmark = pytest.mark.tensorflow


class Pitch(Head):
    pass


def test_a_head_without_probabilities_says_so():
    with pytest.raises(InputError, match=r"^Pitch gives no log-probabilities of tokens$"):
        Pitch(tiny_config()).log_probabilities(None, None, None, "exact", None)


def test_the_output_of_a_head_has_a_row_of_logits_per_token():
    head = Pitch(tiny_config())
    assert head.output_size == 23
    assert head.compute_output_shape((2, 7, 15)) == (2, 7, 23)


@pytest.mark.parametrize("name", ["num_sampled_pieces", "log_normalizer_weight"])
def test_settings_of_a_softmax_are_refused_without_one(name):
    assert Pitch.training_options(training_config(), None) == {}
    config = SimpleNamespace(num_sampled_pieces=0, log_normalizer_weight=0.0)
    setattr(config, name, 5)
    with pytest.raises(InputError, match=f"{name} needs a softmax, which Pitch does not compute"):
        Pitch.training_options(config, None)
