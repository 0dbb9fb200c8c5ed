"""A served autoencoder gives the latent vectors of the one that was exported."""

import numpy as np
import pytest
import tensorflow as tf

import tta
from tests.modeling.tiny import tiny_config
from tests.tiny import TOKENS
from tta.modeling.formats.model_directory import save_model
from tta.modeling.models.language_model import build_model
from tta.papers.nar.config import AutoencoderConfig
from tta.scoring.exports.serving.export import export

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("count", [1, 3])
def test_it_encodes_as_the_model_and_refuses_a_long_text(tmp_path, count):
    values = tiny_config().to_dict() | {"model_type": "autoencoder", "vocab_size": len(TOKENS)}
    config = AutoencoderConfig.from_dict(values | {"latent_size": 5, "num_latents": count})
    save_model(build_model(config), tmp_path / "nar", "")
    (tmp_path / "nar/vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    lm = tta.load(tmp_path / "nar", batch_tokens=40)
    export(lm, tmp_path / "served/1")
    served = tf.saved_model.load(str(tmp_path / "served/1")).signatures
    assert set(served) == {"encode", "serving_default"}
    texts = ["the cat sat", "", "a dog ran home .", "mat", "cat dog cat"]
    found = served["encode"](tf.constant(texts))["vectors"].numpy()
    np.testing.assert_allclose(found, lm.encode(texts), atol=1e-5)
    nothing = served["encode"](tf.constant([], tf.string))["vectors"]
    assert nothing.shape == (0, 5 * count)
    with pytest.raises(tf.errors.InvalidArgumentError, match="a latent vector holds 19 tokens"):
        served["encode"](tf.constant(["a", " ".join("a" * 18)]))
    assert (tmp_path / "served/1/assets.extra/tf_serving_warmup_requests").stat().st_size > 0
