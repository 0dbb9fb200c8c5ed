"""Speed of T-TA's scores, compared with other models and with the peak speed of the machine.

    python -m benchmarks.speed --quick
    python -m benchmarks.speed --json=speed.json

Everything is timed in one process, interleaved round after round, so that other load on the machine
affects all cases equally: trust the ratios, not the seconds. Models have the paper's size (3 layers
of 512, vocabulary 29,530) and random weights, which do not affect the speed. The last lines are
the table "Other systems" of docs/experiments/performance.md.

BERT, GPT-2 and KenLM are timed if their packages are installed: torch, transformers, kenlm.
"""

import json
from pathlib import Path

from absl import app, flags

from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
flags.DEFINE_bool(
    "quick",
    False,
    "Takes less than a minute: T-TA and biLM in the faster precision, few rounds, no peers.",
)
flags.DEFINE_integer("rounds", 15, "Rounds of the fast cases; slow ones get fewer.", lower_bound=3)
flags.DEFINE_string("json", None, "Output file of the numbers, JSON.")

LIST, WORDS = 50, 20  # the paper's 50-best lists (section 5.3) and words (section 5.2)
LONGEST = 120  # words, whose time is compared with that of WORDS
QUICK_ROUNDS = 4
# Its rows: (name, layers x width, case)
SCORERS = (
    ("T-TA, exact softmax", "3 x 512", "list rerank tta"),
    ("T-TA, learned normalizer", "3 x 512", "list learned tta"),
    ("uniLM", "3 x 512", "list rerank unilm"),
    ("biLM, masking each piece in turn", "3 x 512", "list rerank bilm"),
    ("GPT-2 small", "12 x 768", "list rerank gpt2_small"),
    ("BERT base, masking each piece in turn", "12 x 768", "list rerank bert_base"),
    ("KenLM, bigrams", "", "list rerank kenlm"),
)


def main(_):
    import tta  # noqa: F401  (first, because it silences TensorFlow)
    from benchmarks import speed_cases
    from benchmarks.timing import format_ratios, format_times, interleave

    cases = speed_cases.ceilings()
    if FLAGS.quick:
        ceilings = interleave(cases, QUICK_ROUNDS)
        fastest = max(PRECISIONS, key=lambda precision: ceilings[f"ceiling {precision}"].rate)
        cases += speed_cases.engine(LIST, WORDS, [fastest], ["tta", "bilm"])
        cases += speed_cases.light(LIST, WORDS)
    else:
        cases += speed_cases.engine(LIST, WORDS) + speed_cases.light(LIST, WORDS)
        cases += speed_cases.growth(LIST, (WORDS, LONGEST))
        cases += speed_cases.peers(LIST, WORDS) + speed_cases.startup()
    times = interleave(cases, QUICK_ROUNDS if FLAGS.quick else FLAGS.rounds)
    results = ratios(times)
    print(format_times(times), format_ratios(results), format_scorers(times), sep="\n\n")
    if FLAGS.json:
        results["seconds"] = {name: one.median for name, one in times.items()}
        Path(FLAGS.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def ratios(times):
    """{key: number, or None if a case that it needs was not timed}."""

    def faster(slow, fast):
        """How many times faster, each in its fastest precision."""
        slow, fast = (
            [times[n] for n in (name, *(f"{name} {p}" for p in PRECISIONS)) if n in times]
            for name in (slow, fast)
        )
        if not slow or not fast:
            return None
        return min(t.median for t in slow) / min(t.median for t in fast)

    results = {}
    for what in ("encode", "rerank"):
        timed = {p: times.get(f"list {what} tta {p}") for p in PRECISIONS}
        for precision, one in timed.items():
            fraction = one and one.rate / times[f"ceiling {precision}"].rate
            results[f"list_{what}_ceiling_fraction_{precision}"] = fraction
        fastest = min(filter(timed.get, timed), key=lambda p: timed[p].median)
        if one := times.get(f"list {what} tta onnxruntime"):
            fraction = one.rate / times["ceiling float32"].rate
            results[f"list_{what}_ceiling_fraction_onnxruntime"] = fraction
        key = f"list_{what}_ceiling_fraction"
        results[key] = results[f"{key}_{fastest}"]
        for size in ("sentence", "list"):
            for other in ("bilm", "unilm"):
                results[f"{size}_{what}_ratio_{other}"] = faster(
                    f"{size} {what} {other}", f"{size} {what} tta"
                )
    results["learned_normalizer_speedup"] = faster("list rerank tta", "list learned tta")
    for peer in ("bert_base", "gpt2_small", "kenlm"):
        results[f"{peer}_ratio"] = faster(f"list rerank {peer}", "list rerank tta")
        for p in PRECISIONS:
            key = f"{peer}_ratio_{p}"
            results[key] = faster(f"list rerank {peer} {p}", f"list rerank tta {p}")
    grown = faster(f"growth tta {LONGEST}", f"growth tta {WORDS}")
    results["growth_over_tokens"] = grown and grown / ((LONGEST + 2) / (WORDS + 2))
    return results


def format_scorers(times):
    """A table: the time of a list in each precision, and over that of the T-TA's scores."""
    heads = ["scorer", "layers x width"]
    heads += [f"{p}, {what}" for p in PRECISIONS for what in ("ms", "times the T-TA's (exact)")]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for name, size, case in SCORERS:
        cells = [name, size]
        for precision in PRECISIONS:
            tta = times.get(f"{SCORERS[0][2]} {precision}")
            # KenLM has no matrix products, and so only one time.
            one = times.get(f"{case} {precision}", times.get(case))
            measured = (1e3 * one.median, one.median / tta.median) if tta and one else ()
            cells += [f"{x:,.0f}" if x >= 10 else f"{x:.2g}" for x in measured] or ["-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    app.run(main)
