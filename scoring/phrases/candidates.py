"""New hypotheses for short lists: words that are spelled like a phrase become the phrase.

They are judged as all others are: by the model, and by the weight of phrases.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from rapidfuzz.distance import Levenshtein
from rapidfuzz.process import cdist

from tta.data.nbest.lists import Hypothesis
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import RANK, ScoredLists, pad
from tta.scoring.phrases.phrases import CANDIDATE, Phrases
from tta.scoring.words.evidence import UNIT

# Chosen on dev lists (Arctic): the longest list, as longer ones have the words themselves, and the
# most candidates of one; the most edits, by letters of the longer spelling; what an edit costs, in
# standard deviations of the first pass.
_LONGEST_LIST, _MOST, _DISTANCE, _COST = 10, 50, 0.25, 5.0
_MOST_WORDS = 4  # that become a phrase


def with_candidates(part: Part, phrases: Phrases) -> Part:
    """The lists of a part, neither compared nor scored, with candidates at their ends.

    A candidate has the features and the rank of the hypothesis that it comes from, and its
    first-pass score less the cost of the edits.
    """
    nbest, origins, cost = [], [], _COST * first_pass_unit(part.lists)
    letters = {phrase: "".join(phrase) for phrase in phrases.factors}
    for nbest_list in part.nbest:
        hypotheses, places = [*nbest_list.hypotheses], [*range(len(nbest_list.hypotheses))]
        if letters and 0 < len(places) <= _LONGEST_LIST:
            for (text, phrase), (i, edits) in _candidates(
                nbest_list.hypotheses, phrases, letters
            ).items():
                h = nbest_list.hypotheses[i]
                extra = {**(h.extra or {}), CANDIDATE: phrases.names[phrase]}
                score = None if h.score is None else h.score - cost * edits
                hypotheses.append(replace(h, text=text, score=score, extra=extra))
                places.append(i)
        nbest.append(replace(nbest_list, hypotheses=tuple(hypotheses)))
        origins.append(np.array(places, int))
    lists = ScoredLists.build(nbest, ranked=part.lists.ranked)
    ranks = np.take_along_axis(part.lists.feature(RANK), pad(origins), axis=1)
    return replace(part, lists=replace(lists, features={**lists.features, RANK: ranks}))


def _candidates(
    hypotheses: Sequence[Hypothesis], phrases: Phrases, letters: Mapping[tuple[str, ...], str]
) -> dict[tuple[str, tuple[str, ...]], tuple[int, int]]:
    """{(new text, phrase): (index of its hypothesis, number of edits)}, the fewest edits first."""
    candidates, texts = {}, {h.text for h in hypotheses}
    keys, names = [*letters], [*letters.values()]
    for i, h in enumerate(hypotheses):
        words = [match.span() for match in UNIT.finditer(h.text)]
        pairs = itertools.combinations_with_replacement(range(len(words)), 2)
        spans = [(words[a][0], words[b][1]) for a, b in pairs if b - a < _MOST_WORDS]
        spelled = ["".join(phrases.units(h.text[begin:end])) for begin, end in spans]
        edits = cdist(spelled, names, scorer=Levenshtein.distance, dtype=np.int32)
        longest = np.maximum.outer([*map(len, spelled)], [*map(len, names)])
        fewest = edits.min(axis=0, initial=np.iinfo(np.int32).max)  # 0: the phrase is there
        for row, column in np.argwhere((edits == fewest) & (edits <= _DISTANCE * longest)):
            (begin, end), phrase = spans[row], keys[column]
            new = h.text[:begin] + phrases.names[phrase] + h.text[end:]
            if new not in texts:
                texts.add(new)
                candidates[new, phrase] = i, int(edits[row, column])
    return dict(sorted(candidates.items(), key=lambda item: item[1][1])[:_MOST])
