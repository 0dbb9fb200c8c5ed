"""Settings of a config: the default, help, bounds and choices of each field.

>>> @dataclass(frozen=True, kw_only=True)
... class TrainingConfig(Config):
...     input_dir: str = setting(..., "Folder to read.")
...     num_train_steps: int = setting(100_000, "Total number of steps.", minimum=1)

Commands make their flags from configs (`tta.cli`). Python callers get the same defaults and rules.
"""

import contextlib
import dataclasses
import glob
import math
import os
import stat
import types
import typing
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tta import names
from tta.choices import NORMALIZATIONS, TOKENIZERS
from tta.errors import InputError


@dataclass(frozen=True)
class Setting:
    """What a field means, and which values it takes.

    Attributes:
        help: one or more sentences, for `--help`.
        minimum, maximum: the bounds of a number, both included; None is unbounded.
        choices: the values that a str, or each item of a list, may have; None is any.
        distinct: whether a list must name at least one value, and none twice.
        repeated: whether a list is given by repeating its flag only; else its items are separated
            by commas, and a repeated flag adds to the list.
        bare: whether the arguments without a flag are items of this list, which is `repeated`.
        alias: another name of the flag; it is no argument in Python.
        writes: whether the value names an output, a file or folder; see `check_outputs`.
        group: heading in `--help` for this field and those after it; None continues the group of
            the field before.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: Collection[str] | None = None
    distinct: bool = False
    repeated: bool = False
    bare: bool = False
    alias: str | None = None
    writes: bool = False
    group: str | None = None

    @property
    def bounds(self) -> str:
        """The bounds in words, such as "at least 1"; empty if there are none."""
        low, high = self.minimum, self.maximum
        if low is not None and high is not None:
            return f"between {low} and {high}"
        if low is not None:
            return f"at least {low}"
        return "" if high is None else f"at most {high}"


# Groups of flags that several commands have; COMMON comes last in `--help`.
FILES = "Input and output"
MODEL = "Model"
COMMON = "Common flags"

# Settings that several configs share.
SEED = Setting(
    "Seed of everything random. The same seed gives the same result.", 0, 2**63 - 1, group=COMMON
)
OVERWRITE = Setting("Replace output files that exist.", group=COMMON)
TOKENIZER = Setting(
    "word_pieces: WordPiece, as in BERT. words: whole words, split at white space and punctuation "
    "(docs/semfit.md).",
    choices=TOKENIZERS,
)
LOWER_CASE = Setting(
    "Lower-case the text. Default: no for words; yes for word_pieces, unless a given vocabulary "
    "has capitals."
)
STRIP_ACCENTS = Setting(
    "Strip the accents of Latin and Greek letters. Marks of other scripts stay. Default: yes for "
    "lower-cased text, unless a given vocabulary has such accents."
)
NORMALIZATION = Setting(
    "How characters are read. strip_latin and keep_accents: as --strip_accents=true and false. "
    "bert: BERT's rules, which strip all marks from lower-cased text; the default for BERT's "
    "vocabularies. nfkc: the rules of earlier versions, for similarity-small and nar-small "
    "(docs/serving.md).",
    choices=NORMALIZATIONS,
)
RAW_TEXT = Setting(
    "Raw text in UTF-8, one sentence per line: comma-separated paths, folders or globs. Files may "
    "be plain, .gz, .bz2 or .xz; - is standard input.",
    group=FILES,
)
COLUMN = Setting(
    "For a table, separated by tabs, or by commas (csv) if its first row has no tab: the column of "
    "the sentences, by its name in the first row, or by its number from 1 if there is no header; "
    "of Parquet, its name. Default: whole lines, unless the file ends in .csv, .tsv or .parquet."
)
SCORE_BOUNDARY_TOKENS = Setting(
    "Include the log-probabilities of the begin and end tokens in a sentence's score. The other "
    "tokens see both as context either way. Other tools differ in this; the signature says which "
    "was used."
)


def setting(
    default: Any,
    what: str | Setting,
    minimum: float | None = None,
    maximum: float | None = None,
    **options: Any,
) -> Any:
    """A dataclass field with a `Setting`.

    Args:
        default: the default value, or `...` for a required field.
        what: the help, or a whole `Setting`.
        minimum, maximum: of the `Setting`, if `what` is the help.
        **options: further arguments of `Setting`; they replace those of a whole one.
    """
    if isinstance(what, str):
        what = Setting(what, minimum, maximum, **options)
    else:
        what = dataclasses.replace(what, **options)
    metadata = {"setting": what}
    if default is ...:
        return dataclasses.field(metadata=metadata)
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class Config:
    """Base class of configs, which are frozen dataclasses with a `setting` per field.

    Making one raises InputError if a value is out of bounds, not finite or not one of the choices,
    or values do not fit each other.
    """

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if field.is_list and isinstance(value, str):
                object.__setattr__(self, field.name, value := [value])
            items = value if field.is_list and value is not None else [value]
            if field.setting.distinct and value is not None:
                _check_distinct(field.name, value)
            for item in items:
                if item is not None:
                    _check(field, item)
        check_outputs(self)

    def refuse(self, names: Collection[str], reason: str) -> None:
        """Raises InputError if one of these fields has not its default; `reason` follows "with"."""
        for field in fields(self):
            if field.name in names and getattr(self, field.name) != field.default:
                raise InputError(f"{field.name} has no meaning with {reason}")


def check_outputs(*configs: Any) -> None:
    """Checks that no output that `overwrite` would replace is an input.

    Files are compared, not names: a link to an input, or another path to it, is the same file.
    Inputs are all other settings that name a file or a folder, or files with a glob. In a folder,
    they are the files of models, data sets and N-best lists. Raises InputError if an output is an
    input.
    """
    if not any(getattr(config, "overwrite", False) for config in configs):
        return
    inputs, outputs = [], []
    for config in configs:
        for field in fields(config):
            if field.kind is not str or field.setting.choices is not None:
                continue
            value = getattr(config, field.name)
            named = [(field.name, item) for item in (value if field.is_list else [value]) or []]
            (outputs if field.setting.writes else inputs).extend(
                output for output in named if output[1]
            )
    for output, path in outputs:
        shards = glob.iglob(f"{glob.escape(path)}.*-of-*")
        beside = (f"{path}.scores", *shards)  # Kaldi's costs, shards of scores
        for written in filter(None, map(_identity, (path, *beside))):
            for name, value in inputs:
                if written in map(_identity, _inputs_of(value)):
                    rule = f"{output} is the same file as {name}, and an input is not replaced"
                    raise InputError(rule, path)


@dataclass(frozen=True)
class Field:
    """A field of a config with its `Setting`.

    Attributes:
        name: of the field, and of its flag.
        kind: bool, int, float or str; of a list, the kind of its items.
        is_list: whether the value is a list.
        default: None if there is no default.
        required: whether there is no default.
        setting: its `Setting`.
        group: its heading in `--help`.
    """

    name: str
    kind: type
    is_list: bool
    default: Any
    required: bool
    setting: Setting
    group: str


def fields(config: Any) -> Iterator[Field]:
    """Yields a `Field` for every setting of a config, or of its class."""
    hints = typing.get_type_hints(config if isinstance(config, type) else type(config))
    group = "Flags"
    for field in dataclasses.fields(config):
        if "setting" not in field.metadata:
            continue
        kind = hints[field.name]
        if typing.get_origin(kind) in (types.UnionType, typing.Union):  # such as `int | None`
            kind = next(part for part in typing.get_args(kind) if part is not types.NoneType)
        is_list = typing.get_origin(kind) is list
        if is_list:
            (kind,) = typing.get_args(kind)
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        required = default is dataclasses.MISSING
        default = None if required else default
        setting = field.metadata["setting"]
        if typing.get_origin(kind) is typing.Literal:  # the type has the choices
            kind, setting = str, dataclasses.replace(setting, choices=typing.get_args(kind))
        group = setting.group or group
        yield Field(
            name=field.name,
            kind=kind,
            is_list=is_list,
            default=default,
            required=required,
            setting=setting,
            group=group,
        )


# The files of a folder that is an input.
_PARTS = (
    *(*names.MODEL_FILES, names.DATASET),
    *("tokenizer*.json", "*.safetensors*", "*.ckpt*", "checkpoint", "*.tfrecord*"),
    "*best_recog/*",
)


def _inputs_of(value):
    """The paths that a setting may name: a path, the path of "kind:path", or a glob."""
    for path in (value, value.partition(":")[2]):
        yield path
        yield from glob.iglob(path, recursive=True)
        for part in _PARTS if os.path.isdir(path) else ():
            yield from glob.iglob(os.path.join(glob.escape(path), part))


def _identity(path):
    """What two paths to one file or folder share; None if there is none."""
    with contextlib.suppress(OSError, ValueError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
            return status.st_dev, status.st_ino
    return None


def _check_distinct(name, values):
    if not (all(values) and len(set(values)) == len(values) > 0):
        rule = f"{name} must name at least one, and none twice"
        raise InputError(f"{rule}, not {','.join(values)!r}")


def _check(field, value):
    setting = field.setting
    if setting.choices is not None and value not in setting.choices:
        raise InputError(f"{field.name} must be {' or '.join(setting.choices)}, not {value!r}")
    if field.name == "output_dir" and value == "-":
        raise InputError("output_dir must be a folder, not standard output")
    if field.kind is float and not math.isfinite(value):
        raise InputError(f"{field.name} must be a finite number, not {value}")
    low, high = setting.minimum, setting.maximum
    if (low is not None and value < low) or (high is not None and value > high):
        raise InputError(f"{field.name} must be {setting.bounds}, not {value}")


@dataclass(frozen=True, kw_only=True)
class Limits(Config):
    """Limits of the whole process, which are flags of every command."""

    max_unpack_ratio: int = setting(
        50, "A compressed file may unpack to this many times its size, or 32 MiB.", 1, group=COMMON
    )
    offline: bool = setting(
        False, "Take models of the Hub (hf:OWNER/NAME) from the cache, without a download."
    )


limits = Limits()


def num_cores() -> int:
    """The number of cores that this process may use: a default."""
    affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1
