"""adapt(config) refuses vectors of words."""

import pytest

from tests.scoring.adaptation.test_adapt import config, text  # noqa: F401
from tta.errors import InputError
from tta.scoring.adaptation.adapt import adapt

pytestmark = pytest.mark.tensorflow


def test_a_model_without_weights_of_ours_is_refused(text, tmp_path):  # noqa: F811
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("cat 1 2\ndog 2 1\n")
    with pytest.raises(InputError, match="only a model directory can be adapted"):
        adapt(config(text, tmp_path / "new"), f"glove:{vectors}")
