"""Standard output and error are UTF-8, like every file."""

import io
from typing import Any


def use_utf8(stream: Any, errors: str = "strict") -> None:
    """Makes a standard stream write UTF-8, whatever the locale and `PYTHONIOENCODING` say.

    `errors` is what happens to half a surrogate pair. Streams that were replaced, as in notebooks,
    stay as they are.
    """
    if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() not in ("utf-8", "utf8"):
        stream.reconfigure(encoding="utf-8", errors=errors)
