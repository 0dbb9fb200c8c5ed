"""The record of a training run's settings. A run resumes only with the settings it began with."""

import dataclasses
import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from tta.data.text.files import file_digest, open_output
from tta.data.vocabulary.load import AnyVocabulary
from tta.errors import InputError
from tta.json_files import read_json_object
from tta.modeling.config.base import TRAINING_WEIGHTS, ModelConfig, read_config
from tta.modeling.training.config import PretrainingConfig
from tta.names import CONFIG, VECTORS, VOCABULARY
from tta.settings import fields

RUN_FILE = "run.json"

# Settings that may change when a run resumes, such as intervals, the paths of files whose contents
# are compared, and the number of steps. The learning rate then falls to 0 at the new last step.
FREE_TO_CHANGE = {
    "num_train_steps",
    "output_dir",
    "config_file",
    "vocab_file",
    "vectors",
    "save_checkpoints_steps",
    "eval_steps",
    "max_eval_batches",
    "log_steps",
    "weights_dtype",
    "score_boundary_tokens",
    "distribution_strategy",
}

# Settings that may differ between the workers of a run: paths of files whose contents are compared.
FREE_TO_DIFFER = {
    "input_dir",
    "output_dir",
    "config_file",
    "vocab_file",
    "init_checkpoint",
    "vectors",
}


def shared_settings(config: PretrainingConfig) -> str:
    """The settings that must be the same on all workers, as text."""
    values = dataclasses.asdict(config)
    return json.dumps({n: v for n, v in values.items() if n not in FREE_TO_DIFFER}, sort_keys=True)


def check_settings_kept(config: Any, free_to_change: Collection[str] = FREE_TO_CHANGE) -> None:
    """Raises InputError if the run in the output folder began with settings that cannot change.

    `config` has settings, among them `output_dir`; those of `free_to_change` are not compared.
    """
    path = Path(config.output_dir) / RUN_FILE
    if not path.exists():
        return
    before = read_json_object(path)
    for field in fields(config):
        value = getattr(config, field.name)
        then = before.get(field.name, field.default)  # The setting may be newer than the run.
        if then is None and field.name in TRAINING_WEIGHTS:
            continue  # In earlier versions, None stood for the config file's value.
        if field.name not in free_to_change and then != value:
            raise InputError(
                f"this run began with --{field.name}={then}, not {value}; choose another "
                "--output_dir",
                path,
            )


def check_model_kept(
    model_config: ModelConfig,
    vocabulary: AnyVocabulary,
    config: PretrainingConfig,
    vectors: Any = None,
) -> None:
    """Raises InputError if the run in the output folder began with another model or vocabulary.

    The same holds for other target vectors; `vectors` are `TargetVectors` or None.
    """
    path = Path(config.output_dir) / VOCABULARY
    if path.exists() and type(vocabulary).from_file(path).sha256 != vocabulary.sha256:
        raise InputError(
            f"this run began with another vocabulary than {vocabulary.path}; choose another "
            "--output_dir",
            path,
        )
    path = Path(config.output_dir) / CONFIG
    if path.exists() and read_config(path) != model_config:
        raise InputError(
            f"this run began with another config than {config.config_file}'s; choose another "
            "--output_dir",
            path,
        )
    path = Path(config.output_dir) / VECTORS
    if vectors is not None and path.exists() and file_digest(path) != vectors.digest:
        raise InputError(
            f"this run began with other vectors than {vectors.path}; choose another --output_dir",
            path,
        )


def record(config: PretrainingConfig, num_replicas: int) -> None:
    """Writes the run's settings and the batches per step; notes a changed number of replicas."""
    path = Path(config.output_dir) / RUN_FILE
    then = read_json_object(path).get("num_replicas", 1) if path.exists() else num_replicas
    if then != num_replicas:
        print(
            f"this run began with {then} replicas and resumes with {num_replicas}: from here on a "
            "step takes that many batches, and the result differs",
            file=sys.stderr,
        )
    values = dataclasses.asdict(config) | {"num_replicas": num_replicas}
    with open_output(path, overwrite=True) as file:
        file.write(json.dumps(values, indent=2) + "\n")


def model_card(config: PretrainingConfig, sources: list[str], trainer: Any) -> str:
    """README.md of a finished model: its text (files `sources`), training and held-out results."""
    model_config = trainer.model.config
    tokens = int(trainer.position["tokens"].numpy())
    text = "\n".join(f"- {Path(source).name}" for source in sources)
    return f"""# {Path(config.output_dir).name}

A `{model_config.model_type}` language model of tta-lm, objective `{config.objective}`,
{model_config.num_parameters:,} parameters.

Trained for {trainer.step:,} steps of up to {config.train_batch_tokens:,} tokens per device;
{tokens:,} tokens were predicted.

The text:

{text}

Held-out: {trainer.last_evaluation or "not measured"}

    run_pretraining.py {" ".join(_changed_flags(config))}
"""


_FOLDERS = {"output_dir", "input_dir", "vocab_file", "vectors"}


def _changed_flags(config):
    """The flags that differ from their defaults."""
    for field in fields(config):
        value = getattr(config, field.name)
        if value != field.default and field.name not in _FOLDERS:
            yield f"--{field.name}={value}"
