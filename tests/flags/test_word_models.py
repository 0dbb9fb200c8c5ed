"""Self-attention models over words (uniSANLM, biSANLM): what they do not start from."""

import json

import pytest

from tests.tiny import of_family
from tta.errors import InputError
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain

pytestmark = pytest.mark.tensorflow


def test_a_model_of_word_pieces_is_one_line(tmp_path):
    (tmp_path / "text").write_text("".join(f"the {a} {b}\n" for a in "abcd" for b in "efgh"))
    values = of_family("unilm", tokenizer="words").to_dict()
    del values["vocab_size"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    config = PretrainingConfig(
        input_file=[str(tmp_path / "text")],
        config_file=str(tmp_path / "config.json"),
        output_dir=str(tmp_path / "out"),
        objective="clm",
        num_train_steps=1,
        num_warmup_steps=0,
        init_checkpoint="unilm-small",
    )
    with pytest.raises(InputError, match="the model has a vocabulary of word pieces, unlike the"):
        pretrain(config)
