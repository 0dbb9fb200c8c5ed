"""An autoencoder from training to texts: encode, decode, interpolate, reconstruct, halves."""

import json
import pickle

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tests.modeling.tiny import randomize, tiny_config, training_config
from tests.tiny import TOKENS, write_model_directory
from tests.tiny_dataset import VOCABULARY, sentences_of, write_dataset
from tta.errors import InputError
from tta.modeling.formats.model_directory import save_model
from tta.modeling.models.language_model import build_model
from tta.modeling.training.pretrain import pretrain
from tta.papers.glue import classify
from tta.papers.nar.autoencoder_model import AutoencoderModel
from tta.papers.nar.config import AutoencoderConfig
from tta.papers.nar.reconstruct import reconstruct
from tta.papers.nar.reconstruct_config import ReconstructConfig
from tta.papers.nar.tests.test_autoencoder import TYPES, unbiased
from tta.scoring.scorers.arguments import SentenceError

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
LATENT = 16


def text_of(ids):
    return " ".join(VOCABULARY.tokens[i] for i in ids[1:-1])


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """An autoencoder that knows a few texts by heart, and the texts."""
    folder = tmp_path_factory.mktemp("run")
    ids = sentences_of({6: 3, 12: 2}, 3)  # of few lengths: XLA compiles for each
    write_dataset(folder / "data", 300 * ids)
    values = tiny_config(
        hidden_size=24, intermediate_size=48, num_hidden_layers=1, initializer_range=0.1
    ).to_dict()
    values |= {"model_type": "autoencoder", "latent_size": LATENT, "predicts_length": True}
    del values["vocab_size"]
    (folder / "config.json").write_text(json.dumps(values))
    run = training_config(
        input_dir=str(folder / "data"), config_file=str(folder / "config.json"),
        output_dir=str(folder / "nar"), objective="ae", num_train_steps=300, learning_rate=5e-3,
        num_warmup_steps=20, train_batch_tokens=60, save_checkpoints_steps=300,
    )  # fmt: skip
    return pretrain(run).directory, list(dict.fromkeys(map(text_of, ids)))


ENGINES = "tensorflow", "onnxruntime"


@pytest.fixture(scope="module", params=ENGINES)
def lm(trained, request):
    return tta.load(trained[0], engine=request.param)


def test_it_writes_down_again_what_it_encoded(lm, trained):
    assert isinstance(lm, AutoencoderModel)
    texts = trained[1]
    vectors = lm.encode(texts)
    assert vectors.shape == (len(texts), LATENT)
    assert vectors.dtype == np.float32
    lengths = [len(text.split()) for text in texts]
    assert lm.decode(vectors, lengths) == texts
    assert len(set(lengths)) > 1
    assert lm.predict_lengths(vectors).tolist() == lengths
    assert lm.decode(vectors) == texts
    assert lm.decode(np.zeros((0, LATENT))) == []


def test_encoding_does_not_depend_on_the_batch(lm, trained):
    texts = trained[1]
    together = lm.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(lm.encode([text])[0], vector, atol=1e-5)
    assert lm.encode(texts, "context").shape == (len(texts), 24)
    empty = lm.encode([""])
    assert empty.shape == (1, LATENT)
    assert np.isfinite(empty).all()
    assert lm.decode(empty, [0]) == [""]
    assert lm.encode([]).shape == (0, LATENT)
    assert [one.shape for one in lm.encode_words([["a", "b"]])] == [(2, 24)]
    np.testing.assert_allclose(lm.similarity(texts[:1], texts[:1]), 1.0)


def test_interpolation_begins_and_ends_with_the_two_texts(lm, trained):
    first, second = trained[1][:2]
    found = lm.interpolate(first, second, 4)
    assert len(found) == 4
    assert (found[0], found[-1]) == (first, second)
    sizes = [len(text.split()) for text in (first, second)]
    assert [len(t.split()) <= max(sizes) for t in found] == [True] * 4


@pytest.mark.parametrize("engine", ENGINES)
def test_reconstruction_is_measured_with_its_controls(engine, trained, tmp_path, monkeypatch):
    directory, texts = trained
    (tmp_path / "texts").write_text("\n\n".join(texts) + "\n")
    config = ReconstructConfig(
        input_file=str(tmp_path / "texts"),
        output_file=str(tmp_path / "out.jsonl"),
        engine=engine,
    )
    report = reconstruct(config, str(directory))
    values = {row.name: row for row in report.rows}
    assert list(values) == [
        "reconstruction", "z of another text", "z = 0", "most frequent piece", "length not given",
    ]  # fmt: skip
    assert values["reconstruction"].hits.accuracy() == 100.0
    assert values["reconstruction"].hits.exact_match() == 100.0
    assert values["reconstruction"].bleu == pytest.approx(100.0)
    assert values["length not given"].hits.exact_match() == 100.0
    assert "note: the predicted length is right for 100.00 % of the texts" in str(report)
    for control in list(values)[1:4]:
        assert values[control].hits.accuracy() < 60.0, control
    assert values["reconstruction"].nll < 0.5 < values["z of another text"].nll
    written = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [one["text"] for one in written] == texts
    assert [one["reconstruction"] for one in written] == texts
    assert [one["line"] for one in written] == list(range(1, 2 * len(texts), 2))
    shown = str(report)
    assert shown.startswith(f"{tmp_path}/texts: {len(texts)} texts, ")
    assert f"of {LATENT} units active" in shown
    assert ("|engine:onnxruntime" in shown) == (engine == "onnxruntime")
    assert "KL" not in shown, "it is not variational"
    with monkeypatch.context() as patch:  # before the work
        patch.delattr(AutoencoderModel, "posterior")
        with pytest.raises(InputError, match="overwrite=True"):
            reconstruct(config, str(directory))


def test_it_gives_no_scores_in_one_line(lm, trained, tmp_path):
    (tmp_path / "texts").write_text("a b\n")
    ended = run_command("tta-score", f"--model={trained[0]}", f"--input_file={tmp_path}/texts")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "an autoencoder gives no sentence scores" in ended.stderr
    assert ended.stderr.count("\n") == 1
    for call in (lm.score, lm.score_tokens, lm.perplexity, lambda t: list(lm.score_blocks([t]))):
        with pytest.raises(InputError, match="an autoencoder gives no sentence scores") as error:
            call(["a b"])
        assert "\n" not in str(error.value)


def test_it_can_be_pickled(lm, trained):
    again = pickle.loads(pickle.dumps(lm))
    np.testing.assert_array_equal(again.encode(trained[1]), lm.encode(trained[1]))
    assert again.signature == lm.signature
    assert "pll" not in lm.signature


@pytest.mark.parametrize("engine", ENGINES)
def test_halves_are_models_by_name(engine, trained):
    directory, texts = trained
    lm = tta.load(directory, engine="tensorflow")
    encoder, decoder = (
        tta.load(f"{part}:{directory}", engine=engine) for part in ("encoder", "decoder")
    )
    assert encoder.engine.name == decoder.engine.name == engine
    rows = [
        lm.model.encode({"input_ids": row[None], "padding_mask": np.ones((1, len(row)), bool)})
        for row in lm.rows_of(texts)
    ]
    states = [np.asarray(row["hidden_states"][0]) for row in rows]
    means = np.array([one[1:-1].mean(axis=0) for one in states])
    np.testing.assert_allclose(encoder.encode(texts), means, atol=1e-5)
    begins = np.array([one[0] for one in states])
    np.testing.assert_allclose(encoder.encode(texts, "cls"), begins, atol=1e-5)
    assert np.isfinite(decoder.score(texts)).all()
    random = tta.load(f"random:decoder:{directory}")
    assert random.config == decoder.config
    assert (random.score(texts) != decoder.score(texts)).any()
    with pytest.raises(InputError, match="has no head, so it gives no sentence scores"):
        encoder.score(texts)
    with pytest.raises(InputError, match="name a half: encoder:MODEL or decoder:MODEL"):
        classify._load(str(directory))


@pytest.mark.parametrize(
    ("vectors", "lengths", "rule"),
    [
        (np.zeros(LATENT), None, rf"vectors must be numbers \[N, {LATENT}\], not \[{LATENT}\]"),
        (np.zeros((1, 3)), None, r"not \[1, 3\]"),
        (np.full((1, LATENT), np.nan), None, "vectors must be finite"),
        (np.full((1, LATENT), 1e300), None, "vectors must be finite numbers of float32"),
        (np.zeros((2, LATENT)), [[1], [2, 3]], "lengths must be 2 whole numbers"),
        (np.zeros((1, LATENT)), [1, 2], "lengths must be 1 whole numbers, one per vector"),
        (np.zeros((1, LATENT)), [1.5], "lengths must be 1 whole numbers"),
        (np.zeros((1, LATENT)), [18], "a length must be between 0 and 17, not 18"),
        (np.zeros((1, LATENT)), [-1], "a length must be between 0 and 17, not -1"),
    ],
)
def test_wrong_vectors_are_one_line(lm, vectors, lengths, rule):
    with pytest.raises(InputError, match=rule):
        lm.decode(vectors, lengths)


def test_wrong_texts_are_one_line(lm, trained, tmp_path):
    long = " ".join("a" * 18)
    with pytest.raises(SentenceError, match="sentence 2 is longer than the model's 19 tokens"):
        lm.encode(["a", long])
    path = tmp_path / "texts"
    path.write_text(f"a\n\n{long}\n")
    with pytest.raises(InputError, match=rf"{path}:3: the text is longer than the model's 19 tok"):
        reconstruct(ReconstructConfig(input_file=str(path)), str(trained[0]))
    for text in ("\n \n", "\u200b\n"):  # the second one is a character without a piece
        path.write_text(text)
        with pytest.raises(InputError, match="the file has no text"):
            reconstruct(ReconstructConfig(input_file=str(path)), str(trained[0]))
    with pytest.raises(InputError, match="representation must be latent or context, not 'token'"):
        lm.encode(["a"], "token")
    with pytest.raises(InputError, match="num_texts must be at least 2, not 1"):
        lm.interpolate("a", "b", 1)
    path.write_text("a\n")
    other = write_model_directory(tmp_path / "other")
    with pytest.raises(InputError, match="tta reconstruct needs an autoencoder"):
        reconstruct(ReconstructConfig(input_file=str(path)), str(other))


@pytest.mark.parametrize("kind", TYPES)
def test_other_decoders(kind, tmp_path):
    import keras

    keras.utils.set_random_seed(0)
    values = tiny_config().to_dict() | {"model_type": "autoencoder", "vocab_size": len(TOKENS)}
    sizes = {"latent_size": 5, "variational": True}
    config = AutoencoderConfig.from_dict(values | TYPES[kind] | sizes)
    model = build_model(config)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    save_model(model, tmp_path, "")
    lm = tta.load(tmp_path)
    (tmp_path / "texts").write_text("the cat sat\na dog ran home .\n")
    report = reconstruct(ReconstructConfig(input_file=str(tmp_path / "texts")), str(tmp_path))
    names = [row.name for row in report.rows]
    assert ("length not given" in names) == (kind in ("pad", "unilm"))
    assert "predicted length" not in str(report)
    with pytest.raises(InputError, match="the model predicts no lengths"):
        lm.predict_lengths(lm.encode(["the cat"]))
    assert "mutual information" in str(report)
    rows = lm.rows_of(["the cat", "a dog ran"])
    scores = [
        np.concatenate(one.log_probabilities(rows, one.encode(["the cat", "a dog ran"])))
        for one in (lm, tta.load(tmp_path, precision="bfloat16"))
    ]
    np.testing.assert_allclose(*scores, atol=0.1)
    assert (scores[0] != scores[1]).any()
    assert ("copies" in str(report)) == (kind == "copy")
    if kind == "unilm":
        assert len(lm.decode(lm.encode(["the cat", "a dog"]), [2, 5])) == 2
        plain = model.decode_greedily(lm.encode(["the cat"]), 7, 3, cached=False)
        np.testing.assert_array_equal(lm.rewrite([np.zeros(7, np.int32)], lm.encode(["the cat"])),
                                      np.array(plain))  # fmt: skip
    elif kind == "pad":
        (found,) = lm.decode(lm.encode(["the cat"]))  # cut at the first end token
        assert not {"[PAD]", "[SOS]", "[EOS]"} & set(found.split())
    else:
        with pytest.raises(InputError, match=r"needs the words of the text .* a vector alone"):
            lm.decode(lm.encode(["the cat"]))


def test_a_single_text_has_no_other(trained, tmp_path):
    (tmp_path / "texts").write_text(trained[1][0] + "\n")
    report = reconstruct(ReconstructConfig(input_file=str(tmp_path / "texts")), str(trained[0]))
    assert "z of another text" not in [row.name for row in report.rows]
    assert "note: a single text: there is no vector of another one" in str(report)


def test_only_a_masked_decoder_makes_several_passes(lm, trained, tmp_path):
    (tmp_path / "texts").write_text("\n".join(trained[1]) + "\n")
    config = ReconstructConfig(input_file=str(tmp_path / "texts"), num_passes=4)
    vectors = lm.encode(trained[1])
    rule = "num_passes must be 1 without decoder_input masked, not 4"
    with pytest.raises(InputError, match=rule):
        reconstruct(config, str(trained[0]))
    with pytest.raises(InputError, match=rule):
        lm.decode(vectors, num_passes=4)
    with pytest.raises(InputError, match="num_passes must be at least 1, not 0"):
        lm.interpolate("a", "b", num_passes=0)


def test_a_masked_decoder_writes_in_passes(tmp_path):
    import keras

    keras.utils.set_random_seed(0)
    values = tiny_config().to_dict() | {"model_type": "autoencoder", "vocab_size": len(TOKENS)}
    sizes = {"latent_size": 5, "num_latents": 3, "predicts_length": True}
    config = AutoencoderConfig.from_dict(values | sizes | {"decoder_input": "masked"})
    model = build_model(config)
    randomize(model.named_weights(), seed=1)
    unbiased(model)
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    save_model(model, tmp_path, "")
    lm = tta.load(tmp_path)
    z = np.random.default_rng(0).normal(size=(20, 15)).astype(np.float32)
    rows = [lm.blank_row(7)] * 20
    first, fourth = (np.array(lm.rewrite(rows, z, passes)) for passes in (1, 4))
    assert (first != fourth).any()
    expected = model.decode_in_passes(z, np.ones((20, 9), bool), 4)
    np.testing.assert_array_equal(fourth, expected)
    assert lm.decode(z, [7] * 20, num_passes=4) == [lm.text_of(row) for row in fourth]
    assert len(lm.interpolate("the cat", "a dog", 3, num_passes=2)) == 3
    (tmp_path / "texts").write_text("the cat sat\na dog ran home .\n")
    config = ReconstructConfig(input_file=str(tmp_path / "texts"), num_passes=3)
    report = reconstruct(config, str(tmp_path))
    assert "length not given" in [row.name for row in report.rows]
    assert "note: nll is that of the first pass" in str(report)
    assert "reconstruct|passes:3|" in str(report)
