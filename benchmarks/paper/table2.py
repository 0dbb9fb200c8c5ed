"""Table 2: BLEU of machine translation lists, reranked with each model.

    python -m benchmarks.paper.table2

The n-gram model is that of --ngram_written, because the lists have punctuation.
"""

from dataclasses import replace

from benchmarks.paper import common
from tta import cli

PAPER_COLUMNS = ("De-En", "Fr-En")
# WMT13, 50-best lists; the oracles are those of the paper's table 6.
PAPER = {
    "first pass": (27.83, 29.63),
    "n-gram": (28.41, 30.04),
    "BERT": (29.31, 30.52),
    "uniLM": (28.80, 30.21),
    "biLM": (28.76, 30.32),
    "T-TA, exact": (28.83, 30.20),
    "oracle": (38.18, 39.58),
}
SET, IWSLT = "IWSLT'14 de-en", "nbest/mt_iwslt14_deen/{}.{}"


def main():
    from benchmarks.paper.reranking import Lists, measure

    test, dev = (
        (IWSLT.format(part, "nbest"), IWSLT.format(part, "ref")) for part in ("test", "dev")
    )
    sets = {SET: Lists(test, dev, {"metric": "bleu", "bleu_tokenize": "none"})}
    table = common.Table(
        "table2",
        "Table 2: translation, BLEU",
        list(sets),
        common.paper_rows(PAPER_COLUMNS, PAPER),
        {SET: "De-En"},
        higher_is_better=True,
        conditions=[
            "Paper: WMT13, 50-best lists of a Seq2Seq system; its lm_weight is the best one on "
            "each test set. Oracles: the paper's table 6",
            "IWSLT'14: a list has one translation from each of seven systems",
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
