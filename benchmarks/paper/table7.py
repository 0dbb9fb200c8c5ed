"""Table 7: (pseudo-)perplexity of LibriSpeech dev-clean, mean and median over sentences.

    python -m benchmarks.paper.table7

The paper (appendix B.3) shows that the median follows the word error rate better than the mean
does. The error rate comes from table 1, if that has been measured. The sentences of test-clean are
the references of its lists (HyPoradise). rate.py measures the speed of the models.
"""

import sys

from benchmarks.paper import common
from tta import cli

# The paper's columns in brackets are the error rates of its table 1.
PAPER_COLUMNS = tuple(
    f"{part} {what}" for part in ("dev-clean", "test-clean") for what in ("mean", "median", "WER %")
)
PAPER = {
    "uniLM": (341.5, 70.80, 3.82, 495.5, 73.18, 4.05),
    "biLM": (76.49, 11.93, 3.73, 75.43, 12.72, 3.97),
    "T-TA, exact": (293.4, 11.69, 3.67, 590.0, 12.43, 3.97),
}
TOKEN = ("mean per token", "median per token")
WORD = ("mean per word", "median per word")
SHORT = "mean per token, at most 5 words"  # "very high" for the T-TA, says the paper
WER = "Arctic clean, WER %"
TEST = tuple(f"test-clean, {column}" for column in TOKEN)

# A perplexity needs probabilities that sum to 1.
ENTRIES = [entry for entry in common.SCORERS if entry.options.normalizer == "exact"]


def main():
    import numpy as np

    from tta.data.nbest.files import read_nbest

    sentences = common.transcripts()
    lists = read_nbest(common.data("nbest", "asr_hyporadise", "test_ls_clean.json")).lists
    tests = common.spread([one.reference for one in lists])
    words = np.array([len(sentence.split()) for sentence in sentences])
    is_short = words <= 5
    table = common.Table(
        "table7",
        "Table 7: (pseudo-)perplexity of LibriSpeech dev-clean, and the error rate",
        [*TOKEN, SHORT, *WORD, WER, *TEST],
        common.paper_rows(PAPER_COLUMNS, PAPER),
        dict(zip((*TOKEN, *TEST), (n for n in PAPER_COLUMNS if "WER" not in n), strict=True)),
        conditions=[
            f"{len(sentences):,} lower-cased sentences ({is_short.sum()} of at most 5 words); "
            "begin and end tokens are not scored. The paper's numbers are per subword of its own "
            "vocabulary. It found that the median follows the error rate better than the mean does",
            "A token is a word piece, or a word for the n-gram model. A pseudo-perplexity (BERT, "
            "biLM, T-TA) uses both sides of a token, a perplexity (n-gram, uniLM) only the left "
            "side: do not compare the two kinds",
        ],
    )
    table1 = common.Table.known("table1")
    signatures = {}
    entries = common.asked(ENTRIES)
    for entry in entries:
        table.rows[entry.name] = {}
        if entry.missing:
            continue
        common.say(entry.name)
        lm = entry.options.load(entry.model)
        sums, counts = lm.score_with_counts(sentences, progress=sys.stderr.isatty())
        signatures[entry.name] = lm.signature
        for columns, sizes in ((TOKEN, counts), (WORD, words)):
            for column, value in zip(columns, perplexities(sums, sizes), strict=True):
                table.set(entry.name, column, value)
        table.set(entry.name, SHORT, perplexities(sums[is_short], np.array(counts)[is_short])[0])
        for column, value in zip(TEST, perplexities(*lm.score_with_counts(tests)), strict=True):
            table.set(entry.name, column, value)
        if table1 and "Arctic clean" in table1.rows.get(entry.name, {}):
            mark = table1.marks.get(entry.name, {}).get("Arctic clean", "")
            mark = common.EARLIER if common.EARLIER in mark else ""
            table.set(entry.name, WER, table1.rows[entry.name]["Arctic clean"], mark)
    table.note_models(entries, signatures)
    table.save()


def perplexities(sums, sizes):
    """Mean and median over sentences of exp(-sum / size); sums [N] in natural log, sizes [N]."""
    import numpy as np

    each = np.exp(-np.asarray(sums) / np.asarray(sizes))
    return each.mean(), np.median(each)


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
