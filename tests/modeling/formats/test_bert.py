"""BERT's checkpoints, from Google and Hugging Face, read as a biLM.

If torch and transformers are installed, the outputs are compared with Hugging Face's model.
"""

import itertools
import json
import re
import warnings

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file, save_file

import tta
from tests.modeling.formats.tensorflow.test_tf1_checkpoint import (
    CONFIG,
    ORIGINAL_REFERENCE,
    original_variables,
    write,
)
from tests.modeling.tiny import batch
from tta.errors import InputError
from tta.modeling.formats.model_directory import load_model

pytestmark = pytest.mark.tensorflow

TOLERANCE = 1e-4
PIECES = ("the", "cat", "sat", "on", "mat", "ran", ".", ",", "a", "un", "##able", "##ly", "##s")
TOKENS = ("[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES, *"bdel")
HF_CONFIG = CONFIG | {"model_type": "bert", "layer_norm_eps": 1e-12, "type_vocab_size": 2}
SEGMENTS = "bert/embeddings/token_type_embeddings"
QUERY = "bert.encoder.layer.1.attention.self.query.weight"
TABLE, BIAS = "bert.embeddings.word_embeddings.weight", "cls.predictions.bias"
DECODER = "cls.predictions.decoder.weight"


def google_variables(seed=0):
    """{Google's variable name: random array}, with variables of other heads and an optimizer."""
    rng = np.random.default_rng(seed + 1)
    return original_variables(seed) | {
        SEGMENTS: rng.normal(0.0, 0.3, (2, 15)).astype(np.float32),
        "cls/seq_relationship/output_weights": np.zeros((2, 15), np.float32),
        "cls/seq_relationship/output_bias": np.zeros(2, np.float32),
        "global_step": np.int64(7),
    }


def huggingface_tensors(variables):
    """The same variables as Hugging Face stores them: torch's names, kernels [out, in]."""
    tensors = {}
    for name, value in variables.items():
        if "adam" in name or name == "global_step":
            continue
        if name.endswith("kernel"):
            value = np.ascontiguousarray(value.T)
        for old, new in (
            ("cls/predictions/output_bias", BIAS),
            ("seq_relationship/output_weights", "seq_relationship/weight"),
            ("seq_relationship/output_bias", "seq_relationship/bias"),
            ("layer_", "layer."),
            ("_embeddings", "_embeddings.weight"),
            ("/kernel", "/weight"),
            ("/gamma", "/weight"),
            ("/beta", "/bias"),
            ("/", "."),
        ):
            name = name.replace(old, new)
        tensors[name] = value
    return tensors


def write_google(directory, variables, config=CONFIG):
    write(directory, variables, name="bert_model.ckpt")
    (directory / "config.json").unlink()
    (directory / "checkpoint").unlink()  # Google's archives have none.
    (directory / "bert_config.json").write_text(json.dumps(config))
    return directory


def write_huggingface(directory, tensors, config=HF_CONFIG):
    directory.mkdir(exist_ok=True)
    (directory / "config.json").write_text(json.dumps(config))
    save_file(tensors, directory / "model.safetensors", {"format": "pt"})
    return directory


@pytest.fixture
def google(tmp_path):
    return write_google(tmp_path / "google", google_variables())


@pytest.fixture
def huggingface(tmp_path):
    return write_huggingface(tmp_path / "huggingface", huggingface_tensors(google_variables()))


@pytest.fixture(scope="module")
def hf():
    """(torch, transformers)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    return torch, transformers


def random_bert(hf, directory, kind="BertForMaskedLM", seed=0, **sizes):
    """Hugging Face's model, saved with random weights, including biases and LayerNorms."""
    torch, transformers = hf
    sizes = {k: v for k, v in CONFIG.items() if k != "initializer_range"} | sizes
    model = getattr(transformers, kind)(transformers.BertConfig(**sizes)).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, value in model.named_parameters():
            centre = 1.0 if name.endswith("LayerNorm.weight") else 0.0
            value.copy_(centre + 0.3 * torch.randn(value.shape, generator=generator))
    model.save_pretrained(directory)
    return model


def outputs_of(hf, model, ids, mask):
    """Hugging Face's (embedding output, hidden states, log-probabilities) as arrays."""
    torch, _ = hf
    with torch.no_grad():
        found = model(
            input_ids=torch.tensor(ids.astype(np.int64)),
            attention_mask=torch.tensor(mask.astype(np.int64)),
            output_hidden_states=True,
        )
    logits = getattr(found, "logits", None)
    logits = found.prediction_logits if logits is None else logits
    states = found.hidden_states
    return [x.numpy() for x in (states[0], states[-1], torch.log_softmax(logits, dim=-1))]


def assert_same_outputs(hf, model, theirs, vocab_size=23):
    for lengths in ([19, 7, 2, 1], [1], [5, 5]):
        inputs = batch(lengths, vocab_size=vocab_size)
        ids, mask = inputs["input_ids"], inputs["padding_mask"]
        encoded = model.encode(inputs)
        log_probs = tf.nn.log_softmax(model(inputs)["logits"])
        for found, expected in zip(
            (encoded["embedding_output"], encoded["hidden_states"], log_probs),
            outputs_of(hf, theirs, ids, mask),
            strict=True,
        ):
            assert found.shape == expected.shape
            np.testing.assert_allclose(found.numpy()[mask], expected[mask], atol=TOLERANCE)


SIZES = {
    "two layers": {},
    "one layer, one head": {"num_hidden_layers": 1, "num_attention_heads": 1},
    "three layers, heads of 11": {
        "num_hidden_layers": 3,
        "hidden_size": 55,
        "num_attention_heads": 5,
        "intermediate_size": 101,
    },
    "gelu by tanh": {"hidden_act": "gelu_new"},
    "the same, factored": {"hidden_act": "gelu_fast"},
    "relu, another epsilon, one segment": {
        "hidden_act": "relu",
        "layer_norm_eps": 1e-3,
        "type_vocab_size": 1,
    },
}


@pytest.mark.large
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_huggingface_directories_give_the_outputs_of_huggingface(hf, tmp_path, sizes):
    theirs = random_bert(hf, tmp_path, **sizes)
    model = load_model(tmp_path)
    assert model.config.model_type == "bilm"
    assert_same_outputs(hf, model, theirs)


@pytest.mark.large
def test_a_bert_saved_for_pretraining_gives_the_same_outputs(hf, tmp_path):
    theirs = random_bert(hf, tmp_path, kind="BertForPreTraining")
    assert any("seq_relationship" in name for name in load_file(tmp_path / "model.safetensors"))
    assert_same_outputs(hf, load_model(tmp_path), theirs)


@pytest.mark.large
def test_google_checkpoints_give_the_outputs_of_huggingface(hf, tmp_path, google):
    torch, _ = hf
    theirs = random_bert(hf, tmp_path, hidden_act="gelu_new")  # called gelu in Google's code
    state = {k: torch.tensor(v) for k, v in huggingface_tensors(google_variables()).items()}
    loaded = theirs.load_state_dict(state, strict=False)
    assert {name.split(".")[-2] for name in loaded.missing_keys} == {"decoder"}  # tied
    assert all("pooler" in n or "seq_relationship" in n for n in loaded.unexpected_keys)
    assert_same_outputs(hf, load_model(google), theirs)


def test_outputs_of_google_s_code():
    directory = ORIGINAL_REFERENCE / "bert"
    model, expected = load_model(directory), np.load(directory / "outputs.npz")
    real = expected["input_mask"] == 1
    inputs = {"input_ids": expected["input_ids"], "padding_mask": real}
    hidden_states = model.encode(inputs)["hidden_states"]
    log_probs = tf.nn.log_softmax(model(inputs)["logits"])
    for found, name in ((hidden_states, "sequence_output"), (log_probs, "log_probs")):
        assert found.shape == expected[name].shape
        np.testing.assert_allclose(found.numpy()[real], expected[name][real], atol=TOLERANCE)


def test_spellings_of_older_files_are_read(tmp_path, huggingface):
    tensors = huggingface_tensors(google_variables())
    expected = load_model(huggingface)(batch([7]))["logits"]
    older = {
        re.sub(r"LayerNorm\.bias$", "LayerNorm.beta", name).replace(
            "LayerNorm.weight", "LayerNorm.gamma"
        ): value
        for name, value in tensors.items()
    }
    older |= {
        "bert.embeddings.position_ids": np.arange(19)[None],
        DECODER: tensors[TABLE],
        "cls.predictions.decoder.bias": tensors[BIAS],
    }
    half = {name: value.astype(np.float16) for name, value in tensors.items()}
    for name, tensors, tolerance in (("older", older, 0.0), ("half", half, 0.05)):
        config = {k: v for k, v in HF_CONFIG.items() if k != "model_type"}
        found = load_model(write_huggingface(tmp_path / name, tensors, config))(batch([7]))
        np.testing.assert_allclose(found["logits"], expected, atol=tolerance)


@pytest.mark.large
@pytest.mark.parametrize("variant", ["original", "within_word_l2r", "maskless"])
def test_scores_of_text_equal_those_computed_with_huggingface(hf, tmp_path, variant):
    _, transformers = hf
    theirs = random_bert(hf, tmp_path, vocab_size=len(TOKENS))
    vocab = {token: number for number, token in enumerate(TOKENS)}
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    tokenizer = transformers.BertTokenizer(vocab)
    tokenizer.save_pretrained(tmp_path)
    texts = ["The cats sat, unably.", "mat", "a cat sat on the mats the cat ran unably on"]
    found = tta.load(tmp_path, pll_variant=variant, unknown="model").score_tokens(texts)
    for text, (tokens, scores) in zip(texts, found, strict=True):
        ids = tokenizer(text)["input_ids"]
        words = list(itertools.accumulate(not TOKENS[i].startswith("##") for i in ids))
        assert tokens == [TOKENS[i] for i in ids[1:-1]]
        for t in range(1, len(ids) - 1):
            masked = list(ids)
            for k in range(t, len(ids)):
                same_word = variant == "within_word_l2r" and words[k] == words[t]
                if variant != "maskless" and (k == t or same_word):
                    masked[k] = vocab["[MASK]"]
            log_probs = outputs_of(hf, theirs, np.array([masked]), np.ones((1, len(ids))))[2]
            assert scores[t - 1] == pytest.approx(log_probs[0, t, ids[t]], abs=TOLERANCE)


@pytest.mark.parametrize(
    ("pieces", "tokenizer_config", "lower_case", "why"),
    [
        (("the", "cat"), None, True, "no piece has a capital"),
        (("the", "Cat"), None, False, "one has"),
        (("the", "École"), {}, False, "one has, with an accent"),
        (("the", "Cat"), {"do_lower_case": True}, True, "the tokenizer's config has priority"),
        (("the", "cat"), {"do_lower_case": False, "strip_accents": None}, False, "the same"),
        (("the", "Cat"), {"strip_accents": False}, False, "the tokenizer's config does not say"),
    ],
)
def test_whether_text_is_lower_cased(
    google, huggingface, pieces, tokenizer_config, lower_case, why
):
    for directory in (google, huggingface):
        (directory / "vocab.txt").write_text("\n".join([*TOKENS[:6], *pieces]), encoding="utf-8")
        if tokenizer_config is not None:
            (directory / "tokenizer_config.json").write_text(json.dumps(tokenizer_config))
        assert load_model(directory).config.do_lower_case is lower_case, why


BAD_CONFIGS = [
    ({"model_type": "roberta"}, 'model_type must be "bert", not "roberta"'),
    ({"hidden_act": "silu"}, "hidden_act must be gelu or "),
    ({"hidden_act": ["gelu"]}, "hidden_act must be gelu or "),
    (
        {"position_embedding_type": "relative_key"},
        'position_embedding_type must be "absolute", not "relative_key"',
    ),
    ({"is_decoder": True}, "is_decoder must be false, not true"),
    ({"add_cross_attention": 1}, "add_cross_attention must be false, not 1"),
    ({"tie_word_embeddings": False}, "tie_word_embeddings must be true, not false"),
    ({"hidden_size": "15"}, "hidden_size must be of type int, not '15'"),
]


@pytest.mark.parametrize(("changes", "rule"), BAD_CONFIGS, ids=[rule for _, rule in BAD_CONFIGS])
def test_models_that_a_bilm_cannot_compute_are_refused(google, huggingface, changes, rule):
    for path in (google / "bert_config.json", huggingface / "config.json"):
        path.write_text(json.dumps(HF_CONFIG | changes))
        with pytest.raises(InputError) as error:
            load_model(path.parent)
        assert str(error.value).startswith(f"{path}: {rule}")


def test_configs_that_are_missing_or_lack_a_key_are_refused(google, huggingface):
    for path in (google / "bert_config.json", huggingface / "config.json"):
        for key in ("vocab_size", "num_attention_heads", "hidden_act"):
            path.write_text(json.dumps({k: v for k, v in HF_CONFIG.items() if k != key}))
            with pytest.raises(InputError, match=f"{path.name}: {key} is missing"):
                load_model(path.parent)
        path.unlink()
        missing = r"google: expected one config|huggingface/config\.json: cannot be read"
        with pytest.raises(InputError, match=missing):
            load_model(path.parent)


BAD_TOKENIZERS = [
    ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class must be"),
    ({"do_lower_case": "yes"}, 'do_lower_case must be true or false, not "yes"'),
    ({"do_lower_case": True, "strip_accents": False}, "strip_accents must be true, not false"),
    ({"do_lower_case": False, "strip_accents": True}, "strip_accents must be false, not true"),
    ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars must be true, not false"),
]


@pytest.mark.parametrize(
    ("values", "rule"), BAD_TOKENIZERS, ids=[rule for _, rule in BAD_TOKENIZERS]
)
def test_unsupported_tokenizers_are_refused(huggingface, values, rule):
    path = huggingface / "tokenizer_config.json"
    path.write_text(json.dumps(values))
    with pytest.raises(InputError) as error:
        load_model(huggingface)
    assert str(error.value).startswith(f"{path}: {rule}")


def without(values, *beginnings):
    return {k: v for k, v in values.items() if not k.startswith(beginnings)}


def zeros(*shape, kind=np.float32):
    return np.zeros(shape, kind)


GOOGLE, HF = google_variables(), huggingface_tensors(google_variables())
BAD_GOOGLE = [
    (without(GOOGLE, SEGMENTS), f"variable {SEGMENTS} is missing (1 in all)"),
    (GOOGLE | {SEGMENTS: zeros(2, 17)}, "the token type embeddings have 17 columns"),
    (GOOGLE | {SEGMENTS: zeros(2, 15, kind=np.int32)}, "the token type embeddings have shape [2,"),
]
BAD_HF = [
    (without(HF, QUERY), f"variable {QUERY} is missing (1 in all)"),
    (HF | {QUERY.replace("query.weight", "distance_embedding.weight"): zeros(37, 5)},
     "distance_embedding.weight does not belong to a model of this config"),
    (HF | {QUERY: zeros(15, 15, kind=np.int32)},
     f"tensor {QUERY} has type I32, not F32, F16 or BF16"),
    (HF | {DECODER: HF[TABLE] + 1}, f"{DECODER} differs from {TABLE}: the output"),
    (HF | {"cls.predictions.decoder.bias": HF[BIAS] + 1}, "the output head must be tied"),
]  # fmt: skip


@pytest.mark.parametrize(("variables", "rule"), BAD_GOOGLE, ids=[rule for _, rule in BAD_GOOGLE])
def test_google_variables_that_do_not_fit_are_refused(tmp_path, variables, rule):
    with pytest.raises(InputError) as error:
        load_model(write_google(tmp_path / "google", variables))
    assert str(error.value).startswith(f"{tmp_path / 'google' / 'bert_model.ckpt'}: ")
    assert rule in str(error.value)


@pytest.mark.parametrize(("tensors", "rule"), BAD_HF, ids=[rule for _, rule in BAD_HF])
def test_huggingface_tensors_that_do_not_fit_are_refused(tmp_path, tensors, rule):
    with pytest.raises(InputError) as error:
        load_model(write_huggingface(tmp_path / "hf", tensors))
    assert str(error.value).startswith(f"{tmp_path / 'hf' / 'model.safetensors'}: ")
    assert rule in str(error.value)


def test_a_config_too_large_for_its_file_is_refused_before_allocation(google, huggingface):
    for path in (google / "bert_config.json", huggingface / "config.json"):
        path.write_text(json.dumps(HF_CONFIG | {"vocab_size": 10**8}))
        with pytest.raises(InputError, match=rf"too few for the 1,\S+ parameters of {path.name}"):
            load_model(path.parent)


def test_damaged_safetensors_are_refused(huggingface):
    path = huggingface / "model.safetensors"
    content = path.read_bytes()
    for damaged in (b"", content[:7], content[:100], content[:-1], b"\xff" * 100):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="not a readable safetensors file") as error:
            load_model(huggingface)
        assert str(error.value).startswith(f"{path}: ")
        assert "\n" not in str(error.value)
