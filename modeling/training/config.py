"""Settings of run_pretraining.py and `pretrain`. Names are BERT's where BERT has one.

Each part of a training run takes the settings that it uses. `PretrainingConfig` is all of them.
"""

from dataclasses import dataclass

from tta.choices import PRECISIONS
from tta.data.corpus.config import TextSettings
from tta.errors import InputError
from tta.modeling.config.training import INIT_CHECKPOINT, LossSettings, ModelFlags, Steps
from tta.modeling.objectives import OBJECTIVE
from tta.registry import Registry
from tta.settings import FILES, SEED, Config, setting

# --optimizer -> its class, with the arguments of `BertAdamW`. A new one is one class and one line.
OPTIMIZERS = Registry(
    "optimizer",
    {
        "adamw": "tta.modeling.training.optimizers:BertAdamW",
        "muon": "tta.modeling.training.optimizers:Muon",
    },
)

# --distribution_strategy, see `tta.modeling.training.steps`.
STRATEGIES = ("one_device", "mirrored", "multi_worker_mirrored")

CHECKPOINTS = "Checkpoints and evaluation"  # a group of flags


@dataclass(frozen=True, kw_only=True)
class RunFiles(Config):
    """What a model learns from, what it learns, and where it is written."""

    input_dir: str | None = setting(
        None,
        "Data set that tta create-tfrecords wrote. Default: the run makes one of --input_file.",
        group=FILES,
    )
    vocab_file: str | None = setting(
        None, "Vocabulary. Default: vocab.txt in --input_dir, or one made of --input_file."
    )
    config_file: str = setting(
        ..., "The model's config.json. Without vocab_size, it takes the vocabulary's size."
    )
    output_dir: str = setting(
        ...,
        "Folder for checkpoints, logs and, at the end, the model. An interrupted run resumes from "
        "the last checkpoint in it when you repeat the command. Before the run has finished for "
        "the first time, commands load the model of that checkpoint from this folder.",
    )
    init_checkpoint: str | None = setting(None, INIT_CHECKPOINT)
    init_encoder: str | None = setting(
        None,
        "For an autoencoder, in place of --init_checkpoint: the model whose weights the encoder "
        "starts from. Default: random weights.",
    )
    init_decoder: str | None = setting(
        None,
        "The same for the decoder and the output layer, such as a uniLM for decoder_type unilm. "
        "It may be another model than the encoder's (Optimus: BERT and GPT-2).",
    )
    objective: str = setting("lae", OBJECTIVE)

    def __post_init__(self):
        super().__post_init__()
        if self.init_checkpoint is not None:
            self.refuse(("init_encoder", "init_decoder"), "init_checkpoint")


BATCH_TOKENS = 4096


@dataclass(frozen=True, kw_only=True)
class OptimizerSettings(Steps):
    """How large a step is: the batch, the learning rate and the optimizer's constants."""

    num_warmup_steps: int = setting(1_000, "Steps over which the learning rate rises from 0.", 0)
    num_decay_steps: int | None = setting(
        None,
        "Last steps, over which the learning rate falls to 0; before them it is constant. 0: it "
        "never falls, for a run that another one continues. Default: all steps after the warm-up.",
        0,
    )
    train_batch_tokens: int = setting(
        BATCH_TOKENS, "Tokens per batch and replica, with padding.", 1
    )
    train_batch_size: int | None = setting(
        None,
        "Sentences per batch and replica, in place of --train_batch_tokens: 64 in the paper.",
        1,
    )
    learning_rate: float = setting(1e-4, "Highest learning rate, after the warm-up.", 0)
    optimizer: str = setting(
        "adamw",
        "adamw: AdamW as in BERT. muon: Muon for kernels and Adam for all other weights.",
        choices=OPTIMIZERS,
    )
    adam_beta_1: float = setting(0.9, "Adam's decay rate of the mean, in [0, 1).", 0, 1)
    adam_beta_2: float = setting(0.999, "Adam's decay rate of the mean square, in [0, 1).", 0, 1)
    weight_decay: float = setting(0.01, "Decoupled weight decay, not of LayerNorm and biases.", 0)
    clip_norm: float = setting(1.0, "Largest global norm of the gradients.", 0)

    def __post_init__(self):
        super().__post_init__()
        if self.train_batch_size is not None and self.train_batch_tokens != BATCH_TOKENS:
            raise InputError("set train_batch_size or train_batch_tokens, not both")
        if self.num_warmup_steps >= self.num_train_steps:
            raise InputError(
                f"num_warmup_steps must be smaller than num_train_steps ({self.num_train_steps}), "
                f"not {self.num_warmup_steps}"
            )
        most = self.num_train_steps - self.num_warmup_steps
        if self.num_decay_steps is not None and self.num_decay_steps > most:
            raise InputError(
                f"num_decay_steps must be at most {most}, the steps after the warm-up, "
                f"not {self.num_decay_steps}"
            )


@dataclass(frozen=True, kw_only=True)
class HardwareSettings(Config):
    """Where and how precisely a step is computed."""

    mixed_precision: str = setting(
        "float32",
        "Type of matrix products; weights and sums stay float32. bfloat16 is faster on hardware "
        "that supports it, and several times slower on other hardware.",
        choices=PRECISIONS,
        alias="precision",
        group="Hardware",
    )
    deterministic: bool = setting(
        False, "Bit-equal results whenever the command is run (slower).", group="Hardware"
    )
    distribution_strategy: str = setting(
        "one_device",
        "Where a step is computed. one_device: on one device. mirrored: on all GPUs of this "
        "machine. multi_worker_mirrored: on all machines that the environment variable TF_CONFIG "
        "lists, with the same command on each (docs/scaling.md). A step takes one batch per "
        "replica.",
        choices=STRATEGIES,
    )


@dataclass(frozen=True, kw_only=True)
class LoopSettings(Steps):
    """What the loop does between the steps: save, evaluate, log."""

    save_checkpoints_steps: int = setting(500, "Steps between checkpoints.", 1, group=CHECKPOINTS)
    eval_steps: int = setting(2_000, "Steps between evaluations.", 1)
    max_eval_batches: int | None = setting(None, "Batches per evaluation. Default: all.", 1)
    log_steps: int = setting(50, "Steps between log entries.", 1)


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(LoopSettings, HardwareSettings, LossSettings, OptimizerSettings):
    """How a model is trained, whatever it learns from."""

    seed: int = setting(0, SEED)


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig(TrainingSettings, ModelFlags, RunFiles, TextSettings):
    """What a model is trained on, how long, by which objective and optimizer."""

    weights_dtype: str = setting(
        "float32",
        "Type of the weights in the finished model.",
        choices=("float32", "float16"),
        group=CHECKPOINTS,
    )

    def __post_init__(self):
        super().__post_init__()
        if (self.input_dir is None) == (self.input_file is None):
            raise InputError("set input_dir, a data set, or input_file, raw text")
        if self.input_dir is not None:
            self.refuse(self.of_dataset(), "input_dir")
        elif self.distribution_strategy == "multi_worker_mirrored":
            raise InputError(
                "multi_worker_mirrored needs input_dir: tta create-tfrecords makes one data set "
                "for all machines"
            )
        if self.kl_threshold and "vae" not in self.objective:
            raise InputError(f"kl_threshold is for vae and full_vae, not {self.objective}")
