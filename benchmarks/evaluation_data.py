"""The folder of the evaluation data, for benchmarks and tests.

python -m benchmarks.evaluation_data prints it.
"""

import os
import random
from pathlib import Path

from benchmarks import ROOT

FOLDER = Path(os.environ.get("TTA_DATA") or ROOT.parent / "shared" / "data")


def sample(path: Path, count: int, folder: Path) -> Path:
    """A file in `folder` with the header and at most `count` rows of a table; always the same."""
    with open(path, encoding="utf-8", newline="\n") as file:
        header, *rows = file
    drawn = folder / f"{path.parent.name}.{count}.{path.name}"
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join([header, *random.Random(0).sample(rows, min(count, len(rows)))])
    drawn.write_text(text, encoding="utf-8")
    return drawn


if __name__ == "__main__":
    print(FOLDER)
