"""A biLM's score by k passes with random masks, between one pass and a pass for each piece.

    python -m benchmarks.random_masks

Arctic's dev lists, every sixth, cut to 20 hypotheses; each half is reranked with the weights of the
other, and no sentence is in both. Two ways to spend k passes on n pieces:

- parts: the pieces are split at random into k parts; each pass masks a part, and each piece is
  scored once. With n parts this is the pseudo-log-likelihood.
- diffusion: each pass masks m random pieces, where m goes from 1 to n in k steps. n / m times their
  log-probability is an estimate of the text's, as in masked diffusion; the passes are averaged.

All texts of a list have the same random order of positions. The data is in $TTA_DATA.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import tta
from benchmarks import evaluation_data
from tta.data.nbest.files import read_nbest
from tta.scoring.combining.decision import select
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import score_texts
from tta.scoring.combining.tuning import tune
from tta.scoring.combining.weights import FIRST_PASS, FixedWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.metrics.significance import paired_bootstrap

EVERY, HYPOTHESES, PASSES, BATCH = 6, 20, (1, 2, 4, 8), 64


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--condition", choices=("clean", "snr5"), default="clean")
    condition = parser.parse_args().condition
    lists = read_nbest(evaluation_data.path(f"nbest/asr_arctic/dev.{condition}.json")).lists
    lists = [
        replace(nbest, hypotheses=nbest.hypotheses[:HYPOTHESES])
        for nbest in sorted(lists, key=lambda nbest: nbest.reference)[::EVERY]
    ]
    metric = load_metric("wer")
    references = [*dict.fromkeys(nbest.reference for nbest in lists)]
    halves = [
        Part.build([one for one in lists if one.reference in set(references[start::2])]).compared(
            metric
        )
        for start in (0, 1)
    ]
    texts = [text for half in halves for text in half.texts]
    first = np.concatenate([half.statistics.of(select(half.lists, FIRST_PASS)) for half in halves])
    print(f"{condition}: {len(lists)} lists, first pass {metric.corpus(first.sum(axis=0)):.2f}")
    lm = tta.load("bilm-small", engine="tensorflow", normalizer="exact")
    systems = {"a pass for each piece": lambda: score_texts(lm, texts)}
    systems["without masks"] = lambda: score_texts(
        tta.load("bilm-small", engine="tensorflow", pll_variant="maskless"), texts
    )
    for way, masks in (("parts", masked_in_parts), ("diffusion", masked_by_diffusion)):
        for passes in PASSES:
            systems[f"{way}, k = {passes}"] = lambda masks=masks, passes=passes: score_by_masks(
                lm, halves, masks, passes
            )
    systems["T-TA"] = lambda: score_texts(tta.load("small", normalizer="exact"), texts)
    compared = None
    for name, score in systems.items():
        start = time.process_time()
        scores = score()
        seconds = (time.process_time() - start) / len(lists)
        scored = [half.scored(scores) for half in halves]
        picked = np.concatenate([rerank(*pair) for pair in (scored[::-1], scored)])
        compared = picked if compared is None else compared
        pair = np.stack([picked, compared])
        low, high = paired_bootstrap(pair, metric, lambda values: values[:1] - values[1:])[0]
        value = metric.corpus(picked.sum(axis=0))
        print(
            f"{name:22} WER {value:.2f}, minus a pass for each piece [{low:+.2f}, {high:+.2f}], "
            f"{1000 * seconds:.0f} ms of processor time a list",
            flush=True,
        )


def rerank(dev: Part, test: Part) -> np.ndarray:
    """The statistics of the picks of `test`, with the weights that `dev` tunes: [L, S]."""
    weights = tune(
        dev.lists, dev.statistics, FixedWeights(features=dict.fromkeys(dev.lists.features))
    )
    return test.statistics.of(select(test.lists, weights))


def masked_in_parts(order: np.ndarray, passes: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yields (positions that a pass masks, their weight) for n positions in random order."""
    for part in np.array_split(order, passes):
        if len(part):
            yield part, 1.0


def masked_by_diffusion(order: np.ndarray, passes: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yields (positions that a pass masks, their weight) for n positions in random order."""
    count = len(order)
    for number in range(passes):
        masked = max(1, round((number + 0.5) / passes * count))
        start = number * count // passes  # other positions in each pass
        yield np.roll(order, -start)[:masked], count / masked / passes


def score_by_masks(lm, halves, masks, passes):
    """{text: (score, number of pieces)}."""
    import tensorflow as tf

    vocabulary, rows = lm.tokenizer.vocabulary, []
    scores: dict[str, float] = {}
    counts: dict[str, int] = {}
    random = np.random.default_rng(0)
    for nbest in (nbest for half in halves for nbest in half.nbest):
        places = random.random(512)
        for text in {hypothesis.text for hypothesis in nbest.hypotheses} - scores.keys():
            ids = np.array(lm.tokenizer.encode([text])[0], int)
            scores[text], counts[text] = 0.0, len(ids)
            order = np.argsort(places[: len(ids)])
            rows += [(text, ids, *mask) for mask in masks(order, passes) if len(ids)]

    @tf.function(reduce_retracing=True)
    def log_probabilities(ids, padding):
        logits = lm.model({"input_ids": ids, "padding_mask": padding})["logits"]
        return tf.nn.log_softmax(logits)

    rows.sort(key=lambda row: len(row[1]))
    for begin in range(0, len(rows), BATCH):
        batch = rows[begin : begin + BATCH]
        length = max(len(ids) for _, ids, _, _ in batch) + 2
        inputs = np.full((BATCH, length), vocabulary.pad_id)
        padding = np.zeros((BATCH, length), bool)
        for i, (_, ids, masked, _) in enumerate(batch):
            inputs[i, : len(ids) + 2] = [vocabulary.bos_id, *ids, vocabulary.eos_id]
            inputs[i, 1 + masked] = vocabulary.mask_id
            padding[i, : len(ids) + 2] = True
        padding[len(batch) :, 0] = True
        found = log_probabilities(inputs, padding).numpy()
        for i, (text, ids, masked, weight) in enumerate(batch):
            scores[text] += float(weight * found[i, 1 + masked, ids[masked]].sum())
    return {text: (score, counts[text]) for text, score in scores.items()}


if __name__ == "__main__":
    main()
