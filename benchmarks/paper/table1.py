"""Table 1: word error rates of speech recognition lists, reranked with each model.

python benchmarks/paper/table1.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.paper import common
from tta import cli

# LibriSpeech, 50-best of a Seq2Seq recogniser.
PAPER = {
    "first pass": (4.11, 12.31, 4.31, 13.14),
    "n-gram": (3.94, 11.93, 4.15, 12.89),
    "BERT": (3.72, 11.59, 3.97, 12.46),
    "BERT, unmasked": (4.09, 12.26, 4.28, 13.15),
    "uniLM": (3.82, 11.73, 4.05, 12.63),
    "biLM": (3.73, 11.53, 3.97, 12.41),
    "T-TA": (3.67, 11.56, 3.97, 12.38),
}
PAPER_COLUMNS = ("dev-clean", "dev-other", "test-clean", "test-other")

ARCTIC = "nbest/asr_arctic/{}.{}.json"
HYPORADISE = "nbest/asr_hyporadise/test_ls_{}.json"


def main():
    from benchmarks.paper.reranking import Lists, measure

    sets = {
        f"Arctic {condition}": Lists(
            (ARCTIC.format("test", condition),), (ARCTIC.format("dev", condition),), {}
        )
        for condition in ("clean", "snr5")
    }
    for test, dev in (("clean", "other"), ("other", "clean")):
        # There are no dev lists, so each part is tuned on the other.
        sets[f"LibriSpeech {test}"] = Lists(
            (HYPORADISE.format(test),), (HYPORADISE.format(dev),), {"rank_scores": True}
        )
    table = common.Table(
        "table1",
        "Table 1: speech recognition, WER %",
        list(sets),
        {row: dict(zip(PAPER_COLUMNS, cells, strict=True)) for row, cells in PAPER.items()},
        {
            "Arctic clean": "test-clean",
            "Arctic snr5": "test-other",
            "LibriSpeech clean": "test-clean",
            "LibriSpeech other": "test-other",
        },
        conditions=[
            "Paper: LibriSpeech, 50-best lists of a Seq2Seq recogniser. Arctic: CMU Arctic as "
            "recorded, and in noise at 5 dB, up to 50-best lists of whisper-tiny.en. LibriSpeech: "
            "5-best lists of a large Whisper without scores; the first-pass score is -ln(rank), "
            "and each part is tuned on the other"
        ],
    )
    measure(table, sets)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
