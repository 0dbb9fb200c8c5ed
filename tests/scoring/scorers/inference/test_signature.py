"""A changed setting that changes a score changes the signature: a walk over all of every kind."""

import json
import re
import shutil
from dataclasses import fields

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import tta
from tests.scoring.scorers.test_ngram_model import ARPA
from tests.tiny import CONFIG, of_family, write_arrays
from tta.modeling.formats.model_directory import load_model, save_model
from tta.modeling.kits.onnx.weights import Arrays
from tta.names import CONFIG as CONFIG_FILE
from tta.names import VOCABULARY
from tta.scoring.engines.onnxruntime import engine as engines
from tta.scoring.engines.onnxruntime.calibration import write_light
from tta.scoring.exports.formats import export_folder
from tta.scoring.scorers.inference.mixed import in_float32, in_int8
from tta.scoring.scorers.inference.signature import digest, signature_line
from tta.scoring.scorers.load import KINDS, load_scorer
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer, TokenScores

TEXTS = ["the Cats sat on the mat.", "a dog, a \u00e9cat", "\u4f60 ran"]
LONG = ["the cat sat on the mat a dog ran home on the mat the cat sat"]


def load(model, **options):
    return tta.load(model, **{"engine": "onnxruntime"} | options)


def check(first, second, changes_scores=True):
    """That two models have other scores, and other signatures beside their names."""
    scores = [lm.score(TEXTS + LONG) for lm in (first, second)]
    lines = [re.sub(r"^model:[^|]*", "", lm.signature) for lm in (first, second)]
    differ = not np.allclose(*scores, rtol=0, atol=1e-5)
    assert differ == changes_scores
    assert lines[0] != lines[1] or not differ, lines[0]


def resaved(folder, copy, **changes):
    """A copy of a model with the same weights, as far as it has them, and another config."""
    model = load_model(folder, build=Arrays)
    shutil.copytree(folder, copy)
    other = Arrays(model.config.replace(**changes))
    other.assign(model.arrays.items())
    save_model(other, copy, "")
    return copy


# Fields of configs -> another value, which changes scores; `None` are those of which no model with
# the same weights has another value, or that scoring does not read.
OTHER_VALUES = {
    "do_lower_case": False, "normalization": "bert", "num_attention_heads": 2,
    "hidden_act": "relu", "layer_norm_eps": 0.1, "unknown_price": 1.0, "first_query_token_id": 4,
    **dict.fromkeys((
        "vocab_size", "hidden_size", "model_type", "output_layer", "tokenizer", "head",
        "num_hidden_layers", "intermediate_size", "max_position_embeddings", "num_segments",
        "norm_first", "max_relative_distance", "learned_normalizer", "initializer_range",
        "hidden_dropout_prob", "attention_probs_dropout_prob",
    )),
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_arrays(tmp_path_factory.mktemp("models") / "model", CONFIG)


def test_every_field_of_a_config_is_looked_at():
    assert {field.name for field in fields(CONFIG)} <= OTHER_VALUES.keys()


@pytest.mark.parametrize(
    "name", [name for name, other in OTHER_VALUES.items() if other is not None]
)
def test_of_own_models_every_field_of_the_config(name, folder, tmp_path):
    texts_differ = name != "normalization"  # "nfkc" and "bert" read these texts alike
    other = resaved(folder, tmp_path / "copy", **{name: OTHER_VALUES[name]})
    check(load(folder), load(other), texts_differ)
    assert load(folder).signature.split("|")[3:] != load(other).signature.split("|")[3:]


def swap(path, first, second):
    lines = path.read_text(encoding="utf-8").split("\n")
    one, two = lines.index(first), lines.index(second)
    lines[one], lines[two] = second, first
    path.write_text("\n".join(lines), encoding="utf-8")


def edit_json(**changes):
    def edit(folder):
        values = json.loads((folder / CONFIG_FILE).read_text()) | changes
        (folder / CONFIG_FILE).write_text(json.dumps(values))

    return edit


def scale(folder):
    arrays = load_file(folder / "model.safetensors")
    name = next(name for name in arrays if name.endswith("word_embeddings.weight"))
    arrays[name] = arrays[name] * 1.5
    save_file(arrays, folder / "model.safetensors")


CASED = '{"do_lower_case": false}'
# Files of a BERT have no checksums of each other.
BERT_CHANGES = {
    "the activation": edit_json(hidden_act="relu"),
    "heads": edit_json(num_attention_heads=2),
    "epsilon": edit_json(layer_norm_eps=0.1),
    "case": lambda folder: (folder / "tokenizer_config.json").write_text(CASED),
    "two lines of the vocabulary": lambda folder: swap(folder / VOCABULARY, "cat", "mat"),
    "weights": scale,
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bert")
    made = write_arrays(folder / "model", of_family("bilm"))
    export_folder(load(made), folder / "bert", "huggingface", "token", "mean")
    (folder / "bert" / "tokenizer.json").unlink()
    (folder / "bert" / "tokenizer_config.json").write_text(CASED.replace("false", "true"))
    path = folder / "bert" / CONFIG_FILE
    values = json.loads(path.read_text())
    del values["normalization"], values["do_lower_case"]  # other BERTs do not have them
    path.write_text(json.dumps(values))
    return folder / "bert"


@pytest.mark.parametrize("change", BERT_CHANGES.values(), ids=BERT_CHANGES)
def test_of_a_bert_every_file_and_a_cache_does_not_give_the_old_scores(change, bert, tmp_path):
    copy, cache = shutil.copytree(bert, tmp_path / "copy"), str(tmp_path / "cache")
    load(copy, cache=cache).score(TEXTS)
    change(copy)
    changed = load(copy)
    check(load(bert), changed)
    np.testing.assert_array_equal(load(copy, cache=cache).score(TEXTS), changed.score(TEXTS))


# Options -> another value, which changes scores. None are those that change a score by rounding
# at most, or not at all: they may be left out.
OPTIONS = {
    "normalizer": "learned", "pll_variant": "within_word_l2r", "precision": "int8",
    "score_boundary_tokens": True, "unknown": "model",
    **dict.fromkeys(("long_sentences", "batch_tokens", "engine", "device", "threads", "cache")),
    "begin_token": None,
}  # fmt: skip


def test_of_own_models_every_option(tmp_path):
    folder = write_arrays(tmp_path / "model", of_family("tta", learned_normalizer=True))
    assert {field.name for field in fields(ScoreOptions)} == OPTIONS.keys()
    for name, value in OPTIONS.items():
        if value is not None:
            check(load(folder), load(folder, **{name: value}))


@pytest.mark.parametrize("first", ["float32", "int8", "mixed"])
def test_a_cache_does_not_give_the_scores_of_another_precision(first, folder, tmp_path):
    in_all = {name: load(folder, precision=name).score(TEXTS) for name in ("float32", "int8")}
    assert not np.allclose(in_all["float32"], in_all["int8"], rtol=0, atol=1e-5)
    cache = str(tmp_path / "cache")
    in_float32(load(folder, precision=first, cache=cache)).score(TEXTS)
    lm = load(folder, precision="mixed", cache=cache)
    np.testing.assert_array_equal(in_int8(lm).score(TEXTS), in_all["int8"])
    np.testing.assert_array_equal(in_float32(lm).score(TEXTS), in_all["float32"])
    for name, scores in in_all.items():
        cached = load(folder, precision=name, cache=cache)
        np.testing.assert_array_equal(cached.score(TEXTS), scores)


def test_weights_that_float16_does_not_hold_or_tell_apart(tmp_path):
    lines = set()
    for number, value in enumerate((7e4, 8e4, 1.0, 1.0001)):
        folder = write_arrays(tmp_path / str(number))
        model = load_model(folder, build=Arrays)
        model.arrays["head/bias"][7] = value
        save_model(model, folder, "")
        lines.add(load(folder).signature.partition("|")[2])
    assert len(lines) == 4


def test_ranges_for_int8(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "has_vnni", lambda: True)
    copies = [shutil.copytree(folder, tmp_path / name) for name in ("first", "second")]
    for copy, texts in zip(copies, (TEXTS, ["zz top of the hill said xxx"]), strict=True):
        write_light(copy, texts)
    check(*(load(copy, precision="int8") for copy in copies))
    assert load(copies[0]).signature.replace("first", "second") == load(copies[1]).signature


def test_of_an_n_gram_model_the_file_and_the_option(tmp_path):
    pytest.importorskip("kenlm")
    path, other = tmp_path / "lm.arpa", tmp_path / "other.arpa"
    path.write_text(ARPA)
    other.write_text(ARPA.replace("-0.375", "-0.5"))
    check(tta.load(f"kenlm:{path}"), tta.load(f"kenlm:{other}"))
    check(tta.load(f"kenlm:{path}"), tta.load(f"kenlm:{path}", score_boundary_tokens=True))


class Lengths(Scorer):
    """Another project's kind of model: prices of words in a file, and a setting."""

    def __init__(self, path, factor=1.0):
        self.name, self.factor = path, factor
        with open(path) as file:
            self.prices = json.load(file)

    @property
    def settings(self):
        return {"type": "lengths", "prices": self.prices, "factor": self.factor}

    def score_tokens(self, texts, progress=False):
        prices = [[self.factor * self.prices.get(word, 9) for word in x.split()] for x in texts]
        return [TokenScores(x.split(), -np.array(y)) for x, y in zip(texts, prices, strict=True)]


def test_of_another_projects_kind_its_settings(tmp_path, monkeypatch):
    monkeypatch.setitem(KINDS, "lengths", Lengths)
    for name, prices in {"a": {"the": 1, "cat": 2}, "b": {"the": 2, "cat": 1}}.items():
        (tmp_path / name).write_text(json.dumps(prices))
    first = tta.load(f"lengths:{tmp_path}/a")
    check(first, tta.load(f"lengths:{tmp_path}/b"))
    check(first, load_scorer(f"lengths:{tmp_path}/a", factor=2.0))
    assert first.signature.startswith(f"model:{tmp_path}/a|type:lengths|prices:")
    first.signature = "its own"
    assert first.signature == "its own"


DIGESTS = [
    (["a", "b"], ["b", "a"], "the order of a vocabulary"),
    (["ab"], ["a", "b"], "lengths"),
    ([1], ["1"], "types"),
    ([1], [True], "types"),
    ({"a": 1}, {"a": 2}, "values"),
    (np.zeros(4), np.zeros((2, 2)), "shapes"),
    (np.zeros(2, np.float32), np.zeros(1, np.float64), "types of numbers"),
]


@pytest.mark.parametrize(("first", "second", "reason"), DIGESTS)
def test_a_digest_tells_values_apart(first, second, reason):
    assert digest(first) != digest(second), reason
    assert re.fullmatch("[0-9a-f]{8}", digest(first))


def test_a_digest_does_not_depend_on_the_order_of_a_mapping_and_has_no_unknown_types():
    assert digest({"a": 1, "b": 2.5}) == digest({"b": 2.5, "a": 1})
    for value in (object(), np.array([object()]), {1, 2}):
        with pytest.raises(TypeError, match="a signature has no digest of"):
            digest(value)


def test_a_line_is_printable_and_cannot_be_forged():
    assert signature_line("a|b", {"c": "x|y\n", "d": True, "e": [1]}).startswith(
        rf"model:a\x7cb|c:x\x7cy\n|d:yes|e:{digest([1])}|version:"
    )
