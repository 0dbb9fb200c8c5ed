"""Self-attention models over words (uniSANLM, biSANLM): from text to scores; what is refused."""

import json

import pytest

from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.train import create_vocab
from tta.errors import InputError
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain

pytestmark = pytest.mark.tensorflow

# Of two words in the middle, each follows from the other.
PAIRS = (("Cat", "dog"), ("Sun", "moon"), ("salt", "pepper"))
TEXT = [f"{i} {a} {b} {j}" for a, b in PAIRS for i in range(9) for j in range(9)]
CONFIG = {
    "hidden_size": 24,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 16,
    "tokenizer": "words",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_data(tmp_path_factory.mktemp("words"), mask_token=True)


def make_data(folder, **vocabulary):
    (folder / "text.txt").write_text("\n".join(TEXT) + "\n")
    given = {"input_file": [str(folder / "text.txt")], "tokenizer": "words"}
    vocab = str(folder / "vocab.txt")
    create_vocab(VocabularyConfig(**given, vocab_file=vocab, **vocabulary))
    shards = {"output_dir": str(folder / "data"), "num_shards": 1, "heldout_fraction": 0.2}
    shards |= {"max_seq_length": CONFIG["max_position_embeddings"]}
    create_tfrecords(LocalCorpusConfig(**given, vocab_file=vocab, **shards))
    return folder


def train(folder, model_type, output, steps, config=(), **changes):
    path = folder / f"{output}.json"
    path.write_text(json.dumps(CONFIG | {"model_type": model_type} | dict(config)))
    values = {
        "input_dir": str(folder / "data"),
        "config_file": str(path),
        "output_dir": str(folder / output),
        "objective": {"bilm": "mlm", "unilm": "clm"}[model_type],
        "num_train_steps": steps,
        "num_warmup_steps": min(2, steps - 1),
        "train_batch_tokens": 400,
        "learning_rate": 1e-2,
    }
    return pretrain(PretrainingConfig(**values | changes))


def test_what_does_not_fit_is_one_line(folder, tmp_path):
    bare = make_data(tmp_path)
    with pytest.raises(InputError, match="this vocabulary of words has no mask token"):
        train(bare, "bilm", "out", 1)
    with pytest.raises(InputError, match="the model has a vocabulary of word pieces, unlike the"):
        train(folder, "unilm", "other", 1, init_checkpoint="unilm-small")
