"""Options of the engine that runs a model."""

from dataclasses import dataclass

from tta.choices import Device, EngineName, Normalizer, PllVariant, Precision
from tta.settings import MODEL, Config, Setting, setting

NORMALIZER = Setting(
    "exact: token scores are log-probabilities. learned: leave out the sum over the vocabulary. "
    "This takes less than half the time, but a score may be above 0, and off by several nats per "
    "sentence; it needs a model trained with --log_normalizer_weight. auto: learned if the model "
    "was trained for it, as the built-in model was, else exact."
)

ENGINE = Setting(
    "What runs the model. tensorflow runs every kind. onnxruntime runs T-TA, cloze, biLM, uniLM, "
    "BERT and autoencoders, and starts in a tenth of the time. auto: onnxruntime if it runs the "
    "model, unless there is a GPU that TensorFlow takes (docs/scoring.md). Scores agree up to "
    "rounding."
)

DEVICE = Setting(
    "Where onnxruntime computes, with a build of it for that (onnxruntime-gpu has cuda). "
    "TensorFlow takes a GPU by itself. Default: cpu."
)


@dataclass(frozen=True, kw_only=True)
class EngineOptions(Config):
    """What runs a model, where, and what it computes.

    `tta.load` and the commands make one, as part of a `tta.scoring.scorers.options.ScoreOptions`.
    It is passed on unchanged as far as the engine.
    """

    precision: Precision = setting(
        "float32",
        "Precision of the model's matrix products. bfloat16 is faster on hardware that supports "
        "it, and rounds scores; it needs TensorFlow. int8 rounds scores too, and needs onnxruntime "
        "(docs/scoring.md). mixed is for reranking lists: int8 for all hypotheses, float32 for "
        "those that can still win. Models without matrix products, such as n-grams, ignore it.",
        group=MODEL,
    )
    engine: EngineName = setting("auto", ENGINE)
    device: Device | None = setting(None, DEVICE)
    threads: int | None = setting(
        None,
        "Cores that onnxruntime takes. Give 1 to each of several workers. Default: all.",
        1,
    )
    normalizer: Normalizer = setting("exact", NORMALIZER)
    pll_variant: PllVariant = setting(
        "original",
        "What the score of a word piece is conditioned on (docs/scoring.md). original: all other "
        "pieces, or the preceding ones for a uniLM. within_word_l2r: the same without the later "
        "pieces of the same word. maskless (biLM and BERT only): all pieces including itself, in "
        "one pass. whole_words (causal models of transformers only): the preceding ones, and each "
        "word with the probability that it ends.",
    )


DEFAULTS = EngineOptions()

# Why a method or an engine refuses the precision mixed.
FOR_LISTS = "precision mixed is for reranking lists; take precision float32 or int8 for texts"
