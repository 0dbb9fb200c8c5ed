"""Trains a language model on TFRecord shards, and goes on where it was stopped: --help."""

import contextlib
import json
import sys
from pathlib import Path

from absl import flags

from tta import cli
from tta.atomic import locked_folder
from tta.data.records.tfrecord import check_records, load_dataset_info, shard_paths
from tta.data.text.files import open_output
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import DamagedDataError, InputError
from tta.flags import pretraining as command_flags
from tta.modeling.training.cluster import is_chief

FLAGS = flags.FLAGS

# Flags that may change when a run goes on: they say how often it looks up, not what it computes,
# or where files lie whose content is compared. And its end, for a run may turn out too short or too
# long: from there on, the rate falls to 0 at the new one.
FREE_TO_CHANGE = {
    "num_train_steps",
    "output_dir",
    "config_file",
    "vocab_file",
    "save_checkpoints_steps",
    "eval_steps",
    "max_eval_batches",
    "log_steps",
    "weights_dtype",
    "score_boundary_tokens",
    "distribution_strategy",
}

# Flags that may differ between the workers of a run: where files lie whose content is compared.
FREE_TO_DIFFER = {"input_dir", "output_dir", "config_file", "vocab_file", "init_checkpoint"}

# Batches over which the finished model's outputs are standardized, pieces are counted to see which
# are frequent, and the log-normalizer of a model to start from is averaged.
STANDARDIZING_BATCHES = 100
COUNTING_BATCHES = 300
CENTERING_BATCHES = 5


def main():
    """Flags -> a trainer -> a model directory."""
    info = load_dataset_info(FLAGS.input_dir)
    vocabulary = matching_vocabulary(info)
    output_dir = Path(FLAGS.output_dir)
    chief = is_chief(FLAGS.distribution_strategy)
    if chief:
        output_dir.mkdir(parents=True, exist_ok=True)
    with locked_folder(output_dir) if chief else contextlib.nullcontext():
        try:
            pretrain(info, vocabulary, output_dir, chief)
        except DamagedDataError:
            for split in info["splits"]:
                check_records(shard_paths(FLAGS.input_dir, info, split))  # names it
            raise


def pretrain(info, vocabulary, output_dir, chief=True):
    """Trains; the chief in a folder that no other process writes to, which the others read."""
    if chief:
        check_flags(output_dir / "run.json")

    trainer = make_trainer(info, vocabulary, output_dir)
    config = trainer.model.config
    if chief:
        check_config(config, output_dir / "config.json")
        # Written once all is known to fit: what is corrected then is no other run.
        remember_flags(output_dir / "run.json", trainer.strategy.num_replicas_in_sync)
        config.to_json(output_dir / "config.json")
    if not trainer.train():
        print("stopped; the same command goes on from the last checkpoint", file=sys.stderr)
        return
    if chief:
        write_model(info, vocabulary, trainer, output_dir)


def write_model(info, vocabulary, trainer, output_dir):
    """Makes the output directory a model directory, and prints its name."""
    from tta.modeling.formats.model_directory import save_model
    from tta.modeling.training.trainer import output_statistics

    batches = trainer.epoch_batches(0)
    statistics = output_statistics(trainer.model, batches, STANDARDIZING_BATCHES)
    with trainer.strategy.scope():
        trainer.model.standardize_outputs(*statistics)
    vocabulary.save(output_dir / "vocab.txt", overwrite=True)
    save_model(trainer.model, output_dir, readme(info, trainer), FLAGS.weights_dtype)
    print(output_dir)


def matching_vocabulary(info):
    """The vocabulary, checked to be the one that the shards were written with."""
    vocabulary = Vocabulary.from_file(FLAGS.vocab_file or Path(FLAGS.input_dir) / "vocab.txt")
    if vocabulary.sha256 != info["vocab_sha256"]:
        raise InputError(
            f"not the vocabulary that {FLAGS.input_dir} was written with", vocabulary.path
        )
    return vocabulary


def flags_now():
    """{name: value} of the run's flags."""
    return {
        f.name: f.value
        for module in ("tta.flags.pretraining", "tta.flags.common")
        for f in FLAGS.flags_by_module_dict().get(module, ())
    }


def check_flags(path):
    """Refuses to go on with other flags than the run began with."""
    if not path.exists():
        return
    try:
        before = dict(json.loads(path.read_text(encoding="utf-8")))
    except (TypeError, ValueError, RecursionError):
        raise InputError("not the flags of a run", path) from None
    for name, value in flags_now().items():
        then = before.get(name, FLAGS[name].default)  # It may be younger than the run.
        if name not in FREE_TO_CHANGE and then != value:
            raise InputError(
                f"this run began with --{name}={then}, not {value}; choose another --output_dir",
                path,
            )


def remember_flags(path, num_replicas):
    """Writes the run's flags, and how many batches a step takes; tells where that changes."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    then = before.get("num_replicas", 1) if path.exists() else num_replicas
    if then != num_replicas:
        print(
            f"this run goes on with {num_replicas} replicas, and began with {then}: from here on "
            "a step takes so many batches, and the result is another",
            file=sys.stderr,
        )
    with open_output(path, overwrite=True) as file:
        file.write(json.dumps(flags_now() | {"num_replicas": num_replicas}, indent=2) + "\n")


def check_config(config, path):
    """Refuses to go on with another config than the run began with."""
    if path.exists() and type(config).from_json(path) != config:
        raise InputError(
            f"this run began with another config than {FLAGS.config_file}'s; choose another "
            "--output_dir",
            path,
        )


def make_trainer(info, vocabulary, output_dir):
    """Puts data, model, objective and optimizer together."""
    import keras
    import tensorflow as tf

    from tta.data.records import pipeline
    from tta.modeling.config.transformer import ModelConfig
    from tta.modeling.models.language_model import LanguageModel
    from tta.modeling.objectives.objectives import OBJECTIVES
    from tta.modeling.training.distribution import check_same, make_strategy
    from tta.modeling.training.optimizers import OPTIMIZERS, WarmupLinearDecay
    from tta.modeling.training.trainer import Trainer, TrainerConfig, mean_log_normalizer

    if FLAGS.deterministic:
        tf.config.experimental.enable_op_determinism()
    config = ModelConfig.from_json(FLAGS.config_file)
    model_type = OBJECTIVES[FLAGS.objective].model_type
    if config.model_type != model_type:
        raise InputError(
            f"model_type is {config.model_type!r}, but --objective={FLAGS.objective} trains "
            f"{model_type!r}",
            FLAGS.config_file,
        )
    if config.vocab_size != len(vocabulary):
        raise InputError(
            f"vocab_size is {config.vocab_size}, but {vocabulary.path} has "
            f"{len(vocabulary)} pieces",
            FLAGS.config_file,
        )
    if info["max_seq_length"] > config.max_position_embeddings:
        raise InputError(
            f"max_position_embeddings is {config.max_position_embeddings}, but the "
            f"data has sentences of up to {info['max_seq_length']} tokens",
            FLAGS.config_file,
        )
    config = config.replace(do_lower_case=info["lower_case"])
    for name in ("log_normalizer_weight", "decorrelation_weight", "contrast_weight"):
        if FLAGS[name].value is not None:
            config = config.replace(**{name: FLAGS[name].value})
    if FLAGS.dropout is not None:
        config = config.replace(
            hidden_dropout_prob=FLAGS.dropout, attention_probs_dropout_prob=FLAGS.dropout
        )
    train = shard_paths(FLAGS.input_dir, info, "train")
    heldout = shard_paths(FLAGS.input_dir, info, "heldout")
    shape = {
        "batch_tokens": FLAGS.train_batch_tokens,
        "max_length": info["max_seq_length"],
        "pad_id": vocabulary.pad_id,
    }

    def epoch_batches(epoch):
        return pipeline.train_batches(train, **shape, seed=FLAGS.seed, epoch=epoch)

    # After all that can be refused here, for others may wait for this worker; before any tensor.
    strategy = make_strategy(FLAGS.distribution_strategy)
    alike = {n: value for n, value in flags_now().items() if n not in FREE_TO_DIFFER}
    check_same(strategy, "flags", json.dumps(alike, sort_keys=True))
    check_same(strategy, "--input_dir's dataset.json", json.dumps(info, sort_keys=True))
    check_same(strategy, "--config_file", repr(config))
    keras.utils.set_random_seed(FLAGS.seed)
    with strategy.scope():
        objective = OBJECTIVES[FLAGS.objective](vocabulary)
        model = LanguageModel(
            config,
            dtype="mixed_bfloat16" if FLAGS.mixed_precision == "bfloat16" else "float32",
            sampler=make_sampler(vocabulary, epoch_batches(0)),
        )
        if FLAGS.init_checkpoint:
            start_from(Path(FLAGS.init_checkpoint), model, vocabulary)
            if config.log_normalizer_weight:
                # It was free until now; training would be long in moving it by small steps.
                few = epoch_batches(0).take(CENTERING_BATCHES)
                model.shift_log_normalizer(-mean_log_normalizer(model, few))
        products = {"product_dtype": FLAGS.mixed_precision} if FLAGS.optimizer == "muon" else {}
        optimizer = OPTIMIZERS[FLAGS.optimizer](
            WarmupLinearDecay(FLAGS.learning_rate, FLAGS.num_warmup_steps, FLAGS.num_train_steps),
            FLAGS.adam_beta_1,
            FLAGS.adam_beta_2,
            weight_decay=FLAGS.weight_decay,
            global_clipnorm=FLAGS.clip_norm,
            **products,
        )
    return Trainer(
        model,
        optimizer,
        objective,
        epoch_batches,
        heldout_batches=(lambda: pipeline.eval_batches(heldout, **shape)) if heldout else None,
        output_dir=output_dir,
        config=TrainerConfig(
            FLAGS.num_train_steps,
            FLAGS.save_checkpoints_steps,
            FLAGS.eval_steps,
            FLAGS.log_steps,
            FLAGS.max_eval_batches,
            FLAGS.score_boundary_tokens,
        ),
        strategy=strategy,
    )


def make_sampler(vocabulary, batches):
    """The `PieceSampler` that --num_sampled_pieces asks for, or None."""
    from tta.modeling.heads.sampled_softmax import PieceSampler
    from tta.modeling.training.trainer import piece_counts

    size = FLAGS.num_sampled_pieces
    if not size:
        return None
    if not 3 <= size < len(vocabulary):
        raise InputError(
            f"--num_sampled_pieces must be 3 to {len(vocabulary) - 1}, or 0 for all, not {size}"
        )
    counts = piece_counts(batches.take(COUNTING_BATCHES), len(vocabulary))
    return PieceSampler(counts, size, FLAGS.seed)


def start_from(directory, model, vocabulary):
    """Gives the model the weights of a model directory, of its size and vocabulary or made so."""
    from tta.modeling.formats.growth import grow
    from tta.modeling.formats.model_directory import VOCABULARY, load_model

    theirs = Vocabulary.from_file(directory / VOCABULARY)
    trained = load_model(directory)
    if trained.config.vocab_size != len(theirs):
        raise InputError(
            f"the vocabulary has {len(theirs)} pieces, the model {trained.config.vocab_size}",
            theirs.path,
        )
    origins = None
    if theirs.sha256 != vocabulary.sha256:
        origins = vocabulary.origins(theirs)
        known = sum(token in theirs for token in vocabulary.tokens)
        print(
            f"{known:,} of the {len(vocabulary):,} pieces are in {theirs.path}, the others start "
            "as the mean of theirs",
            file=sys.stderr,
        )
    grow(model, trained, directory, origins, FLAGS.seed)


def readme(info, trainer):
    """README.md of the finished model: where it comes from and what it reaches."""
    config = trainer.model.config
    tokens = int(trainer.position["tokens"].numpy())
    sources = "\n".join(f"- {Path(source).name}" for source in info.get("sources", []))
    return f"""# {Path(FLAGS.output_dir).name}

A `{config.model_type}` language model of tta-lm, objective `{FLAGS.objective}`,
{config.num_parameters:,} parameters.

Trained for {trainer.step:,} steps of up to {FLAGS.train_batch_tokens:,} tokens a device;
{tokens:,} were predicted.

The text:

{sources}

Held-out: {trainer.last_evaluation or "not measured"}

    run_pretraining.py {" ".join(command_line())}
"""


def command_line():
    """The flags that differ from their defaults, as they were given."""
    return [
        f"--{f.name}={f.value}"
        for f in FLAGS.get_key_flags_for_module(sys.argv[0])
        if f.value != f.default and f.name not in ("output_dir", "input_dir", "vocab_file")
    ]


if __name__ == "__main__":
    command_flags.define()
    flags.adopt_module_key_flags(command_flags)
    cli.run(main)
