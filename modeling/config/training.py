"""Settings of a training run that families, heads and objectives declare or read."""

from dataclasses import dataclass, make_dataclass
from typing import Any

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.model_types import HEADS
from tta.registry import Registry
from tta.settings import FILES, SCORE_BOUNDARY_TOKENS, Config, Setting, fields, setting

INIT_CHECKPOINT = Setting(
    "The model whose weights the run starts from, for example to continue training on your own "
    "text: a model directory, or a name as for --model; or encoder:MODEL or decoder:MODEL, a half "
    "of an autoencoder. All keys of its config that change what it computes, such as sizes and "
    "hidden_act, must be the same. A piece that its vocabulary lacks starts as "
    "the mean of the pieces into which its tokenizer splits it. Both halves of an autoencoder "
    "start from a language model. Default: random weights.",
    group=FILES,
)

# --sampling -> its class, a `Sampler`.
SAMPLERS = Registry("sampling", {"frequent": "tta.modeling.heads.sampled_softmax:PieceSampler"})


@dataclass(frozen=True, kw_only=True)
class Steps(Config):
    """How long a run is; schedules of the loss and of the learning rate depend on it."""

    num_train_steps: int = setting(
        100_000,
        "Total number of steps. Another number for a resumed run moves the decay of the learning "
        "rate, and the cycles of vae and full_vae.",
        1,
        group="Steps and optimizer",
    )


@dataclass(frozen=True, kw_only=True)
class LossSettings(Steps):
    """What the loss adds up, and what held-out measures count."""

    log_normalizer_weight: float | None = setting(
        None,
        "Weight in the loss of the squared log-normalizer. It keeps the log-normalizer near 0, so "
        "that --normalizer=learned can score without the sum over the vocabulary. 0.1 is usual; 0 "
        "leaves exact scores only. Default: the config file's, else 0.",
        0,
        group="Objective",
    )
    decorrelation_weight: float | None = setting(
        None,
        "Weight in the loss of the correlations between dimensions of the last layer's outputs. "
        "With lower correlations, means of outputs separate sentences better. Default: the config "
        "file's, else 0.",
        0,
    )
    contrast_weight: float | None = setting(
        None,
        "Weight in the loss of a contrastive term: one half of a sentence's last outputs must "
        "find the other half among those of the batch. Means of outputs then separate sentences "
        "much better, and token scores get slightly worse. 0.2 is usual, at the end of a "
        "training; with clm both get worse. Default: the config file's, else 0.",
        0,
    )
    auxiliary_start: float = setting(
        0.0,
        "Fraction of the steps, 0 to 1, after which decorrelation_weight and contrast_weight "
        "take effect.",
        0,
        1,
    )
    kl_threshold: float = setting(
        0.0,
        "Nats that the KL of each dimension of the latent vector counts in the loss at least, with "
        "vae and full_vae. A dimension below it is not pushed further to 0, where the decoder "
        "ignores it. Optimus: 0.5.",
        0,
    )
    num_sampled_pieces: int = setting(
        0,
        "Number of word pieces in the softmax of a training step. Two thirds are the most "
        "frequent pieces; one third is drawn anew at each step and represents all others. With a "
        "fifth of the vocabulary, a step takes half the time. 0: all pieces. Evaluation always "
        "uses all.",
        0,
    )
    sampling: str = setting(
        "frequent",
        "How num_sampled_pieces are drawn. frequent: as described there. log_uniform: all at "
        "random, frequent ones with a higher probability. candidates: the same draw with the loss "
        "of TensorFlow's sampled_softmax_loss, as ELMo has it: the right piece is weighted like "
        "the drawn ones, so the loss is no estimate of the full one (docs/semfit.md).",
        choices=SAMPLERS,
    )
    score_boundary_tokens: bool = setting(False, SCORE_BOUNDARY_TOKENS, group="Objective")


@dataclass(frozen=True, kw_only=True)
class _HeadChoice(Config):
    output_layer: str | None = setting(
        None,
        "tied_softmax: predict a distribution over the vocabulary, with the table of the input. "
        "softmax: the same with a table of its own. adaptive_softmax: rare words in clusters (elmo "
        "only). semfit: predict the token's vector in --vectors, at a cost that does not grow with "
        "the vocabulary; such a model has sentence vectors, but no probabilities (docs/semfit.md). "
        "Default: the config file's, else tied_softmax.",
        choices=HEADS,
        group="Objective",
    )
    vectors: str | None = setting(
        None,
        "Folder that tta create-vectors wrote: the vectors that semfit predicts, and those that an "
        "elmo with input_layer vectors reads.",
    )


# The settings that heads name in `flags`. None of a flag means the value of the config file, else
# the default.
_HEAD_FLAGS = [
    (field.name, field.kind | None, setting(None, field.setting, group="Objective"))
    for head in map(HEADS.load, HEADS)
    for field in fields(head)
    if field.name in head.flags
]
_Flags: Any = make_dataclass("_Flags", _HEAD_FLAGS, bases=(Config,), frozen=True, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class ModelFlags(_Flags, _HeadChoice):
    """What a run changes of the model that its config file describes."""

    dropout: float | None = setting(
        None,
        "Dropout rate of sub-layers and attention. Default: the config file's.",
        0,
        0.999,
        group="Objective",
    )

    def changes(self, config: ModelConfig) -> dict[str, Any]:
        """The values of a model's config that the flags change, {name: value}."""
        names = ["output_layer", *(name for name, *_ in _HEAD_FLAGS)]
        values = {name: getattr(self, name) for name in names}
        values |= dict.fromkeys(config.dropouts, self.dropout)
        return {name: value for name, value in values.items() if value is not None}
