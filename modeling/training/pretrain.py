"""Pretraining: makes a model directory from a data set and a config."""

import contextlib
import dataclasses
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.atomic import locked_folder
from tta.choices import DTYPE_POLICIES
from tta.data.records import pipeline
from tta.data.records.dataset import load_dataset_info, shard_paths
from tta.data.records.examples import check_records
from tta.data.records.features import TARGET_VECTORS
from tta.data.records.inputs import ModelInputs
from tta.data.vectors.ngrams import NgramVectors
from tta.data.vectors.target_vectors import TargetVectors
from tta.data.vocabulary.load import check_same_tokenizer, load_vocabulary, make_tokenizer
from tta.data.vocabulary.word_pieces import Vocabulary
from tta.errors import DamagedDataError, InputError
from tta.json_files import read_json_object
from tta.modeling.config.base import TRAINING_WEIGHTS, ModelConfig, read_config, training_weights
from tta.modeling.config.heads import HEADS
from tta.modeling.config.heads.flags import head_changes
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training import run_record
from tta.modeling.training.choices import OPTIMIZERS
from tta.modeling.training.cluster import is_chief
from tta.modeling.training.config import PretrainingConfig
from tta.names import CONFIG, NGRAMS, POOLING, VECTORS, VOCABULARY

# Batches over which the finished model's outputs are standardized, pieces are counted, and the
# log-normalizer of the initial model is averaged.
STANDARDIZING_BATCHES = 100
COUNTING_BATCHES = 300
CENTERING_BATCHES = 5


@dataclass(frozen=True)
class PretrainingResult:
    """How a run ended.

    Attributes:
        finished: whether the last step was reached. If not, SIGTERM or another worker stopped the
            run; repeat the call to resume.
        directory: the model directory; None if not finished, or on a worker that is not the chief.
        step: steps done so far.
        evaluation: the last held-out `Evaluation` of the chief; None if nothing is held out.
    """

    finished: bool
    directory: Path | None
    step: int
    evaluation: Any


def pretrain(config: PretrainingConfig) -> PretrainingResult:
    """Trains a model, or resumes an interrupted run in `config.output_dir`.

    On SIGTERM it saves and returns after the current step; on Ctrl-C it saves and raises
    KeyboardInterrupt. A finished run writes its model, also if its last evaluation fails.
    TensorFlow's and Keras's random seeds are set to `config.seed`.

    Raises:
        KeyboardInterrupt: Ctrl-C stopped the run.
        InputError: a file is missing, malformed or damaged, settings do not fit each other or the
            run in `output_dir`, another process is writing there, the training diverged, or a
            worker is lost.
        OSError: the disk is full.
    """
    info = load_dataset_info(config.input_dir)
    vocabulary = _matching_vocabulary(config, info)
    vectors = None
    if config.vectors is not None:
        vectors = TargetVectors(config.vectors, vocabulary)
        vectors.check_values()
    model_config, config = _resolve(config, info, vocabulary, vectors)
    output_dir = Path(config.output_dir)
    chief = is_chief(config.distribution_strategy)
    if chief:
        output_dir.mkdir(parents=True, exist_ok=True)
    # The chief writes in a folder that no other process writes to.
    with locked_folder(output_dir) if chief else contextlib.nullcontext():
        if chief:
            run_record.check_settings_kept(config)
        try:
            return _pretrain(config, model_config, info, vocabulary, vectors, chief)
        except DamagedDataError:
            for split in info["splits"]:  # names the shard
                check_records(shard_paths(config.input_dir, info, split), info["features"])
            raise


def _pretrain(config, model_config, info, vocabulary, vectors, chief):
    trainer = make_trainer(config, model_config, info, vocabulary, vectors)
    output_dir = trainer.output_dir
    if chief:
        run_record.check_model_kept(model_config, vocabulary, config, vectors)
        # Written after all checks, so that a refused setting can be corrected in the same folder.
        # Together with a checkpoint, these files are a model.
        run_record.record(config, trainer.strategy.num_replicas_in_sync)
        model_config.to_json(output_dir / CONFIG)
        vocabulary.save(output_dir / VOCABULARY, overwrite=True)
        if vectors is not None and not (output_dir / VECTORS).exists():
            vectors.copy_to(output_dir)
            if (Path(config.vectors) / NGRAMS).exists() and model_config.open_vocabulary:
                NgramVectors(config.vectors).copy_to(output_dir)
    finished = trainer.train()
    if finished and chief:
        directory = trainer.output_dir
        (directory / POOLING).unlink(missing_ok=True)  # it belongs to the weights that are replaced
        card = run_record.model_card(config, info.get("sources", []), trainer)
        write_model(trainer, directory, card, config.weights_dtype)
    if trainer.evaluation_error:
        raise trainer.evaluation_error
    directory = output_dir if finished and chief else None
    return PretrainingResult(finished, directory, trainer.step, trainer.last_evaluation)


def write_model(trainer: Any, directory: Path, card: str, weights_dtype: str = "float32") -> None:
    """Standardizes the outputs of a trained model and completes a model directory.

    Args:
        trainer: the `Trainer` of the model.
        directory: has the vocabulary.
        card: text of README.md.
        weights_dtype: "float32" or "float16".
    """
    from tta.modeling.formats.model_directory import save_model
    from tta.modeling.training.statistics import output_statistics

    model = trainer.model
    if getattr(model, "can_standardize_outputs", False):
        batches = trainer.epoch_batches(0)
        statistics = output_statistics(model, batches, STANDARDIZING_BATCHES)
        with trainer.strategy.scope():
            model.standardize_outputs(*statistics)
    save_model(model, directory, card, weights_dtype)


def _matching_vocabulary(config, info):
    """The vocabulary, checked to be the one that the shards were written with."""
    path = config.vocab_file or Path(config.input_dir) / VOCABULARY
    vocabulary = load_vocabulary(info["tokenizer"], path)
    if vocabulary.sha256 != info["vocab_sha256"]:
        raise InputError(
            f"not the vocabulary that {config.input_dir} was written with", vocabulary.path
        )
    return vocabulary


def _resolve(config, info, vocabulary, vectors) -> tuple[ModelConfig, PretrainingConfig]:
    """Completes the model's config and the run's config, each with values from the other.

    Raises:
        InputError: model, objective and data set do not fit each other.
    """
    path = config.config_file
    default = {"vocab_size": len(vocabulary), "tokenizer": info["tokenizer"]}
    if config.output_layer is not None:  # the file may have settings of this head alone
        default["output_layer"] = config.output_layer
    model_config: Any = read_config(path, **default)
    check_same_tokenizer(model_config.tokenizer, info, path)
    name, objectives = config.objective, MODEL_TYPES.load(model_config.model_type).objectives
    if not objectives:
        raise InputError(f"a model of type {model_config.model_type} needs labelled texts", path)
    if not (name in objectives or model_config.model_type in OBJECTIVES.load(name).model_types):
        raise InputError(
            f"model_type is {model_config.model_type!r}, which --objective="
            f"{' or '.join(objectives)} trains, not {config.objective}",
            path,
        )
    is_smaller = model_config.vocab_size < len(vocabulary)
    # A model of words may know the most frequent ones only.
    if model_config.vocab_size != len(vocabulary) and not (
        is_smaller and model_config.tokenizer == "words"
    ):
        raise InputError(
            f"vocab_size is {model_config.vocab_size}, but {vocabulary.path} has "
            f"{len(vocabulary)} tokens; without vocab_size, the config takes that number",
            path,
        )
    longest = getattr(model_config, "max_position_embeddings", None)
    if longest is not None and info["max_seq_length"] > longest:
        raise InputError(
            f"max_position_embeddings is {longest}, but the data has sentences of up to "
            f"{info['max_seq_length']} tokens",
            path,
        )
    weights = dict.fromkeys(TRAINING_WEIGHTS, 0.0) | training_weights(read_json_object(path), path)
    given = {name: getattr(config, name) for name in TRAINING_WEIGHTS}
    weights |= {name: weight for name, weight in given.items() if weight is not None}
    changes: dict[str, Any] = {
        "do_lower_case": info["lower_case"],
        "learned_normalizer": weights["log_normalizer_weight"] > 0,
    }
    changes |= _layers(config, model_config, vectors)
    if hasattr(model_config, "pad_id"):
        changes["pad_id"] = vocabulary.pad_id
    if config.dropout is not None:
        names = ("hidden_dropout_prob", "attention_probs_dropout_prob")
        changes |= {name: config.dropout for name in names if hasattr(model_config, name)}
    return model_config.replace(**changes), dataclasses.replace(config, **weights)


def _layers(config, model_config, vectors) -> dict[str, Any]:
    """The values of the model's config that flags and vectors change.

    Raises:
        InputError: input layer, output layer, distance and vectors do not fit each other.
    """
    name = config.output_layer or model_config.output_layer
    changes = {"output_layer": name} | head_changes(config)
    reads_vectors = getattr(model_config, "input_layer", None) == "vectors"
    predicts_vectors = HEADS.load(name).needs_vectors
    if vectors is None:
        if predicts_vectors or reads_vectors:
            layer = f"output_layer {name}" if predicts_vectors else "input_layer vectors"
            raise InputError(f"{layer} needs vectors; tta-create-vectors makes them")
        return changes
    if not (predicts_vectors or reads_vectors):
        with_vectors = [layer for layer in HEADS if HEADS.load(layer).needs_vectors]
        layers = " or ".join(with_vectors)
        raise InputError(f"vectors needs output_layer {layers} or input_layer vectors")
    if reads_vectors:
        changes["input_size"] = vectors.size
    if predicts_vectors:
        size = getattr(model_config.head, "target_size", None)
        if size not in (None, vectors.size):
            raise InputError(
                f"its vectors have {vectors.size} numbers, but target_size in "
                f"{config.config_file} is {size}",
                vectors.path,
            )
        changes["target_size"] = vectors.size
    return changes


def _inputs(model_config, vocabulary, vectors) -> ModelInputs:
    """What batches need besides ids: what the model reads, and the vectors it predicts."""
    from tta.data.vectors.model_inputs import inputs_of

    look_up = None if vectors is None else vectors.look_up
    # The tokenizer of word pieces would create tensors, and inputs do not need it.
    is_words = model_config.tokenizer == "words"
    tokenizer = make_tokenizer(vocabulary, model_config.do_lower_case) if is_words else None
    inputs = inputs_of(model_config, tokenizer, look_up)
    if not model_config.head.needs_vectors:
        return inputs
    return dataclasses.replace(inputs, look_ups={**inputs.look_ups, TARGET_VECTORS: look_up})


def make_trainer(
    config: PretrainingConfig,
    model_config: Any,
    info: dict[str, Any],
    vocabulary: Any,
    vectors: Any = None,
) -> Any:
    """Builds model, objective and optimizer under the strategy, and a `Trainer` over the data.

    `vectors` are the `TargetVectors` of a model that predicts or reads vectors, else None.

    Raises:
        InputError: the workers were not started alike, or settings do not fit the model.
    """
    import keras
    import tensorflow as tf

    from tta.modeling.models.language_model import build_model
    from tta.modeling.training.distribution import check_same, make_strategy
    from tta.modeling.training.optimizers import WarmupLinearDecay
    from tta.modeling.training.statistics import mean_log_normalizer, piece_counts
    from tta.modeling.training.trainer import Trainer

    if config.deterministic:
        tf.config.experimental.enable_op_determinism()
    train, heldout = (shard_paths(config.input_dir, info, s) for s in ("train", "heldout"))
    heldout = [path for path in heldout if os.path.getsize(path)]  # An empty file has no sentence.
    if not heldout and is_chief(config.distribution_strategy):
        print(
            f"{config.input_dir} has no held-out sentences: training runs without evaluation",
            file=sys.stderr,
        )
    shape = {
        "features": info["features"],
        "batch_tokens": config.train_batch_tokens,
        "max_length": info["max_seq_length"],
        "pad_id": vocabulary.pad_id,
    }

    inputs = _inputs(model_config, vocabulary, vectors)

    def epoch_batches(epoch):
        batches = pipeline.train_batches(train, **shape, seed=config.seed, epoch=epoch)
        return pipeline.with_inputs(batches, inputs)

    def heldout_batches():
        return pipeline.with_inputs(pipeline.eval_batches(heldout, **shape), inputs)

    def counts():
        return piece_counts(epoch_batches(0).take(COUNTING_BATCHES), model_config.vocab_size)

    # Called after all checks above, because other workers may wait for this one, and before any
    # tensor is created.
    strategy = make_strategy(config.distribution_strategy)
    check_same(strategy, "flags", run_record.shared_settings(config))
    check_same(strategy, "--input_dir's dataset.json", json.dumps(info, sort_keys=True))
    check_same(strategy, "--config_file", repr(model_config))
    check_same(strategy, "--vectors", "" if vectors is None else vectors.digest)
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        objective = OBJECTIVES.load(config.objective)(vocabulary, config)
        objective.check_model(model_config)
        head = model_config.head.head_class()
        model = build_model(
            model_config,
            DTYPE_POLICIES[config.mixed_precision],
            head_options=head.training_options(config, counts),
        )
        if config.init_checkpoint:
            _start_from(config.init_checkpoint, model, vocabulary, config.seed)
            if config.log_normalizer_weight:
                # The log-normalizer was free until now. Small steps would take long to move it.
                few = epoch_batches(0).take(CENTERING_BATCHES)
                model.head.shift_log_normalizer(-mean_log_normalizer(model, few))
        optimizer = OPTIMIZERS.load(config.optimizer)(
            WarmupLinearDecay(
                config.learning_rate, config.num_warmup_steps, config.num_train_steps
            ),
            config.adam_beta_1,
            config.adam_beta_2,
            weight_decay=config.weight_decay,
            global_clipnorm=config.clip_norm,
            product_dtype=config.mixed_precision,
        )
    return Trainer(
        model,
        optimizer,
        objective,
        epoch_batches,
        heldout_batches=heldout_batches if heldout else None,
        output_dir=Path(config.output_dir),
        config=config,
        strategy=strategy,
    )


def _start_from(name, model, vocabulary, seed):
    """Starts from the weights of a trained model, grown and for this vocabulary if needed."""
    from tta.modeling.formats.growth import grow
    from tta.modeling.formats.huggingface import is_padded
    from tta.modeling.formats.model_directory import load_model, vocabulary_path
    from tta.modeling.formats.trained_models import find_directory
    from tta.modeling.models.language_model import build_model

    directory = Path(find_directory(name))
    theirs = Vocabulary.from_file(vocabulary_path(directory))
    trained = load_model(directory)
    if is_padded(directory, len(theirs), trained.config.vocab_size):
        theirs = theirs.padded(trained.config.vocab_size)
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
            f"{known:,} of the {len(vocabulary):,} pieces are in {theirs.path}; the others start "
            "as means of its pieces",
            file=sys.stderr,
        )
    if hasattr(model, "start_halves") and not hasattr(trained, "start_halves"):
        half = build_model(model.config.part("encoder"))
        grow(half, trained, directory, origins, seed)
        model.start_halves(half)
    else:
        grow(model, trained, directory, origins, seed)
