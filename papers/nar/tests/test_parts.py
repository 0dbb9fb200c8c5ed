"""The halves of an autoencoder as models, and a run that starts from a language model."""

import dataclasses
import json

import numpy as np
import pytest

from tests.modeling.tiny import arrays, batch, randomize, tiny_config, tiny_model, training_config
from tests.tiny import without_graphs
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model, save_model
from tta.modeling.formats.parts import load_part, save_part
from tta.modeling.training.pretrain import pretrain
from tta.papers.nar.tests.test_autoencoder import TYPES, autoencoder_config, make

pytestmark = pytest.mark.tensorflow


def written(model, folder):
    folder.mkdir()
    VOCABULARY.save(folder / "vocab.txt", overwrite=True)
    save_model(model, folder, "")
    return folder


@pytest.mark.parametrize("kind", ["tta", "copy", "unilm"])
def test_a_part_computes_what_it_computed_in_the_whole(kind, tmp_path):
    model = make(kind)
    folder = written(model, tmp_path / "whole")
    inputs = batch([7, 5])
    encoder, decoder = (load_part(folder, part) for part in ("encoder", "decoder"))
    assert (encoder.config.model_type, decoder.config.model_type) == (
        "bilm",
        TYPES[kind]["decoder_type"],
    )
    np.testing.assert_array_equal(
        encoder.encode(inputs)["hidden_states"], model.encode(inputs)["hidden_states"]
    )
    if kind != "unilm":  # its memory is a key even if it is 0
        zero = np.zeros((2, 7), np.float32)
        states = model.decode(zero, inputs["padding_mask"], inputs["input_ids"])
        logits = model.head(states, model.token_table)
        np.testing.assert_allclose(decoder(inputs)["logits"], logits, atol=1e-5)
    save_part(folder, "decoder", tmp_path / "half")
    again = load_model(tmp_path / "half")
    assert (tmp_path / "half/vocab.txt").read_text() == (folder / "vocab.txt").read_text()
    for name, value in arrays(again).items():
        np.testing.assert_array_equal(value, arrays(decoder)[name])


def test_what_cannot_be_taken_out_is_one_line(tmp_path):
    whole = written(make("pad"), tmp_path / "whole")
    other = written(tiny_model(), tmp_path / "other")
    with pytest.raises(InputError, match="part must be encoder or decoder, not 'head'"):
        load_part(whole, "head")
    with pytest.raises(
        InputError, match="a model of type tta has no encoder of its own; an autoencoder has"
    ):
        load_part(other, "encoder")
    with pytest.raises(InputError, match="expected a new or an empty folder"):
        save_part(whole, "encoder", other)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_dataset(tmp_path_factory.mktemp("data"), sentences(40), sentences(9, 1))


def settings(folder, data, objective, kind=TYPES["pad"], **changes):
    config = autoencoder_config(**kind, variational=objective != "ae", num_hidden_layers=1)
    values = config.to_dict()
    del values["vocab_size"], values["pad_id"]
    (folder / "config.json").write_text(json.dumps(values))
    values = {"input_dir": str(data), "config_file": str(folder / "config.json")}
    values |= {"output_dir": str(folder / "out"), "objective": objective, "num_train_steps": 1}
    return training_config(**values | changes)


@pytest.mark.parametrize("kind", ["bilm", "autoencoder"])
@without_graphs()
def test_a_run_starts_from_a_language_model_or_an_autoencoder(kind, data, tmp_path):
    if kind == "bilm":
        start = tiny_model(model_type="bilm", num_hidden_layers=1)
    else:
        start = make("pad", num_hidden_layers=1, pad_id=VOCABULARY.pad_id)
    randomize(start.named_weights(), 4)
    run = settings(tmp_path, data, "ae", init_checkpoint=str(written(start, tmp_path / "start")))
    result = pretrain(dataclasses.replace(run, learning_rate=0.0))
    theirs, ours = arrays(start), arrays(load_model(result.directory))
    for name, value in ours.items():
        source = name.replace("decoder/", "encoder/") if kind == "bilm" else name
        if source in theirs:
            np.testing.assert_array_equal(value, theirs[source], err_msg=name)
    assert len([name for name in ours if name not in theirs]) == (
        len([n for n in ours if n.startswith("decoder/")]) + 2 if kind == "bilm" else 0
    )
    assert load_model(result.directory).config.pad_id == VOCABULARY.pad_id


@without_graphs()
def test_halves_start_from_different_models(data, tmp_path):
    """Optimus: a BERT encodes, a GPT-2 decodes. Here the encoder is the half of an autoencoder."""
    whole = make("pad", num_hidden_layers=1, pad_id=VOCABULARY.pad_id)
    unilm = tiny_model(model_type="unilm", num_hidden_layers=1)
    randomize(unilm.named_weights(), 5)
    starts = {
        "init_encoder": f"decoder:{written(whole, tmp_path / 'whole')}",
        "init_decoder": str(written(unilm, tmp_path / "unilm")),
    }
    run = settings(tmp_path, data, "ae", TYPES["unilm"], learning_rate=0.0, **starts)
    ours = arrays(load_model(pretrain(run).directory))
    theirs, left = arrays(whole), arrays(unilm)
    for name, value in ours.items():
        part, _, rest = name.partition("/")
        if part == "encoder":
            np.testing.assert_array_equal(value, theirs[f"decoder/{rest}"], err_msg=name)
        elif part in ("decoder", "head"):
            rest = name if part == "head" else f"encoder/{rest}"
            np.testing.assert_array_equal(value, left[rest], err_msg=name)
    with pytest.raises(InputError, match="init_decoder has no meaning with init_checkpoint"):
        dataclasses.replace(run, init_checkpoint="small", init_encoder=None)
    path = tmp_path / "lm.json"
    config = tiny_config(model_type="bilm").to_dict()
    del config["vocab_size"]
    path.write_text(json.dumps(config))
    wrong = dataclasses.replace(
        run, config_file=str(path), objective="mlm", output_dir=str(tmp_path / "x")
    )
    with pytest.raises(InputError, match=r"lm.json: init_encoder has no meaning with .* type bilm"):
        pretrain(wrong)


@without_graphs()
def test_a_language_model_starts_from_a_half(data, tmp_path):
    whole = written(make("tta", num_hidden_layers=1), tmp_path / "whole")
    config = load_part(whole, "decoder").config.to_dict()
    del config["vocab_size"]
    (tmp_path / "lm.json").write_text(json.dumps(config))
    run = settings(tmp_path, data, "lae", learning_rate=0.0, init_checkpoint=f"decoder:{whole}")
    run = dataclasses.replace(run, config_file=str(tmp_path / "lm.json"), seed=3)
    ours, theirs = pretrain(run).directory, load_part(whole, "decoder")
    ours, table = arrays(load_model(ours)), "encoder/embeddings/token_table"
    np.testing.assert_array_equal(ours[table], arrays(theirs)[table])
