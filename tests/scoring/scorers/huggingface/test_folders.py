"""Folders of transformers: which are language models, what begins a text, what is unknown."""

import json

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tta.data.vocabulary.unknown_words import UNSEEN_CHARACTER_PRICE
from tta.errors import InputError
from tta.modeling.config.language_model import UNKNOWN_PRICE
from tta.scoring.scorers.inference.cache import CachedScorer, MemoryStore

torch = pytest.importorskip("torch", reason="pip install '.[transformers]'")
transformers = pytest.importorskip("transformers", reason="pip install '.[transformers]'")

WORDS = "[PAD] [UNK] [CLS] [SEP] [MASK] the cat ##s dog sat on a mat ran home . <|endoftext|>"
SIZE = {
    "vocab_size": len(WORDS.split()), "hidden_size": 16, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 20, "max_position_embeddings": 40,
    "pad_token_id": 0,
}  # fmt: skip
GPT2 = {"vocab_size": 17, "n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
TEXTS = ["the cats sat on a mat .", "a dog ran", ""]


def tokenizer(**roles):
    from tokenizers import BertWordPieceTokenizer

    inner = BertWordPieceTokenizer({word: i for i, word in enumerate(WORDS.split())})
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner._tokenizer, pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", **roles,
    )  # fmt: skip


@pytest.fixture
def write(tmp_path):
    """Writes a model of random weights, whose weights and config may be changed."""

    def written(model, config, architecture=None, change=None, **roles):
        torch.manual_seed(3)
        made = getattr(transformers, model)(getattr(transformers, config[0])(**config[1]))
        for weight in made.parameters():  # at their initial size, all predictions are alike
            weight.data += 0.3 * torch.randn_like(weight)
        made.config.architectures = [architecture or model]
        tokenizer(**roles).save_pretrained(tmp_path)
        made.config.save_pretrained(tmp_path)
        weights = made.state_dict()
        torch.save(weights if change is None else change(weights), tmp_path / "pytorch_model.bin")
        return f"transformers:{tmp_path}"

    return written


def without(*parts):
    return lambda weights: {n: w for n, w in weights.items() if not any(p in n for p in parts)}


def of_other_shape(weights):
    return weights | {"bert.encoder.layer.0.output.dense.weight": torch.zeros(16, 19)}


BERT = "BertConfig", SIZE
ELECTRA = "ElectraConfig", SIZE | {"embedding_size": 16}
UNTIED = "GPT2Config", GPT2 | {"tie_word_embeddings": False}


@pytest.mark.parametrize(
    ("model", "config", "architecture", "change", "first"),
    [
        ("ElectraForPreTraining", ELECTRA, None, None, "generator_predictions.LayerNorm.weight"),
        ("BertModel", BERT, "BertForMaskedLM", None, "cls.predictions."),
        ("BertForMaskedLM", BERT, None, without("transform"), "cls.predictions.transform.dense."),
        ("BertForMaskedLM", BERT, None, without(".bias"), "bert.embeddings.LayerNorm.bias"),
        ("BertForMaskedLM", BERT, None, of_other_shape, "bert.encoder.layer.0.output.dense."),
        ("GPT2Model", UNTIED, "GPT2LMHeadModel", None, "lm_head.weight"),
        ("GPT2LMHeadModel", ("GPT2Config", GPT2), None, without("h.0.mlp"), "transformer.h.0.mlp."),
    ],
)
def test_a_folder_without_weights_of_its_model_is_refused(
    write, model, config, architecture, change, first
):
    rule = rf"weights of \w+ are missing or have another shape, first {first}\S*: it would score"
    with pytest.raises(InputError, match=rule) as caught:
        tta.load(write(model, config, architecture, change, bos_token="[CLS]"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "config", "architecture", "change"),
    [
        ("GPT2Model", ("GPT2Config", GPT2), "GPT2LMHeadModel", None),  # tied to the embedding
        ("BertForMaskedLM", BERT, None, without("cls.predictions.decoder")),  # as Google's
        ("BertForPreTraining", BERT, None, without("pooler", "seq_relationship")),
        ("BigBirdForMaskedLM", ("BigBirdConfig", SIZE | {"attention_type": "original_full"}), None,
         without("pooler")),
        ("BertForMaskedLM", BERT, None,
         lambda weights: weights | {"bert.embeddings.position_ids": torch.arange(40)[None]}),
        ("GPT2DoubleHeadsModel", ("GPT2Config", GPT2), "GPT2LMHeadModel", without("multiple")),
    ],
)  # fmt: skip
def test_what_the_output_does_not_need_may_be_missing(write, model, config, architecture, change):
    found = [
        tta.load(write(model, config, architecture, change, bos_token="[CLS]")).score(TEXTS)
        for _ in range(2)
    ]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("model", "config", "is_causal"),
    [
        ("RobertaForCausalLM", ("RobertaConfig", SIZE), False),
        ("RobertaForCausalLM", ("RobertaConfig", SIZE | {"is_decoder": True}), True),
        ("BertLMHeadModel", BERT, False),
        ("XLNetLMHeadModel",
         ("XLNetConfig", {"vocab_size": 17, "d_model": 16, "n_layer": 1, "n_head": 2}), False),
        ("XLMWithLMHeadModel",
         ("XLMConfig", {"vocab_size": 17, "emb_dim": 16, "n_layers": 1, "n_heads": 2}), False),
        ("GPTNeoForCausalLM",  # with a window of two tokens
         ("GPTNeoConfig", {"vocab_size": 17, "hidden_size": 16, "num_layers": 1, "num_heads": 2,
                           "attention_types": [[["local"], 1]], "window_size": 2}), True),
        ("MixtralForCausalLM",  # whose tokens share experts
         ("MixtralConfig", SIZE | {"num_key_value_heads": 2, "num_local_experts": 3,
                                   "hidden_size": 32, "intermediate_size": 32}), True),
    ],
)  # fmt: skip
def test_a_causal_model_does_not_see_later_words(write, model, config, is_causal, precision):
    folder = write(model, config, bos_token="[CLS]")
    if model == "XLNetLMHeadModel" and precision == "bfloat16":
        pytest.skip("transformers runs it in float32 only")
    if not is_causal:
        with pytest.raises(InputError, match=rf"not causal: in {model}, later tokens change"):
            tta.load(folder, precision=precision)
        return
    lm = tta.load(folder, precision=precision)
    one, two = lm.score_tokens(["the cat sat on a mat", "the cat sat . . ."])
    np.testing.assert_allclose(one.log_probabilities[:3], two.log_probabilities[:3], atol=1e-2)


def test_code_from_a_folder_is_not_run(tmp_path):
    ran = tmp_path / "ran"
    code = f"from pathlib import Path\nPath({str(ran)!r}).touch()\nclass Custom: pass\n"
    (tmp_path / "custom.py").write_text(code)
    config = {"model_type": "custom", "auto_map": {"AutoConfig": "custom.Custom"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    ended = run_command("tta-score", f"--model=transformers:{tmp_path}", stdin=b"y\nthe cat sat\n")
    assert (ended.returncode, ran.exists()) == (1, False)
    assert "the model needs code from its folder, which is never run" in ended.stderr


def test_prefixes_and_words_take_the_tokens_of_the_whole_text(write):
    lm = tta.load(write("GPT2LMHeadModel", ("GPT2Config", GPT2), bos_token="[CLS]"))
    values = lm.score_tokens(["a dog ran the cats ."])[0].log_probabilities
    found = lm.score(["the cats .", "a dog", ""], prefixes=["a dog ran", "", "the"])
    assert found == pytest.approx([values[3:].sum(), lm.score(["a dog"])[0], 0.0])
    groups = lm.group_tokens([["a", "dog", "ran", "the", "cats", "."]], [(list("adrtcs."), values)])
    assert [len(one) for one in groups[0]] == [1, 1, 1, 1, 2, 1]
    known = CachedScorer(lm, MemoryStore())
    again = known.group_tokens([["the", "cats"]], lm.score_tokens(["the  cats"]), ["the  cats"])
    assert [len(one) for one in again[0]] == [1, 2]


@pytest.mark.parametrize("named", [None, "<|endoftext|>", "dog"])
def test_the_begin_token_is_what_the_model_reads_first(write, named):
    folder = write("GPT2LMHeadModel", ("GPT2Config", GPT2), bos_token="[CLS]", eos_token="[SEP]")
    lm = tta.load(folder, begin_token=named)
    begin = "[CLS]" if named is None else named
    ids = [WORDS.split().index(word) for word in (begin, "the", "cat")]
    with torch.no_grad():
        chances = lm._model(torch.tensor([ids])).logits[0].log_softmax(-1)
    expected = float(chances[0, ids[1]] + chances[1, ids[2]])
    assert lm.score(["the cat"])[0] == pytest.approx(expected, abs=1e-4)
    assert f"|begin:{begin}|".replace("<|endoftext|>", "<\\x7cendoftext\\x7c>") in lm.signature
    assert lm.notes[0].endswith(f": a text begins with {begin} (begin_token)")


def test_the_command_says_what_begins_a_text(write):
    folder = write("GPT2LMHeadModel", ("GPT2Config", GPT2), bos_token="[CLS]")
    ended = run_command("tta-score", f"--model={folder}", "--begin_token=<|endoftext|>", "the cat")
    assert "note: " in ended.stderr
    assert "a text begins with <|endoftext|>" in ended.stderr


def test_a_masked_model_has_no_begin_token(write):
    with pytest.raises(InputError, match=r": a masked model has no begin_token$"):
        tta.load(write("BertForMaskedLM", BERT), begin_token="[CLS]")


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize(
    ("model", "config"), [("BertForMaskedLM", BERT), ("GPT2LMHeadModel", ("GPT2Config", GPT2))]
)
def test_unknown_words_have_a_price(write, model, config, ends):
    folder = write(model, config, bos_token="[CLS]", eos_token="[SEP]")
    lm, bare = (
        tta.load(folder, unknown=unknown, score_boundary_tokens=ends)
        for unknown in ("price", "model")
    )
    texts = ["the cat", "你好 the cat", "the THþ"]
    expected = [0, 2 * UNSEEN_CHARACTER_PRICE, 2 * UNKNOWN_PRICE + UNSEEN_CHARACTER_PRICE]
    for i, (tokens, values) in enumerate(bare.score_tokens(texts)):  # no more than all others
        unknown = values[[token == "[UNK]" for token in tokens]]
        expected[i] += (unknown - np.minimum(unknown, np.log1p(-np.exp(unknown)))).sum()
    np.testing.assert_allclose(bare.score(texts) - lm.score(texts), expected, atol=1e-3)
    tokens, values = lm.score_tokens(["the þ cat"])[0]
    paid = bare.score_tokens(["the þ cat"])[0].log_probabilities - values
    assert [token == "[UNK]" for token in tokens] == [cost > 1 for cost in paid]
    assert "|unknown:price|" in lm.signature


def test_text_that_a_model_cannot_read_does_not_win(write):
    def sure(weights):
        weights["cls.predictions.bias"][1] = weights["cls.predictions.decoder.bias"][1] = 30.0
        return weights

    folder = write("BertForMaskedLM", BERT, None, sure)
    for variant in ("original", "within_word_l2r"):
        lm = tta.load(folder, pll_variant=variant)
        unreadable, readable = lm.score(["☺ ☺ ☺ ☺", "the cat sat home"])
        assert unreadable < readable
    unreadable, readable = tta.load(folder, unknown="model").score(["☺ ☺ ☺ ☺", "the cat sat home"])
    assert unreadable > readable


def test_a_token_without_embedding_is_one_line(write):
    config = "GPT2Config", GPT2 | {"vocab_size": 16}  # without <|endoftext|>
    folder = write("GPT2LMHeadModel", config, bos_token="[CLS]")
    lm = tta.load(folder)
    lm._reader.add_tokens(["<extra>"])
    assert np.isfinite(lm.score(TEXTS)).all()
    with pytest.raises(InputError, match=r"^sentence 2 has a token without embedding: '<extra>'$"):
        lm.score(["the cat", "a <extra> dog"])
    with pytest.raises(InputError, match="the begin or mask token of its tokenizer has no emb"):
        tta.load(folder, begin_token="<|endoftext|>")
