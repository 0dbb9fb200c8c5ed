"""Every family of models, cased and uncased: engines and exports agree, or refuse by name.

A new family of `MODEL_TYPES` is tested at once. If the sizes of a Transformer do not suit it, it
needs a row in `OWN`.
"""

import importlib.util
import json

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf
from safetensors.numpy import load_file
from tokenizers import Tokenizer as Pipeline

import tta
from tests.commands import environment, python
from tests.scoring.exports.test_formats import MASKED_SCORES, TOKEN_SCORES, VECTORS, run, unit
from tests.tiny_dataset import VOCABULARY, sentences, write_dataset
from tta.data.vocabulary.word_pieces import TTA_SPECIALS
from tta.errors import InputError
from tta.modeling.config.base import config_from, read_config
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.model_directory import load_model, save_model
from tta.modeling.models.language_model import build_model
from tta.papers.glue.config import ClassifierConfig
from tta.scoring.exports.formats import EXPORTS, export_folder
from tta.scoring.exports.serving.export import export

pytestmark = pytest.mark.tensorflow

LENGTH = 61  # tokens that a model takes
TEXTS = [
    "the cat sat",
    "",
    "The Café, the CAFÉ",
    "cafe\u0301 u\u0308ber",
    "Straße ß ﬁ ½ …",
    "ΟΔΟΣ ς",
    "Ёлка и\u0306",
    "मैं चाय है",
    "你好吗 漢字",
    "か\u3099 한국 \u1112\u1161\u11ab",
    "שָׁלוֹם \u202eسلم",
    "c\u200bat \ufeffdog so\u00adft",
    "👩\u200d👩\u200d👧 ☺\ufe0f cat",
    "[UNK] [unk] the",
    "a\x00b \x7f \ufffd",
    "Tiếng Việt",
    "x" * 150 + " cat",
    "the cat sat on ÉÉ 東 mat. " * 100,  # 600 words
]
LETTERS = dict.fromkeys("".join(TEXTS[:10]).lower() + "".join(TEXTS[:3]) + "tiengvx[].")
LETTERS = [c for c in LETTERS if c.isprintable() and c != " " and c not in "東吗"]
PIECES = dict.fromkeys(["the", "cat", *(p + c for c in LETTERS for p in ("", "##"))])
TOKENS = (*TTA_SPECIALS, *(piece for piece in PIECES if piece not in TTA_SPECIALS))
READING = {
    "uncased": {"do_lower_case": True, "normalization": "strip_latin"},
    "cased": {"do_lower_case": False, "normalization": "keep_accents"},
    "as BERT": {"do_lower_case": True, "normalization": "bert"},
}
SIZES = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
SIZES |= {"intermediate_size": 17, "max_position_embeddings": LENGTH, "initializer_range": 0.4}
# Family -> its own sizes.
OWN = {
    "elmo": {"hidden_size": 12, "lstm_size": 13, "num_hidden_layers": 1, "input_layer": "tokens"}
    | {"output_layer": "tied_softmax", "tokenizer": "word_pieces", "initializer_range": 0.4},
    "autoencoder": SIZES | {"latent_size": 7, "predicts_length": True},
}
CASES = [(family, reading) for family in MODEL_TYPES for reading in READING]


def config_of(family, reading, vocab_size):
    values = {"vocab_size": vocab_size} | READING[reading]
    if family == "classifier":
        encoder = config_from(SIZES | values | {"model_type": "tta"})
        names = {"labels": ("no", "yes", "?"), "max_seq_length": LENGTH, "separator_id": 1}
        return ClassifierConfig.of(encoder, **names)
    return config_from(OWN.get(family, SIZES) | values | {"model_type": family})


@pytest.fixture(scope="module", params=CASES, ids=" ".join)
def folder(request, tmp_path_factory):
    """A model directory with random weights."""
    folder = tmp_path_factory.mktemp("every") / "model"
    model, rng = build_model(config_of(*request.param, len(TOKENS))), np.random.default_rng(0)
    for variable in model.named_weights().values():
        variable.assign(np.asarray(variable) + rng.normal(0, 0.2, variable.shape))
    folder.mkdir()
    (folder / "vocab.txt").write_text("".join(f"{t}\n" for t in TOKENS), encoding="utf-8")
    save_model(model, folder, "A tiny model with random weights.\n")
    return folder


# What a model may give for texts -> a list of arrays.
OUTPUTS = {
    "scores": lambda lm, texts: [one.log_probabilities for one in lm.score_tokens(texts)],
    "vectors": lambda lm, texts: list(lm.encode(texts)),
    "classes": lambda lm, texts: list(lm.predict_probabilities(texts)),
    "texts": lambda lm, texts: lm.decode(lm.encode(texts)),
}


def outputs(lm, texts):
    """{name: outputs, or the rule of the refusal}."""
    found = {}
    for name, give in OUTPUTS.items():
        try:
            found[name] = give(lm, texts)
        except InputError as error:
            found[name] = error.rule
        except AttributeError:
            assert name in ("classes", "texts")  # which the kind of scorer does not have
    return found


def assert_close(found, expected, what, atol=1e-4):
    if isinstance(expected, str) or any(isinstance(one, str) for one in expected):
        assert found == expected, what
        return
    assert len(found) == len(expected), what
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_allclose(one, other, atol=atol, err_msg=f"{what}: text {number}")


def short(lm):
    """The texts that fit the model."""
    return [text for text, ids in zip(TEXTS, lm.tokenizer.encode(TEXTS), strict=True) if
            len(ids) + 2 <= LENGTH]  # fmt: skip


def tried(call):
    """(the result, ""), or (None, the error)."""
    try:
        return call(), ""
    except InputError as error:
        return None, str(error)


def check_engines(folder, texts=None):
    """Compares the engines, or checks that onnxruntime refuses the model by name."""
    full = tta.load(folder, engine="tensorflow")
    light, refused = tried(lambda: tta.load(folder, engine="onnxruntime"))
    if light is None:
        assert full.model_type in refused or "tensorflow" in refused
        return full, None
    for given in (texts or short(full), texts or TEXTS):
        expected, found = outputs(full, given), outputs(light, given)
        assert any(not isinstance(one, str) for one in expected.values()) or given == TEXTS
        assert found.keys() == expected.keys()
        for name, values in expected.items():
            assert_close(found[name], values, name)
    return full, light


@pytest.mark.slow
def test_both_engines_give_the_same(folder):
    full, _ = check_engines(folder)
    assert len(short(full)) > 13
    assert len(short(full)) < len(TEXTS)


def served(lm, folder):
    export(lm, folder)
    return tf.saved_model.load(str(folder)).signatures


@pytest.mark.slow
def test_the_saved_model_gives_the_same(folder, tmp_path):
    lm = tta.load(folder, engine="tensorflow")
    found, refused = tried(lambda: served(lm, tmp_path / "1"))
    if found is None:
        assert lm.model_type in refused
        return
    for texts in (short(lm), TEXTS) if "score" in found else (short(lm),):
        expected, given = outputs(lm, texts), tf.constant(texts)
        if "score_tokens" in found:
            made = {name: x.numpy() for name, x in found["score_tokens"](given).items()}
            rows = zip(made["log_probabilities"], made["lengths"], strict=True)
            assert_close([row[:n] for row, n in rows], expected["scores"], "scores")
            sums = found["score"](given)["scores"].numpy()
            np.testing.assert_allclose(sums, lm.score(texts), rtol=1e-5, atol=1e-3)
        if "encode" in found:
            vectors = found["encode"](given)["vectors"].numpy()
            assert_close(list(vectors), expected["vectors"], "vectors")
        if "classify" in found:
            chances = found["classify"](texts=given)["probabilities"].numpy()
            assert_close(list(chances), expected["classes"], "classes")
    assert set(found) & {"score", "encode", "classify"}


def exported(lm, folder, format, representation="token"):
    """A folder, or None if the model does not have the format, which the error says."""
    made, refused = tried(lambda: export_folder(lm, folder, format, representation, "mean"))
    if made is None:
        families = [name for name in MODEL_TYPES if MODEL_TYPES.load(name).encoder]
        assert lm.model_type not in families, refused
        assert f"only a {' or '.join(families)} with word pieces has this format" in refused
    return made


def texts_of_export(lm):
    """Those that fit. In an export, "[MASK]" would be the mask token; no text has it."""
    return [text for text in short(lm) if text]


@pytest.mark.slow
def test_the_onnx_folder_gives_the_same(folder, tmp_path):
    lm = tta.load(folder)
    if exported(lm, tmp_path / "out", "onnx") is None:
        return
    tokenizer = Pipeline.from_file(str(tmp_path / "out/tokenizer.json"))
    session = onnxruntime.InferenceSession(tmp_path / "out/scores.onnx")
    states = onnxruntime.InferenceSession(tmp_path / "out/states.onnx")
    texts = texts_of_export(lm)
    expected = tta.load(folder, unknown="model").score_tokens(texts)
    costs = [one.log_probabilities for one in lm.score_tokens(texts)]
    names = {one.name for one in session.get_inputs()}
    for text, row, priced in zip(texts, expected, costs, strict=True):
        ids = np.array([tokenizer.encode(text).ids], np.int32)
        assert lm.tokenizer.pieces(ids[0, 1:-1]) == row.tokens, text
        mask, count = np.ones(ids.shape, bool), ids.shape[1] - 2
        given = {"input_ids": ids, "padding_mask": mask, "wanted": mask}
        given["characters"] = np.zeros((*ids.shape, 1), np.int32)
        if "positions" in names:
            places = np.arange(1, count + 1)
            rows = ids.repeat(count, 0)
            rows[places - 1, places] = lm.tokenizer.vocabulary.mask_id
            given |= {"input_ids": rows, "padding_mask": mask.repeat(count, 0)}
            given |= {"positions": places, "targets": ids[0, 1:-1]}
            given["characters"] = np.zeros((count, 1), np.int32)
        found = session.run(None, {name: given[name] for name in names})[0]
        found = np.asarray(found).reshape(-1)
        found = found if "positions" in names else found[1:-1]
        np.testing.assert_allclose(found, row.log_probabilities, atol=1e-4, err_msg=text)
        known = ids[0, 1:-1] != lm.tokenizer.vocabulary.unk_id
        np.testing.assert_allclose(found[known], priced[known], atol=1e-4, err_msg=text)
        if "positions" not in names and known.any():  # a biLM's states are masked in tta.load
            wanted = np.array([[False, *known, False]])
            inputs = {"input_ids": ids, "padding_mask": mask, "wanted": wanted}
            hidden = np.asarray(states.run(None, inputs)[0])[wanted].mean(axis=0)
            np.testing.assert_allclose(hidden, lm.encode([text])[0], atol=1e-4, err_msg=text)


@pytest.mark.slow
def test_the_static_folder_gives_the_same(folder, tmp_path):
    lm = tta.load(folder)
    if exported(lm, tmp_path / "out", "static") is None:
        return
    tokenizer = Pipeline.from_file(str(tmp_path / "out/tokenizer.json"))
    table = load_file(tmp_path / "out/model.safetensors")["embeddings"]
    rows = [table[tokenizer.encode(text).ids] for text in TEXTS]
    expected = lm.encode(TEXTS, "token")
    known = [bool(row.any()) for row in rows]
    assert known == expected.any(axis=1).tolist()
    kept = [row.mean(axis=0) for row, is_known in zip(rows, known, strict=True) if is_known]
    np.testing.assert_allclose(unit(np.array(kept)), unit(expected[known]), atol=1e-4)


@pytest.mark.large
@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
def test_transformers_give_the_same(folder, tmp_path):
    lm = tta.load(folder)
    if exported(lm, tmp_path / "out", "huggingface") is None:
        return
    texts = texts_of_export(lm)
    masks = MODEL_TYPES.load(lm.model_type).masks_tokens("original")
    expected = tta.load(folder, unknown="model" if masks else "price").score_tokens(texts)
    found, _ = run(MASKED_SCORES if masks else TOKEN_SCORES, tmp_path / "out", tmp_path, texts)
    assert_close(found, [one.log_probabilities for one in expected], "scores")


@pytest.mark.large
@pytest.mark.skipif(not importlib.util.find_spec("sentence_transformers"), reason="not installed")
def test_sentence_transformers_give_the_same(folder, tmp_path):
    lm = tta.load(folder)
    if exported(lm, tmp_path / "out", "sentence_transformers") is None:
        return
    texts = short(lm)
    found = run(VECTORS, tmp_path / "out", tmp_path, texts)
    assert_close(found, list(lm.encode(texts, "token")), "vectors")


def test_every_format_is_tested():
    assert set(EXPORTS) == {"saved_model", "onnx", "huggingface", "sentence_transformers", "static"}


TRAIN = """
import json, sys
from tta.modeling.training.config import PretrainingConfig
from tta.modeling.training.pretrain import pretrain
for settings in json.loads(sys.argv[1]):
    assert pretrain(PretrainingConfig(**settings)).finished
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_trained_models_give_the_same_in_both_engines(tmp_path, backend):
    """20 steps of every family that an objective trains; tta classify trains classifiers."""
    kept = [one for one in sentences(200) if len(one) in (6, 12)]
    write_dataset(tmp_path / "data", kept)
    runs = {}
    for family in MODEL_TYPES:
        for objective in MODEL_TYPES.load(family).objectives[:1]:
            config = config_of(family, "uncased", len(VOCABULARY))
            config.to_json(tmp_path / f"{family}.json")
            runs[family] = {
                "input_dir": f"{tmp_path}/data",
                "config_file": f"{tmp_path}/{family}.json",
                "objective": objective,
                "output_dir": f"{tmp_path}/{family}",
                "num_train_steps": 20,
                "num_warmup_steps": 0,
                "learning_rate": 1e-2,
                "train_batch_tokens": 200,
            }
    done = python(TRAIN, json.dumps(list(runs.values())), env=environment(KERAS_BACKEND=backend))
    assert done.returncode == 0, done.stderr
    assert len(runs) == len(MODEL_TYPES) - 1
    for settings in runs.values():
        begun = build_model(read_config(settings["config_file"])).named_weights()
        now = load_model(settings["output_dir"]).named_weights()
        assert any(np.abs(np.asarray(now[n]) - np.asarray(begun[n])).max() > 1e-3 for n in now)
        check_engines(settings["output_dir"], ["a b c d", "q p o", "", "a z b"])
