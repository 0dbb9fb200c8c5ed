"""The record of a training run's settings. A run resumes only with the settings it began with."""

import dataclasses
import json
import math
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar, Protocol

from tta.checked_files import read_json_object
from tta.data.records.training_data import TrainingData
from tta.data.text.files import file_digest, open_output
from tta.errors import InputError
from tta.modeling.config.base import TRAINING_WEIGHTS, ModelConfig, read_config
from tta.modeling.training.config import PretrainingConfig
from tta.names import CONFIG, VECTORS, VOCABULARY

RUN_FILE = "run.json"

# Settings that may change when a run resumes: intervals, paths (not that of the text, although the
# text is compared, too), and the number of steps. The learning rate falls to 0 at the new last one.
FREE_TO_CHANGE = {
    "input_file",
    "num_train_steps",
    "num_decay_steps",
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
    "input_file",
    "output_dir",
    "config_file",
    "vocab_file",
    *("init_checkpoint", "init_encoder", "init_decoder"),
    "vectors",
}


class RunSettings(Protocol):
    """A config of a run that can be resumed: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def output_dir(self) -> str: ...


def shared(
    config: PretrainingConfig, model_config: ModelConfig, data: TrainingData
) -> dict[str, str]:
    """What must be the same on all workers: {its name in errors: its value as text}."""
    values = {n: v for n, v in dataclasses.asdict(config).items() if n not in FREE_TO_DIFFER}
    return {
        "flags": json.dumps(values, sort_keys=True),
        "--input_dir's dataset.json": json.dumps(data.info, sort_keys=True),
        "--config_file": repr(model_config),
        "--vectors": "" if data.vectors is None else data.vectors.digest,
    }


def check_settings_kept(
    config: RunSettings, free_to_change: Collection[str] = FREE_TO_CHANGE
) -> None:
    """Raises InputError if the run in the output folder began with settings that cannot change.

    The settings of `free_to_change` are not compared.
    """
    path = Path(config.output_dir) / RUN_FILE
    if not path.exists():
        return
    before = read_json_object(path)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        # The setting may be newer than the run.
        factory = field.default_factory
        default = field.default if factory is dataclasses.MISSING else factory()
        then = before.get(field.name, default)
        if then is None and field.name in TRAINING_WEIGHTS:
            continue  # In earlier versions, None stood for the config file's value.
        if field.name not in free_to_change and then != value:
            raise InputError(
                f"this run began with --{field.name}={then}, not {value}; choose another "
                "--output_dir",
                path,
            )


def check_model_kept(
    config: PretrainingConfig, model_config: ModelConfig, data: TrainingData
) -> None:
    """Raises InputError if the run in the output folder began with another model.

    The same holds for another vocabulary, other text, other vectors and another backend of Keras.
    """
    folder, vocabulary, vectors = Path(config.output_dir), data.vocabulary, data.vectors
    path = folder / VOCABULARY
    if path.exists() and type(vocabulary).from_file(path).sha256 != vocabulary.sha256:
        _refuse(f"another vocabulary than {vocabulary.path}", path)
    path = folder / CONFIG
    if path.exists() and read_config(path) != model_config:
        _refuse(f"another config than {config.config_file}'s", path)
    path = folder / RUN_FILE
    before = read_json_object(path) if path.exists() else {}
    if before.get("data") is not None and before["data"] != data.digest:
        _refuse(f"other text than {data.directory} has now", path)
    backend = _backend()
    if before and before.get("backend", "tensorflow") != backend:
        _refuse(f"another backend of Keras than {backend} (KERAS_BACKEND)", path)
    path = folder / VECTORS
    if vectors is not None and path.exists() and file_digest(path) != vectors.digest:
        _refuse(f"other vectors than {vectors.path}", path)


def _refuse(what, path):
    raise InputError(f"this run began with {what}; choose another --output_dir", path)


def record(config: PretrainingConfig, num_replicas: int, data_digest: str | None = None) -> None:
    """Writes the run's settings, the batches per step and `TrainingData.digest`.

    The first loss stays. Notes a changed number of replicas.
    """
    path = Path(config.output_dir) / RUN_FILE
    before = read_json_object(path) if path.exists() else {"num_replicas": num_replicas}
    then = before.get("num_replicas", 1)
    if then != num_replicas:
        print(
            f"this run began with {then} replicas and resumes with {num_replicas}: from here on a "
            "step takes that many batches, and the result differs",
            file=sys.stderr,
        )
    values = {
        "num_replicas": num_replicas,
        "data": data_digest,
        "backend": _backend(),
        "first_loss": before.get("first_loss"),
    }
    _write(path, dataclasses.asdict(config) | values)


def keep_first_loss(output_dir: Path, loss: float) -> None:
    """Adds the finite loss of the first step to the record of the run, if there is one."""
    path = output_dir / RUN_FILE
    if math.isfinite(loss) and path.exists():
        _write(path, read_json_object(path) | {"first_loss": loss})


def first_loss(output_dir: Path) -> float:
    """The loss of the run's first step; NaN if it was not kept, as in earlier versions."""
    path = output_dir / RUN_FILE
    loss = read_json_object(path).get("first_loss") if path.exists() else None
    return loss if isinstance(loss, float) else math.nan


def _write(path, values):
    with open_output(path, overwrite=True) as file:
        file.write(json.dumps(values, indent=2) + "\n")


def _backend():
    import keras  # which imports its backend

    return keras.config.backend()
