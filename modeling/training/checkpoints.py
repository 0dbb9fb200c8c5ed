"""Files of a training run: its list of checkpoints, and one-line errors about full disks."""

import contextlib
import re
import shutil
from pathlib import Path

import tensorflow as tf

from tta.atomic import whole_file
from tta.modeling.formats.run_checkpoint import checkpoint_steps


@contextlib.contextmanager
def disk_errors_named(path: Path | str):
    """Turns TensorFlow's error about a full disk into an OSError of one line.

    `path` is the folder that is written to. Errors that do not name it pass unchanged.
    """
    try:
        yield
    except tf.errors.OpError as error:
        if str(path) not in error.message:
            raise
        # Removes the names of the graph's node and operation, which surround the reason.
        rule = re.sub(r"\{\{.*?\}\} | \[Op:.*", "", error.message.splitlines()[0])
        raise OSError(f"cannot be written: {rule}") from None


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
