"""Choices that several packages share, readable without TensorFlow.

Those of `tta.load` are types too, so that a type checker finds a wrong one.
"""

from typing import Literal, get_args

# What a text is split into (docs/semfit.md).
TOKENIZERS = ("word_pieces", "words")

# How characters are read. Text loses the accents of Latin and Greek letters, or none; with BERT's
# rules, lower-cased text loses all marks; nfkc is that of earlier versions (docs/serving.md).
STRIP_LATIN, KEEP_ACCENTS = "strip_latin", "keep_accents"
NORMALIZATIONS = (STRIP_LATIN, KEEP_ACCENTS, "bert", "nfkc")

# What a token's score is computed from (docs/scoring.md).
PllVariant = Literal["original", "within_word_l2r", "maskless", "whole_words"]
PLL_VARIANTS = get_args(PllVariant)

# How a score is normalized: by the sum over the vocabulary, or not at all, by a model that was
# trained to keep the logarithm of that sum at 0. auto is the latter if the model can.
SOFTMAX_NORMALIZERS = ("exact", "learned")
Normalizer = Literal["auto", "exact", "learned"]

# The type of matrix products -> Keras's name of the dtype policy. Weights and sums are float32
# either way.
DTYPE_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}
PRECISIONS = tuple(DTYPE_POLICIES)
# int8: weights and inputs of products are rounded to 8 bits. Only onnxruntime has it.
# mixed: int8 and float32, for reranking alone.
MIXED = "mixed"
Precision = Literal["float32", "bfloat16", "int8", "mixed"]
SCORING_PRECISIONS = get_args(Precision)

# What runs a neural model; auto chooses (docs/scoring.md).
EngineName = Literal["auto", "tensorflow", "onnxruntime"]
ENGINES = get_args(EngineName)

# Where onnxruntime computes -> its name for that.
PROVIDERS = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "coreml": "CoreMLExecutionProvider",
    "directml": "DmlExecutionProvider",
    "openvino": "OpenVINOExecutionProvider",
    "rocm": "ROCMExecutionProvider",
}
Device = Literal["cpu", "cuda", "coreml", "directml", "openvino", "rocm"]

# What an unknown word adds to a score: the price of spelling it, or nothing but the log-probability
# of the unknown token.
Unknown = Literal["price", "model"]
UNKNOWN = get_args(Unknown)

# What to do with a sentence that is longer than the model.
LongSentences = Literal["window", "refuse"]
LONG_SENTENCES = get_args(LongSentences)

# What first-pass scores are: natural logs of probabilities, their negatives, or probabilities.
SCORE_KINDS = ("log_probability", "cost", "probability")

# A sentence's score is the sum or the mean of its token scores.
REDUCTIONS = ("sum", "mean")

# The best hypothesis of a list has the highest score (max), or the lowest expected loss (mbr,
# minimum Bayes risk).
DECISIONS = ("max", "mbr")

# How the vectors of pieces become the vector of a sentence.
SENTENCE_POOLINGS = ("mean", "sif", "whitened")

# How tta serve writes its access log.
AccessLog = Literal["none", "line", "json"]
