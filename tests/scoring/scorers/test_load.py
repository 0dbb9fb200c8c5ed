"""What `tta.load` and --model take: built-in, directories, names, kind:path."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tta
from tta.errors import InputError
from tta.modeling.formats import trained_models
from tta.registry import Registry
from tta.scoring.reranking.rerank import RerankConfig, rerank_files
from tta.scoring.scorers import load
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer
from tta.scoring.scorers.text_model import TextModel

ROOT = Path(__file__).resolve().parents[3]


class Toy(Scorer):
    def __init__(self, path, score_boundary_tokens=False, letters=26):
        self.got = path, score_boundary_tokens, letters


@pytest.fixture
def seen(monkeypatch, tmp_path):
    """The calls of `TextModel.from_directory`, in a folder with trained models."""
    seen = []

    def from_directory(path, options):
        seen.append((path, options))
        return SimpleNamespace(model_type="tta")

    monkeypatch.setattr(TextModel, "from_directory", from_directory)
    monkeypatch.setitem(load.KINDS, "toy", Toy)
    monkeypatch.setattr(trained_models, "PRETRAINED", tmp_path / "pretrained")
    for name in ("bilm-small", "unilm-small"):
        (tmp_path / "pretrained" / name).mkdir(parents=True)
        (tmp_path / "pretrained" / name / "config.json").touch()
    (tmp_path / "pretrained" / "notes.txt").touch()
    monkeypatch.chdir(tmp_path)
    return seen


def test_mixed_precision_is_of_models_that_have_one(monkeypatch):
    monkeypatch.setitem(load.KINDS, "toy", Toy)
    assert isinstance(tta.load("toy:path", precision="mixed"), Toy)
    lm = tta.load("small", precision="mixed")
    in_int8 = "precision:int8[a-z-]*[|]engine:onnxruntime[|].*[|]mixed:float32$"
    assert re.search(in_int8, lm.signature)
    assert "precision:float32|engine:onnxruntime" in lm.exact.signature
    in_tensorflow = SimpleNamespace(model_type="tta", settings={"precision": "float32"})
    monkeypatch.setattr(TextModel, "from_directory", lambda *_: in_tensorflow)
    rule = "precision mixed needs engine onnxruntime: precision mixed is for"
    with pytest.raises(InputError, match=rule):
        tta.load("small", precision="mixed", engine="tensorflow")


@pytest.mark.parametrize("model", [None, "small"])
def test_the_built_in_model(seen, model):
    tta.load(model, precision="bfloat16")
    assert seen == [(trained_models.BUILT_IN, ScoreOptions(precision="bfloat16"))]


def test_a_trained_model_of_the_working_directory(seen, monkeypatch):
    monkeypatch.setattr(trained_models, "PRETRAINED", Path("nowhere"))
    tta.load("bilm-small")
    assert seen == [(Path("pretrained/bilm-small"), ScoreOptions())]


@pytest.mark.parametrize("name", ["small", "bilm-small", "toy:path", "a/model", "other:kind"])
def test_a_directory_is_preferred_to_a_name_if_it_has_a_model(seen, tmp_path, name):
    (tmp_path / name).mkdir(parents=True)
    (tmp_path / name / "notes").touch()
    known = {name: tmp_path / "pretrained" / name, "small": trained_models.BUILT_IN}
    without_model = str(known[name] if name.endswith("small") else name)
    tta.load(name)
    (tmp_path / name / "config.json").touch()
    tta.load(name)
    tta.load(tmp_path / name)
    assert [str(path) for path, _ in seen] == [without_model, name, str(tmp_path / name)]


def test_a_kind_gets_its_path_and_the_options_that_it_has(seen):
    options = {"precision": "bfloat16", "batch_tokens": 7, "long_sentences": "refuse"}
    assert tta.load("toy:a/b:c", **options).got == ("a/b:c", False, 26)
    assert tta.load("toy:x", score_boundary_tokens=True).got == ("x", True, 26)
    assert load.load_scorer("toy:x", letters=3).got == ("x", False, 3)
    for function in (tta.load, load.load_scorer):
        with pytest.raises(TypeError, match="batch_size"):
            function("toy:x", **{"batch_size": 7})


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("nowhere", "nowhere: no such model directory, nor a model of that name (small, bilm-"),
        ("../pretrained", "../pretrained: no such model directory"),
        ("notes.txt", "notes.txt: no such model directory"),
        (
            "runs/x:1",
            "runs/x:1: no such model directory, and 'runs/x' is not a kind of model",
        ),
        ("toy:", "toy:: expected a path, as in toy:path"),
    ],
)
def test_a_missing_model_is_a_one_line_error(seen, model, message):
    with pytest.raises(InputError, match=f"^{re.escape(message)}") as raised:
        tta.load(model)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("model", "known"), [("Smal", "small"), ("cloze-smal", "cloze-small"), ("kenml:a", "kenlm")]
)
def test_the_nearest_name_is_shown(model, known):
    with pytest.raises(InputError, match=rf"; did you mean {known}\?$"):
        tta.load(model)


@pytest.mark.parametrize(
    ("model", "files", "ways", "why"),
    [
        ("org/name-1", (), "hf:org/name-1 or transformers:org/name-1", "a name of the Hub"),
        ("bert-base-uncased", (), "transformers:bert-base-uncased", "one without an owner"),
        ("v.txt", ("v.txt",), "glove:v.txt or word2vec:v.txt", "vectors of words"),
        ("v/cc.de.vec.gz", ("v/cc.de.vec.gz",), "glove:v/cc.de.vec.gz or word2vec:.*", "packed"),
        ("cc.bin", ("cc.bin",), "fasttext:cc.bin or word2vec:cc.bin or kenlm:cc.bin", "binary"),
        ("3.arpa", ("3.arpa",), "kenlm:3.arpa", "n-grams"),
        ("m/model.ckpt", ("m/model.ckpt.index",), "the folder m", "a checkpoint's prefix"),
        ("m/model.ckpt.index", ("m/model.ckpt.index",), "the folder m", "a checkpoint's file"),
        ("m/vocab.txt", ("m/vocab.txt", "m/model.weights.h5"), "the folder m", "a model's file"),
    ],
)
def test_the_message_says_how_to_name_it(seen, tmp_path, model, files, ways, why):
    for name in files:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(InputError, match=rf"; did you mean {ways}\?$") as raised:
        tta.load(model)
    for way in ("pretrained/", "$TTA_MODELS", "hf:OWNER/NAME", "transformers:NAME"):
        assert way in str(raised.value), why


def test_every_kind_is_a_scorer_that_scores_or_encodes():
    for kind in load.KINDS:
        scorer = load.KINDS.load(kind)
        assert issubclass(scorer, Scorer)
        assert scorer.representations or scorer.score_tokens is not Scorer.score_tokens


def test_the_scorer_in_the_docs_works(monkeypatch):
    text = (ROOT / "docs/scorers.md").read_text(encoding="utf-8")
    snippets = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (snippet,) = (one for one in snippets if "(Scorer):" in one)
    monkeypatch.setattr(load, "KINDS", Registry("kind of model", load.KINDS))
    monkeypatch.chdir(ROOT)
    names = {}
    exec(compile(snippet, "docs/scorers.md", "exec"), names)
    lm = names["lm"]
    words = Path("examples/train.txt").read_text(encoding="utf-8").split()
    size = len(words) + len(set(words)) + 1
    expected = np.log((words.count("the") + 1) / size) + np.log(1 / size)
    assert lm.score(["the xyzzy", ""]).tolist() == pytest.approx([expected, 0.0])
    with pytest.raises(InputError, match="a unigram model has no sentence vectors"):
        lm.encode(["the"])
    report = rerank_files(
        RerankConfig(nbest_file="examples/asr.test.json"), ["unigram:examples/train.txt"]
    )
    assert lm.signature in str(report)
