"""Reranks N-best lists in memory: `tta.rerank`, `tta.tune`, and how sure each word is.

The steps and defaults are those of run_rerank.py, so the same lists get the same weights and order.
"""

import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

from tta.errors import InputError
from tta.notes import Note
from tta.scoring.combining.confidence import ConfidenceWeights
from tta.scoring.combining.weights import EVERY_FEATURE, FixedWeights, RerankWeights
from tta.scoring.metrics.metric import Metric
from tta.scoring.reranking.reranked import RerankedList
from tta.scoring.reranking.reranker import Features, Model, Reranker, check_decision
from tta.scoring.scorers.arguments import as_list


@overload
def rerank(
    lists: Iterable[str],
    scores: Iterable[float] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    weights: RerankWeights | None = None,
    metric: str | Metric = "wer",
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    phrases_weight: float | None = None,
    features: Features = None,
    progress: bool = False,
) -> RerankedList: ...
@overload
def rerank(
    lists: Iterable[Iterable[str]],
    scores: Iterable[Iterable[float]] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    weights: RerankWeights | None = None,
    metric: str | Metric = "wer",
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    phrases_weight: float | None = None,
    features: Features = None,
    progress: bool = False,
) -> list[RerankedList]: ...
def rerank(
    lists: Iterable[Any],
    scores: Iterable[Any] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    weights: RerankWeights | None = None,
    metric: str | Metric = "wer",
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    phrases_weight: float | None = None,
    features: Features = None,
    progress: bool = False,
) -> Any:
    """Reranks N-best lists by first-pass scores and the scores of a language model.

    The combined score of a text is (1 - lm_weight) * first_pass + lm_weight * lm + length_bonus *
    words (see `RerankWeights`). The decision `mbr` puts the text with the lowest expected loss
    first, `max` that with the highest combined score. Equally good texts keep their order.

    Args:
        lists: L lists of str, the candidates of each utterance or source sentence. Or one list of
            str; `scores` is then one list of numbers.
        scores: the first-pass score of each text, natural log, higher is better; None: see
            `rank_scores`.
        model: a model from `tta.load`, or an argument of `tta.load`; None is the built-in model,
            `tta.Levels` two models, of which the second scores the probable hypotheses alone,
            and "none" uses the first pass alone. Load a model once if you call this function
            several times. Models that are loaded here have the options of run_rerank.py
            (`tta.scoring.scorers.options.RerankOptions`): the learned normalizer if the model has
            one. A list of models is mixed.
        weights: from `tune`, or made by hand, such as `tta.RerankWeights(lm_weight=0.3)`. None:
            guessed from the scale of the scores, as run_rerank.py does without dev lists. Tuned
            weights are better.
        metric: "wer", "cer", "bleu", or a metric from
            `tta.scoring.metrics.metric.load_metric`: the loss of the decision `mbr` is the number
            of word or character errors, or 1 - chrF for "bleu".
        rank_scores: whether -ln(rank in the list) is the score of lists without scores, because
            lists are usually ordered best first. If False, the language model reranks them alone.
        keep_non_words: whether words that are none, such as `<eps>` and `[noise]`, count. They
            always do for the metric "bleu". The texts that are returned have them in any case.
        phrases: names, terms and other phrases that are known, each as a line of
            `--phrases_file`: "phrase", or "phrase<tab>factor". How much they count follows from the
            lists (docs/phrases.md); with `weights` of this function and phrases, from these.
        phrases_weight: of a word of a phrase, in standard deviations of the first pass, 0 to 100.
        features: further first-pass scores of each list, {name: [n] numbers}, such as those of an
            acoustic model, for weights that name them; None for none.
        progress: whether to show a progress bar on standard error.

    Returns:
        L `RerankedList`; for one list of str, one `RerankedList`. An empty list stays empty.

    Raises:
        InputError: `scores` and `lists` have different shapes, a score is not a finite number, only
            some texts have scores, the weights are for another number of models, a phrase has no
            word, or a model cannot be loaded or cannot score a text.
        TypeError: `lists` does not hold ordered iterables of str.
    """
    batch = _as_batch(lists, scores, features)
    reranker = Reranker(
        model,
        weights=weights,
        metric=metric,
        rank_scores=rank_scores,
        keep_non_words=keep_non_words,
        phrases=phrases,
        phrases_weight=phrases_weight,
        progress=progress,
    )
    reranked = reranker.rerank(batch.lists, batch.scores, features=batch.features)
    _warn(reranked.notes)
    return reranked.lists[0] if batch.is_one else reranked.lists


def tune(
    lists: Iterable[Iterable[str]],
    references: Iterable[str],
    scores: Iterable[Iterable[float]] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    metric: str | Metric = "wer",
    decision: str | None = None,
    features: Iterable[str] | None = None,
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    progress: bool = False,
) -> RerankWeights:
    """Chooses the weights of `rerank` on lists with references, as run_rerank.py on dev lists.

    Do not tune on the lists that you rerank: a gain measured on the tuning lists is partly luck.
    Use the same model with the same options in `rerank`. `tta.scoring.combining.tuning.tune`
    describes how. Few lists move the weights little from those that are guessed.

    Args:
        lists, scores, model, rank_scores, keep_non_words, progress: as in `rerank`.
        references: L str, the correct text of each list.
        metric: as in `rerank`.
        decision: "max", "mbr", or None for "mbr". If the lists are too long to compare all pairs of
            texts, None is "max".
        phrases: as in `rerank`. They are checked, and change no weight: `rerank` finds theirs on
            its own lists.
        features: the names of the features to use, such as `rank` and those of the whole list
            (docs/reranking.md). None: all; (): none, as a served model needs it.

    Raises:
        InputError: as `rerank`, or the lists are all empty, the references are fewer or more than
            the lists, or the metric, the decision or a feature is unknown, or not possible on the
            lists.
        TypeError: as `rerank`.
    """
    check_decision(decision)
    names = (EVERY_FEATURE,) if features is None else features
    reranker = Reranker(
        model,
        weights=FixedWeights(decision=decision, features=dict.fromkeys(names)),
        metric=metric,
        rank_scores=rank_scores,
        keep_non_words=keep_non_words,
        phrases=phrases,
        progress=progress,
    )
    tuned = reranker.tune(lists, references, scores)
    _warn(tuned.notes)
    return tuned.weights


def confidence(
    lists: Iterable[Any],
    scores: Iterable[Any] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    weights: RerankWeights | None = None,
    confidence_weights: ConfidenceWeights | None = None,
    metric: str | Metric = "wer",
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    phrases_weight: float | None = None,
    features: Features = None,
    progress: bool = False,
) -> Any:
    """How sure each word of the pick of each list is: P(the word is correct), and its best rival.

    The picks are the first texts of `rerank` with the same arguments. docs/confidence.md says how
    the probabilities are found and how good they are.

    Args:
        lists, scores, model, weights, metric, rank_scores, keep_non_words, phrases, phrases_weight,
            features, progress: as in `rerank`. Of several models, the token scores of the first
            count; of `tta.Levels`, those of the second.
        confidence_weights: from `fit_confidence`; None for the default weights.

    Returns:
        L lists of `WordConfidence`; for one list of str, one list. An empty list or pick has no
        words. In scripts without blanks each character is a word.

    Raises:
        InputError: as `rerank`, or the confidence weights need a model with token scores.
        TypeError: as `rerank`.
    """
    batch = _as_batch(lists, scores, features)
    reranker = Reranker(
        model,
        weights=weights,
        metric=metric,
        rank_scores=rank_scores,
        keep_non_words=keep_non_words,
        phrases=phrases,
        phrases_weight=phrases_weight,
        progress=progress,
    )
    reranked = reranker.rerank(batch.lists, batch.scores, features=batch.features)
    words_of_picks = reranked.confidence(confidence_weights)
    _warn(words_of_picks.notes)
    return words_of_picks.words[0] if batch.is_one else words_of_picks.words


def fit_confidence(
    lists: Iterable[Iterable[str]],
    references: Iterable[str],
    scores: Iterable[Iterable[float]] | None = None,
    model: Model | Sequence[Model] = None,
    *,
    weights: RerankWeights | None = None,
    metric: str | Metric = "wer",
    rank_scores: bool = True,
    keep_non_words: bool = False,
    phrases: Iterable[str] | None = None,
    phrases_weight: float | None = None,
    progress: bool = False,
) -> ConfidenceWeights:
    """Fits the weights of `confidence` on lists with references, near the default weights.

    Args:
        references: L str, the correct text of each list.
        lists, scores, model, weights, metric, rank_scores, keep_non_words, phrases, phrases_weight,
            progress: as in `confidence`.

    Raises:
        InputError, TypeError: as `tune`.
    """
    reranker = Reranker(
        model,
        weights=weights,
        metric=metric,
        rank_scores=rank_scores,
        keep_non_words=keep_non_words,
        phrases=phrases,
        phrases_weight=phrases_weight,
        progress=progress,
    )
    reranked = reranker.rerank(lists, scores, references=references)
    _warn(reranked.notes)
    if reranked.outcome is None:
        raise InputError("fitting needs a list with a text, and there is none")
    return reranked.outcome.fit_confidence()


@dataclass(frozen=True)
class _Batch:
    """Lists with their scores and features, and whether the caller gave one list alone."""

    lists: list[Any]
    scores: Iterable[Any] | None
    features: Iterable[Any] | None
    is_one: bool


def _as_batch(lists: Iterable[Any], scores: Any, features: Any) -> _Batch:
    lists = as_list(lists, "lists", "lists of str")
    if not (lists and isinstance(lists[0], str)):
        return _Batch(lists, scores, features, False)
    return _Batch(
        [lists],
        None if scores is None else [scores],
        None if features is None else [features],
        True,
    )


def _warn(notes: Iterable[Note]) -> None:
    """Warns of what may be wrong, at the line of the caller: the first one outside this file."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename == __file__:
        level, frame = level + 1, frame.f_back
    for note in notes:
        if note.is_warning:
            warnings.warn(str(note), stacklevel=level)
