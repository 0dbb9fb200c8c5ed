"""Candidates of short lists: which words become a phrase, and what the new hypotheses are worth."""

import math
from dataclasses import replace

import pytest

from tta.data.nbest.lists import Hypothesis, NBestList
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import RANK
from tta.scoring.metrics.metric import load_metric
from tta.scoring.phrases.candidates import with_candidates
from tta.scoring.phrases.phrases import Phrases, candidate_of

WER, CER = load_metric("wer"), load_metric("cer")
BASIC = load_metric("wer", normalize="basic")


def candidates(texts, lines, metric=WER, scores=None):
    scores = scores or [-float(i) for i in range(len(texts))]
    hypotheses = tuple(Hypothesis(*pair) for pair in zip(texts, scores, strict=True))
    part = with_candidates(Part.build([NBestList("u", hypotheses)]), Phrases(lines, metric))
    assert [h.text for h in part.nbest[0].hypotheses[: len(texts)]] == texts
    return part, [*part.nbest[0].hypotheses[len(texts) :]]


SPELLED = [  # texts, phrases, metric, the new texts, why
    (["to katmandu now"], ["kathmandu"], WER, ["to kathmandu now"], "a letter is missing"),
    (["to cat mandu now"], ["kathmandu"], WER, ["to kathmandu now"], "several words become one"),
    (["in newyork"], ["new york"], WER, ["in new york"], "a word becomes several"),
    (["in Newyork"], ["New York"], BASIC, ["in New York"], "as the phrase is written"),
    (["to kathmandu now"], ["kathmandu"], WER, [], "it is there"),
    (["to london now"], ["kathmandu"], WER, [], "another word"),
    (["a lie"], ["ely"], WER, [], "too many letters of a short word"),
    (["katmandu", "kathmandu"], ["kathmandu"], WER, [], "another hypothesis has it"),
    (["katmandu katmandu"], ["kathmandu"], WER, ["kathmandu katmandu", "katmandu kathmandu"], "1"),
    (["我在北京大雪"], ["北京大学"], WER, ["我在北京大学雪", "我在北京大学"], "no blanks"),
    (["我在北京大雪"], ["北京大学"], CER, ["我在北京大学雪", "我在北京大学"], "CER"),
    ([], ["kathmandu"], WER, [], "an empty list"),
    ([""], ["kathmandu"], WER, [], "no text"),
    (["to katmandu now", *"abcdefghij"], ["kathmandu"], WER, [], "a long list"),
]


@pytest.mark.parametrize(("texts", "lines", "metric", "expected", "why"), SPELLED)
def test_words_that_are_spelled_like_a_phrase_become_it(texts, lines, metric, expected, why):
    _, found = candidates(texts, lines, metric)
    assert [h.text for h in found] == expected, why
    assert {candidate_of(h) for h in found} <= {*lines}


def test_a_candidate_has_the_rank_of_its_hypothesis_and_its_score_less_the_edits():
    part, (one,) = candidates(["a b", "to katmandu"], ["kathmandu"], scores=[-1.0, -4.0])
    given = replace(part.nbest[0], hypotheses=part.nbest[0].hypotheses[:2])
    assert one.score == pytest.approx(-4.0 - 5.0 * first_pass_unit(Part.build([given]).lists))
    ranks = part.lists.feature(RANK)[0].tolist()
    assert ranks == pytest.approx([0.0, -math.log(2), -math.log(2)])


def test_lists_without_scores_get_the_score_of_the_rank():
    hypotheses = (Hypothesis("a b", None), Hypothesis("to katmandu", None))
    before = Part.build([NBestList("u", hypotheses)])
    part = with_candidates(before, Phrases(["kathmandu"], WER))
    (*_, one) = part.nbest[0].hypotheses
    assert part.lists.ranked
    assert one.score == pytest.approx(-math.log(2) - 5.0 * first_pass_unit(before.lists))


def test_the_closest_are_kept():
    names = [f"{a}{b}cdefghijkl" for a in "abcdefghij" for b in "bcdefghijk"]
    _, found = candidates(["zbcdefghijkl"], names)
    assert len(found) == 50
    assert all(h.text[1] == "b" for h in found[:10])
