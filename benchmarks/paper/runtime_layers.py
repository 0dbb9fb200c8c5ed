"""Runtime of the layers on a GPU by JAX, of T-TA, biLM and uniLM (the paper's figure 6).

    KERAS_BACKEND=jax python -m benchmarks.paper.runtime_layers

It needs no TensorFlow. `benchmarks.paper.runtime` times the product, with its tokenizer and its
batches; this times the layers alone, compiled for each number of words. "similarity" computes the
last layer's outputs; "reranking" computes the scores, including the softmax over the vocabulary. A
biLM takes one batch with a masked copy of the sentence per word.
"""

import numpy as np
from absl import flags

from benchmarks.paper import common
from benchmarks.paper.runtime import COLUMNS, LENGTHS, NAMES, TASKS, fill
from benchmarks.timing import Case, interleave
from tta import cli
from tta.data.vocabulary.word_pieces import TTA_SPECIALS

FLAGS = flags.FLAGS

# A GTX 1080 Ti, 20 words (figure 6).
PAPER = {"similarity: T-TA, ms": 2.51, "similarity: biLM, ms": 4.72}
VOCAB_SIZE = 29_530


def calls(model_type, words):
    """{task: a function that computes it for one sentence of random words}."""
    import jax
    import keras

    from tta.modeling.config.transformer import TransformerConfig
    from tta.modeling.models.language_model import build_model

    model = build_model(TransformerConfig(vocab_size=VOCAB_SIZE, model_type=model_type))
    ids = np.random.default_rng(0).integers(len(TTA_SPECIALS), VOCAB_SIZE, (1, words + 2))
    inputs, places = ids, np.arange(words + 2)
    if model_type == "bilm":  # row i masks token i, begin and end included
        inputs = np.where(np.eye(words + 2, dtype=bool), TTA_SPECIALS.index("[MASK]"), ids)
    mask = np.ones(inputs.shape, bool)

    def states(name):
        """One state per token of the sentence, [1, T, D]."""
        encoded = model.encode({"input_ids": inputs, "padding_mask": mask})
        found = encoded.get(name, encoded["hidden_states"])
        return found[places % len(found), places][None]

    @jax.jit
    def encode(values):
        with keras.StatelessScope(zip(model.variables, values, strict=True)):
            return states("hidden_states")

    @jax.jit
    def score(values):
        with keras.StatelessScope(zip(model.variables, values, strict=True)):
            return model.log_probabilities(states("predicting_states"), ids)

    values = [variable.value for variable in model.variables]
    both = zip(TASKS, (encode, score), strict=True)
    return {task: lambda call=call: np.asarray(call(values)) for task, call in both}


def main():
    import jax

    cases = [
        Case(f"{task} {model} {words}", call)
        for model in NAMES
        for words in LENGTHS
        for task, call in calls(model, words).items()
    ]
    times = interleave(cases, FLAGS.rounds)
    table = common.Table(
        "runtime_layers",
        "Figure 6: runtime of the layers against the number of words",
        COLUMNS,
        {"20 words": PAPER},
        conditions=[
            f"One sentence, {jax.devices()[0].device_kind}, JAX, float32 in JAX's default "
            "precision of products; 3 layers of 512, "
            f"vocabulary {VOCAB_SIZE:,}; medians of {FLAGS.rounds} rounds, until the results are "
            "in the memory of the host",
            "Paper: a GTX 1080 Ti, 20 words",
        ],
    )
    fill(table, times)
    table.save()


if __name__ == "__main__":
    common.define_flags()
    flags.DEFINE_integer("rounds", 50, "Rounds.")
    cli.run(main)
