"""What phrases count in reranking: a feature of hypotheses, its weight, and what they changed.

All other weights are guessed or tuned without the feature. Its own follows from the lists that are
reranked, without references: phrases that nobody says get 0. docs/phrases.md has what it gives.

L lists, N hypotheses in the longest list.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rapidfuzz.distance import Levenshtein

from tta.doors import option_named
from tta.errors import shown
from tta.scoring.combining.decision import decide, posteriors_of, select
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.combining.scored_lists import ScoredLists, pad
from tta.scoring.combining.weights import PHRASES, RerankWeights, rounded
from tta.scoring.metrics.error_rate import INSERTION
from tta.scoring.metrics.metric import with_basic
from tta.scoring.notes import Note, NoteKind
from tta.scoring.phrases.phrases import Phrase, Phrases

# A word of a phrase counts as much as LEVEL + SLOPE * logit(R) standard deviations of the first
# pass, from 0 to HIGHEST, where R is the believed share of the phrases in the lists. The priors are
# (believed, there) before any list, and where one list is alone. Chosen on dev lists (Arctic).
_LEVEL, _SLOPE, _HIGHEST = 3.5, 2.5, 4.0
_PRIOR, _PRIOR_OF_ONE = (1.0, 5.0), (0.7, 2.0)


@dataclass(frozen=True)
class WeighedPhrases:
    """Lists with the feature `PHRASES`, and weights with its weight.

    Attributes:
        phrases: those that were looked for.
        lists: the lists with the feature.
        weights: the weights with that of the feature.
        present: the phrases that stand in a list.
        num_lists: in how many lists they do, in all.
        share: R, the share of them that is believed, 0 to 1, with its prior.
        weight: of a word of a phrase, in standard deviations of the first pass.
    """

    phrases: Phrases
    lists: ScoredLists
    weights: RerankWeights
    present: frozenset[Phrase]
    num_lists: int
    share: float
    weight: float


def weigh_phrases(
    lists: ScoredLists, phrases: Phrases, weights: RerankWeights, weight: float | None = None
) -> WeighedPhrases:
    """Adds the feature to lists, and its weight to weights that were found without it.

    A phrase is there in a list if some hypothesis has it, and believed with the posteriors of those
    that do: its mean over these lists, so that a frequent phrase says nothing of the others. For
    metrics of translations phrases get 0, because they made dev lists of BLEU worse. A weight of
    the feature in `weights` stays; `weight` is one in standard deviations.
    """
    phrases_of_hypotheses = [
        [[phrase for _, phrase in phrases.find(phrases.units(h.text))] for h in nbest.hypotheses]
        for nbest in lists.nbest
    ]
    lists = replace(
        lists, features={**lists.features, PHRASES: _feature(phrases, phrases_of_hypotheses)}
    )
    features = dict(weights.features)
    feature_weight, unit = features.pop(PHRASES, None), first_pass_unit(lists)
    weights = replace(weights, features=features)
    masses = _masses(phrases_of_hypotheses, posteriors_of(decide(lists, weights)))
    is_alone = sum(bool(nbest.hypotheses) for nbest in lists.nbest) == 1
    share = _believed_share(masses, is_alone)
    if feature_weight is not None:
        weight = feature_weight / unit
    elif weight is None:
        weight = _weight_of(share) if phrases.metric.of_speech else 0.0
    return WeighedPhrases(
        phrases=phrases,
        lists=lists,
        weights=replace(weights, features=features | {PHRASES: rounded(weight * unit)}),
        present=frozenset(masses),
        num_lists=sum(map(len, masses.values())),
        share=share,
        weight=weight,
    )


def _feature(phrases: Phrases, found: Sequence[Sequence[Sequence[Phrase]]]) -> np.ndarray:
    """The sizes of the phrases that were found in each hypothesis of each list: [L, N] float64."""
    sizes = {phrase: phrases.size(phrase) for phrase in phrases.factors}
    rows = [[sum(sizes[phrase] for phrase in of_text) for of_text in of_list] for of_list in found]
    return pad([np.array(row, float) for row in rows])


def _masses(
    found: Sequence[Sequence[Sequence[Phrase]]], posteriors: np.ndarray
) -> dict[Phrase, list[float]]:
    """For each phrase, the posterior of the hypotheses that have it, of each list where it is."""
    masses: dict[Phrase, list[float]] = {}
    for of_list, shares in zip(found, posteriors, strict=True):
        in_list: dict[Phrase, float] = {}
        for of_text, share in zip(of_list, shares.tolist(), strict=False):
            for phrase in set(of_text):
                in_list[phrase] = in_list.get(phrase, 0.0) + share
        for phrase, mass in in_list.items():
            masses.setdefault(phrase, []).append(mass)
    return masses


def _believed_share(masses: dict[Phrase, list[float]], is_alone: bool) -> float:
    """R of phrases; `is_alone` says whether there is one list."""
    believed = sum(sum(of_phrase) / len(of_phrase) for of_phrase in masses.values())
    few, many = _PRIOR_OF_ONE if is_alone else _PRIOR
    return (believed + few) / (len(masses) + many)


def _weight_of(share: float) -> float:
    """The weight of a word of a phrase, in standard deviations of the first pass."""
    return min(max(_LEVEL + _SLOPE * math.log(share / (1 - share)), 0.0), _HIGHEST)


@dataclass(frozen=True)
class BiasedErrors:
    """Errors and reference units inside of phrases (B-WER), and outside of them (U-WER)."""

    errors_inside: int
    units_inside: int
    errors_outside: int
    units_outside: int


def biased_errors(
    phrases: Phrases, texts: Iterable[str], references: Iterable[str]
) -> BiasedErrors:
    """Counts errors as the literature on contextual biasing does.

    An insertion belongs to B if it stands in a phrase of the text, another error if it does in the
    reference.
    """
    errors, sizes = {True: 0, False: 0}, {True: 0, False: 0}
    for text, reference in zip(texts, references, strict=True):
        units, expected = phrases.units(text), phrases.units(reference)
        inside, inside_reference = phrases.are_inside(units), phrases.are_inside(expected)
        for edit in Levenshtein.editops(expected, units):
            is_new = edit.tag == INSERTION
            errors[inside[edit.dest_pos] if is_new else inside_reference[edit.src_pos]] += 1
        for is_inside in inside_reference:
            sizes[is_inside] += 1
    return BiasedErrors(errors[True], sizes[True], errors[False], sizes[False])


def phrase_notes(weighed: WeighedPhrases, before: np.ndarray) -> Iterator[Note]:
    """Yields what a reader of picks with phrases must know; `before` are those without, [L] int."""
    phrases, after = weighed.phrases, select(weighed.lists, weighed.weights)
    times = f", {weighed.num_lists:,} times, of which {weighed.share:.0%} are believed"
    yield _note(
        f"{len(weighed.present):,} of {len(phrases.factors):,} phrases stand in lists"
        f"{times if weighed.num_lists else ''}; with the weight {weighed.weight:.2f} they change "
        f"{(before != after).sum():,} of {len(after):,} picks",
        is_warning=False,
    )
    if phrases.common:
        yield _note(
            f"common words among the phrases were left out: {len(phrases.common):,}, such as "
            f"{', '.join(map(shown, phrases.common[:5]))}; phrase<tab>1 keeps one"
        )
    if phrases.metric.of_speech:
        yield from _spelling_notes(weighed)
        for text in _rates(weighed, before, after):
            yield _note(text, is_warning=False)


def _note(text: str, is_warning: bool = True) -> Note:
    return Note(NoteKind.PHRASES, text, is_warning=is_warning)


def _spelling_notes(weighed: WeighedPhrases) -> Iterator[Note]:
    """Yields a note on phrases that the lists have in another case, or with punctuation."""
    phrases, metric = weighed.phrases, with_basic(weighed.phrases.metric)
    absent = [phrases.names[phrase] for phrase in phrases.factors if phrase not in weighed.present]
    lines = [f"{name}\t1" for name in absent if metric.normalize(name).split()]
    if not lines:
        return
    basic = Phrases(lines, metric)
    texts = {h.text for nbest in weighed.lists.nbest for h in nbest.hypotheses}
    words = {word for text in texts for word in text.split()}
    spoken = set(basic.units(" ".join(words)))
    if not any(spoken.issuperset(phrase) for phrase in basic.factors):  # which is fast
        return
    differing = {phrase for text in texts for _, phrase in basic.find(basic.units(text))}
    if differing:
        yield _note(
            f"phrases that stand in the lists in another case or with punctuation: "
            f"{len(differing):,}, such as {shown(basic.names[min(differing)])}; "
            f"{option_named('normalize', 'basic')} finds them"
        )


def _rates(weighed: WeighedPhrases, before: np.ndarray, after: np.ndarray) -> Iterator[str]:
    """Yields the error rates inside and outside of phrases, of the picks before and after."""
    nbest, name = weighed.lists.nbest, weighed.phrases.metric.name
    measured = [row for row, nbest_list in enumerate(nbest) if nbest_list.reference is not None]
    if not measured:
        return
    references = [nbest[row].reference or "" for row in measured]

    def errors_of(picks: np.ndarray) -> BiasedErrors:
        picked = [nbest[row].hypotheses[picks[row] :][:1] for row in measured]
        texts = [hypotheses[0].text if hypotheses else "" for hypotheses in picked]
        return biased_errors(weighed.phrases, texts, references)

    old, new = errors_of(before), errors_of(after)
    rows = (
        ("B", "inside", old.errors_inside, new.errors_inside, old.units_inside),
        ("U", "outside", old.errors_outside, new.errors_outside, old.units_outside),
    )
    for kind, where, old_errors, new_errors, size in rows:
        if size:
            change = f"{100 * old_errors / size:.2f} -> {100 * new_errors / size:.2f} %"
            yield f"{kind}-{name} {change} of {size:,} units {where} of phrases"
