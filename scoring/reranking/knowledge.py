"""Adds what the user knows to lists whose weights are chosen: phrases, and candidates with them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from tta.scoring.combining.mixed import look_again
from tta.scoring.combining.part import Part
from tta.scoring.combining.score import ScoredProblem
from tta.scoring.combining.weights import PHRASES, RerankWeights
from tta.scoring.notes import Note
from tta.scoring.phrases.candidates import with_candidates
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.phrases.weight import WeighedPhrases, phrase_notes, weigh_phrases
from tta.scoring.scorers.inference.mixed import MixedModel
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class Knowledge:
    """The lists that are decided on.

    Attributes:
        part: the test lists. With phrases they have one feature more, and maybe candidates.
        weights: of their scores.
        phrases: what was found of the phrases; None without phrases.
    """

    part: Part
    weights: RerankWeights
    phrases: WeighedPhrases | None = None

    def looked_again(self, models: Mapping[int, MixedModel], progress: bool = False) -> "Knowledge":
        """The same, with scores in float32 of what can win with phrases; see `look_again`."""
        if self.phrases is None:
            return self
        lists = look_again(self.part.lists, self.weights, models, progress)
        return replace(self, part=replace(self.part, lists=lists))


@dataclass(frozen=True)
class PhraseOptions:
    """How phrases are used.

    Attributes:
        phrases: the phrases.
        weight: of a word of a phrase, in standard deviations of the first pass; None: by the lists.
        feature_weight: of the feature `PHRASES`, in place of `weight`.
        candidates: whether words that are spelled like a phrase become the phrase, in new
            hypotheses of short lists.
    """

    phrases: Phrases
    weight: float | None = None
    feature_weight: float | None = None
    candidates: bool = False


def add_knowledge(
    scored: ScoredProblem,
    weights: RerankWeights,
    options: PhraseOptions | None,
    score_candidates: Callable[[Part, ScoredProblem], Part],
) -> Knowledge:
    """Adds phrases to the test lists, and their weight to the weights. Without phrases: nothing.

    `score_candidates` compares and scores a part that has candidates, as the test lists were.
    """
    test = scored.problem.test
    if options is None:
        return Knowledge(test, weights)
    phrases = options.phrases.without_common((scored.lm or Scorer()).is_common)
    if options.feature_weight is not None:
        features = {**weights.features, PHRASES: options.feature_weight}
        weights = replace(weights, features=features)
    weighed = weigh_phrases(test.lists, phrases, weights, options.weight)
    if options.candidates:
        test = score_candidates(with_candidates(test, phrases), scored)
        lists = weigh_phrases(test.lists, phrases, weighed.weights).lists
        weighed = replace(weighed, lists=lists)
    return Knowledge(replace(test, lists=weighed.lists), weighed.weights, weighed)


def knowledge_notes(knowledge: Knowledge, picks: np.ndarray) -> Iterator[Note]:
    """Yields what a reader must know of phrases; `picks`, [L] int64, are those without them."""
    if knowledge.phrases is not None:
        yield from phrase_notes(knowledge.phrases, picks)
