"""The folder of the evaluation data, for benchmarks and tests.

python benchmarks/evaluation_data.py prints it.
"""

import os
from pathlib import Path

FOLDER = Path(os.environ.get("TTA_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

if __name__ == "__main__":
    print(FOLDER)
