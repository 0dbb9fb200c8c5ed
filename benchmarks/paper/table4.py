"""Table 4: sentence similarity on SICK's test part, Pearson x 100.

python benchmarks/paper/table4.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper import common
from tta import cli

PAPER = {
    "BERT, context": (64.31,),
    "BERT, unmasked, context": (61.18,),
    "BERT, unmasked, embed": (64.63,),
    "uniLM, context": (54.20,),
    "uniLM, embed": (65.69,),
    "biLM, context": (58.98,),
    "biLM, unmasked, context": (53.79,),
    "biLM, unmasked, embed": (62.67,),
    "T-TA, context": (69.49,),
    "T-TA, embed": (60.77,),
}
FILES = {"test": "sts/SICK_test_annotated.txt"}


def main():
    from benchmarks.paper.sts import CONDITION, measure

    table = common.Table(
        "table4",
        "Table 4: sentence similarity, SICK, Pearson x 100",
        list(FILES),
        common.paper_rows(FILES, PAPER),
        {"test": "test"},
        higher_is_better=True,
        conditions=[CONDITION],
    )
    measure(table, FILES)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
