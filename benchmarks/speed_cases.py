"""The cases of benchmarks/speed.py: the machine's peak speed, our models, and other models."""

import functools
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf

import tta
from benchmarks import ROOT
from benchmarks.timing import Case
from tta.choices import DTYPE_POLICIES, PRECISIONS
from tta.data.vocabulary.tokenizer import Tokenizer
from tta.data.vocabulary.word_pieces import TTA_SPECIALS, Vocabulary
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.models.language_model import LanguageModel
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.text_model import TextModel

VOCAB_SIZE = 29_530  # the paper's; its other sizes are TransformerConfig's defaults
MODELS = ("tta", "bilm", "unilm")
CEILING = 2048  # rows and columns of the products that measure the peak speed
SLOW_ROUNDS = 3
BERT_SENTENCES = 20  # whose masked copies are one batch; smaller batches take longer


def ceilings():
    """A large matrix product in each precision."""

    def case(precision):
        rng = np.random.default_rng(0)
        a, b = (tf.cast(rng.normal(size=(CEILING, CEILING)), precision) for _ in range(2))
        product = tf.function(tf.matmul, autograph=False)
        return Case(f"ceiling {precision}", lambda: product(a, b).numpy(), 2.0 * CEILING**3)

    return [case(precision) for precision in PRECISIONS]


def sentences(count, words, seed=0):
    """`count` sentences of `words` words; each word is one piece of the vocabulary."""
    ids = np.random.default_rng(seed).integers(len(TTA_SPECIALS), VOCAB_SIZE, (count, words))
    return [" ".join(f"w{i}" for i in row) for row in ids]


@functools.cache
def tokenizer():
    """The tokenizer of all models; building it takes a second."""
    words = (f"w{i}" for i in range(len(TTA_SPECIALS), VOCAB_SIZE))
    return Tokenizer(Vocabulary((*TTA_SPECIALS, *words)))


def text_model(model_type, precision, normalizer="exact"):
    """A `TextModel` of the paper's size with random weights."""
    config = TransformerConfig(
        vocab_size=VOCAB_SIZE, model_type=model_type, learned_normalizer=normalizer == "learned"
    )
    model = LanguageModel(config, dtype=DTYPE_POLICIES[precision])
    if precision == "bfloat16":
        model.compute_output_in_float32()  # as `tta.load` does
    # Biases of 0 are unlike a trained model's: TensorFlow removes them, and fuses fewer operations.
    rng = np.random.default_rng(0)
    for name, variable in model.named_weights().items():
        if name.endswith("bias"):
            variable.assign(rng.normal(0.0, 0.02, variable.shape))
    return TextModel(model, tokenizer(), model_type, ScoreOptions(normalizer=normalizer))


def flops_of(config, num_sentences, length, softmax):
    """Floating-point operations of the matrix products of one pass, according to the architecture.

    They include projections, attention and feed-forward of all positions in all layers, and with
    `softmax` those of the head. Savings of an implementation (the first query is the same for all
    sentences) are not subtracted, and its extra operations are not added.
    """
    m, d, f = num_sentences * length, config.hidden_size, config.intermediate_size
    layer = 2 * m * (4 * d * d + 2 * d * f) + 4 * m * length * d
    head = 2 * m * d * (d + config.vocab_size) if softmax else 0
    return float(config.num_hidden_layers * layer + head)


def engine(list_size, words, precisions=PRECISIONS, models=MODELS):
    """Our models: hidden states and scores of one sentence and of a list.

    Also a T-TA's scores without the sum over the vocabulary. Names: `list rerank tta bfloat16`.
    """
    cases = []
    texts = sentences(list_size, words)
    for precision in precisions:
        lm = text_model("tta", precision, "learned")
        call = lambda lm=lm, texts=texts: lm.score(texts)  # noqa: E731
        cases.append(Case(f"list learned tta {precision}", call))
    for model_type in models:
        for precision in precisions:
            lm = text_model(model_type, precision)
            for size, count in (("sentence", 1), ("list", list_size)):
                texts = sentences(count, words)
                for what, call in (("encode", lm.encode), ("rerank", lm.score)):
                    passes = words if model_type == "bilm" else 1
                    slow = passes * count > 200
                    flops = flops_of(lm.model.config, count, words + 2, what == "rerank")
                    cases.append(
                        Case(
                            f"{size} {what} {model_type} {precision}",
                            lambda call=call, texts=texts: call(texts),
                            flops if passes == 1 else 0.0,
                            rounds=SLOW_ROUNDS if slow else None,
                            repeat=max(1, min(20, 200 // (passes * count))),
                            warm_up=(lambda call=call, t=texts: call(t[:1])) if slow else None,
                        )
                    )
    return cases


def light(list_size, words):
    """The same T-TA in onnxruntime, in float32. Names: `list rerank tta onnxruntime`."""
    with tempfile.TemporaryDirectory() as folder:
        text_model("tta", "float32").save(f"{folder}/model")
        lm = tta.load(f"{folder}/model", engine="onnxruntime")
    texts, cases = sentences(list_size, words), []
    for what, call in (("encode", lm.encode), ("rerank", lm.score)):
        flops = flops_of(lm.config, list_size, words + 2, what == "rerank")
        name = f"list {what} tta onnxruntime"
        cases.append(Case(name, lambda call=call: call(texts), flops, repeat=4))
    return cases


def growth(list_size, lengths):
    """A T-TA's scores of lists of sentences of these lengths. Names: `growth tta 120`."""
    lm = text_model("tta", "float32")
    lists = {words: sentences(list_size, words) for words in lengths}
    return [
        Case(f"growth tta {words}", lambda texts=texts: lm.score(texts))
        for words, texts in lists.items()
    ]


def startup():
    """Time to the first score of a new process: imports, loading, one batch."""

    def case(name, *command):
        def call():
            subprocess.run([sys.executable, *command], cwd=ROOT, check=True, capture_output=True)

        return Case(f"startup {name}", call, rounds=SLOW_ROUNDS)

    one = "import tta; tta.load().score(['the cat sat on the mat'])"
    return [
        case("first score", "-c", one),
        case("rerank examples", "run_rerank.py", "--nbest_file=examples/asr.test.json"),
        case("help", "run_rerank.py", "--help"),
    ]


def peers(list_size, words):
    """Other models that score a list, if their packages are installed.

    The PyTorch models use as many threads as TensorFlow does by default, one per core. They get ids
    instead of text, and compute the logits of the scored tokens alone. Their weights are random.
    """
    cases = []
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        import torch

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        for precision in PRECISIONS:
            cases += [make(list_size, words, precision) for make in (_bert_base, _gpt2_small)]
    if importlib.util.find_spec("kenlm"):
        cases.append(_kenlm(list_size, words))
    return cases


def _log_probabilities(logits, targets):
    """The log-probabilities [...] of targets [...] under PyTorch logits [..., V]: float32."""
    logits = logits.float()
    return logits.gather(-1, targets[..., None])[..., 0] - logits.logsumexp(-1)


def _bert_base(list_size, words, precision):
    """Mask-and-predict with BERT base: 12 layers of 768, one masked copy per piece."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(BertConfig()).eval().to(getattr(torch, precision))
    ids = torch.randint(1000, 30_000, (list_size, words + 2))

    def score(ids):
        scores = []
        with torch.inference_mode():
            for batch in ids.split(BERT_SENTENCES):
                copies = batch.repeat_interleave(words, 0)
                rows = torch.arange(len(copies))
                masked = torch.arange(1, words + 1).repeat(len(batch))
                targets = copies[rows, masked]
                copies[rows, masked] = 103  # [MASK]
                states = model.bert(copies).last_hidden_state[rows, masked]
                log_probabilities = _log_probabilities(model.cls(states), targets)
                scores += log_probabilities.view(-1, words).sum(1).tolist()
        return scores

    return Case(
        f"list rerank bert_base {precision}",
        lambda: score(ids),
        rounds=2,
        warm_up=lambda: score(ids[:1]),
    )


def _gpt2_small(list_size, words, precision):
    """Left-to-right log-probabilities with GPT-2 small, 12 layers of 768; the list is one batch."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    model = GPT2LMHeadModel(GPT2Config()).eval().to(getattr(torch, precision))
    ids = torch.randint(0, 50_000, (list_size, words + 2))

    def score():
        with torch.inference_mode():
            states = model.transformer(ids).last_hidden_state[:, :-2]
            return _log_probabilities(model.lm_head(states), ids[:, 1:-1]).sum(1).tolist()

    return Case(f"list rerank gpt2_small {precision}", score, rounds=SLOW_ROUNDS)


def _kenlm(list_size, words):
    """A bigram model over the same words with arbitrary probabilities; this times the lookups."""
    from tta.scoring.scorers.ngram_model import NgramModel

    pairs = np.random.default_rng(0).integers(len(TTA_SPECIALS), VOCAB_SIZE, (200_000, 2))
    pairs = sorted({(int(a), int(b)) for a, b in pairs})
    unigrams = [f"w{i}" for i in range(len(TTA_SPECIALS), VOCAB_SIZE)]
    lines = ["\\data\\", f"ngram 1={len(unigrams) + 3}", f"ngram 2={len(pairs)}", ""]
    lines += ["\\1-grams:", "-5\t<unk>\t0", "0\t<s>\t-0.3", "-2\t</s>\t0"]
    lines += [f"-4\t{word}\t-0.3" for word in unigrams]
    lines += ["", "\\2-grams:", *(f"-1\tw{a} w{b}" for a, b in pairs), "", "\\end\\", ""]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bigrams.arpa"
        path.write_text("\n".join(lines), encoding="utf-8")
        lm = NgramModel(path)
    texts = sentences(list_size, words)
    return Case("list rerank kenlm", lambda: lm.score(texts), repeat=10)
