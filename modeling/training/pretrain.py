"""Pretraining: makes a model directory from a data set and a config."""

import contextlib
import dataclasses
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tta.atomic import locked_folder
from tta.checked_files import read_json_object
from tta.data.records.training_data import TrainingData
from tta.errors import DamagedDataError, InputError, located
from tta.modeling.config.base import (
    TRAINING_WEIGHTS,
    DataFacts,
    ModelConfig,
    config_from,
    training_weights,
)
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training import run_record
from tta.modeling.training.cluster import is_chief
from tta.modeling.training.config import PretrainingConfig
from tta.names import CONFIG, POOLING

_FOLDERS = {"output_dir", "input_dir", "input_file", "vocab_file", "vectors"}
DATASET_FOLDER = "tfrecords"  # in the folder of a run on raw text


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

    With `config.input_file`, raw text, the data set is first made in `tfrecords/` of that folder,
    by `create_vocab` and `create_tfrecords`; a run that resumes has it already.

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
    data = TrainingData.open(_dataset(config), config.vocab_file, config.vectors)
    model_config, config = resolve(config, data)
    from tta.modeling.training.steps import backend  # imports Keras

    batches = data.batches(
        model_config,
        config.train_batch_tokens,
        config.seed,
        config.train_batch_size,
        backend(config.distribution_strategy).in_memory,
    )
    output_dir = Path(config.output_dir)
    chief = is_chief(config.distribution_strategy)
    if chief:
        output_dir.mkdir(parents=True, exist_ok=True)
    # The chief writes in a folder that no other process writes to.
    with locked_folder(output_dir) if chief else contextlib.nullcontext():
        try:
            return _train(config, model_config, data, batches, chief)
        except DamagedDataError:
            batches.check()  # names the shard
            raise


def _dataset(config: PretrainingConfig) -> str:
    """The folder of the data set, which is made if the run has raw text."""
    if config.input_dir is not None:
        return config.input_dir
    values = read_json_object(config.config_file)  # before the text, which takes long
    from tta.data.corpus.config import MAX_SEQ_LENGTH
    from tta.data.corpus.from_text import make_dataset

    longest = values.get("max_position_embeddings")
    longest = min(longest, MAX_SEQ_LENGTH) if isinstance(longest, int) else MAX_SEQ_LENGTH
    output_dir = Path(config.output_dir)
    output_dir.mkdir(parents=True, exist_ok=True)
    with locked_folder(output_dir):
        make_dataset(config, config.vocab_file, output_dir / DATASET_FOLDER, max_seq_length=longest)
    return str(output_dir / DATASET_FOLDER)


def _train(config, model_config, data, batches, chief):
    from tta.modeling.training.assembly import make_trainer, write_model
    from tta.modeling.training.checkpoints import check_not_replaced
    from tta.modeling.training.steps import connect

    output_dir = Path(config.output_dir)
    if chief:
        check_not_replaced(output_dir)
        run_record.check_settings_kept(config)
        run_record.check_model_kept(config, model_config, data)
    if chief and batches.heldout is None:
        print(
            f"{data.directory} has no held-out sentences: training runs without evaluation",
            file=sys.stderr,
        )
    # Called after all checks above, because other workers may wait for this one, and before any
    # tensor is created.
    same = run_record.shared(config, model_config, data)
    steps = connect(config.distribution_strategy, config.deterministic, same)
    trainer = make_trainer(
        config,
        config.objective,
        model_config,
        batches,
        output_dir=output_dir,
        steps=steps,
        init_checkpoint=config.init_checkpoint,
        init_parts={"encoder": config.init_encoder, "decoder": config.init_decoder},
    )
    if chief:  # Together with a checkpoint, these files are a model.
        data.copy_to(output_dir, model_config.open_vocabulary)
        model_config.to_json(output_dir / CONFIG)
        run_record.record(config, steps.num_replicas, data.digest)
    finished = trainer.train()
    if finished and chief:
        (output_dir / POOLING).unlink(missing_ok=True)  # of the weights that are replaced
        card = _model_card(config, data.info["sources"], trainer)
        write_model(trainer, output_dir, card, config.weights_dtype)
    if trainer.evaluation_error:
        raise trainer.evaluation_error
    directory = output_dir if finished and chief else None
    return PretrainingResult(finished, directory, trainer.step, trainer.last_evaluation)


def _model_card(config, sources, trainer):
    """README.md of a finished model: its text (files `sources`), training and held-out results."""
    import keras

    model_config = trainer.model.config
    tokens = trainer.position["tokens"]
    text = "\n".join(f"- {Path(source).name}" for source in sources)
    batch = f"{config.train_batch_tokens:,} tokens"
    if config.train_batch_size is not None:
        batch = f"{config.train_batch_size:,} sentences"
    backend = keras.config.backend()
    variable = "" if backend == "tensorflow" else f"KERAS_BACKEND={backend} "
    return f"""# {Path(config.output_dir).name}

A `{model_config.model_type}` language model of tta-lm, objective `{config.objective}`,
{model_config.num_parameters:,} parameters.

Trained for {trainer.step:,} steps of up to {batch} per device;
{tokens:,} tokens were predicted.

The text:

{text}

Held-out: {trainer.last_evaluation or "not measured"}

    {variable}run_pretraining.py {" ".join(_changed_flags(config))}
"""


def _changed_flags(config):
    """The flags that differ from their defaults."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != field.default and field.name not in _FOLDERS:
            yield f"--{field.name}={value}"


def resolve(config, data) -> tuple[ModelConfig, PretrainingConfig]:
    """Completes the configs of model and run by each other; InputError if they do not fit."""
    path, info, vocabulary = config.config_file, data.info, data.vocabulary
    default = {"vocab_size": len(vocabulary), "tokenizer": info["tokenizer"]}
    if config.output_layer is not None:  # the file may have settings of this head alone
        default["output_layer"] = config.output_layer
    values = read_json_object(path)
    facts = DataFacts(
        tokenizer=info["tokenizer"],
        lower_case=info["lower_case"],
        max_seq_length=info["max_seq_length"],
        vocab_size=len(vocabulary),
        vocab_file=vocabulary.path,
        pad_id=vocabulary.pad_id,
        vectors=data.vectors,
        normalization=info["normalization"],
    )
    with located(path=path):
        model_config = config_from(default | values)
        if not model_config.parts:
            reason = f"a model of type {model_config.model_type}"
            config.refuse(("init_encoder", "init_decoder"), reason)
        weights = dict.fromkeys(TRAINING_WEIGHTS, 0.0) | training_weights(values)
        flag_weights = {name: getattr(config, name) for name in TRAINING_WEIGHTS}
        weights |= {name: weight for name, weight in flag_weights.items() if weight is not None}
        name, model_type = config.objective, model_config.model_type
        objectives = MODEL_TYPES.load(model_type).objectives
        if not objectives:
            raise InputError(f"a model of type {model_type} needs labelled texts")
        if not (name in objectives or model_type in OBJECTIVES.load(name).model_types):
            needed = " or ".join(objectives)
            rule = f"model_type is {model_type!r}, which --objective={needed} trains, not {name}"
            raise InputError(rule)
        changes = config.changes(model_config)
        changes["learned_normalizer"] = weights["log_normalizer_weight"] > 0
        model_config = model_config.replace(**changes).for_training(facts)
    return model_config, dataclasses.replace(config, **weights)
