"""ELMo on words: from text to a model, with each input and output layer; loaded, used, refused."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import tta
from tests.faults import forget_last_checkpoint
from tests.flags.test_pretraining import weights
from tests.flags.test_word_models import TEXT
from tests.tiny import without_graphs
from tta.data.corpus.config import LocalCorpusConfig
from tta.data.corpus.prepare import create_tfrecords
from tta.data.vocabulary.config import VocabularyConfig
from tta.data.vocabulary.train import create_vocab
from tta.errors import InputError
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain
from tta.papers.glue.classify import classify
from tta.papers.glue.classify_config import ClassifyConfig
from tta.papers.semfit.create import create_vectors
from tta.papers.semfit.create_config import VectorsConfig

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
M = 16
CONFIG = {"model_type": "elmo", "hidden_size": 24, "lstm_size": 32, "hidden_dropout_prob": 0.0}
MODELS = {
    "semfit": {"input_layer": "vectors", "output_layer": "semfit"},
    "adaptive": {
        "input_layer": "vectors",
        "output_layer": "adaptive_softmax",
        "adaptive_cutoffs": [7],
        "adaptive_factor": 2,
    },
    "characters": {"input_layer": "characters", "output_layer": "softmax"},
    "tokens": {"input_layer": "tokens", "output_layer": "tied_softmax"},
}

OPTIONS = {
    "tokens": {"num_sampled_pieces": 8, "sampling": "log_uniform"},
    "characters": {"learning_rate": 2e-3, "steps": 16},  # for its layers of 2,048
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of words with vectors of words and n-grams."""
    folder = tmp_path_factory.mktemp("elmo")
    (folder / "text.txt").write_text("\n".join(TEXT) + "\n")
    given = {"input_file": [str(folder / "text.txt")], "tokenizer": "words"}
    vocab = str(folder / "vocab.txt")
    create_vocab(VocabularyConfig(**given, vocab_file=vocab))
    data = str(folder / "data")
    create_tfrecords(
        LocalCorpusConfig(
            **given, vocab_file=vocab, output_dir=data, num_shards=1, heldout_fraction=0.2
        )
    )
    create_vectors(
        VectorsConfig(
            input_dir=data,
            output_dir=str(folder / "vectors"),
            source="fasttext",
            size=M,
            num_buckets=100,
        )
    )
    return folder


def train(folder, name, steps=90, output=None, layers=1, **changes):
    more = {"num_hidden_layers": layers}
    config = CONFIG | more | MODELS[name] | changes.pop("config", {})
    (folder / f"{name}.json").write_text(json.dumps(config))
    values = {
        "input_dir": str(folder / "data"),
        "config_file": str(folder / f"{name}.json"),
        "output_dir": str(folder / (output or name)),
        "objective": "bidirectional_clm",
        "vectors": str(folder / "vectors") if config["input_layer"] == "vectors" else None,
        "num_train_steps": steps,
        "num_warmup_steps": 2,
        "train_batch_tokens": 100,
        "learning_rate": 1e-2,
    }
    return pretrain(PretrainingConfig(**values | changes))


@pytest.fixture(scope="module")
def semfit(folder):
    """A trained ELMo-S and its evaluation."""
    return str(folder / "semfit"), train(folder, "semfit", layers=2).evaluation


def test_elmo_s_learns_more_than_a_constant_and_rerank_by_cosine(semfit):
    path, evaluation = semfit
    values = evaluation.values
    assert values["cosine"] > values["constant_cosine"] + 0.02
    assert values["nearest"] > 0.2
    lm = tta.load(path)
    with pytest.raises(InputError, match="the model predicts vectors, not probabilities"):
        lm.score(["7 Cat dog 2"])
    scores = tta.load(f"cosine:{path}").score(["7 Cat dog 2", "7 Cat moon 2"])
    assert scores[0] > scores[1]


@without_graphs()
def test_a_classifier_over_an_elmo_reads_words_never_seen_and_leaves_the_elmo(semfit, tmp_path):
    rows = [(label, f"{i} {word} {j}") for i in range(9) for j in range(3)
            for label, word in (("animal", "dog"), ("spice", "pepper"))]  # fmt: skip
    path = tmp_path / "train.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in rows))
    files = {"train_file": str(path), "dev_file": str(path)}
    config = ClassifyConfig(
        output_dir=str(tmp_path / "out"),
        learning_rates=[1e-2],
        num_seeds=1,
        lstm_size=8,
        train_batch_size=8,
        num_train_epochs=1,
        **files,
    )
    classify(config, semfit[0])
    lm, elmo = tta.load(config.output_dir), tta.load(semfit[0])
    assert (lm.config.pooling, lm.config.encoder.model_type) == ("mix", "elmo")
    assert set(lm.predict(["3 dog 5", "4 pepper 4"])) <= {"animal", "spice"}
    zyx, wug = lm.logits(["3 zyx 5", "3 wug 5"])
    assert (zyx != wug).any()
    trained, before = lm.model.named_weights(), elmo.model.named_weights()
    assert trained["reader/mix/gamma"] != 1  # as it begins
    for name, value in before.items():
        if name.startswith("encoder/"):
            np.testing.assert_array_equal(trained[name], value, err_msg=name)
    again = ClassifyConfig(**dataclasses.asdict(config) | {"output_dir": str(tmp_path / "x")})
    with pytest.raises(InputError, match="pooling must be mix over a model of type elmo"):
        classify(dataclasses.replace(again, pooling="mean"), semfit[0])


@without_graphs()
def test_a_smaller_vocabulary_of_the_same_data_takes_rare_words_as_unknown(folder):
    evaluation = train(folder, "tokens", 10, "few", config={"vocab_size": 12}).evaluation
    assert evaluation.values["nll"] < np.log(12)
    lm = tta.load(str(folder / "few"), unknown="model")  # without the price of their letters
    assert len(lm.tokenizer.vocabulary) > lm.model.config.vocab_size
    scores = lm.score(["7 Cat dog 0", "wug Cat dog 0"])
    assert scores[0] == pytest.approx(scores[1], abs=1e-5)  # both are unknown


@pytest.mark.slow
def test_vectors_of_a_trained_input_layer_are_targets_of_another_model_which_resumes(folder):
    """ELMo-S_CNN: the network over characters, frozen, is a table of vectors."""
    model = folder / "characters"
    if not (model / "model.weights.h5").exists():
        train(folder, "characters", **OPTIONS["characters"] | {"steps": 3})
    given = {"input_dir": str(folder / "data"), "source": "input_layer", "model": str(model)}
    vectors = create_vectors(VectorsConfig(output_dir=str(folder / "cnn"), **given))
    lm = tta.load(str(model))
    for word in ("Cat", "3"):
        (expected,) = lm.encode_words([[word]], "embed")
        row = vectors[lm.tokenizer.vocabulary.ids[word]]
        np.testing.assert_allclose(row, expected[0], atol=1e-5)
    assert vectors.any(axis=1).sum() == len(vectors) - 2  # without padding and unknown word
    run = {"vectors": str(folder / "cnn"), "deterministic": True, "save_checkpoints_steps": 2}
    whole = train(folder, "semfit", 4, "s_cnn", **run)
    assert whole.evaluation.values["constant_cosine"] <= 1
    s_cnn, words = tta.load(str(folder / "s_cnn")), ["zyx", "wug", "wugs"]
    assert (folder / "s_cnn" / "characters.safetensors").exists()
    zyx, wug, _ = s_cnn.encode_words([words], "embed")[0]
    assert np.abs(zyx - wug).max() > 1e-6  # two words never seen have vectors of their own
    batch = s_cnn.engine.completed(
        {"input_ids": s_cnn.tokenizer.tokenize_flat([" ".join(words)])[0][None]}
    )
    vectors = np.array(batch["input_vectors"])[0]
    expected = lm.encode_words([words], "embed")[0]  # those of the frozen network itself
    np.testing.assert_allclose(vectors, expected, atol=2e-3 * np.abs(expected).max())
    shutil.copytree(folder / "s_cnn", folder / "resumed")
    forget_last_checkpoint(folder / "resumed", 4, 2)
    resumed = train(folder, "semfit", 4, "resumed", **run)
    assert resumed.evaluation == whole.evaluation
    one, other = (weights(folder / name / "model.weights.h5") for name in ("s_cnn", "resumed"))
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name], err_msg=name)
    with pytest.raises(InputError, match="s_cnn: the model has no token table"):
        create_vectors(
            VectorsConfig(
                input_dir=str(folder / "data"),
                output_dir=str(folder / "refused"),
                source="token_table",
                model=str(folder / "s_cnn"),
            )
        )


def test_a_loss_of_another_objective_is_refused_before_anything_is_written(folder):
    with pytest.raises(InputError, match="contrast_weight is not for the objective bidirect"):
        train(folder, "tokens", 10, "refused", contrast_weight=0.1)
    assert not (folder / "refused/config.json").exists()


def test_the_configs_of_the_repository_are_those_of_the_paper():
    from tta.modeling.config.base import read_config

    root = Path(__file__).resolve().parents[3] / "configs"
    words = {"vocab_size": 793_471}
    # Table 2 of Li et al. 2019: 76 and 499 million parameters.
    semfit = read_config(root / "elmo-s.json", **words, target_size=300)
    assert round(semfit.num_parameters / 1e6) == 76
    assert round(read_config(root / "elmo.json", **words).num_parameters / 1e6) == 501
    assert round(read_config(root / "elmo-a.json", **words).num_parameters / 1e6) == 196


def test_no_two_configs_of_the_repository_are_equal():
    files = sorted((Path(__file__).resolve().parents[3] / "configs").glob("*.json"))
    first: dict[str, str] = {}
    equal = [(path.name, first.setdefault(path.read_text(), path.name)) for path in files]
    assert files
    assert [pair for pair in equal if pair[0] != pair[1]] == []
