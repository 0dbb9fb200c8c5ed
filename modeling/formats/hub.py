"""Model directories of the Hugging Face Hub: `hf:OWNER/NAME`, or `hf:OWNER/NAME@REVISION`."""

import functools
import hashlib
import re
from pathlib import Path

from tta import names, settings
from tta.errors import InputError, install

PREFIX = "hf:"
# What a model directory may hold. Code is not downloaded.
_FILES = (
    *names.MODEL_FILES,
    *names.TOKENIZER_FILES,
    *("*.safetensors", "*.safetensors.index.json", "bert_config.json", "*.ckpt*"),
)
_SNAPSHOTS = "snapshots"  # folder of the cache: models--OWNER--NAME/snapshots/COMMIT


@functools.cache
def hub_directory(model: str) -> Path:
    """The directory of a model, downloaded or from the cache of huggingface_hub.

    The library has its own settings, such as HF_HOME and HF_TOKEN. With `Limits.offline`, or
    HF_HUB_OFFLINE=1, the model is taken from the cache alone. All files are compared with the
    digests that the Hub has for them, unless the cache has no links (Windows).

    Args:
        model: "hf:OWNER/NAME" is the main branch at the time; "@" and a commit of 40 digits, a
            branch or a tag may follow. A commit always gives the same files.

    Raises:
        InputError: huggingface_hub is missing, there is no such model or revision, it cannot be
            downloaded, or a file is damaged.
    """
    match = re.fullmatch(rf"{PREFIX}([\w.-]+/[\w.-]+)(?:@([\w./-]+))?", model)
    if match is None:
        rule = "expected hf:OWNER/NAME or hf:OWNER/NAME@REVISION; transformers:NAME needs no owner"
        raise InputError(rule, model)
    try:
        from huggingface_hub import snapshot_download
    except ModuleNotFoundError:
        raise InputError(f"it needs huggingface_hub: {install('hub')}", model) from None
    name, revision = match.groups()
    offline = settings.limits.offline
    try:
        folder = snapshot_download(
            name, revision=revision, allow_patterns=list(_FILES), local_files_only=offline
        )
    except Exception as error:  # of the library, of its HTTP client, or of the system
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"cannot be taken from the Hub: {reason}", model) from None
    for path in sorted(Path(folder).rglob("*")):
        if path.is_file():
            _check(path, model)
    return Path(folder)


def model_name(directory: Path | str) -> str:
    """The name of a model in signatures: that of its folder, or "hf:OWNER/NAME@COMMIT"."""
    path = Path(directory)
    if path.parent.name != _SNAPSHOTS:
        return path.name
    _, *parts = path.parent.parent.name.split("--")
    return f"{PREFIX}{'/'.join(parts)}@{path.name}"


def _check(path, model):
    """Compares a file with its name in the cache: SHA-256 of a large one, git's SHA-1 of others."""
    expected = path.resolve().name
    if not re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", expected):
        return
    content = path.read_bytes()
    if len(expected) == 40:
        content = b"blob %d\0" % len(content) + content
    if hashlib.new("sha1" if len(expected) == 40 else "sha256", content).hexdigest() != expected:
        raise InputError(f"{path}: not the file of the Hub; remove it to download it again", model)
