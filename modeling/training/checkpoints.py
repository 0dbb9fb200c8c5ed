"""Files of a training run: its list of checkpoints, and one-line errors about full disks."""

import contextlib
import re
import shutil
import sys
from pathlib import Path

import tensorflow as tf

from tta.atomic import whole_file
from tta.errors import InputError
from tta.modeling.formats.tensorflow.run_checkpoint import (
    CHECKPOINTS,
    checkpoint_steps,
    open_checkpoint,
    plain_path,
)
from tta.names import WEIGHTS


@contextlib.contextmanager
def disk_errors_named(path: Path | str, shown: Path | str | None = None):
    """Turns TensorFlow's error about a full disk into an OSError of one line.

    `path` is the folder that is written to, and `shown` its name in the error, if that is another.
    Errors that do not name it pass unchanged.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if str(path) not in error.message:
            raise
        # Removes the names of the graph's node and operation, which surround the reason.
        rule = re.sub(r"\{\{.*?\}\} | \[Op:.*", "", error.message.splitlines()[0])
        rule = rule.replace(str(path), str(shown or path))
        raise OSError(f"cannot be written: {rule}") from None


def restore_newest(checkpoint: tf.train.Checkpoint, folder: Path) -> None:
    """Restores the newest checkpoint in a folder that can be restored, if the folder has any.

    Newer ones, which are damaged then, are removed with a note.

    Raises:
        InputError: no checkpoint can be restored. The error is that of the newest one.
    """
    errors: list[InputError] = []
    for step in reversed(checkpoint_steps(folder)):
        path = folder / f"ckpt-{step}"
        try:
            open_checkpoint(path)
            checkpoint.restore(str(plain_path(path))).assert_consumed()
        except (tf.errors.OpError, AssertionError, IndexError, ValueError) as error:
            rule = getattr(error, "rule", str(error).strip().splitlines()[0])
            errors.append(InputError(f"the checkpoint cannot be restored: {rule}", path))
            continue
        for error in errors:
            print(f"{error}; it is removed, and step {step:,} is next", file=sys.stderr)
            for part in folder.glob(f"{Path(str(error.path)).name}.*"):
                part.unlink()
        return
    if errors:
        raise errors[0]


def check_not_replaced(output_dir: Path) -> None:
    """Raises InputError if a training would begin anew and replace a finished model."""
    if (output_dir / WEIGHTS).exists() and not checkpoint_steps(output_dir / CHECKPOINTS):
        raise InputError(
            "a finished model, but the checkpoints of its training are gone: the training would "
            "begin at step 0 and replace it; choose another --output_dir, or remove this file",
            output_dir / WEIGHTS,
        )


def list_checkpoints(folder: Path) -> None:
    """Removes what a killed run left unfinished, and rewrites TensorFlow's list of checkpoints.

    The list is text without a checksum, so it is not trusted. The folder may be missing.
    """
    for unfinished in folder.glob("ckpt-*_temp"):
        shutil.rmtree(unfinished)
    names = [f"ckpt-{step}" for step in checkpoint_steps(folder)]
    if not names:
        (folder / "checkpoint").unlink(missing_ok=True)
        return
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    lines += [f'all_model_checkpoint_paths: "{name}"' for name in names]
    # TensorFlow deletes old checkpoints only if it knows their times.
    times = [(folder / f"{name}.index").stat().st_mtime for name in names]
    lines += [f"all_model_checkpoint_timestamps: {at}" for at in times]
    with whole_file(folder / "checkpoint") as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
