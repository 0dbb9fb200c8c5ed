"""What a compressed file may unpack to."""

from pathlib import Path

from tta import settings
from tta.doors import option_named
from tta.errors import InputError

# Bytes that any file may unpack to; a large file may unpack to more. Each line or row counts as
# further bytes, because blank lines take time, too.
MAX_UNPACKED, LINE_BYTES = 1 << 25, 64


def unpacks_to_too_much(unpacked: int, packed: int, lines: int = 0) -> bool:
    """Whether `unpacked` bytes in so many lines are more than a file of `packed` bytes may have."""
    is_large = unpacked + LINE_BYTES * lines > MAX_UNPACKED
    return is_large and unpacked > settings.limits.max_unpack_ratio * packed


def check_unpacked(unpacked: int, packed: int, path: Path | str, lines: int = 0) -> None:
    """Raises InputError if a file unpacks to too much."""
    if unpacks_to_too_much(unpacked, packed, lines):
        rule = f"unpacks to more than {settings.limits.max_unpack_ratio} times its size"
        raise InputError(f"{rule}; unpack it, or raise {option_named('max_unpack_ratio')}", path)
