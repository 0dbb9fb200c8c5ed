"""Sentences per second of each model, scoring LibriSpeech dev-clean, interleaved in one process.

python -m benchmarks.paper.rate
"""

import os

from benchmarks.paper import common
from tta import cli

SENTENCES, ROUNDS, SLOW_ROUNDS = 200, 5, 2
SLOW = ("biLM", "BERT")  # one pass per token
COLUMN = "sentences/s"


def main():
    import tta
    from benchmarks.timing import Case, interleave

    sentences = common.transcripts()[:SENTENCES]
    entries = common.asked(common.SCORERS)
    here = [entry for entry in entries if not entry.missing]
    models = {entry.name: tta.load(entry.model, **entry.load_options) for entry in here}
    times = interleave(
        [
            Case(
                name,
                lambda lm=lm: lm.score(sentences),
                rounds=SLOW_ROUNDS if name in SLOW else None,
                warm_up=lambda lm=lm: lm.score(sentences[:4]),
            )
            for name, lm in models.items()
        ],
        ROUNDS,
    )
    table = common.Table(
        "rate",
        "Speed: sentences scored per second",
        [COLUMN],
        {},
        rows={entry.name: {} for entry in entries},
        conditions=[
            f"{len(sentences)} sentences of LibriSpeech dev-clean, "
            f"{sum(len(s.split()) for s in sentences) / len(sentences):.1f} words each on average; "
            f"{os.cpu_count()} CPU cores, median of {ROUNDS} rounds ({SLOW_ROUNDS} for models with "
            "one pass per token). Other load affects the speeds; compare the ratios",
        ],
    )
    for name, one in times.items():
        table.set(name, COLUMN, len(sentences) / one.median)
    table.note_models(entries, {name: lm.signature for name, lm in models.items()})
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
