"""Decoding by the nearest neighbour in the whole vocabulary, as a measure of SemFit.

    python -m benchmarks.semfit.decoding --models=runs/semfit/elmo-s-oneb-0,elmo-s-small \\
        --text_file=heldout.txt

Li et al. 2019, section 4.3. A SemFit model gives no distribution: its prediction of a word is a
vector, and the word whose target vector has the highest cosine with it is decoded. Each word of the
text is predicted from its context, and the vectors of the whole vocabulary are compared with the
prediction, however many there are. (The held-out results of a training compare those of a batch.) A
model with a softmax decodes the most probable word.

Columns: how often the right word is the first, and among the first ten; the mean of 1 / rank. Words
that the model does not know, or that have no vector, are counted and left out. The control decodes
the words that are most frequent in the same text, always in this order, and so is a little too
high. The nearest neighbour follows the mean of the vectors of all possible words, not their
probabilities: this is a diagnosis, no way to write text.
"""

from functools import partial

import numpy as np
from absl import app, flags

FLAGS = flags.FLAGS
FIRST = 10
COLUMNS = ("words", "left out", "first %", f"first {FIRST} %", "mean of 1 / rank")
BATCH_TOKENS = 512  # a softmax gives that many numbers for every word of the vocabulary


def main(_):
    import tta
    from tta.data.text.lines import iter_lines

    texts = [line for line in iter_lines(FLAGS.text_file) if line.strip()][: FLAGS.max_texts]
    lines = [f"| | {' | '.join(COLUMNS)} |", "|---|" + "---:|" * len(COLUMNS)]
    for name in FLAGS.models:
        lm = tta.load(name, batch_tokens=BATCH_TOKENS, engine="tensorflow")
        ids, ranks, left_out = decoded(lm, texts)
        lines.append(line(lm.name, ranks, left_out))
        lines.append(line(f"{lm.name}, most frequent words", frequent_ranks(ids), left_out))
    print("\n".join(lines))


def line(name, ranks, left_out):
    """A row of the table."""
    values = 100 * np.mean(ranks == 1), 100 * np.mean(ranks <= FIRST), np.mean(1 / ranks)
    cells = [f"{len(ranks):,}", f"{left_out:,}", *(f"{value:.3f}" for value in values)]
    return f"| {name} | {' | '.join(cells)} |"


def decoded(lm, texts):
    """Ids of the W words that a model can decode, their ranks from 1, and the number of others."""
    if lm.predicts_vectors:
        table = unit(vectors_of(lm))
        make, scores = partial(lm.engine.token_vectors, "fit"), lambda rows: unit(rows) @ table.T
        known = table.any(axis=1)
    else:
        make, scores = lambda: partial(outputs, lm), lambda rows: rows
        known = np.arange(lm.config.vocab_size) != lm.tokenizer.vocabulary.unk_id
    found, left_out = [], 0
    for batch, predicted in lm.run(make, texts, {"text"}):
        ids, rows = batch.input_ids[batch.keep], predicted[batch.keep]
        good = (ids < len(known)) & known[np.minimum(ids, len(known) - 1)]
        left_out += np.sum(~good)
        found.append((ids[good], ranks_of(scores(rows[good]), ids[good])))
    ids, ranks = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return ids, ranks, left_out


def vectors_of(lm):
    """The target vectors of the vocabulary: [V, m] float32."""
    from tta.papers.semfit.vectors.target_vectors import TargetVectors

    return TargetVectors(lm.directory, lm.tokenizer.vocabulary).array.astype(np.float32)


def outputs(lm, ids, mask, wanted):
    """The softmax's outputs at each token, log-probabilities up to a constant: [B, T, V]."""
    from tta.papers.semfit.directions import mean_of_directions

    model, likelihood = lm.model, lm.likelihood
    batch = lm.engine.completed({"input_ids": ids, "padding_mask": mask})
    if hasattr(likelihood, "direction_states"):
        states = likelihood.direction_states(model, batch)
        return np.array(mean_of_directions(model.head(states, model.token_table), mask))
    states = likelihood.predicting_states(model, batch)
    return np.array(model.head(states, model.token_table))


def ranks_of(scores, ids):
    """The rank, from 1, of the right one of V words by scores [W, V]; the first of equal ones."""
    right = np.take_along_axis(scores, ids[:, None].astype(np.int64), axis=1)
    return 1 + np.sum(scores > right, axis=1)


def frequent_ranks(ids):
    """The rank of each word by its frequency among these words."""
    counts = np.bincount(ids)
    return 1 + np.array([np.sum(counts > count) for count in counts])[ids]


def unit(vectors):
    """Vectors of length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


if __name__ == "__main__":
    flags.DEFINE_list("models", None, "Models, as for --model.", required=True)
    flags.DEFINE_string("text_file", None, "Held-out texts, one per line.", required=True)
    flags.DEFINE_integer("max_texts", 1000, "How many of them.", lower_bound=1)
    app.run(main)
