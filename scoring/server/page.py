"""What the page shows of a list of hypotheses: their tokens, their scores and their order."""

import math
import re
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from tta.data.nbest.lists import parse_number
from tta.data.text.spelling import plain_texts
from tta.errors import InputError, located
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reports.marked_text import mark
from tta.scoring.reports.page import CONFIDENCES, legend, level, sure_words
from tta.scoring.reranking.in_memory import confidence, rerank
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.server.service import KnownScores

# A page is for a look at some sentences; files are for tta rerank.
MAX_TEXTS, MAX_CHARACTERS = 100, 20_000
# Lists whose token scores are kept: while a weight moves, the texts stay the same.
_KEPT = 8

WEIGHTS = ("lm_weight", "length_bonus", "scale", "features")
# "score | text", or a tab from a spreadsheet in place of the bar
_SCORED = re.compile(r"\s*([^\s|<]+)\s*[|\t]\s*(.*)", re.DOTALL)


class Answers:
    """Answers requests with one model, whose token scores are natural logs.

    Raises:
        InputError: the model has no scores.
    """

    def __init__(self, lm: Scorer):
        lm.score_tokens(["a"])
        self._lm, self._signature = lm, lm.signature
        self._scored = lru_cache(_KEPT)(lambda texts: lm.score_tokens(list(texts)))

    def answer(self, request: Any) -> dict[str, Any]:
        """The content of the page for a request.

        Args:
            request: {"text": str, one hypothesis per line, as a text or "score | text"; "weights":
                {name of `WEIGHTS`: number}, or None to guess them from the scale of the scores; an
                infinite scale, the decision `max`, is None; features are {name: number}}.

        Returns:
            "hypotheses", best first: n dicts with "text", "rank" (the line of the input, from 1),
            "tokens" (for each word a list of [piece, log-probability, level of its colour]),
            "first_pass" (float, or None if no line has a score), "lm" (sum of the token scores),
            "words", "combined", "posterior" (0 to 1) and "expected_errors" (in words), these two
            None for `max`; "weights", those that were used; "confidence",
            {"text", "level", "tip"} for each word of the first hypothesis; "legend" and
            "confidence_legend", the ranges of each level; "signature" of the model.

        Raises:
            InputError: the request has another form, too many or too long texts, only some lines
                have a score, a score is no finite number, or a weight is out of its range.
        """
        if not isinstance(request, Mapping) or not isinstance(request.get("text"), str):
            raise InputError('expected {"text": "...", "weights": {...} or null}')
        texts, scores = parse(request["text"])
        words, _ = plain_texts(texts)
        scored = self._scored(tuple(words))
        known = KnownScores(self._lm, dict(zip(words, scored, strict=True)))
        weights = _weights(request.get("weights"))
        with warnings.catch_warnings():  # one hypothesis is enough to look at a sentence
            warnings.simplefilter("ignore")
            order = rerank(texts, scores, known, weights=weights)
            sure = confidence(texts, scores, known, weights=weights)
        used = order.weights.to_dict()
        without = [None] * len(texts)
        posteriors, errors = order.posteriors or without, order.expected_losses or without
        rows = zip(order.indices, order.scores, posteriors, errors, strict=True)
        return {
            "hypotheses": [
                {
                    "text": texts[i],
                    "rank": i + 1,
                    "tokens": _words(words[i], scored[i]),
                    "first_pass": None if scores is None else scores[i],
                    "lm": float(scored[i].log_probabilities.sum()),
                    "words": len(words[i].split()),
                    "combined": combined,
                    "posterior": posterior,
                    "expected_errors": expected,
                }
                for i, combined, posterior, expected in rows
            ],
            "weights": {name: used[name] for name in WEIGHTS},
            "confidence": sure_words(sure),
            "confidence_legend": legend(CONFIDENCES),
            "legend": legend(),
            "signature": self._signature,
        }


def _words(text: str, scores: TokenScores) -> list[list[list[Any]]]:
    """The tokens of each word, then those that belong to none, each for itself."""
    words, loose = mark(text, None, scores)
    groups = [*(word.tokens for word in words if word.tokens), *((token,) for token in loose)]
    return [
        [[one.text, one.log_probability, level(one.log_probability)] for one in group]
        for group in groups
    ]


def parse(text: str) -> tuple[list[str], list[float] | None]:
    """The hypotheses of a text, one per line, and their first-pass scores if the lines have some.

    Blank lines are skipped.

    Raises:
        InputError: as `Answers.answer`.
    """
    lines = [line.strip() for line in text.splitlines()]
    numbered = {number: line for number, line in enumerate(lines, 1) if line}
    if not numbered:
        raise InputError("expected one hypothesis per line, got none")
    if len(numbered) > MAX_TEXTS:
        raise InputError(f"at most {MAX_TEXTS} lines, got {len(numbered)}; tta rerank reads files")
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"at most {MAX_CHARACTERS:,} characters, got {len(text):,}")
    found = {number: _SCORED.fullmatch(line) for number, line in numbered.items()}
    if not any(found.values()):
        return list(numbered.values()), None
    texts, scores = [], []
    for number, match in found.items():
        with located(f"line {number}"):
            if match is None:
                raise InputError('expected "score | text" as in other lines, got no score')
            scores.append(parse_number(match[1], "score"))
            texts.append(match[2])
    return texts, scores


def _weights(given: Any) -> RerankWeights | None:
    """The weights of a request; None if they are to be guessed."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != set(WEIGHTS):
        raise InputError(f"expected the weights {', '.join(WEIGHTS)}")
    scale = math.inf if given["scale"] is None else parse_number(given["scale"], "scale")
    lm_weight, length_bonus = (parse_number(given[name], name) for name in WEIGHTS[:2])
    if not isinstance(given["features"], Mapping):
        raise InputError('expected "features" as an object')
    features = {name: parse_number(weight, name) for name, weight in given["features"].items()}
    return RerankWeights(lm_weight, length_bonus, scale=scale, features=features)
