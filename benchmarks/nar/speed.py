"""Time to decode latent vectors: all tokens at once against one token after the other.

    python -m benchmarks.nar.speed --quick --json=speed.json
    python -m benchmarks.nar.speed --json=speed.json

The models have the size of configs/small-autoencoder.json, 16,000 pieces and random weights, which
do not affect the speed. `nar` decodes B latent vectors to T tokens each in one pass of a bilm
decoder. `ar` is a unilm decoder of the same size, which writes greedily; `cached` keeps keys and
values of earlier tokens, `plain` reads all of them again for each token. Each is one compiled
graph.

All cases run in one process, interleaved round after round, so that other load on the machine
affects all of them equally: trust the ratios, not the seconds. `nar_over_ar_cached_b1_t32` is how
many times faster `nar` is than `ar cached`, for 1 vector and 32 tokens, by the median times.
"""

import itertools
import json
from pathlib import Path

from absl import app, flags

from benchmarks import ROOT
from tta.choices import PRECISIONS

FLAGS = flags.FLAGS

VOCAB_SIZE, BEGIN_ID = 16_000, 3
BATCHES = (1, 64)
LENGTHS, QUICK_LENGTHS = (8, 16, 32, 64, 128), (32,)
QUICK_ROUNDS = 5


def main(_):
    import tta  # noqa: F401  (first, because it silences TensorFlow)
    from benchmarks.timing import format_times, interleave

    lengths = QUICK_LENGTHS if FLAGS.quick else LENGTHS
    cases = make_cases(lengths, with_plain=not FLAGS.quick)
    times = interleave(cases, QUICK_ROUNDS if FLAGS.quick else FLAGS.rounds)
    results = ratios(times, lengths)
    print(format_times(times), "", *(f"{n} {v:.1f}" for n, v in results.items()), sep="\n")
    if FLAGS.json:
        results["seconds"] = {name: one.median for name, one in times.items()}
        Path(FLAGS.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def make_cases(lengths, with_plain):
    """A `Case` per kind of decoder, number of vectors and number of tokens."""
    import numpy as np

    from benchmarks.timing import Case

    nar, ar = (model(decoder_type) for decoder_type in ("bilm", "unilm"))
    rng, cases = np.random.default_rng(0), []
    for length in lengths:
        functions = {"nar": all_at_once(nar, length), "ar cached": greedy(ar, length, True)}
        if with_plain:
            functions["ar plain"] = greedy(ar, length, False)
        for size in BATCHES:
            latent = rng.normal(size=(size, nar.config.latent_size)).astype(np.float32)
            for name, function in functions.items():

                def call(function=function, latent=latent):
                    return function(latent)

                cases.append(Case(key(name, size, length), call))
    return cases


def key(name, size, length):
    """The name of a case."""
    return f"{name} b{size} t{length}"


def model(decoder_type):
    """An autoencoder of configs/small-autoencoder.json with another decoder.

    Noise is added to all weights. A new model has biases of 0, which TensorFlow removes, and
    without a bias it does not fuse product and activation as it does in a trained model.
    """
    import keras

    from tta.choices import DTYPE_POLICIES
    from tta.modeling.models.language_model import build_model

    built = build_model(config_of(decoder_type), DTYPE_POLICIES[FLAGS.precision])
    for seed, weight in enumerate(built.weights):
        weight.assign_add(keras.random.normal(weight.shape, stddev=0.02, seed=seed))
    return built


def config_of(decoder_type):
    """The config of `model`."""
    from tta.modeling.config.base import read_config

    config = read_config(ROOT / "configs/small-autoencoder.json", vocab_size=VOCAB_SIZE)
    decoder_input = "ground_truth" if decoder_type == "unilm" else "pad"
    # Lengths are given: the time is that of writing.
    return config.replace(
        decoder_type=decoder_type, decoder_input=decoder_input, predicts_length=False
    )


def all_at_once(nar, length):
    """A function of latent vectors [B, P] that returns ids [B, T]: one pass of the decoder."""
    import keras
    import tensorflow as tf

    def decode(latent, output_table):
        mask = keras.ops.ones((keras.ops.shape(latent)[0], length), "bool")
        return nar.decode_at_once(latent, mask, output_table=output_table)

    return compiled(decode, nar, tf)


def greedy(ar, length, cached):
    """The same for a decoder that writes one token after the other."""
    import tensorflow as tf

    def decode(latent, output_table):
        return ar.decode_greedily(latent, length, BEGIN_ID, cached, output_table)

    return compiled(decode, ar, tf)


def compiled(function, model, tf):
    """A graph with the weights as constants, as in `AutoencoderModel.decode`."""
    from tta.scoring.engines.tensorflow.frozen import frozen

    return frozen(function, [tf.TensorSpec([None, None], tf.float32)], model)


def ratios(times, lengths):
    """{key: how many times faster `nar` is}."""
    found = {}
    for name in ("ar cached", "ar plain"):
        for size, length in itertools.product(BATCHES, lengths):
            if key(name, size, length) in times:
                slow, fast = (times[key(one, size, length)].median for one in (name, "nar"))
                found[f"nar_over_{name.replace(' ', '_')}_b{size}_t{length}"] = slow / fast
    return found


def define_flags():
    """Defines the flags. Tests import this file beside benchmarks with flags of the same names."""
    flags.DEFINE_bool("quick", False, "32 tokens only, few rounds, and no plain decoding.")
    flags.DEFINE_integer("rounds", 15, "Rounds.", lower_bound=3)
    flags.DEFINE_enum("precision", "float32", PRECISIONS, "Type of the products.")
    flags.DEFINE_string("json", None, "Output file of the numbers, JSON.")


if __name__ == "__main__":
    define_flags()
    app.run(main)
