"""Sentences of LibriSpeech dev-clean per second of each model, interleaved in one process.

python -m benchmarks.paper.rate

Every speed on the pages is of this workload: scores on the default engine, beside it on TensorFlow,
and vectors (`context`) on the default engine.
"""

import os
from dataclasses import replace

from benchmarks.paper import common
from tta import cli

SENTENCES, ROUNDS, SLOW_ROUNDS = 200, 5, 2
SLOW = ("biLM", "BERT")  # one pass per token
COLUMN, TENSORFLOW = "sentences/s", "sentences/s, TensorFlow"
VECTORS = "sentences/s, vectors"
# The rows whose vectors are timed; other rows of a model have the same vectors.
WITH_VECTORS = ("uniLM", "biLM", "T-TA, exact", "cloze, exact", "cloze base, exact")


def main():
    from benchmarks.timing import Case, interleave

    sentences = common.transcripts()[:SENTENCES]
    entries = common.asked(common.SCORERS)
    here = [entry for entry in entries if not entry.missing]
    models = {
        (entry.name, column): replace(entry.options, engine=engine).load(entry.model)
        for entry in here
        for column, engine in ((COLUMN, "auto"), (TENSORFLOW, "tensorflow"))
        if not (engine == "tensorflow" and entry.model.startswith("kenlm:"))
    }
    calls = {case: lm.score for case, lm in models.items()} | {
        (entry.name, VECTORS): models[entry.name, COLUMN].encode
        for entry in here
        if entry.name in WITH_VECTORS
    }
    times = interleave(
        [
            Case(
                case,
                lambda call=call: call(sentences),
                rounds=SLOW_ROUNDS if case[0] in SLOW else None,
                warm_up=lambda call=call: call(sentences[:4]),
            )
            for case, call in calls.items()
        ],
        ROUNDS,
    )
    table = common.Table(
        "rate",
        "Speed: sentences per second",
        [COLUMN, TENSORFLOW, VECTORS],
        {},
        rows={entry.name: {} for entry in entries},
        conditions=[
            f"{len(sentences)} sentences of LibriSpeech dev-clean, "
            f"{sum(len(s.split()) for s in sentences) / len(sentences):.1f} words each on average; "
            f"{os.cpu_count()} CPU cores, median of {ROUNDS} rounds ({SLOW_ROUNDS} for models with "
            "one pass per token). Other load affects the speeds; compare the ratios",
        ],
    )
    for (name, column), measured in times.items():
        table.set(name, column, len(sentences) / measured.median)
    signatures = {name: lm.signature for (name, column), lm in models.items() if column == COLUMN}
    table.note_models(entries, signatures)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    cli.run(main)
