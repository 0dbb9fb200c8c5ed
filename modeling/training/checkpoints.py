"""The checkpoints of a run: written, the newest good one restored, old ones removed."""

import sys
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np

from tta.errors import InputError
from tta.modeling.formats.run_checkpoint import (
    CHECKPOINTS,
    POSITION,
    checkpoint_path,
    checkpoint_steps,
    newest_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from tta.names import WEIGHTS

KEPT = 2  # the last ones


class Checkpoints:
    """The checkpoints of a training in a folder, which may be missing.

    Args:
        folder: their folder.
        variables: {name: variable}, all that a training changes.
    """

    def __init__(self, folder: Path, variables: Mapping[str, keras.Variable]):
        self.folder = folder
        self._variables = variables

    @property
    def latest(self) -> Path | None:
        """The newest one; None without any."""
        steps = checkpoint_steps(self.folder)
        return checkpoint_path(self.folder, steps[-1]) if steps else None

    def save(self, position: Mapping[str, int]) -> None:
        """Writes the checkpoint of `position["step"]`, and then removes older ones.

        Raises OSError if it cannot be written. The previous ones are kept.
        """
        arrays = {name: np.asarray(variable.value) for name, variable in self._variables.items()}
        numbers = {POSITION + name: np.array([n], np.int64) for name, n in position.items()}
        write_checkpoint(checkpoint_path(self.folder, position["step"]), arrays | numbers)
        for step in checkpoint_steps(self.folder)[:-KEPT]:
            checkpoint_path(self.folder, step).unlink()

    def restore(self, position: dict[str, int]) -> None:
        """Restores variables and position from the newest good checkpoint, if there is any.

        Newer ones, which are damaged then, are removed with a note. Raises InputError if no
        checkpoint can be restored. The error is that of the newest one.
        """
        if not checkpoint_steps(self.folder):
            return
        step, arrays, errors = newest_checkpoint(self.folder, lambda p: self._read(p, position))
        for path, error in errors:
            print(f"{error}; it is removed, and step {step:,} is next", file=sys.stderr)
            path.unlink()
        position.update({name: int(arrays[POSITION + name][0]) for name in position})
        for name, variable in self._variables.items():
            variable.assign(arrays[name])

    def _read(self, path, position):
        """The arrays of a checkpoint with all variables of this training, and no others."""
        shapes = {name: tuple(variable.shape) for name, variable in self._variables.items()}
        shapes |= {POSITION + name: (1,) for name in position}
        try:
            arrays = read_checkpoint(path)
            stored_shapes = {name: array.shape for name, array in arrays.items()}
            if wrong := sorted(dict(shapes.items() ^ stored_shapes.items())):
                raise InputError(f"{wrong[0]} is missing, not of this training or of another shape")
        except InputError as error:
            raise InputError(f"the checkpoint cannot be restored: {error.rule}", path) from None
        return arrays


def check_not_replaced(output_dir: Path) -> None:
    """Raises InputError if a training would begin anew and replace what there is.

    That is a finished model without checkpoints, or an unfinished run of an earlier version.
    """
    folder = output_dir / CHECKPOINTS
    if checkpoint_steps(folder):
        return
    if old := sorted(folder.glob("ckpt-*.index")):
        raise InputError(
            "a checkpoint of tta-lm 0.2 or earlier, from which no run resumes; finish the run with "
            "that version, or choose another --output_dir",
            old[-1],
        )
    if (output_dir / WEIGHTS).exists():
        raise InputError(
            "a finished model, but the checkpoints of its training are gone: the training would "
            "begin at step 0 and replace it; choose another --output_dir, or remove this file",
            output_dir / WEIGHTS,
        )
