"""tta-lm: score, rerank and compare sentences with a Transformer-based Text Autoencoder (T-TA).

>>> import tta
>>> lm = tta.load()                              # the built-in model; see load()
>>> lm.score(["the cat sat on the mat"])         # natural log, higher is better
>>> tta.rerank(["eye scream", "i scream"], [-1.2, -1.3], lm)
"""

import importlib
import os
from typing import TYPE_CHECKING, Any

from tta.choices import (
    Device,
    EngineName,
    LongSentences,
    Normalizer,
    PllVariant,
    Precision,
    Unknown,
)
from tta.version import __version__

if TYPE_CHECKING:
    from tta.scoring.combining.levels import Levels
    from tta.scoring.combining.weights import RerankWeights
    from tta.scoring.reranking.in_memory import confidence, fit_confidence, rerank, tune
    from tta.scoring.reranking.reranked import Reranked, RerankedList
    from tta.scoring.reranking.reranker import Reranker
    from tta.scoring.scorers.scorer import Scorer
    from tta.scoring.words.confidence import ConfidenceWeights, WordConfidence

__all__ = [
    "ConfidenceWeights",
    "Levels",
    "RerankWeights",
    "Reranked",
    "RerankedList",
    "Reranker",
    "WordConfidence",
    "__version__",
    "confidence",
    "fit_confidence",
    "load",
    "rerank",
    "tune",
]

# Imported on first use, because they need NumPy and more.
_PLACES = {
    "ConfidenceWeights": "tta.scoring.words.confidence",
    "Levels": "tta.scoring.combining.levels",
    "WordConfidence": "tta.scoring.words.confidence",
    "confidence": "tta.scoring.reranking.in_memory",
    "fit_confidence": "tta.scoring.reranking.in_memory",
    "RerankWeights": "tta.scoring.combining.weights",
    "Reranked": "tta.scoring.reranking.reranked",
    "RerankedList": "tta.scoring.reranking.reranked",
    "Reranker": "tta.scoring.reranking.reranker",
    "rerank": "tta.scoring.reranking.in_memory",
    "tune": "tta.scoring.reranking.in_memory",
}


def load(
    model: os.PathLike[str] | str | None = None,
    *,
    long_sentences: LongSentences = "window",
    batch_tokens: int | None = None,
    precision: Precision = "float32",
    engine: EngineName = "auto",
    device: Device | None = None,
    threads: int | None = None,
    normalizer: Normalizer = "exact",
    pll_variant: PllVariant = "original",
    score_boundary_tokens: bool = False,
    unknown: Unknown = "price",
    begin_token: str | None = None,
    cache: str | None = None,
) -> "Scorer":
    """Loads a model that scores, reranks and encodes text, as far as its kind can.

    A kind of model ignores the options that it does not have. The options are those of the commands
    (`tta.scoring.scorers.options.ScoreOptions`).

    Args:
        model: None or "small" for the built-in model; a model directory (`config.json`,
            `vocab.txt`, `model.weights.h5`), one of the original TensorFlow 1 code
            (`config.json`, `model.ckpt.*`), or a BERT with its masked-LM head in Google's format
            (`bert_config.json`, `vocab.txt`, `bert_model.ckpt.*`) or Hugging Face's
            (`config.json`, `vocab.txt`, `model.safetensors`); a name that `tta models` lists;
            "hf:OWNER/NAME" or "hf:OWNER/NAME@REVISION" of the Hugging Face Hub; or `kind:path`:
            `kenlm:lm.arpa`, `glove:vectors.txt`, `word2vec:vectors.bin`, `cosine:directory` of a
            SemFit model. A directory that exists is preferred to a name.
        long_sentences: "window" scores a sentence that is longer than the model's input in
            overlapping windows; "refuse" raises an InputError.
        batch_tokens: tokens in one batch, padding included; None is the model's own choice.
        precision: of matrix products: "float32", or "bfloat16" (TensorFlow) or "int8"
            (onnxruntime), which round scores. "mixed" is for reranking lists: "int8" for all
            hypotheses, "float32" for those that can still win.
        engine: what runs the model: "tensorflow"; "onnxruntime", which starts sooner; "auto" is
            onnxruntime if it runs the model and there is no GPU. `lm.model` loads TensorFlow.
        device: where onnxruntime computes, with a build of it for that; None is the CPU.
        threads: the number of cores that onnxruntime takes, such as 1 for each of several workers;
            None is all. TensorFlow ignores it.
        normalizer: "exact": token scores are log-probabilities. "learned": approximately, without
            the sum over the vocabulary. "auto": learned if the model was trained for it.
        pll_variant: what a piece is predicted from: "original", "within_word_l2r", "maskless" or
            "whole_words" (docs/scoring.md).
        score_boundary_tokens: whether the begin and end tokens count in scores.
        unknown: what a word costs that the vocabulary cannot spell: "price" adds a price for each
            of its characters; "model" is the log-probability of the unknown token alone.
        begin_token: what a causal model of Hugging Face transformers reads before a text; None is
            its tokenizer's. Other models raise an InputError.
        cache: a file that keeps scores, by model, options and text; what is in it is not scored
            again. It is SQLite, and is made if it is not there. `lm.model` needs None.

    Returns:
        A `Scorer`; for a directory, a `tta.scoring.scorers.text_model.TextModel`; in the precision
        mixed, a `tta.scoring.scorers.inference.mixed.MixedModel`.

    Raises:
        tta.errors.InputError: there is no such model, one of its files is missing or malformed, or
            an option has a wrong value.
        TypeError: an option is unknown.
    """
    from tta.scoring.scorers.load import load_scorer
    from tta.scoring.scorers.options import ScoreOptions

    options = ScoreOptions(
        long_sentences=long_sentences,
        batch_tokens=batch_tokens,
        precision=precision,
        engine=engine,
        device=device,
        threads=threads,
        normalizer=normalizer,
        pll_variant=pll_variant,
        score_boundary_tokens=score_boundary_tokens,
        unknown=unknown,
        begin_token=begin_token,
        cache=cache,
    )
    return load_scorer(model, options)


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(importlib.import_module(_PLACES[name]), name)
    raise AttributeError(f"module 'tta' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
