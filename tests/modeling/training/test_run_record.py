"""A run resumes only with the model and the vocabulary that it began with."""

import pytest

from tests.modeling.tiny import tiny_config, training_config
from tests.tiny_dataset import VOCABULARY
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.training.run_record import check_model_kept


def test_another_model_or_vocabulary_is_refused(tmp_path):
    config = training_config(output_dir=str(tmp_path), config_file="mine.json")
    reversed_letters = (*VOCABULARY.tokens[:5], *VOCABULARY.tokens[:4:-1])
    check_model_kept(tiny_config(), VOCABULARY, config)  # nothing has begun
    tiny_config().to_json(tmp_path / "config.json")
    VOCABULARY.save(tmp_path / "vocab.txt")
    check_model_kept(tiny_config(), VOCABULARY, config)
    rule = r"vocab\.txt: this run began with another vocabulary than other\.txt"
    with pytest.raises(InputError, match=rule):
        check_model_kept(tiny_config(), Vocabulary(reversed_letters, "other.txt"), config)
    rule = r"config\.json: this run began with another config than mine\.json's"
    with pytest.raises(InputError, match=rule):
        check_model_kept(tiny_config(num_hidden_layers=1), VOCABULARY, config)
