"""Table 2: BLEU of machine translation lists, reranked with each model.

    python benchmarks/paper/table2.py

The n-gram model is that of --ngram_written, because the lists have punctuation.
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper import common
from tta import cli

IWSLT = "nbest/mt_iwslt14_deen/{}.{}"


def main():
    from benchmarks.paper.reranking import Lists, measure

    test, dev = (
        (IWSLT.format(part, "nbest"), IWSLT.format(part, "ref")) for part in ("test", "dev")
    )
    sets = {"IWSLT'14 de-en": Lists(test, dev, {"metric": "bleu", "bleu_tokenize": "none"})}
    table = common.Table(
        "table2",
        "Table 2: translation, BLEU",
        list(sets),
        {},
        higher_is_better=True,
        conditions=[
            "The paper's figures were not available. A list does not come from one system: it has "
            "one translation from each of seven systems, scored by that system"
        ],
    )
    entries = [
        replace(entry, flag="ngram_written") if entry.flag == "ngram" else entry
        for entry in common.SCORERS
    ]
    measure(table, sets, entries)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
