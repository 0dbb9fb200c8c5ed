"""Scores of token trees beside those of one text at a time."""

import numpy as np
import pytest

import tta

torch = pytest.importorskip("torch", reason="pip install '.[transformers]'")
transformers = pytest.importorskip("transformers", reason="pip install '.[transformers]'")

from tests.scoring.scorers.test_transformers_model import tokenizer  # noqa: E402

SMALL = {
    "vocab_size": 300, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 30, "max_position_embeddings": 64, "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
# The class, the sizes, and the most nodes of a tree: 0 for attention that takes no such mask.
MODELS = {
    "gpt2": ("GPT2LMHeadModel", {"n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 64}, 512),
    "llama": ("LlamaForCausalLM", {"num_key_value_heads": 1}, 512),
    "gpt_neox": ("GPTNeoXForCausalLM", {}, 512),
    "opt": ("OPTForCausalLM", {"ffn_dim": 30, "word_embed_proj_dim": 24}, 512),
    "qwen2": ("Qwen2ForCausalLM", {"num_key_value_heads": 1}, 512),
    "mistral": ("MistralForCausalLM", {"num_key_value_heads": 1, "sliding_window": 31}, 31),
    "short": ("MistralForCausalLM", {"num_key_value_heads": 1, "sliding_window": 7}, 0),
    "gpt_neo": (
        "GPTNeoForCausalLM",
        {"num_layers": 2, "num_heads": 2, "attention_types": [[["global", "local"], 1]],
         "window_size": 29},
        29,
    ),
    "bloom": ("BloomForCausalLM", {"n_layer": 2, "n_head": 2}, 0),  # ALiBi
    "mamba": ("MambaForCausalLM", {"state_size": 3}, 0),  # recurrent
    "roberta": ("RobertaForCausalLM", {"is_decoder": True, "pad_token_id": 1}, 0),  # positions
}  # fmt: skip
STEMS = ["the cat sat on the mat", "a dog walks again and again", "unbelievably long walks"]
LISTS = [
    [f"{stem}{end}" for end in ("", " on", " on the cat", " again", ", a dog", "s", " on the dog")]
    for stem in STEMS
]
TEXTS = [text for one in LISTS for text in one] + ["", "the", "the cat sat on the mat"]


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Loads one of MODELS with random weights, larger than their initial size."""

    def made(kind, **options):
        folder = tmp_path_factory.getbasetemp() / "trees" / kind
        if not folder.exists():
            torch.manual_seed(5)
            name, sizes, _ = MODELS[kind]
            model = getattr(transformers, name)
            written = model(model.config_class(**SMALL | sizes))
            for weight in written.parameters():
                weight.data += 0.2 * torch.randn_like(weight)
            written.save_pretrained(folder)
            tokenizer("gpt2").save_pretrained(folder)
        return tta.load(f"transformers:{folder}", **options)

    return made


def computed(lm, texts):
    """The token scores of texts, and the number of positions that the model computed for them."""
    sizes = []

    def count(_, args, kwargs):
        sizes.append(kwargs["input_ids"].numel())

    with lm._model.register_forward_pre_hook(count, with_kwargs=True):
        scored = lm.score_tokens(texts)
    return scored, sum(sizes)


@pytest.mark.parametrize("kind", MODELS)
def test_scores_are_those_of_one_text_at_a_time(load, kind):
    lm = load(kind)
    most = MODELS[kind][2]
    assert min(lm._reach, 512) == most
    together, count = computed(lm, TEXTS)
    alone = [computed(lm, [text]) for text in TEXTS]
    lm._reach = 0
    plain, without = computed(lm, TEXTS)
    for one, (by_itself,), other in zip(
        together, (found for found, _ in alone), plain, strict=True
    ):
        assert one.tokens == by_itself.tokens == other.tokens
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=1e-4)
        np.testing.assert_allclose(by_itself.log_probabilities, other.log_probabilities, atol=1e-4)
    assert len({round(float(one.log_probabilities.sum()), 3) for one in together}) > 20
    if most == 512:
        assert count * 3 < without
    elif most == 0:
        assert count == without


def test_a_begin_token_and_long_texts_in_several_trees(load):
    """Trees of at most 40 nodes; the texts share prefixes that are longer than some trees."""
    lm = load("llama", begin_token="a", batch_tokens=40)
    long = [" ".join([stem, *[STEMS[0]] * 1, end]) for stem in STEMS for end in ("dog", "cat", "")]
    together, _ = computed(lm, [*long, *TEXTS])
    lm._reach = 0
    plain, _ = computed(lm, [*long, *TEXTS])
    for one, other in zip(together, plain, strict=True):
        np.testing.assert_allclose(one.log_probabilities, other.log_probabilities, atol=1e-4)
    assert lm.notes == ("llama: a text begins with a (begin_token)",)
    other = load("llama")
    assert not np.allclose(other.score(TEXTS[:1]), lm.score(TEXTS[:1]), atol=1e-2)
