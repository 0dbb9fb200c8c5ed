"""Table 4: sentence similarity on SICK's test part, Pearson x 100.

python benchmarks/paper/table4.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper import common
from tta import cli

PAPER = {
    "BERT, context": 64.31,
    "uniLM, context": 54.20,
    "biLM, context": 58.98,
    "T-TA, context": 69.49,
}
FILES = {"test": "sts/SICK_test_annotated.txt"}


def main():
    from benchmarks.paper.sts import measure

    table = common.Table(
        "table4",
        "Table 4: sentence similarity, SICK, Pearson x 100",
        list(FILES),
        {row: {"test": cell} for row, cell in PAPER.items()},
        {"test": "test"},
        higher_is_better=True,
        conditions=[
            "Cosine of mean vectors, without training on gold scores. Of the paper's figures, only "
            "those of `context` were available"
        ],
    )
    measure(table, FILES)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
