"""Files beside a TensorFlow 1 checkpoint of the original T-TA code or of Google's BERT."""

from pathlib import Path

from tta.checked_files import read_json_object
from tta.errors import InputError
from tta.names import CONFIG, VOCABULARY

BERT_CONFIG = "bert_config.json"


def is_original(directory: Path | str) -> bool:
    """Whether a directory holds a checkpoint of the original code or of Google's BERT."""
    return any(Path(directory).glob("*.ckpt*.index"))


def original_vocabulary(directory: Path | str) -> Path:
    """The vocabulary of a directory of `is_original`; the file may be missing.

    The original T-TA code names it in the config, as `vocab_file`. It is in the same directory.
    Raises InputError if the config is missing or malformed.
    """
    path = config_path(Path(directory))
    name = read_json_object(path).get("vocab_file", VOCABULARY)
    if not isinstance(name, str):
        raise InputError(f"vocab_file must be a file name, not {name!r}", path)
    return path.parent / Path(name).name


def config_path(directory: Path) -> Path:
    """The config: `bert_config.json`, `config.json`, or else the only `*.json`.

    Raises InputError if there is none, or more than one.
    """
    for name in (BERT_CONFIG, CONFIG):
        if (directory / name).exists():
            return directory / name
    configs = sorted(directory.glob("*.json"))
    if len(configs) != 1:
        raise InputError(
            f"expected one config ({BERT_CONFIG}, {CONFIG} or another *.json), got {len(configs)}",
            directory,
        )
    return configs[0]
