"""Speed of a training step, compared with the peak speed of the machine and with PyTorch.

    python -m benchmarks.training_step --quick
    python -m benchmarks.training_step --json=training.json
    KERAS_BACKEND=jax python -m benchmarks.training_step

A step takes 4,096 tokens, 128 sentences of 32. T-TA small (configs/small.json, 16,000 pieces) and
base (configs/base.json, 30,000 pieces) have random weights; the sampled softmax has 3,072 pieces.

Everything is timed in one process, interleaved round after round, and the fastest time of each case
counts, so that other load on the machine matters little: trust the ratios, not the seconds.

The ceiling is the speed of a large matrix product in the machine's faster precision. The operations
of a step are those of the products that the architecture has, forward once and backward twice:
3 * (layers * (2 M (4 D^2 + 2 D F) + 4 M T D) + 2 M D (D + pieces in the softmax)), for M tokens in
sentences of T, hidden size D and intermediate size F. The optimizer's products do not count, but
its time does.

Steps are those of the trainer on Keras's backend. With TensorFlow, PyTorch is timed too if it is
installed: the same T-TA with the exact softmax, written plainly, in the same precision.
"""

import importlib.util
import json
from pathlib import Path

from absl import app, flags

from tta.choices import PRECISIONS

FLAGS = flags.FLAGS
VOCAB_SIZES = {"small": 16_000, "base": 30_000}
HEADS, OPTIMIZERS = ("sampled", "exact"), ("adamw", "muon")
QUICK_ROUNDS = 4
PIPELINE = "pipeline"


def main(_):
    import tta  # noqa: F401  (first, because it silences TensorFlow)
    from benchmarks import training_cases
    from benchmarks.speed_cases import ceilings
    from benchmarks.timing import format_ratios, format_times, interleave
    from tta.modeling.training.steps import backend

    is_tensorflow = not backend().in_memory
    rounds = min(QUICK_ROUNDS, FLAGS.rounds) if FLAGS.quick else FLAGS.rounds
    fastest = faster_precision(interleave(ceilings(), QUICK_ROUNDS))
    sizes = ("small",) if FLAGS.quick else tuple(VOCAB_SIZES)
    cases = ceilings()
    for size in sizes:
        for precision in (fastest,) if FLAGS.quick else PRECISIONS:
            for head in HEADS:
                alone = is_tensorflow and (size, precision, head) == ("small", fastest, "sampled")
                given = size, VOCAB_SIZES[size], precision, head, OPTIMIZERS, alone
                cases += training_cases.steps(*given)
    if is_tensorflow and importlib.util.find_spec("torch"):
        from benchmarks import training_peer

        cases.append(training_peer.step("small", VOCAB_SIZES["small"], fastest))
    with training_cases.shard() as path:
        pipeline, padding_share = training_cases.pipeline(PIPELINE, path)
        times = interleave([*cases, pipeline], rounds)
    results = ratios(times, fastest) | {"padding_share": padding_share}
    print(format_times(times), format_ratios(results), sep="\n\n")
    if FLAGS.json:
        results["seconds"] = {name: min(one.seconds) for name, one in times.items()}
        Path(FLAGS.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def faster_precision(times):
    """The precision with the faster large product."""
    return min(PRECISIONS, key=lambda precision: min(times[f"ceiling {precision}"].seconds))


def ratios(times, precision):
    """{key: number, or None if a case that it needs was not timed}, for the faster precision.

    `..._ceiling_fraction` is the speed of a step with AdamW over the ceiling. `optimizer_share` is
    the time of Muon alone over that of a step with it. `torch_exact_ratio` is PyTorch's over ours.
    """
    seconds = {name: min(one.seconds) for name, one in times.items()}
    rates = {name: one.flops / seconds[name] for name, one in times.items()}
    step, results = "small {} {} " + precision, {}
    for size in VOCAB_SIZES:
        for head in HEADS:
            rate = rates.get(f"{size} {head} adamw {precision}")
            fraction = rate and rate / rates[f"ceiling {precision}"]
            results[f"{size}_{head}_ceiling_fraction"] = fraction
    for optimizer, key in (("muon", "optimizer_share"), ("adamw", "adamw_share")):
        alone = seconds.get(f"small {optimizer} alone")
        results[key] = alone and alone / seconds[step.format("sampled", optimizer)]
    # The pipeline runs beside the steps; above 1 it would hold them up.
    results["pipeline_share"] = seconds[PIPELINE] / seconds[step.format("sampled", "adamw")]
    peer = seconds.get("torch")
    results["torch_exact_ratio"] = peer and peer / seconds[step.format("exact", "adamw")]
    return results


def define_flags():
    """Defines the flags. Tests import this file beside benchmarks with flags of the same names."""
    flags.DEFINE_bool("quick", False, "Only T-TA small in the faster precision, and few rounds.")
    flags.DEFINE_integer("rounds", 9, "Number of rounds.", lower_bound=1)
    flags.DEFINE_string("json", None, "Output file of the numbers, JSON.")


if __name__ == "__main__":
    define_flags()
    app.run(main)
