"""Time of a training step against the size of the vocabulary, for each output layer.

    python -m benchmarks.semfit.speed --quick --json=speed.json
    python -m benchmarks.semfit.speed --json=speed.json --plot=speed.png

The counterpart of Table 5 of Li et al. 2019 on this machine. The model is the small ELMo of
configs/elmo-s-small.json: forward and backward LSTMs of 512 units, projection 128, over frozen
vectors of words. A step takes 1,024 words, each predicted in both directions. `full` is a softmax
over all words, `sampled` one over 8,192 log-uniform candidates, `adaptive` the fastest of several
choices of clusters, `semfit` predicts vectors of 300 numbers. `elmo` reads characters and has the
sampled softmax, `elmo-sub` has a table of 30,000 pieces, which its softmax shares. The T-TA is
configs/small.json with 16,000 pieces and 4,096 tokens per step; its sampled softmax has 3,072
pieces.

The output layer alone is its loss, gradients and AdamW, on random states of the encoder.

All cases run in one process, interleaved round after round. The fastest time of each counts, so
that other load on the machine matters little: trust the ratios, not the seconds.
"""

import json
import tempfile
from pathlib import Path

from absl import app, flags

from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
SIZES = {"40k": 40_000, "200k": 200_000, "800k": 800_000, "2m": 2_000_000}
# Where clusters begin, tried for each vocabulary. A model with a small hidden size has few
# operations to save, so it wants fewer and larger clusters than the paper's.
CUTOFFS = ((2_000,), (4_000,), (2_000, 20_000), (4_000, 40_000), (4_000, 40_000, 200_000))
QUICK_CUTOFFS = ((4_000,), (4_000, 40_000))
ELMO_SHAPE, TTA_SHAPE = (32, 32), (128, 32)  # sentences, words in each
TTA_PIECES = 16_000
QUICK_ROUNDS = 3
ROWS = (  # output layer, vocabularies, those of --quick
    ("semfit", ("40k", "200k", "800k", "2m"), ("40k", "2m")),
    ("adaptive", ("40k", "200k", "800k", "2m"), ("40k", "800k", "2m")),
    ("sampled", ("40k", "200k", "800k"), ()),
    # The logits of a step with 800,000 words and their gradients need some 20 GiB.
    ("full", ("40k", "200k"), ("40k", "200k")),
)
# Other models of Table 2: output layer, vocabulary, changes of the config. Not with --quick.
CHARACTERS = {"input_layer": "characters", "use_layer_norm": False}
OTHER_ROWS = {
    "elmo 800k": ("softmax", 800_000, CHARACTERS),
    "elmo-sub 30k": ("tied_softmax", 30_000, {"input_layer": "tokens"}),
}
TTA_ROWS = ("semfit", "sampled", "full")
ALONE = " alone"


def main(_):
    import tta  # noqa: F401  (first, because it silences TensorFlow)
    from benchmarks.timing import format_ratios, interleave

    with tempfile.TemporaryDirectory() as folder:
        from benchmarks.semfit.cases import write_table

        names = {name for _, *sizes in ROWS for name in sizes[FLAGS.quick]}
        table = write_table(f"{folder}/vectors.npy", max(SIZES[name] for name in names))
        cases, parameters = make_cases(table)
        times = interleave(cases, QUICK_ROUNDS if FLAGS.quick else FLAGS.rounds)
    seconds = {name: min(one.seconds) for name, one in times.items()}
    results = ratios(seconds)
    print(format_table(seconds, parameters), format_ratios(results), sep="\n\n")
    if FLAGS.json:
        found = results | {"seconds": seconds, "parameters": parameters}
        Path(FLAGS.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    if FLAGS.plot:
        plot(seconds, FLAGS.plot)


def make_cases(table):
    """The cases, and {name: number of weights}."""
    from benchmarks.semfit.cases import elmo_steps, tta_steps

    layers = {"full": "softmax", "sampled": "softmax", "semfit": "semfit"}
    found = []
    for row, *sizes in ROWS:
        for size in sizes[FLAGS.quick]:
            given = SIZES[size], table, ELMO_SHAPE, FLAGS.precision
            if row != "adaptive":
                found.append(elmo_steps(f"{row} {size}", layers[row], *given))
                continue
            for cutoffs in QUICK_CUTOFFS if FLAGS.quick else CUTOFFS:
                # One cluster of nearly 2,000,000 words needs more memory than 24 GiB.
                fits = cutoffs[-1] < SIZES[size] and (len(cutoffs) > 1 or size != "2m")
                # --quick takes the most clusters that fit.
                if fits and not (FLAGS.quick and len(cutoffs) < 2 and size != "40k"):
                    name = f"{row} {size} {','.join(map(str, cutoffs))}"
                    changes = {"adaptive_cutoffs": cutoffs}
                    found.append(elmo_steps(name, "adaptive_softmax", *given, **changes))
    for name, (layer, size, changes) in OTHER_ROWS.items():
        if not FLAGS.quick:
            shape = ELMO_SHAPE, FLAGS.precision
            found.append(elmo_steps(name, layer, size, table, *shape, **changes))
    for row in TTA_ROWS:
        layer = "semfit" if row == "semfit" else "tied_softmax"
        given = TTA_PIECES, table, TTA_SHAPE, FLAGS.precision
        found.append(tta_steps(f"tta {row}", layer, *given))
    cases = [one for both, _ in found for one in (both[:1] if FLAGS.quick else both)]
    if FLAGS.quick:  # only those that the ratios need
        cases += [alone for (step, alone), _ in found if step.name.startswith("full")]
    return cases, {both[0].name: number for both, number in found}


def fastest_case(seconds, row, size):
    """The name of the fastest step over all choices of clusters; None if none was timed."""
    names = [name for name in seconds if not name.endswith(ALONE)]
    return min((n for n in names if n.split()[:2] == [row, size]), key=seconds.get, default=None)


def fastest(seconds, row, size):
    """The time of `fastest_case`, or None."""
    return seconds.get(fastest_case(seconds, row, size))


def ratios(seconds):
    """{key: number, or None if a case that it needs was not timed}.

    `full_200k_over_40k` is of the output layer alone, all others are of whole steps.
    """

    def over(one, other):
        one, other = (fastest(seconds, *name) for name in (one, other))
        return one and other and one / other

    keys = {
        "semfit_2m_over_40k": (("semfit", "2m"), ("semfit", "40k")),
        "full_over_semfit_40k": (("full", "40k"), ("semfit", "40k")),
        "sampled_over_semfit_40k": (("sampled", "40k"), ("semfit", "40k")),
        "adaptive_over_semfit_40k": (("adaptive", "40k"), ("semfit", "40k")),
        "adaptive_over_semfit_800k": (("adaptive", "800k"), ("semfit", "800k")),
        "adaptive_over_semfit_2m": (("adaptive", "2m"), ("semfit", "2m")),
        "tta_semfit_over_full_step": (("tta", "semfit"), ("tta", "full")),
        "tta_semfit_over_sampled_step": (("tta", "semfit"), ("tta", "sampled")),
    }
    if fastest(seconds, "semfit", "800k") is None:  # its time does not depend on the vocabulary
        keys["adaptive_over_semfit_800k"] = (("adaptive", "800k"), ("semfit", "2m"))
    large, small = (seconds.get(f"full {size}{ALONE}") for size in ("200k", "40k"))
    return {"full_200k_over_40k": large and small and large / small} | {
        key: over(*pair) for key, pair in keys.items()
    }


def format_table(seconds, parameters):
    """One line per step: its time, its output layer's, seconds for a million words, weights."""
    lines = [f"{'':30}{'step, ms':>10}{'alone, ms':>11}{'s per 1M words':>16}{'weights, M':>12}"]
    for name, number in parameters.items():
        sentences, length = TTA_SHAPE if name.startswith("tta") else ELMO_SHAPE
        million = 1e6 * seconds[name] / (sentences * length)
        alone = seconds.get(f"{name}{ALONE}")
        shown = "-" if alone is None else f"{1e3 * alone:.1f}"
        times = f"{1e3 * seconds[name]:10.1f}{shown:>11}{million:16.1f}"
        lines.append(f"{name:30}{times}{number / 1e6:12.2f}")
    return "\n".join(lines)


def plot(seconds, path):
    """Draws the time of a million words against the vocabulary (needs matplotlib)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    words = ELMO_SHAPE[0] * ELMO_SHAPE[1]
    for row, sizes, _ in ROWS:
        points = [(SIZES[s], fastest(seconds, row, s)) for s in sizes]
        timed = [(size, 1e6 * t / words) for size, t in points if t]
        if timed:  # --quick leaves rows out
            axes.plot(*zip(*timed, strict=True), marker="o", label=row)
    axes.set(xscale="log", yscale="log", xlabel="words in the vocabulary")
    axes.set_ylabel("seconds to train on a million words")
    axes.set_xticks(list(SIZES.values()), [f"{size:,}" for size in SIZES.values()])
    for set_format in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        set_format("{x:,.0f}")
    axes.grid(which="major", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)


def define_flags():
    """Defines the flags. Tests import this file beside benchmarks with flags of the same names."""
    flags.DEFINE_bool("quick", False, "Only the cases that the ratios need, and few rounds.")
    flags.DEFINE_integer("rounds", 7, "Number of rounds.", lower_bound=1)
    flags.DEFINE_enum("precision", "float32", PRECISIONS, "Type of the products.")
    flags.DEFINE_string("json", None, "Output file of the numbers, JSON.")
    flags.DEFINE_string("plot", None, "Output file of a plot, PNG or SVG.")


if __name__ == "__main__":
    define_flags()
    app.run(main)
