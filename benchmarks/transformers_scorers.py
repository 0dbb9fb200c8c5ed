"""Models of Hugging Face transformers: our scorer beside minicons, and our own models of that size.

    pip install torch 'transformers<5' minicons
    python -m benchmarks.transformers_scorers --json=transformers.json

The models of transformers get the vocabulary and the sizes of bilm-small, and random weights. Our
scorer and minicons take the same batches of sentences of LibriSpeech dev-clean ($TTA_DATA), in
turns: sentences a second, the median over the rounds, and the largest difference of a score, in
nats. `all` is our scorer with all sentences at once, in batches of its own. The last rows are our
own models, of the same sizes, on the light engine.
"""

import json
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from absl import flags
from tabulate import tabulate
from tokenizers.processors import Sequence

import tta
from benchmarks.paper import common
from tta import cli, names
from tta.data.text.files import open_output
from tta.modeling.formats.trained_models import named_models

FLAGS = flags.FLAGS
LIKE = "bilm-small"
SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
)
_DISTILBERT = ("dim", "n_layers", "n_heads", "hidden_dim", "max_position_embeddings")
_GPT2 = ("n_embd", "n_layer", "n_head", "n_inner", "n_positions")
# Family: the start of the names of its classes, the end of that of its model, its names of `SIZES`.
FAMILIES = {
    "BERT": ("Bert", "ForMaskedLM", SIZES),
    "RoBERTa": ("Roberta", "ForMaskedLM", SIZES),
    "ModernBERT": ("ModernBert", "ForMaskedLM", SIZES),
    "DistilBERT": ("DistilBert", "ForMaskedLM", _DISTILBERT),
    "GPT-2": ("GPT2", "LMHeadModel", _GPT2),
}
OURS = {"T-TA": "small", "T-TA, learned": "small", "biLM": "bilm-small", "uniLM": "unilm-small"}
Score = Callable[[list[str]], Any]


def make(family: str, directory: str) -> None:
    """Writes a model of transformers with random weights."""
    import torch
    import transformers

    like = named_models()[LIKE]
    config = json.loads((like / names.CONFIG).read_text(encoding="utf-8"))
    start, end, own_names = FAMILIES[family]
    sizes = {own: config[name] for own, name in zip(own_names, SIZES, strict=True)}
    if family == "RoBERTa":
        sizes["max_position_embeddings"] += 1  # its first position is that after the padding's id
    if family == "ModernBERT":  # three products in place of two
        sizes["intermediate_size"] = 2 * sizes["intermediate_size"] // 3
    vocabulary = str(like / names.VOCABULARY)
    special = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[SOS]", "sep": "[EOS]", "mask": "[MASK]"}
    reader = transformers.BertTokenizerFast(
        vocabulary, **{f"{name}_token": token for name, token in special.items()}
    )
    given = {"pad_token": "[PAD]", "bos_token": "[SOS]", "eos_token": "[EOS]"}
    if family == "GPT-2":  # it reads no special tokens
        reader.backend_tokenizer.post_processor = Sequence([])
        reader = transformers.PreTrainedTokenizerFast(
            tokenizer_object=reader.backend_tokenizer, unk_token="[UNK]", **given
        )
    reader.model_max_length = config["max_position_embeddings"]
    reader.save_pretrained(directory)
    sizes |= {
        name.replace("token", "token_id"): reader.convert_tokens_to_ids(token)
        for name, token in given.items()
    }
    torch.manual_seed(0)
    made = getattr(transformers, f"{start}Config")(vocab_size=len(reader), **sizes)
    getattr(transformers, start + end)(made).save_pretrained(directory)


def of_minicons(family: str, directory: str) -> Score:
    """Minicons' scores of a batch of sentences."""
    from minicons import scorer

    def total(values):
        return values.sum().item()

    if family == "GPT-2":
        lm = scorer.IncrementalLMScorer(directory, "cpu")
        return lambda texts: lm.sequence_score(texts, reduction=total, bos_token=True)
    lm = scorer.MaskedLMScorer(directory, "cpu")
    return lambda texts: lm.sequence_score(texts, reduction=total)


def rates(scores: dict[str, Score], batches: list[list[str]]) -> tuple[dict[str, float], float]:
    """Sentences a second of each, and the largest difference of a score."""
    seconds = {name: [] for name in scores}
    found = {
        name: np.concatenate([one(batch) for batch in batches[:2]]) for name, one in scores.items()
    }
    for _ in range(FLAGS.rounds):
        for name, score in scores.items():
            start = time.perf_counter()
            for batch in batches:
                score(batch)
            seconds[name].append(time.perf_counter() - start)
    first, *others = found.values()
    count = sum(map(len, batches))
    rate = {name: count / float(np.median(times)) for name, times in seconds.items()}
    return rate, max((float(np.abs(one - first).max()) for one in others), default=0.0)


def main():
    texts, rows = common.transcripts(), []
    batches = [texts[at : at + FLAGS.batch] for at in range(0, len(texts), FLAGS.batch)]
    for family in FAMILIES:
        with tempfile.TemporaryDirectory() as directory:
            make(family, directory)
            # One batch of ours is all that minicons computes at once.
            lm = tta.load(f"transformers:{directory}", batch_tokens=1 << 24)
            own = tta.load(f"transformers:{directory}")
            scores = {"batch": lm.score, "minicons": of_minicons(family, directory)}
            rate, difference = rates(scores, batches)
            rate |= rates({"all": own.score}, [texts])[0]
            row = {"model": family, "weights": sum(one.numel() for one in lm._model.parameters())}
            rows.append(row | rate | {"difference": difference})
            print(rows[-1], flush=True)
    for name, model in OURS.items():
        lm = tta.load(model, engine="onnxruntime", normalizer="learned" if "," in name else "exact")
        count = sum(weight.size for weight in lm.engine.weights().values())
        batch = rates({"batch": lm.score}, batches)[0]
        rows.append(
            {"model": name, "weights": count} | batch | rates({"all": lm.score}, [texts])[0]
        )
        print(rows[-1], flush=True)
    print(tabulate(rows, "keys", "github", floatfmt=",.0f"))
    if FLAGS.json:
        with open_output(FLAGS.json, overwrite=True) as file:
            file.write(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_integer("batch", 10, "Sentences of a batch.", 1)
    flags.DEFINE_integer("rounds", 3, "Rounds, of which the median counts.", 1)
    flags.DEFINE_string("json", None, "File for the measurements.")
    FLAGS.set_default("limit", 40)
    cli.run(main)
