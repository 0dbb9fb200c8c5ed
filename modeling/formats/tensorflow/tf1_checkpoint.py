"""Reads TensorFlow 1 checkpoints of the original T-TA code and of Google's BERT."""

import atexit
import contextlib
import functools
import glob
import math
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from tta.checked_files import read_json_object, reading
from tta.errors import InputError, located
from tta.modeling.config.base import without_format
from tta.modeling.config.transformer import TransformerConfig
from tta.modeling.formats import bert
from tta.modeling.formats.tensorflow.original_files import BERT_CONFIG, config_path
from tta.modeling.formats.weights import Build, assign_weights, check_size

# The special tokens of the original T-TA code: [PAD] 0, [EOS] 1, [UNK] 2, [SOS] 3, [MASK] 4.
ORIGINAL_MASK_ID = 4

_MAX_STATE_BYTES = 1 << 20  # of the file `checkpoint`


def load_original(directory: Path, build: Build, keep_segments: bool) -> Any:
    """Builds the T-TA or BERT of a checkpoint of the original T-TA code or of Google.

    A T-TA has `model.ckpt*` and a config of any name, `*.json`. Its first query is the sum of the
    [MASK] token's embedding and the position embedding. A BERT has `bert_model.ckpt*` and
    `bert_config.json` (or `config.json`). It becomes a biLM, see `tta.modeling.formats.bert`.
    Poolers, next-sentence heads and the optimizer's variables are ignored. `build` and
    `keep_segments` are as in `tta.modeling.formats.model_directory.load_model`. Raises InputError
    if a file or variable is missing or unreadable, or a shape does not fit the config.
    """
    prefix = _checkpoint_prefix(directory)
    reader, shapes = _open_checkpoint(prefix)
    path = config_path(directory)
    is_bert = path.name == BERT_CONFIG or bert.SEGMENT_NAME in shapes
    if is_bert:
        config = bert.bert_config(path, bert.GOOGLE_ACTIVATIONS)
    else:  # The first query is [MASK] unless the file sets another.
        values = {"first_query_token_id": ORIGINAL_MASK_ID} | read_json_object(path)
        with located(path=path):
            config = TransformerConfig.from_dict(without_format(values))
    check_size(sum(map(math.prod, shapes.values())), config, path.name, prefix)
    names = bert.original_names(config.num_hidden_layers, with_segments=is_bert)
    bert.check_names(shapes, names.values(), prefix)
    values = {}
    for ours, theirs in names.items():
        with reading(f"variable {theirs} cannot be read", prefix, tf.errors.OpError):
            values[ours] = reader.get_tensor(theirs)
    if is_bert:
        config, values = bert.convert_segments(config, values, keep_segments, prefix)
    model = build(config)
    assign_weights(model, values, prefix)
    return model


def _checkpoint_prefix(directory):
    """The checkpoint named in the file `checkpoint`, or else the only one in the directory."""
    prefixes = sorted(p.with_suffix("") for p in directory.glob("*.ckpt*.index"))
    # Only the file name is used, because the folder is that of the training machine.
    with contextlib.suppress(OSError), open(directory / "checkpoint", "rb") as file:
        text = file.read(_MAX_STATE_BYTES).decode(errors="replace")
        named = re.search(r'^model_checkpoint_path: "(.*)"', text, re.MULTILINE)
        name = re.split(r"[/\\]", named[1])[-1] if named else ""
        if name and directory / name in prefixes:
            return directory / name
    if len(prefixes) != 1:
        raise InputError(
            f"expected one checkpoint (*.ckpt*.index), found {len(prefixes)}", directory
        )
    return prefixes[0]


def _open_checkpoint(path: Path) -> tuple[Any, dict[str, list[int]]]:
    """Opens a checkpoint of TensorFlow: (its reader, {variable: shape}). No value is read yet.

    TensorFlow finds damage by checksums. An index that is made wrong on purpose, with checksums
    that are right, can end the process (docs/reliability.md). Raises InputError if the index cannot
    be read, or declares more values than the data files hold.
    """
    with reading("not a readable TensorFlow checkpoint", path, tf.errors.OpError):
        reader = tf.train.load_checkpoint(str(_plain_path(path)))
        shapes, types = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
        parts = path.parent.glob(f"{glob.escape(path.name)}.data-*")
        stored = sum(part.stat().st_size for part in parts)
        declared = sum(math.prod(shape) * types[name].size for name, shape in shapes.items())
        if declared > stored:  # TensorFlow would allocate memory for them first
            raise InputError(f"it declares {declared:,} bytes of values and has {stored:,}", path)
    return reader, shapes


def _plain_path(path: Path) -> Path:
    """The path to give to functions of TensorFlow that read or delete by it, as by a glob.

    If the name of its folder has a character of globs, it goes through a temporary link.
    """
    if not re.search(r"[*?\[\\]", str(path.parent)):
        return path
    return _link(path.parent.absolute()) / path.name


@functools.cache
def _link(folder):
    folder.mkdir(parents=True, exist_ok=True)
    link_folder = Path(tempfile.mkdtemp(prefix="tta-"))
    atexit.register(shutil.rmtree, link_folder, ignore_errors=True)
    (link_folder / "link").symlink_to(folder)
    return link_folder / "link"
