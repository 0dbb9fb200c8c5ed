"""Self-attention models over words (uniSANLM, biSANLM): what they do not start from."""

import json

import pytest

from tests.tiny import of_family
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.train import create_vocab
from tta.errors import InputError
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain

pytestmark = pytest.mark.tensorflow


def test_a_model_of_word_pieces_is_one_line(tmp_path):
    text, vocabulary, data, config = (
        str(tmp_path / name) for name in ("text", "vocab.txt", "data", "config.json")
    )
    (tmp_path / "text").write_text("".join(f"the {a} {b}\n" for a in "abcd" for b in "efgh"))
    of_text = {"input_file": [text], "vocab_file": vocabulary, "tokenizer": "words"}
    create_vocab(VocabularyConfig(**of_text))
    shards = {"output_dir": data, "num_shards": 1, "max_seq_length": 11}
    create_tfrecords(LocalCorpusConfig(**of_text, **shards))
    values = of_family("unilm", tokenizer="words").to_dict()
    del values["vocab_size"]
    (tmp_path / "config.json").write_text(json.dumps(values))
    run = {"input_dir": data, "config_file": config, "output_dir": str(tmp_path / "out")}
    run |= {"objective": "clm", "num_train_steps": 1, "num_warmup_steps": 0}
    with pytest.raises(InputError, match="the model has a vocabulary of word pieces, unlike the"):
        pretrain(PretrainingConfig(**run, init_checkpoint="unilm-small"))
