"""Any model of transformers: equal to a loop over tokens, and to minicons where it is installed."""

import json
import pickle
import shutil

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tta.errors import InputError
from tta.scoring.scorers.options import ScoreOptions

torch = pytest.importorskip("torch", reason="pip install '.[transformers]'")
transformers = pytest.importorskip("transformers", reason="pip install '.[transformers]'")

from tta.scoring.scorers.transformers_model import TransformersModel  # noqa: E402

TEXTS = ["the cat sat on the mat", "a dog", "", "unbelievably long walks, again and again", "the"]
SMALL = {
    "vocab_size": 300, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 30, "max_position_embeddings": 66,
}  # fmt: skip
KINDS = {
    "roberta": ("RobertaConfig", "RobertaForMaskedLM", SMALL | {"pad_token_id": 1}),
    "modernbert": ("ModernBertConfig", "ModernBertForMaskedLM", SMALL | {"pad_token_id": 1}),
    "distilbert": (
        "DistilBertConfig", "DistilBertForMaskedLM",
        {"vocab_size": 300, "dim": 24, "n_layers": 2, "n_heads": 2, "hidden_dim": 30,
         "max_position_embeddings": 64, "pad_token_id": 1},
    ),
    "gpt2": (
        "GPT2Config", "GPT2LMHeadModel",
        {"vocab_size": 300, "n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 64,
         "bos_token_id": 0, "eos_token_id": 0},
    ),
}  # fmt: skip
MASKED = [kind for kind in KINDS if kind != "gpt2"]


def tokenizer(kind):
    """A byte-level BPE of a few sentences, with the special tokens of the family."""
    from tokenizers import ByteLevelBPETokenizer

    made = ByteLevelBPETokenizer()
    special = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    if kind == "gpt2":
        special = ["<|endoftext|>"]
    made.train_from_iterator(TEXTS * 3, vocab_size=295, special_tokens=special)
    inner = made._tokenizer
    if kind == "gpt2":
        return transformers.PreTrainedTokenizerFast(
            tokenizer_object=inner, bos_token=special[0], eos_token=special[0], unk_token=special[0]
        )
    from tokenizers.processors import RobertaProcessing

    inner.post_processor = RobertaProcessing(("</s>", 2), ("<s>", 0))
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, cls_token="<s>", pad_token="<pad>", sep_token="</s>",
        unk_token="<unk>", mask_token="<mask>", bos_token="<s>", eos_token="</s>",
        model_input_names=["input_ids", "attention_mask"],
    )  # fmt: skip


@pytest.fixture(scope="module")
def directories(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("models"), {}
    for kind, (config, model, sizes) in KINDS.items():
        torch.manual_seed(3)
        written = getattr(transformers, model)(getattr(transformers, config)(**sizes))
        for weight in written.parameters():  # at their initial size, all predictions are alike
            weight.data += 0.3 * torch.randn_like(weight)
        written.save_pretrained(folder / kind)
        tokenizer(kind).save_pretrained(folder / kind)
        made[kind] = str(folder / kind)
    return made


def plainly(directory, text, variant="original"):
    """The tokens of a text and their log-probabilities, one pass per token, without batches."""
    read = transformers.AutoTokenizer.from_pretrained(directory, trust_remote_code=False)
    if read.mask_token is None:
        model = transformers.AutoModelForCausalLM.from_pretrained(
            directory, trust_remote_code=False
        ).eval()
        ids = torch.tensor([[read.bos_token_id, *read(text)["input_ids"]]])
        with torch.no_grad():
            chances = model(ids).logits[0].log_softmax(-1)
        return [float(chances[p, token]) for p, token in enumerate(ids[0, 1:])]
    model = transformers.AutoModelForMaskedLM.from_pretrained(
        directory, trust_remote_code=False
    ).eval()
    encoded = read(text)
    ids, words, found = encoded["input_ids"], encoded.word_ids(), []
    for place in range(1, len(ids) - 1):
        seen = list(ids)
        for other in range(place, len(ids) - 1):
            if other == place or (variant == "within_word_l2r" and words[other] == words[place]):
                seen[other] = read.mask_token_id
        with torch.no_grad():
            logits = model(torch.tensor([ids if variant == "maskless" else seen])).logits
        found.append(float(logits[0, place].log_softmax(-1)[ids[place]]))
    return found


@pytest.mark.parametrize("batch_tokens", [None, 20])
@pytest.mark.parametrize("kind", KINDS)
def test_token_scores_are_those_of_a_loop_over_tokens(directories, kind, batch_tokens):
    options = {} if batch_tokens is None else {"batch_tokens": batch_tokens}
    lm = tta.load(f"transformers:{directories[kind]}", **options)
    scored = lm.score_tokens(TEXTS)
    for text, one in zip(TEXTS, scored, strict=True):
        expected = plainly(directories[kind], text)
        assert len(one.tokens) == len(expected)
        np.testing.assert_allclose(one.log_probabilities, expected, atol=1e-4)
    np.testing.assert_allclose(
        lm.score(TEXTS), [one.log_probabilities.sum() for one in scored], atol=1e-6
    )


@pytest.mark.parametrize("variant", ["within_word_l2r", "maskless"])
@pytest.mark.parametrize("kind", MASKED)
def test_variants_of_masked_models(directories, kind, variant):
    lm = tta.load(f"transformers:{directories[kind]}", pll_variant=variant)
    for text, one in zip(TEXTS, lm.score_tokens(TEXTS), strict=True):
        np.testing.assert_allclose(
            one.log_probabilities, plainly(directories[kind], text, variant), atol=1e-4
        )


@pytest.mark.parametrize("kind", ["roberta", "distilbert", "gpt2"])
def test_scores_are_those_of_minicons(directories, kind):
    scorers = pytest.importorskip("minicons.scorer", reason="needs minicons, transformers 4.57")
    texts = [text for text in TEXTS if text]
    lm = tta.load(f"transformers:{directories[kind]}")
    if kind == "gpt2":
        other = scorers.IncrementalLMScorer(directories[kind], "cpu")
        expected = other.sequence_score(texts, reduction=lambda x: x.sum().item(), bos_token=True)
    else:
        other = scorers.MaskedLMScorer(directories[kind], "cpu")
        expected = other.sequence_score(texts, reduction=lambda x: x.sum().item())
    np.testing.assert_allclose(lm.score(texts), expected, atol=1e-4)


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
@pytest.mark.parametrize("ends", [False, True])
def test_words_have_the_sums_of_their_tokens(directories, kind, ends):
    lm = tta.load(f"transformers:{directories[kind]}", score_boundary_tokens=ends)
    texts = [*TEXTS, " two  blanks ", "mat, mat"]
    tokens, words = lm.score_tokens(texts), lm.score_words(texts)
    begin = int(ends and kind != "gpt2")
    for text, by_token, by_word in zip(texts, tokens, words, strict=True):
        assert by_word.tokens[begin : len(by_word.tokens) - ends] == text.split()
        total = by_token.log_probabilities.sum()
        assert by_word.log_probabilities.sum() == pytest.approx(total)
    first = tokens[0].log_probabilities[begin:]
    starts = [i for i, token in enumerate(tokens[0].tokens[begin:]) if i == 0 or token[0] == "Ġ"]
    expected = np.add.reduceat(first[: len(first) - ends], starts)
    np.testing.assert_allclose(
        words[0].log_probabilities[begin : begin + len(expected)], expected, atol=1e-9
    )


@pytest.mark.parametrize("kind", ["roberta", "gpt2"])
def test_after_a_prefix_a_text_has_the_tokens_of_the_whole(directories, kind):
    """After a blank, a word has other tokens than alone; without a prefix, there is no blank."""
    lm = tta.load(f"transformers:{directories[kind]}")
    words = ["the", "cat", "sat on", "mat", "a dog", "long", "walks, again", "unbelievably"]
    pairs = [*(("the cat", text) for text in words), ("", "the dog"), ("the", "")]
    read, expected = lm._reader, []
    alone, after = (
        [len(read(blank + one, add_special_tokens=False)["input_ids"]) for one in words]
        for blank in ("", " ")
    )
    assert alone != after
    for prefix, text in pairs:
        whole = f"{prefix} {text}".strip()
        count = len(read(prefix, add_special_tokens=False)["input_ids"])
        expected.append(lm.score_tokens([whole])[0].log_probabilities[count:].sum())
    prefixes, texts = zip(*pairs, strict=True)
    np.testing.assert_allclose(lm.score(texts, prefixes=prefixes), expected, atol=1e-4)


def test_lists_are_reranked_and_copies_are_equal(directories):
    lm = tta.load(f"transformers:{directories['gpt2']}")
    order = tta.rerank(["the cat sat", "a dog sat"], [-1.0, -1.2], lm)
    assert sorted(order.indices) == [0, 1]
    again = pickle.loads(pickle.dumps(lm))
    assert (again.signature, again.score(TEXTS).tolist()) == (
        lm.signature,
        lm.score(TEXTS).tolist(),
    )
    assert "type:GPT2LMHeadModel|weights:" in lm.signature


def test_the_command_scores(directories):
    ended = run_command(
        "tta-score", f"--model=transformers:{directories['distilbert']}", "the cat sat"
    )
    assert ended.returncode == 0
    assert "type:DistilBertForMaskedLM" in ended.stderr


@pytest.mark.parametrize(
    ("kind", "options", "rule"),
    [
        ("gpt2", {"pll_variant": "within_word_l2r"}, "a causal model has no pll_variant within"),
        ("roberta", {"precision": "int8"}, "precision must be float32 or bfloat16"),
    ],
)
def test_options_that_do_not_suit_the_model_are_refused(directories, kind, options, rule):
    with pytest.raises(InputError, match=rule):
        TransformersModel(directories[kind], ScoreOptions(**options))


def test_what_is_no_language_model_is_one_line(directories, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match=r"nothing-like-it: \S.*"):
        tta.load("transformers:nothing-like-it")
    config = transformers.DistilBertConfig(architectures=["DistilBertForSequenceClassification"])
    config.save_pretrained(tmp_path)
    tokenizer("distilbert").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="neither a masked nor a causal language model: Distil"):
        TransformersModel(str(tmp_path))
    long = "the cat " * 40
    with pytest.raises(InputError, match=r"sentence 2 has \d+ tokens, more than 64"):
        tta.load(f"transformers:{directories['gpt2']}").score(["a", long])


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_packages_that_are_missing_or_old_are_one_line(directories, monkeypatch, package):
    monkeypatch.setattr(f"{package}.__version__", "1.9.0")
    with pytest.raises(
        InputError, match=rf"needs {package} \d\.\d+ or later, not 1.9.0: pip install"
    ):
        TransformersModel(directories["gpt2"])


@pytest.mark.parametrize("ends", [False, True])
def test_whole_words_have_the_probability_that_they_end(directories, ends):
    """Pimentel and Meister 2024: p(word) p(a word begins after it) / p(a word begins before it)."""
    directory = directories["gpt2"]
    read = transformers.AutoTokenizer.from_pretrained(directory, trust_remote_code=False)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        directory, trust_remote_code=False
    ).eval()
    names = read.convert_ids_to_tokens(range(len(read)))
    begins = [name[0] == "Ġ" or name == read.eos_token for name in names]
    lm = tta.load(
        f"transformers:{directory}", pll_variant="whole_words", score_boundary_tokens=ends
    )
    for text, (_, values) in zip(TEXTS, lm.score_tokens(TEXTS), strict=True):
        ids = [read.bos_token_id, *read(text)["input_ids"], *[read.eos_token_id] * ends]
        with torch.no_grad():
            chances = model(torch.tensor([ids])).logits[0].log_softmax(-1).double()
        begin = chances[:, : len(names)][:, begins].logsumexp(1).tolist()
        expected = []
        for place in range(1, len(ids)):
            value = float(chances[place - 1, ids[place]])
            value -= begin[place - 1] if begins[ids[place]] else 0
            is_last = place + 1 == len(ids)
            goes_on = ends if is_last else not begins[ids[place + 1]]
            expected.append(value + (0 if goes_on else begin[place]))
        np.testing.assert_allclose(values, expected, atol=1e-4)
    assert "|pll:whole_words|begin:" in lm.signature


def test_whole_words_need_a_causal_model_with_marks(directories, tmp_path):
    with pytest.raises(InputError, match="a masked model has no pll_variant whole_words"):
        tta.load(f"transformers:{directories['roberta']}", pll_variant="whole_words")
    with pytest.raises(InputError, match="pll_variant must be original or within_word_l2r"):
        tta.load(pll_variant="whole_words").score(["a"])


def edit(path, change):
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def swap_pieces(values):
    pieces = values["model"]["vocab"]
    pieces["t"], pieces["a"] = pieces["a"], pieces["t"]


# A file of a folder -> a change of it that changes scores.
CHANGES = {
    "config.json": [
        lambda values: values.update(activation_function="relu"),
        lambda values: values.update(n_head=3),
        lambda values: values.update(layer_norm_epsilon=0.1),
    ],
    "tokenizer.json": [
        swap_pieces,
        lambda values: values.update(
            normalizer={"type": "Replace", "pattern": {"String": "the"}, "content": "a"}
        ),
    ],
}


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name, changes in CHANGES.items() for change in changes]
)
def test_a_changed_file_that_changes_scores_changes_the_signature(
    directories, tmp_path, name, change
):
    first = tta.load(f"transformers:{directories['gpt2']}")
    copy = tmp_path / "gpt2"
    shutil.copytree(directories["gpt2"], copy)
    same = tta.load(f"transformers:{copy}")
    assert same.signature == first.signature
    edit(copy / name, change)
    second = tta.load(f"transformers:{copy}")
    assert not np.allclose(first.score(TEXTS), second.score(TEXTS))
    assert first.signature != second.signature


def test_every_weight_and_option_is_in_the_signature(directories):
    def load(kind, **options):
        return tta.load(f"transformers:{directories[kind]}", **options)

    lm = load("gpt2")
    before = lm.signature
    with torch.no_grad():
        lm._model.transformer.ln_f.bias[0] += 1e5
    lines = [before, lm.signature, load("gpt2", begin_token="a").signature]
    lines += [load("roberta", pll_variant=name).signature for name in ("original", "maskless")]
    lines.append(load("roberta", score_boundary_tokens=True).signature)
    lines.append(load("roberta", precision="bfloat16").signature)
    lines.append(load("roberta", unknown="model").signature)
    assert len({*lines}) == 8
