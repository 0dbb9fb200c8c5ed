"""Flags of run_pretraining.py; BERT's names where BERT has one."""

from absl import flags

from tta.flags import common


def define():
    """Defines every flag of the command."""
    flags.DEFINE_string("input_dir", None, "Folder that tta-create-tfrecords wrote.", required=True)
    flags.DEFINE_string(
        "vocab_file", None, "The vocabulary of the shards. Default: vocab.txt in --input_dir."
    )
    flags.DEFINE_string("config_file", None, "The model's config.json.", required=True)
    flags.DEFINE_string(
        "output_dir",
        None,
        "Folder for checkpoints, logs and, at the end, the model. A run that was stopped goes on "
        "from the last checkpoint in it.",
        required=True,
    )
    flags.DEFINE_string(
        "init_checkpoint",
        None,
        "Model directory whose weights the run starts from; to go on with text of your own, for "
        "example. A smaller model grows: sizes by whole factors, heads by their number. Pieces "
        "that its vocabulary lacks start as the mean of what it makes of them. Default: random "
        "weights.",
    )
    flags.DEFINE_enum(
        "objective",
        "lae",
        ["lae", "mlm", "clm"],
        "lae: language autoencoding, T-TA's, every token from all the others; mlm: masked language "
        "modeling, a biLM's; clm: causal, a uniLM's, every token from those before it. The "
        "config's model_type must be tta, bilm or unilm.",
    )
    flags.DEFINE_integer("num_train_steps", 100_000, "Steps in all.", lower_bound=1)
    flags.DEFINE_integer(
        "num_warmup_steps", 1_000, "Steps over which the rate rises from 0.", lower_bound=0
    )
    flags.DEFINE_integer(
        "train_batch_tokens",
        4096,
        "Tokens in a batch of one replica, padding included.",
        lower_bound=1,
    )
    flags.DEFINE_float(
        "learning_rate", 1e-4, "The highest rate, at the end of the warm-up.", lower_bound=0.0
    )
    flags.DEFINE_enum(
        "optimizer",
        "adamw",
        ["adamw", "muon"],
        "adamw: as BERT's; muon: Muon for the kernels and Adam for all else.",
    )
    flags.DEFINE_float(
        "adam_beta_1",
        0.9,
        "AdamW's decay of the mean, in [0, 1).",
        lower_bound=0.0,
        upper_bound=1.0,
    )
    flags.DEFINE_float(
        "adam_beta_2",
        0.999,
        "AdamW's decay of the mean square, in [0, 1).",
        lower_bound=0.0,
        upper_bound=1.0,
    )
    flags.DEFINE_float(
        "weight_decay", 0.01, "Decoupled decay; LayerNorm and biases have none.", lower_bound=0.0
    )
    flags.DEFINE_float("clip_norm", 1.0, "Largest norm of all gradients together.", lower_bound=0.0)
    flags.DEFINE_float(
        "dropout",
        None,
        "Share dropped from sub-layers and attention; default: the config's.",
        lower_bound=0.0,
        upper_bound=0.999,
    )
    flags.DEFINE_float(
        "log_normalizer_weight",
        None,
        "Weight in the loss of the squared log-normalizer, which keeps it near 0: then "
        "--normalizer=learned scores without the sum over the vocabulary. 0.1 is usual; 0: exact "
        "scores alone. Default: the config's.",
        lower_bound=0.0,
    )
    flags.DEFINE_float(
        "decorrelation_weight",
        None,
        "Weight in the loss of the correlations between dimensions of the last layer's outputs; "
        "with few of them, means of outputs tell sentences apart better. Default: the config's.",
        lower_bound=0.0,
    )
    flags.DEFINE_float(
        "contrast_weight",
        None,
        "Weight in the loss of how badly one half of a sentence's last outputs finds the other "
        "half in a batch: their means tell sentences apart much better, token scores get a little "
        "worse. 0.2 is usual, at the end of a training; with clm both get worse. Default: the "
        "config's.",
        lower_bound=0.0,
    )
    flags.DEFINE_integer(
        "num_sampled_pieces",
        0,
        "Word pieces that a step's softmax is computed over: two thirds are the most frequent, one "
        "third is drawn anew and stands for all others. Steps take half the time with a fifth of "
        "the vocabulary. 0: all. Evaluation is always over all.",
        lower_bound=0,
    )
    flags.DEFINE_enum(
        "mixed_precision",
        "float32",
        ["float32", "bfloat16"],
        "Type of products; weights and sums stay float32. bfloat16 is faster where the hardware "
        "has such products, and several times slower where it has not.",
    )
    flags.DEFINE_integer("save_checkpoints_steps", 500, "Steps between checkpoints.", lower_bound=1)
    flags.DEFINE_integer("eval_steps", 2_000, "Steps between evaluations.", lower_bound=1)
    flags.DEFINE_integer(
        "max_eval_batches", None, "Batches an evaluation reads; default: all.", lower_bound=1
    )
    flags.DEFINE_integer("log_steps", 50, "Steps between log entries.", lower_bound=1)
    flags.DEFINE_enum(
        "weights_dtype",
        "float32",
        ["float32", "float16"],
        "Type of the weights in the finished model directory.",
    )
    flags.DEFINE_bool(
        "deterministic", False, "Bit-equal results on every run of the same command (slower)."
    )
    flags.DEFINE_enum(
        "distribution_strategy",
        "one_device",
        ["one_device", "mirrored", "multi_worker_mirrored"],
        "Where a step is computed. one_device: here; mirrored: on all GPUs of this machine; "
        "multi_worker_mirrored: on all machines that the environment variable TF_CONFIG lists, the "
        "same command on each (docs/scaling.md). A step takes one batch a replica.",
    )
    common.define_boundary_tokens()
    common.define_seed()
    flags.adopt_module_key_flags(common)
    flags.register_multi_flags_validator(
        ["num_warmup_steps", "num_train_steps"],
        lambda f: f["num_warmup_steps"] < f["num_train_steps"],
        "--num_warmup_steps must be smaller than --num_train_steps",
    )
