"""Table 1: word error rates of speech recognition lists, reranked with each model.

python -m benchmarks.paper.table1
"""

from benchmarks.paper import common
from tta import cli

PAPER_COLUMNS = ("dev-clean", "dev-other", "test-clean", "test-other")
# LibriSpeech, 50-best lists; the oracles are those of the paper's table 5.
SEQ2SEQ = {
    "first pass": (4.11, 12.31, 4.31, 13.14),
    "n-gram": (3.94, 11.93, 4.15, 12.89),
    "BERT": (3.72, 11.59, 3.97, 12.46),
    "BERT, unmasked": (4.09, 12.26, 4.28, 13.15),
    "uniLM": (3.82, 11.73, 4.05, 12.63),
    "biLM": (3.73, 11.53, 3.97, 12.41),
    "T-TA, exact": (3.67, 11.56, 3.97, 12.38),
    "oracle": (1.80, 7.90, 1.96, 8.39),
}
SHIN_2019 = {
    "first pass": (7.17, 19.79, 7.25, 20.37),
    "n-gram": (5.62, 16.85, 5.75, 17.72),
    "uniSANLM (words)": (6.05, 17.32, 6.11, 18.13),
    "biSANLM (words)": (5.52, 16.61, 5.65, 17.37),
    "BERT": (5.24, 16.56, 5.38, 17.46),
    "BERT, unmasked": (7.08, 19.61, 7.14, 20.18),
    "uniLM": (5.07, 16.20, 5.14, 17.00),
    "biLM": (4.94, 16.09, 5.14, 16.81),
    "T-TA, exact": (4.98, 16.09, 5.11, 16.91),
    "oracle": (3.18, 12.98, 3.19, 13.61),
}
PAPER = SEQ2SEQ | {f"Shin et al. (2019): {row}": cells for row, cells in SHIN_2019.items()}

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
    # 5-best lists of a large Whisper; the first-pass score is -ln(rank). There are no dev lists, so
    # the tuning is two-fold.
    for part in ("clean", "other"):
        lists = (HYPORADISE.format(part),)
        sets[f"LibriSpeech {part}"] = Lists(lists, None, {})
    table = common.Table(
        "table1",
        "Table 1: speech recognition, WER %",
        list(sets),
        common.paper_rows(PAPER_COLUMNS, PAPER),
        {
            "Arctic clean": "test-clean",
            "Arctic snr5": "test-other",
            "LibriSpeech clean": "test-clean",
            "LibriSpeech other": "test-other",
        },
        conditions=[
            "Paper: LibriSpeech, 50-best lists of two recognisers, its own and that of Shin et al. "
            "(2019). Oracles: the paper's table 5",
            "Arctic: CMU Arctic as recorded, and in noise at 5 dB, 50-best lists of "
            "whisper-tiny.en",
        ],
    )
    measure(table, sets, (*common.SCORERS, *common.WORD_SCORERS))
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
