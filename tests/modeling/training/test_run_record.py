"""A run resumes only with the model and the vocabulary that it began with."""

import pytest

from tests.modeling.tiny import tiny_config, training_config
from tests.tiny_dataset import VOCABULARY
from tta.data.records.training_data import TrainingData
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import InputError
from tta.modeling.training.run_record import check_model_kept

pytestmark = pytest.mark.tensorflow


def data_of(vocabulary):
    return TrainingData("data", {}, vocabulary)


def test_another_model_or_vocabulary_is_refused(tmp_path):
    config = training_config(output_dir=str(tmp_path), config_file="mine.json")
    reversed_letters = (*VOCABULARY.tokens[:5], *VOCABULARY.tokens[:4:-1])
    check_model_kept(config, tiny_config(), data_of(VOCABULARY))  # nothing has begun
    tiny_config().to_json(tmp_path / "config.json")
    VOCABULARY.save(tmp_path / "vocab.txt")
    check_model_kept(config, tiny_config(), data_of(VOCABULARY))
    rule = r"vocab\.txt: this run began with another vocabulary than other\.txt"
    with pytest.raises(InputError, match=rule):
        check_model_kept(config, tiny_config(), data_of(Vocabulary(reversed_letters, "other.txt")))
    rule = r"config\.json: this run began with another config than mine\.json's"
    with pytest.raises(InputError, match=rule):
        check_model_kept(config, tiny_config(num_hidden_layers=1), data_of(VOCABULARY))
