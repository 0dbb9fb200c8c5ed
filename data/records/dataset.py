"""Data sets on disk: a folder of TFRecord shards and its description, dataset.json.

The shards are called `train-00000-of-00064.tfrecord` and so on, and `heldout-*`. dataset.json is
written last: a folder without it is not a complete data set.
"""

import os
import re
from pathlib import Path
from typing import Any

from tta.checked_files import read_json_object
from tta.choices import NORMALIZATIONS, TOKENIZERS
from tta.data.records.features import DEFAULT_FEATURES, check_features
from tta.errors import InputError, located
from tta.names import DATASET

FORMAT_VERSION = 1
TRAIN, HELDOUT = "train", "heldout"

# The required keys of a description and their types.
_KEYS = {
    "vocab_size": int,
    "vocab_sha256": str,
    "lower_case": bool,
    "max_seq_length": int,
    "splits": dict,
}

_SHARD_NAME = re.compile(rf"({TRAIN}|{HELDOUT})-\d{{5}}-of-\d{{5}}\.tfrecord")


def shard_name(split: str, index: int, count: int) -> str:
    """The file name of one shard: `train-00000-of-00064.tfrecord`."""
    return f"{split}-{index:05d}-of-{count:05d}.tfrecord"


def is_shard_name(name: str) -> bool:
    """Whether a file name has the form that `shard_name` returns."""
    return _SHARD_NAME.fullmatch(name) is not None


def shard_paths(directory: Path | str, info: dict[str, Any], split: str) -> list[str]:
    """The paths of the shards of a split; empty if there is no such split."""
    count = info["splits"].get(split, {}).get("shards", 0)
    return [str(Path(directory) / shard_name(split, i, count)) for i in range(count)]


def load_dataset_info(directory: Path | str) -> dict[str, Any]:
    """Reads the description of a complete data set and checks the sizes of its shards.

    Returns:
        The contents of dataset.json: `format_version`, `vocab_size`, `vocab_sha256`, `tokenizer`
        ("word_pieces" if the file has none), `normalization` ("nfkc" if it has none), `lower_case`,
        `max_seq_length` and other settings of `tta.data.corpus.config.CorpusConfig`, `counts`,
        `sources`, `features` (see `tta.data.records.features`; filled in if the file has none), and
        `splits`: for `train` and
        `heldout` the keys `shards`, `sentences`, `tokens` (begin and end included) and
        `shard_bytes`, the size of each file.

    Raises:
        InputError: dataset.json is missing (the set is not complete), malformed or of another
            version, or a shard is missing or has another size.
    """
    path = Path(directory) / DATASET
    if not path.exists():
        raise InputError(
            f"not a complete data set: it has no {DATASET}. Records of other scripts are not read: "
            "tta create-tfrecords --input_file=TEXT --vocab_file=FILE --output_dir=DIR makes ours",
            directory,
        )
    info = read_json_object(path)
    version = info.get("format_version")
    if version != FORMAT_VERSION:
        raise InputError(f"format_version must be {FORMAT_VERSION}, got {version!r}", path)
    for key, kind in _KEYS.items():
        if key not in info:
            raise InputError(f"the key {key!r} is missing", path)
        if type(info[key]) is not kind:
            raise InputError(f"{key} must be of type {kind.__name__}, got {info[key]!r}", path)
        if kind is int and info[key] < 1:
            raise InputError(f"{key} must be at least 1, got {info[key]}", path)
    sources = info.setdefault("sources", [])
    if type(sources) is not list or not all(type(source) is str for source in sources):
        raise InputError(f"sources must be a list of names, got {sources!r}", path)
    info.setdefault("features", DEFAULT_FEATURES)
    # What the files of earlier versions leave out.
    for key, choices, default in (
        ("tokenizer", TOKENIZERS, "word_pieces"),
        ("normalization", NORMALIZATIONS, "nfkc"),
    ):
        if info.setdefault(key, default) not in choices:
            rule = f"{key} must be {' or '.join(choices)}, got {info[key]!r}"
            raise InputError(rule, path)
    with located(path=path):
        check_features(info["features"])
        _check_splits(info, directory)
    return info


def _check_splits(info, directory):
    if TRAIN not in info["splits"]:
        raise InputError(f"it has no {TRAIN} split")
    for name, split in info["splits"].items():
        if name not in (TRAIN, HELDOUT):
            raise InputError(f"a split must be {TRAIN} or {HELDOUT}, not {name!r}")
        split = split if isinstance(split, dict) else {}
        count, sizes = split.get("shards"), split.get("shard_bytes")
        if type(count) is not int or type(sizes) is not list:
            raise InputError(f"split {name!r} needs shards and shard_bytes")
        if count != len(sizes):
            raise InputError(f"split {name!r} has {count} shards but {len(sizes)} shard_bytes")
        for shard, size in zip(shard_paths(directory, info, name), sizes, strict=True):
            try:
                num_bytes = os.path.getsize(shard)
            except FileNotFoundError:
                raise InputError("the shard is missing", shard) from None
            if num_bytes != size:
                raise InputError(f"the shard has {num_bytes} bytes, {DATASET} says {size}", shard)
