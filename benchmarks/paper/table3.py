"""Table 3: sentence similarity on STS-B, Pearson x 100.

python benchmarks/paper/table3.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper import common
from tta import cli

PAPER = {
    "GloVe, embed": (52.4, 40.6),
    "word2vec, embed": (70.0, 56.5),
    "BERT, context": (64.78, 54.22),
    "BERT, cls": (29.16, 17.18),
    "BERT, unmasked, context": (59.17, 47.91),
    "BERT, unmasked, embed": (60.07, 48.19),
    "uniLM, context": (56.25, 39.57),
    "uniLM, embed": (63.87, 55.00),
    "uniLM, eos": (40.75, 38.30),
    "biLM, context": (59.99, 50.76),
    "biLM, unmasked, context": (53.20, 36.51),
    "biLM, unmasked, embed": (58.80, 49.08),
    "T-TA, context": (71.88, 62.27),
    "T-TA, embed": (54.75, 44.74),
}
FILES = {"dev": "sts/stsb-en-dev.csv", "test": "sts/stsb-en-test.csv"}


def main():
    from benchmarks.paper.sts import CONDITION, measure

    table = common.Table(
        "table3",
        "Table 3: sentence similarity, STS-B, Pearson x 100",
        list(FILES),
        common.paper_rows(FILES, PAPER),
        {column: column for column in FILES},
        higher_is_better=True,
        conditions=[CONDITION],
    )
    measure(table, FILES)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
