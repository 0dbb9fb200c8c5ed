"""NeMo: hypotheses of `transcribe(..., return_hypotheses=True)` with a beam search."""

from collections.abc import Iterable
from typing import Any

from tta.errors import InputError
from tta.integrations import NBest, collect


def nbest(results: Iterable[Any]) -> NBest:
    """The lists of results.

    A result is an `NBestHypotheses` or a list of `Hypothesis`; their `score` is a natural log. Set
    `return_best_hypothesis=False` in the decoding config of the beam search. Raises InputError if a
    result is a single hypothesis, or the results are NeMo's pair (best, all).
    """
    lists = []
    for number, result in enumerate(results, 1):
        hypotheses = getattr(result, "n_best_hypotheses", result)
        if not isinstance(hypotheses, list | tuple):
            rule = "decode with a beam and return_best_hypothesis=False"
            raise InputError(f"result {number} is one {type(result).__name__}: {rule}")
        if not all(
            hasattr(hypothesis, "text") and hasattr(hypothesis, "score")
            for hypothesis in hypotheses
        ):
            rule = "of NeMo's pair (best, all), pass the second; else return_hypotheses=True"
            raise InputError(f"result {number} holds {type(hypotheses[0]).__name__}: {rule}")
        lists.append([(hypothesis.text, hypothesis.score) for hypothesis in hypotheses])
    return collect(lists)
