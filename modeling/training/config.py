"""Settings of run_pretraining.py and `pretrain`. Names are BERT's where BERT has one."""

from dataclasses import dataclass

from tta.choices import PRECISIONS
from tta.errors import InputError
from tta.modeling.config.heads import HEADS
from tta.modeling.config.heads.flags import HeadFlags
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training.choices import OPTIMIZERS, SAMPLINGS, STRATEGIES
from tta.settings import FILES, SCORE_BOUNDARY_TOKENS, SEED, Config, setting


@dataclass(frozen=True, kw_only=True)
class ModelFlags(Config):
    """What a model is trained on, and what the run changes of its config."""

    input_dir: str = setting(..., "Data set that tta-create-tfrecords wrote.", group=FILES)
    vocab_file: str | None = setting(None, "Vocabulary. Default: vocab.txt in --input_dir.")
    config_file: str = setting(
        ..., "The model's config.json. Without vocab_size, it takes the vocabulary's size."
    )
    output_dir: str = setting(
        ...,
        "Folder for checkpoints, logs and, at the end, the model. An interrupted run resumes from "
        "the last checkpoint in it when you repeat the command. Before the run has finished for "
        "the first time, commands load the model of that checkpoint from this folder.",
    )
    init_checkpoint: str | None = setting(
        None,
        "The model whose weights the run starts from, for example to continue training on your own "
        "text: a model directory, small, or the name of a folder in pretrained/. A smaller model "
        "grows: sizes by whole factors, heads by their number. A piece that its vocabulary lacks "
        "starts as the mean of the pieces into which its tokenizer splits it. Both halves of an "
        "autoencoder start from a language model. Default: random weights.",
    )
    objective: str = setting(
        "lae",
        "lae: language autoencoding (T-TA), predicts every token from all others. mlm: masked "
        "language modeling (biLM). clm: causal language modeling (uniLM), predicts every token "
        "from those before it. bidirectional_clm: each token from those before it, and from those "
        "after it. ae, vae, full_vae: the text from one latent vector, which a VAE samples; the "
        "weight of its KL term is cyclical (docs/autoencoder.md). The config's model_type must "
        "match: tta, bilm, unilm, elmo or autoencoder.",
        choices=OBJECTIVES,
        group="Objective",
    )
    output_layer: str | None = setting(
        None,
        "tied_softmax: predict a distribution over the vocabulary, with the table of the input. "
        "softmax: the same with a table of its own. adaptive_softmax: rare words in clusters (elmo "
        "only). semfit: predict the token's vector in --vectors, at a cost that does not grow with "
        "the vocabulary; such a model has sentence vectors, but no probabilities (docs/semfit.md). "
        "Default: the config file's, else tied_softmax.",
        choices=HEADS,
    )
    vectors: str | None = setting(
        None,
        "Folder that tta-create-vectors wrote: the vectors that semfit predicts, and those that an "
        "elmo with input_layer vectors reads.",
    )


@dataclass(frozen=True, kw_only=True)
class PretrainingConfig(HeadFlags, ModelFlags):
    """What a model is trained on, how long, by which objective and optimizer."""

    num_train_steps: int = setting(
        100_000,
        "Total number of steps. Another number for a resumed run moves the decay of the learning "
        "rate, and the cycles of vae and full_vae.",
        1,
        group="Steps and optimizer",
    )
    num_warmup_steps: int = setting(1_000, "Steps over which the learning rate rises from 0.", 0)
    train_batch_tokens: int = setting(4096, "Tokens per batch and replica, with padding.", 1)
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
    dropout: float | None = setting(
        None,
        "Dropout rate of sub-layers and attention. Default: the config file's.",
        0,
        0.999,
        group="Objective",
    )
    log_normalizer_weight: float | None = setting(
        None,
        "Weight in the loss of the squared log-normalizer. It keeps the log-normalizer near 0, so "
        "that --normalizer=learned can score without the sum over the vocabulary. 0.1 is usual; 0 "
        "leaves exact scores only. Default: the config file's, else 0.",
        0,
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
        "Part of the steps, 0 to 1, after which decorrelation_weight and contrast_weight count.",
        0,
        1,
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
        "random, frequent ones with a higher probability, as ELMo does.",
        choices=SAMPLINGS,
    )
    mixed_precision: str = setting(
        "float32",
        "Type of matrix products; weights and sums stay float32. bfloat16 is faster on hardware "
        "that supports it, and several times slower on other hardware.",
        choices=PRECISIONS,
        group="Hardware",
    )
    save_checkpoints_steps: int = setting(
        500, "Steps between checkpoints.", 1, group="Checkpoints and evaluation"
    )
    eval_steps: int = setting(2_000, "Steps between evaluations.", 1)
    max_eval_batches: int | None = setting(None, "Batches per evaluation. Default: all.", 1)
    log_steps: int = setting(50, "Steps between log entries.", 1)
    weights_dtype: str = setting(
        "float32", "Type of the weights in the finished model.", choices=("float32", "float16")
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
    score_boundary_tokens: bool = setting(False, SCORE_BOUNDARY_TOKENS, group="Objective")
    seed: int = setting(0, SEED)

    def __post_init__(self):
        super().__post_init__()
        if self.num_warmup_steps >= self.num_train_steps:
            raise InputError(
                f"num_warmup_steps must be smaller than num_train_steps ({self.num_train_steps}), "
                f"not {self.num_warmup_steps}"
            )
