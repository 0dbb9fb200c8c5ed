"""Fine-tuning on N-best lists: which lists and hypotheses, batches, and settings of the steps."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tta.scoring.adaptation.text import ADAM_BETA_2
from tta.scoring.combining.decision import decide
from tta.scoring.combining.scored_lists import ListStatistics, ScoredLists
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.scorers.inference.batches import make_batches

# As in the experiment of docs/adaptation.md.
NUM_PROBABLE = 6  # hypotheses of each list, and the one with the fewest errors


@dataclass(frozen=True)
class Example:
    """A list to train on, with H hypotheses.

    Attributes:
        texts: H hypotheses.
        other_scores, errors: [H] float32, as in `ExpectedErrors`.
        token_weights: [H] float32, the weight of each token's score in the combined score.
    """

    texts: Sequence[str]
    other_scores: np.ndarray
    errors: np.ndarray
    token_weights: np.ndarray


def make_examples(
    scored: ScoredLists, statistics: ListStatistics, weights: RerankWeights
) -> list[Example]:
    """The lists to train on: those whose hypotheses have different numbers of word errors.

    Each has its `NUM_PROBABLE` most probable hypotheses. The one with the fewest errors is added if
    it is better than these.
    """
    decision = decide(scored, weights)
    counts = scored.models[0].num_tokens
    # Hypotheses without tokens have the lowest score of their list, which no weight can change.
    part = np.where(counts > 0, weights.lm_weight * decision.lm_scores, 0.0)
    without_model = weights.scale * (decision.combined - part)
    token_weights = np.full(counts.shape, weights.scale * weights.lm_weight)
    if weights.reduction == "mean":
        token_weights /= np.maximum(counts, 1)
    errors = statistics.errors
    examples = []
    for i, nbest in enumerate(scored.nbest):
        size = len(nbest.hypotheses)
        if not size:
            continue
        keep = list(np.argsort(-decision.combined[i, :size], kind="stable")[:NUM_PROBABLE])
        best = errors[i, :size].argmin()
        if errors[i, best] < errors[i, keep].min():
            keep.append(best)
        if differ(errors[i, keep]):
            texts = [nbest.hypotheses[j].text for j in keep]
            rows = (
                array[i, keep].astype(np.float32)
                for array in (without_model, errors, token_weights)
            )
            examples.append(Example(texts, *rows))
    return examples


def differ(errors: np.ndarray) -> bool:
    """Whether the hypotheses of a list, [H] numbers of errors, differ in them."""
    return len(errors) > 0 and bool(np.ptp(errors) > 0)


# As in the experiment of docs/adaptation.md.
BATCH_LISTS = 16
WARMUP = 0.25  # of the first pass


def num_steps(examples: Sequence[Example]) -> int:
    """The number of steps of a pass."""
    return -(-len(examples) // BATCH_LISTS)


def make_list_trainer(
    lm: Any,
    examples: Sequence[Example],
    learning_rate: float,
    num_train_steps: int,
    seed: int,
    output_dir: Path,
) -> Any:
    """A `Trainer` of a model by the expected errors of lists; an epoch is a pass over them.

    `lm` is a `TextModel` that scores in one pass. Its weights change. The learning rate is constant
    after the warm-up. `num_train_steps` are those of all passes, `seed` is that of the order of the
    lists, and `output_dir` is for checkpoints and logs.
    """
    import keras
    import tensorflow as tf

    from tta.data.records.pipeline import without_autotuning
    from tta.modeling.objectives.expected_errors import ExpectedErrors
    from tta.modeling.training.config import LoopSettings
    from tta.modeling.training.optimizers import WarmupLinearDecay
    from tta.modeling.training.trainer import Trainer

    specs = {
        "input_ids": tf.TensorSpec([None, None], tf.int32),
        "padding_mask": tf.TensorSpec([None, None], tf.bool),
        "token_weights": tf.TensorSpec([None, None], tf.float32),
        "places": tf.TensorSpec([None], tf.int32),
        "other_scores": tf.TensorSpec([None, None], tf.float32),
        "errors": tf.TensorSpec([None, None], tf.float32),
        "present": tf.TensorSpec([None, None], tf.bool),
    }

    def epoch_batches(epoch):
        def generate():
            for chosen in _order(examples, seed, epoch):
                yield _batch(lm, [examples[i] for i in chosen])

        return without_autotuning(tf.data.Dataset.from_generator(generate, output_signature=specs))

    num_warmup = max(1, int(WARMUP * num_steps(examples)))
    last = max(num_train_steps, num_warmup + 1)
    schedule: Any = WarmupLinearDecay(learning_rate, num_warmup, last, num_decay_steps=0)
    return Trainer(
        lm.model,
        keras.optimizers.Adam(schedule, beta_2=ADAM_BETA_2, global_clipnorm=1.0),
        ExpectedErrors(lm.likelihood),
        epoch_batches,
        heldout_batches=None,
        output_dir=output_dir,
        # Checkpoints are those at the end of a pass.
        loop=LoopSettings(num_train_steps=num_train_steps, save_checkpoints_steps=num_train_steps),
        is_resumable=False,  # the folder of the work is removed
    )


def _order(examples, seed, epoch) -> Iterator[np.ndarray]:
    """The indices of the lists of each batch. Lists of similar lengths are in one batch."""
    lengths = np.array([max(len(text) for text in example.texts) for example in examples])
    rng, batches = np.random.default_rng(seed), []
    for _ in range(epoch + 1):  # each epoch goes on with the random numbers of the one before
        order = np.argsort(lengths * rng.uniform(1.0, 1.2, len(lengths)))
        batches = [order[i : i + BATCH_LISTS] for i in range(0, len(order), BATCH_LISTS)]
        rng.shuffle(batches)
    yield from batches


def _batch(lm, chosen):
    """A batch of `ExpectedErrors` of some examples, as arrays."""
    shape = len(chosen), NUM_PROBABLE + 1
    without_model, errors, token_weights = np.zeros((3, *shape), np.float32)
    present = np.zeros(shape, bool)
    for row, example in enumerate(chosen):
        size = len(example.texts)
        without_model[row, :size], errors[row, :size] = example.other_scores, example.errors
        token_weights[row, :size], present[row, :size] = example.token_weights, True
    texts = [text for example in chosen for text in example.texts]
    (batch,) = make_batches(
        lm.tokenizer,
        texts,
        first_index=0,
        positions={"text"},
        window_size=lm.window_size,
        batch_tokens=sys.maxsize,
        refuse_long=False,
    )
    places = np.flatnonzero(present)[batch.text_index].astype(np.int32)
    return {
        "input_ids": batch.input_ids,
        "padding_mask": batch.padding_mask,
        "token_weights": batch.keep * token_weights.ravel()[places][:, None],
        "places": places,
        "other_scores": without_model,
        "errors": errors,
        "present": present,
    }
