"""Exported folders: other libraries give our scores and vectors; nothing is half written."""

import json
import os
import re
from typing import Any

import numpy as np
import onnxruntime
import pytest
from safetensors.numpy import load_file
from tokenizers import Tokenizer as Pipeline

import tta
from tests.commands import python
from tests.tiny import of_family, write_model_directory
from tta.errors import InputError
from tta.scoring.exports import formats
from tta.scoring.exports.formats import export_folder
from tta.scoring.scorers.inference.batches import pad
from tta.scoring.scorers.pooling import fit_pooling
from tta.scoring.scorers.scorer import Scorer

pytestmark = pytest.mark.tensorflow

TEXTS = ("the cat sat", "a dog ran home.", "dogs'", "z", "The Mat on the mat")
# Unknown words, some with characters of the vocabulary; and one in each of several windows.
UNKNOWN = ("Ωmega 東京 the cat", "the dog Éé☺ ran home ½ ", "the cat sat on the 東京 mat. " * 4)


TOKEN_SCORES = """
import json, sys, torch
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer
folder, texts = sys.argv[1], json.loads(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
batch = tokenizer(texts, return_tensors="pt", padding=True)
scores = [
    row[mask.bool()][1:-1].tolist()
    for row, mask in zip(model.token_scores(**batch), batch["attention_mask"])
]
with torch.no_grad():
    first = tokenizer(texts[0], return_tensors="pt")
    states = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()(**first)
print(json.dumps([scores, states.last_hidden_state[0, 1].tolist()]))
"""
MASKED_SCORES = """
import json, sys, torch
from transformers import AutoTokenizer, BertForMaskedLM, pipeline
folder, texts = sys.argv[1], json.loads(sys.argv[2])
tokenizer, model = AutoTokenizer.from_pretrained(folder), BertForMaskedLM.from_pretrained(folder)
scores = []
for text in texts:
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    inner = torch.arange(1, ids.shape[1] - 1)
    rows = ids.repeat(len(inner), 1)
    rows[torch.arange(len(inner)), inner] = tokenizer.mask_token_id
    with torch.no_grad():
        found = model.eval()(rows).logits.log_softmax(-1)
    scores.append(found[torch.arange(len(inner)), inner, ids[0, inner]].tolist())
filled = pipeline("fill-mask", model=folder)("the [MASK] sat")
print(json.dumps([scores, len(filled)]))
"""
LOGITS = """
import json, sys, torch
from transformers import AutoModelForMaskedLM
folder, inputs = sys.argv[1], json.loads(sys.argv[2])
model = AutoModelForMaskedLM.from_pretrained(folder, trust_remote_code=True).eval()
with torch.no_grad():
    print(json.dumps(model(**{n: torch.tensor(x) for n, x in inputs.items()}).logits.tolist()))
"""
VECTORS = """
import json, sys
from sentence_transformers import SentenceTransformer
folder, texts = sys.argv[1], json.loads(sys.argv[2])
model = SentenceTransformer(folder, trust_remote_code=True)
found = model.encode(texts)
model.save(folder + "-again")
again = SentenceTransformer(folder + "-again", trust_remote_code=True).encode(texts)
assert abs(again - found).max() == 0.0
print(json.dumps(found.tolist()))
"""
STATIC = """
import json, sys
from model2vec import StaticModel
from sentence_transformers import SentenceTransformer
folder, texts = sys.argv[1], json.loads(sys.argv[2])
found = StaticModel.from_pretrained(folder).encode(texts)
print(json.dumps([found.tolist(), SentenceTransformer(folder).encode(texts).tolist()]))
"""


def run(script, folder, tmp_path, texts=TEXTS):
    """The JSON that a script prints, in a process that has no network."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "cache")}
    done = python(script, folder, json.dumps(texts), env=os.environ | offline)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """{family: its tiny model}, with statistics for pooling."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for family in ("tta", "cloze", "bilm", "unilm"):
        form = {"norm_first": True, "max_relative_distance": 2} if family == "cloze" else {}
        directory = write_model_directory(folder / family, of_family(family, **form))
        lm = tta.load(directory, unknown="model")
        with open(directory / "pooling.npz", "wb") as file:
            fit_pooling(lm, TEXTS * 9, 30).write(file)
        found[family] = tta.load(directory, unknown="model")
    return found


def exported(lm, folder, format="huggingface", representation="token", pooling="whitened"):
    export_folder(lm, folder, format, representation, pooling)
    return folder


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def of_options(models, family, **options):
    """A model with other options."""
    return tta.load(models[family].directory, **options)


@pytest.mark.large
@pytest.mark.parametrize("family", ["tta", "cloze", "unilm"])
def test_transformers_give_our_scores_and_states(models, tmp_path, family):
    lm = of_options(models, family)
    texts = [*TEXTS, *UNKNOWN]
    scores, state = run(TOKEN_SCORES, exported(lm, tmp_path / "out"), tmp_path, texts)
    for found, expected in zip(scores, lm.score_tokens(texts), strict=True):
        np.testing.assert_allclose(found, expected.log_probabilities, atol=1e-4)
    words = lm.encode_words([TEXTS[0].split()], "context")[0]
    np.testing.assert_allclose(state, words[0], atol=1e-4)


@pytest.mark.large
def test_unknown_words_without_their_characters_are_refused_in_pytorch(models, tmp_path):
    script = TOKEN_SCORES.replace("**batch)", "batch['input_ids'])", 1)
    with pytest.raises(AssertionError, match="unknown words, whose price depends"):
        run(script, exported(of_options(models, "tta"), tmp_path / "out"), tmp_path, UNKNOWN[:1])


CAUSAL = """
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, texts = sys.argv[1], json.loads(sys.argv[2])
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForCausalLM.from_pretrained(folder, trust_remote_code=True).eval()
scores = []
for text in texts:
    ids = tokenizer([text], return_tensors="pt")["input_ids"]
    with torch.no_grad():
        chances = model(ids).logits[0].log_softmax(-1)
    scores.append([float(chances[t - 1, ids[0, t]]) for t in range(1, ids.shape[1] - 1)])
longer = model.generate(ids[:, :-1], max_new_tokens=3, do_sample=False, pad_token_id=0)
with torch.no_grad():
    best = [int(model(longer[:, : ids.shape[1] - 1 + t]).logits[0, -1].argmax()) for t in range(3)]
print(json.dumps([scores, longer[0, ids.shape[1] - 1 :].tolist()[: len(best)], best]))
"""


@pytest.mark.large
def test_a_unilm_is_a_causal_model(models, tmp_path):
    folder = exported(models["unilm"], tmp_path / "out")
    card = (folder / "README.md").read_text()
    assert "AutoModelForCausalLM.from_pretrained" in card
    assert "fill-mask" not in card
    scores, generated, best = run(CAUSAL, folder, tmp_path)
    for found, expected in zip(scores, models["unilm"].score_tokens(TEXTS), strict=True):
        np.testing.assert_allclose(found, expected.log_probabilities, atol=1e-4)
    assert generated == best[: len(generated)]


@pytest.mark.large
def test_a_bilm_is_a_plain_bert(models, tmp_path):
    folder = exported(models["bilm"], tmp_path / "out")
    assert not list(folder.glob("*.py"))
    assert "pipeline_tag: fill-mask\n" in (folder / "README.md").read_text()
    scores, filled = run(MASKED_SCORES, folder, tmp_path)
    for found, expected in zip(scores, models["bilm"].score_tokens(TEXTS), strict=True):
        np.testing.assert_allclose(found, expected.log_probabilities, atol=1e-4)
    assert filled == 5


@pytest.mark.parametrize("unknown", ["price", "model"])
@pytest.mark.parametrize("family", ["tta", "cloze", "bilm", "unilm"])
def test_the_code_in_the_readme_of_an_onnx_folder_gives_our_scores(
    models, tmp_path, family, unknown
):
    lm = of_options(models, family, unknown=unknown)
    folder = exported(lm, tmp_path / "out", "onnx")
    (code,) = re.findall(r"```python\n(.*?)```", (folder / "README.md").read_text(), re.DOTALL)
    assert code.count("\n") <= 12
    if family == "bilm":
        old, lists = '"the cat sat on the mat"', [[text] for text in (*UNKNOWN, "the cat", "")]
    else:
        old, lists = '["the cat sat on the mat", "a cat"]', [[*TEXTS, *UNKNOWN, ""], ["", ""]]
    assert old in code
    for texts in lists:
        new = code.replace(old, repr(texts[0] if family == "bilm" else texts))
        done = python(new, cwd=folder, check=True)
        found = np.array(re.findall(r"-?\d+\.\d*", done.stdout), float)
        np.testing.assert_allclose(found, lm.score(cut(texts, folder)), atol=1e-3)


def cut(texts, folder):
    """Texts without what `tokenizer.json` leaves out."""
    tokenizer = Pipeline.from_file(str(folder / "tokenizer.json"))
    ends = [max(stop for _, stop in tokenizer.encode(text).offsets) for text in texts]
    return [text[:end] for text, end in zip(texts, ends, strict=True)]


@pytest.mark.large
@pytest.mark.parametrize("family", ["tta", "cloze", "bilm", "unilm"])
def test_the_logits_of_the_one_file_are_those_of_pytorch(models, tmp_path, family):
    folder = exported(of_options(models, family), tmp_path / "out")
    tokenizer = Pipeline.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_padding(pad_id=models[family].tokenizer.vocabulary.pad_id)
    rows = tokenizer.encode_batch(TEXTS[:2])
    inputs = {
        "input_ids": np.array([row.ids for row in rows]),
        "attention_mask": np.array([row.attention_mask for row in rows]),
    }
    session = onnxruntime.InferenceSession(folder / "onnx/model.onnx")
    logits: Any = session.run(None, inputs)[0]
    assert logits.shape == (*inputs["input_ids"].shape, models[family].config.vocab_size)
    expected = run(LOGITS, folder, tmp_path, {n: x.tolist() for n, x in inputs.items()})
    kept = inputs["attention_mask"] == 1
    np.testing.assert_allclose(logits[kept], np.array(expected)[kept], atol=1e-4)


@pytest.mark.parametrize("family", ["tta", "unilm"])
def test_states_are_ours(models, tmp_path, family):
    lm = models[family]
    folder = exported(lm, tmp_path / "out", "onnx")
    ids = lm.tokenizer.encode(UNKNOWN[:2])
    vocabulary = lm.tokenizer.vocabulary
    rows = [[vocabulary.bos_id, *row, vocabulary.eos_id] for row in ids]
    ids, mask = pad(list(map(np.array, rows)), vocabulary.pad_id)
    session = onnxruntime.InferenceSession(folder / "states.onnx")
    wanted = mask & (ids != vocabulary.unk_id) & (np.arange(ids.shape[1]) > 0)
    wanted[range(len(rows)), mask.sum(1) - 1] = False
    inputs = {"input_ids": ids, "padding_mask": mask, "wanted": wanted}
    states: Any = session.run(None, inputs)[0]
    found = [row[here].mean(0) for row, here in zip(states, wanted, strict=True)]
    np.testing.assert_allclose(found, lm.encode(UNKNOWN[:2]), atol=1e-4)


def test_the_token_table_is_written_once(models, tmp_path):
    folder = exported(models["tta"], tmp_path / "out", "onnx")
    size = sum(4 * array.size for array in models["tta"].engine.weights().values())
    assert size <= (folder / "weights.bin").stat().st_size < 1.2 * size


def test_exports_need_no_tensorflow(models, tmp_path):
    light = tta.load(models["tta"].directory, engine="onnxruntime", unknown="model")
    for format in list(formats.EXPORTS)[1:]:
        one, other = tmp_path / "one" / format, tmp_path / "other" / format
        exported(models["tta"], one, format)
        exported(light, other, format)
        for path in one.rglob("*.*"):
            if path.name != "README.md":
                assert path.read_bytes() == (other / path.relative_to(one)).read_bytes(), path.name


@pytest.mark.parametrize("changes", [{}, {"do_lower_case": False}, {"normalization": "nfkc"}])
def test_an_exported_bilm_is_read_back_with_equal_scores(tmp_path, changes):
    lm = tta.load(write_model_directory(tmp_path / "model", of_family("bilm", **changes)))
    again = tta.load(exported(lm, tmp_path / "out"))
    texts = [*TEXTS, "ǅ ½ … The"]
    np.testing.assert_array_equal(again.score(texts), lm.score(texts))
    assert again.config.normalization == lm.config.normalization
    assert again.config.do_lower_case == lm.config.do_lower_case


@pytest.mark.large
@pytest.mark.parametrize(
    ("representation", "pooling"),
    [
        ("token", "whitened"),
        ("token", "sif"),
        ("context", "mean"),
        ("embed", "mean"),
        ("joint", "mean"),
    ],
)
def test_sentence_transformers_give_our_vectors(models, tmp_path, representation, pooling):
    lm = models["tta"]
    folder = exported(lm, tmp_path / "out", "sentence_transformers", representation, pooling)
    found = run(VECTORS, folder, tmp_path)
    expected = lm.encode(TEXTS, representation, pooling)
    np.testing.assert_allclose(found, expected, atol=1e-4 * abs(expected).max())


@pytest.mark.large
def test_static_vectors_have_our_cosines_in_both_libraries(models, tmp_path):
    folder = exported(models["tta"], tmp_path / "out", "static")
    expected = unit(models["tta"].encode(TEXTS, "token", "whitened"))
    for found in run(STATIC, folder, tmp_path):
        np.testing.assert_allclose(unit(np.array(found)), expected, atol=1e-5)


def test_the_card_has_signature_and_hashes(models, tmp_path):
    for format in list(formats.EXPORTS)[1:]:
        folder = exported(models["tta"], tmp_path / format, format)
        card = (folder / "README.md").read_text()
        assert "model:tta|type:tta|" in card
        for path in folder.rglob("*.*"):
            name = path.relative_to(folder).as_posix()
            assert name == "README.md" or f"`{name}`: " in card


@pytest.mark.parametrize(
    ("family", "format", "computes"),
    [
        ("tta", "onnx", "normalizer:learned|boundary_tokens:no|unknown:price|long:cut|"),
        ("bilm", "onnx", "normalizer:exact|boundary_tokens:no|unknown:price|long:cut|"),
        ("unilm", "huggingface", "unknown:price|long:window|precision:float32|engine:pytorch|"),
        ("bilm", "huggingface", "boundary_tokens:no|unknown:model|long:refuse|precision:float32|"),
        ("tta", "sentence_transformers", "|long:cut|precision:float32|engine:pytorch|version:"),
        ("tta", "static", "|precision:float32|version:"),
    ],
)
def test_the_signature_is_that_of_what_the_folder_computes(tmp_path, family, format, computes):
    learned = computes.startswith("normalizer:learned")
    config = of_family(family, learned_normalizer=learned)
    directory = write_model_directory(tmp_path / "model", config)
    options = {"normalizer": "learned"} if learned else {}
    lm = tta.load(directory, score_boundary_tokens=True, long_sentences="refuse", **options)
    found = export_folder(lm, tmp_path / "out", format, "token", "mean")
    assert computes in found
    assert f"- Model: `{found}`\n" in (tmp_path / "out/README.md").read_text()


def test_the_command_takes_the_light_engine_and_the_pooling_of_encode(models, tmp_path):
    lm, folder = models["tta"], tmp_path / "out"
    code = (
        "import sys; from tta.flags.export import main\n"
        "from tta.scoring.exports.config import ExportConfig\n"
        "from tta.scoring.scorers.options import OneModel, ScoreOptions\n"
        f"config = ExportConfig(output_dir={str(folder)!r}, format='static')\n"
        f"main(config, OneModel(model={str(lm.directory)!r}), ScoreOptions())\n"
        "print('tensorflow' in sys.modules)"
    )
    done = python(code, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    table = load_file(folder / "model.safetensors")["embeddings"]
    rows = [table[ids].mean(axis=0) for ids in lm.tokenizer.encode(TEXTS)]
    expected = unit(lm.encode(TEXTS, "token"))
    np.testing.assert_allclose(unit(np.array(rows)), expected, atol=1e-5)


RECORD = """---
license: cc-by-4.0
language:
- de
tags: [x, 'my words', PyTorch]
pipeline_tag: translation
library_name: other
widget:
- text: of another format
datasets:
  - wiki
---
# Mine

Trained on my mail.
"""


@pytest.mark.parametrize("format", list(formats.EXPORTS)[1:])
def test_license_and_language_come_from_the_record_of_the_model(tmp_path, format):
    directory = write_model_directory(tmp_path / "model")
    (directory / "README.md").unlink()
    own = "license:", "language:", "- my words", "datasets:", "Apache", "English", "record"
    for name, record in ("a", None), ("b", RECORD):
        if record is not None:
            (directory / "README.md").write_text(record)
        lm = tta.load(directory)
        export_folder(lm, tmp_path / name, format, "token", "mean")
        card = (tmp_path / name / "README.md").read_text()
        assert [word for word in own if word in card] == ([*own[:4], "record"] if record else [])
    head = card.split("---\n")[1]
    expected = "license: cc-by-4.0\nlanguage:\n- de\ndatasets:\n  - wiki\ntags:\n- x\n- my words\n"
    assert head.startswith(f"{expected}- tta-lm\n- tta\n")
    assert not [word for word in ("PyTorch", "widget", "translation", "other") if word in head]
    assert "\n> # Mine\n>\n> Trained on my mail.\n" in card


@pytest.mark.parametrize("format", list(formats.EXPORTS)[1:])
def test_a_failure_leaves_no_folder_and_a_folder_is_never_replaced(
    models, tmp_path, monkeypatch, format
):
    folder = exported(models["tta"], tmp_path / "out", format)
    with pytest.raises(InputError, match=r"out: exists; choose another folder"):
        exported(models["tta"], folder, format)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tta.scoring.exports.cards.write", fail)
    with pytest.raises(OSError, match="No space left"):
        exported(models["tta"], tmp_path / "new", format)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_exported_is_refused(models, tmp_path):
    with pytest.raises(InputError, match=r"^model: only a tta or bilm or unilm or cloze"):
        exported(Scorer(), tmp_path / "a")
    with pytest.raises(InputError, match=r"representation must be token or context or embed"):
        exported(models["tta"], tmp_path / "b", "sentence_transformers", "cls")
    with pytest.raises(InputError, match=r"aligned compares two texts .*: take joint$"):
        exported(models["tta"], tmp_path / "g", "sentence_transformers", "aligned", "mean")
    maskless = of_options(models, "bilm", pll_variant="maskless")
    with pytest.raises(InputError, match=r"format onnx has pll_variant original, not maskless"):
        exported(maskless, tmp_path / "d", "onnx")
    with pytest.raises(InputError, match=r"only --pll_variant=maskless has this format"):
        exported(models["bilm"], tmp_path / "e", "sentence_transformers", "context", "mean")
    exported(maskless, tmp_path / "maskless", "sentence_transformers", "context", "mean")
    assert [path.name for path in tmp_path.iterdir()] == ["maskless"]
