"""Phrases: how they are read and found, the rule of their weight, common words, B-WER and U-WER."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.fake_model import FakeModel
from tta.data.nbest.lists import Hypothesis, NBestList
from tta.errors import InputError
from tta.scoring.combining.decision import decide, select
from tta.scoring.combining.guess import first_pass_unit
from tta.scoring.combining.part import Part
from tta.scoring.combining.weights import PHRASES, RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.phrases.phrases import Phrases
from tta.scoring.phrases.weight import (
    BiasedErrors,
    biased_errors,
    phrase_notes,
    weigh_phrases,
)
from tta.scoring.scorers.scorer import Scorer

WER = load_metric("wer")
BASIC = load_metric("wer", normalize="basic")
CER = load_metric("cer")


READ = [  # lines, metric, {phrase: factor}, why
    (["new york"], WER, {("new", "york"): None}, "words"),
    ([" new  york ", "", "  "], WER, {("new", "york"): None}, "white space and blank lines"),
    (["London\t1.5", "ely\t0"], WER, {("London",): 1.5, ("ely",): 0.0}, "factors"),
    (["ely", "ely"], WER, {("ely",): None}, "twice"),
    (["O'Brien-Smith"], BASIC, {("o'brien", "smith"): None}, "as --normalize=basic reads words"),
    (["\uff21BB"], BASIC, {("abb",): None}, "full-width letters"),
    (["▁new ▁york"], WER, {("new", "york"): None}, "a tokenizer's spelling"),
    (["東京"], WER, {("東", "京"): None}, "characters without blanks"),
    (["the 東京 tower"], WER, {("the", "東", "京", "tower"): None}, "both"),
    (["ab c"], CER, {tuple("ab c"): None}, "characters for CER"),
    (["東 京"], CER, {("東", "京"): None}, "CER counts no blank there"),
    (['["new york",', '"ely"]'], WER, {("new", "york"): None, ("ely",): None}, "a JSON array"),
    (["john 3:16", "apollo 13"], WER, {("john", "3:16"): None, ("apollo", "13"): None}, "numbers"),
    (["ely,2\t1"], WER, {("ely,2",): 1.0}, "a sign and a number that belong to the phrase"),
    (["[ely] a"], WER, {("[ely]", "a"): None}, "no JSON"),
]


@pytest.mark.parametrize(("lines", "metric", "expected", "why"), READ)
def test_phrases_are_read_as_hypotheses_are(lines, metric, expected, why):
    assert Phrases(lines, metric).factors == expected, why


WRONG = [  # lines, metric, the error
    ([], WER, "f: expected phrases, one per line, got none"),
    (["", " "], WER, "f: expected phrases, one per line, got none"),
    (["a", "---"], BASIC, "f:2: expected a phrase of words, got '---'"),
    (["", "\t2"], WER, "f:2: expected a phrase of words, got '\\t2'"),
    (["<eps>"], WER, "f:1: expected a phrase of words, got '<eps>'"),
    (["a\t"], WER, "f:1: expected a finite number as factor of the phrase, got ''"),
    (["a\tb"], WER, "f:1: expected a finite number as factor of the phrase, got 'b'"),
    (["a\tnan"], WER, "f:1: expected a finite number as factor of the phrase, got 'nan'"),
    (["a\t1\t2"], WER, "f:1: expected a finite number as factor of the phrase, got '1\\t2'"),
    (["a\t-1"], WER, "f:1: the factor of a phrase must be between 0 and 100, not -1"),
    (["a\t101"], WER, "f:1: the factor of a phrase must be between 0 and 100, not 101"),
    (["b", "A\t1", "a\t2"], BASIC, "f:3: the phrase 'a' has two factors"),
    (['["a"]', '["b"]'], WER,
     "f:1: expected a phrase per line, without quotes, got a line of JSON: '[\"a\"]'"),
    (['{"phrases": ["a"]}'], WER,
     "f: expected lines of phrases, or a JSON array of strings, got other JSON"),
    (["[1]"], WER, "f: expected lines of phrases, or a JSON array of strings, got other JSON"),
    *(
        (
            ["b", line],
            WER,
            f"f:2: {line!r} looks like a phrase and its factor: write {phrase}<tab>{factor}, or "
            f"{line}<tab>1 if the number belongs to the phrase",
        )
        for line, phrase, factor in [
            ("ely :2.0", "ely", "2.0"),
            ("new york,2", "new york", "2"),
            ("ely:2", "ely", "2"),
            ("नमस्ते=3", "नमस्ते", "3"),
        ]
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "metric", "error"), WRONG)
def test_what_is_wrong_names_file_line_and_value(lines, metric, error):
    with pytest.raises(InputError) as caught:
        Phrases(lines, metric, "f")
    assert str(caught.value) == error


def twin(phrases, units):
    """Tries every phrase at every place: the longest one wins, and ends the others."""
    found, at = [], 0
    while at < len(units):
        here = [p for p in phrases if tuple(units[at : at + len(p)]) == p]
        if here:
            found.append((at, max(here, key=len)))
        at += max(map(len, here), default=1)
    return found


def test_the_matcher_is_its_twin_on_random_texts():
    rng = np.random.default_rng(0)
    for _ in range(200):
        lines = [" ".join(rng.choice([*"abc"], rng.integers(1, 5))) for _ in range(5)]
        phrases, units = Phrases(lines, WER), [*rng.choice([*"abcd"], 23)]
        assert phrases.find(units) == twin(phrases.factors, units), lines
    assert phrases.find([]) == []


SIZES = [  # line, metric, the size, why
    ("new york", WER, 2.0, "a word counts 1"),
    ("new york\t1.5", WER, 3.0, "times its factor"),
    ("東京駅", WER, 1.5, "two characters without blanks count as a word"),
    ("東京駅", CER, 1.5, "for CER, too"),
    ("seven", CER, 1.0, "five letters count as a word"),
]


@pytest.mark.parametrize(("line", "metric", "size", "why"), SIZES)
def test_what_a_phrase_adds(line, metric, size, why):
    phrases = Phrases([line], metric)
    (phrase,) = phrases.factors
    assert phrases.size(phrase) == pytest.approx(size), why


def lists(*rows, reference=None):
    """Scored lists of texts with their scores."""
    nbest = [
        NBestList(f"u{i}", tuple(Hypothesis(*pair) for pair in row.items()), reference)
        for i, row in enumerate(rows)
    ]
    return Part.build(nbest).compared(WER, measured=False).lists


# The scores are the logarithms of the posteriors.
PLAIN = RerankWeights(lm_weight=0.0, shares=(), scale=1.0)
ROWS = [
    {"i saw ely": math.log(0.25), "i saw a lie": math.log(0.75)},
    {"ely is far": math.log(0.5), "ely was far": math.log(0.125), "a lie": math.log(0.375)},
    {"no phrase": -1.0},
]


def test_the_rule_by_hand():
    phrases = Phrases(["ely", "far", "kathmandu"], WER)
    found = weigh_phrases(lists(*ROWS), phrases, PLAIN)
    believed = (0.25 + 0.625) / 2 + 0.625  # of "ely", the mean of two lists
    assert (len(found.present), found.num_lists) == (2, 3)
    assert found.share == pytest.approx((believed + 1) / (2 + 5))
    weight = 3.5 + 2.5 * math.log(found.share / (1 - found.share))
    assert 0 < weight < 4
    assert found.weight == pytest.approx(weight)
    unit = first_pass_unit(found.lists)
    assert found.weights.features == {PHRASES: pytest.approx(weight * unit, rel=1e-5)}
    expected = [[1, 0, 0], [2, 2, 0], [0, 0, 0]]
    assert found.lists.feature(PHRASES).tolist() == expected


def test_one_list_has_other_evidence_before_it():
    found = weigh_phrases(lists(ROWS[0]), Phrases(["ely"], WER), PLAIN)
    assert found.share == pytest.approx((0.25 + 0.7) / (1 + 2))
    empty = {}
    assert weigh_phrases(lists(ROWS[0], empty), Phrases(["ely"], WER), PLAIN).share == found.share
    assert weigh_phrases(
        lists(ROWS[0], ROWS[2]), Phrases(["ely"], WER), PLAIN
    ).share == pytest.approx((0.25 + 1) / (1 + 5))


def test_the_decision_max_has_the_evidence_of_guessed_posteriors():
    weights = RerankWeights(lm_weight=0.0, shares=())
    found = weigh_phrases(lists(*ROWS), Phrases(["ely"], WER), weights)
    assert 0 < found.share < 1
    assert found.share != (0.5 + 1) / (1 + 5)  # what posteriors of 0 and 1 would give


def test_phrases_that_nobody_says_change_no_pick():
    words = [f"w{i}" for i in range(20)]
    many = lists(*({"we sailed": -1.0, f"we {word}": -9.0} for word in words))
    phrases = Phrases(words, WER)
    found = weigh_phrases(many, phrases, PLAIN)
    assert (found.num_lists, found.weight) == (20, 0.0)
    assert (select(found.lists, found.weights) == select(many, PLAIN)).all()
    forced = weigh_phrases(many, phrases, PLAIN, 9.0)
    assert (select(forced.lists, forced.weights) != select(many, PLAIN)).all()


def test_phrases_that_are_said_are_picked_where_they_were_not():
    words = [f"w{i}" for i in range(20)]
    sure = [{f"at {word}": -1.0, "at all": -9.0} for word in words]
    unsure = {"to elly": -1.0, "to ely": -4.0}
    found = weigh_phrases(lists(*sure, unsure), Phrases([*words, "ely"], WER), PLAIN)
    assert found.weight == 4.0
    assert decide(found.lists, found.weights).picks.tolist() == [0] * 20 + [1]


def test_a_weight_that_is_known_stays():
    first = weigh_phrases(lists(*ROWS), Phrases(["ely"], WER), PLAIN, 2.5)
    assert first.weight == 2.5
    again = weigh_phrases(lists(ROWS[0]), Phrases(["ely"], WER), first.weights)
    assert again.weights == first.weights


class Model(Scorer):
    class tokenizer:  # noqa: N801
        class vocabulary:  # noqa: N801
            tokens = ("[UNK]", "a", "the", "##of", "London", *map("w{}x".format, "abcdefghijk"))


COMMON = [  # model, word, whether it is common, why
    (Scorer(), "the", True, "the vocabulary of the built-in model"),
    (Scorer(), "London", True, "a name, piece 1,786"),
    (Scorer(), "kathmandu", False, "a rare word"),
    (Scorer(), "grub", False, "it is made of common pieces, and rare"),
    (Scorer(), "girl's", True, "a common word and a letter"),
    (Scorer(), "o'brien", False, "a letter and a rare word"),
    (Scorer(), "42", False, "no word"),
    (FakeModel(), "the", True, "a model without a vocabulary"),
    (Model(), "the", True, "the first words of its vocabulary"),
    (Model(), "London", True, "without regard to case"),
    (Model(), "of", False, "a piece that begins no word"),
    (Model(), "wbx", False, "at most a quarter of a small vocabulary"),
]


@pytest.mark.parametrize(("lm", "word", "is_common", "why"), COMMON)
def test_common_words(lm, word, is_common, why):
    assert lm.is_common(word) is is_common, why


def test_common_words_are_left_out_unless_they_have_a_factor():
    every = Phrases(["the", "of the", "London\t1", "Ely"], WER)
    phrases = every.without_common(Scorer().is_common)
    assert [*phrases.factors] == [("of", "the"), ("London",), ("Ely",)]
    assert phrases.find(["the"]) == [] != every.find(["the"])
    _, note, *_ = phrase_notes(weigh_phrases(lists(*ROWS), phrases, PLAIN), np.zeros(3, int))
    assert note.text.startswith("common words among the phrases were left out: 1, such as 'the'; ")


BIASED = [  # text, reference, errors and words in phrases, and of the others; why
    ("a ely b", "a ely b", [0, 1], [0, 2], "all right"),
    ("a lie b", "a ely b", [1, 1], [0, 2], "a substitution belongs to the reference's word"),
    ("a b", "a ely b", [1, 1], [0, 2], "a deletion"),
    ("a ely b", "a b", [1, 0], [0, 2], "an insertion of a phrase"),
    ("a ely b", "a lie b", [0, 0], [1, 3], "a phrase in place of another word"),
    ("in york", "in new york", [1, 2], [0, 1], "a word of a longer phrase"),
    ("york new", "york new", [0, 0], [0, 2], "its words elsewhere are others"),
]


@pytest.mark.parametrize(("text", "reference", "inside", "outside", "why"), BIASED)
def test_b_wer_and_u_wer_by_hand(text, reference, inside, outside, why):
    phrases = Phrases(["ely", "new york"], WER)
    found = biased_errors(phrases, [text], [reference])
    assert found == BiasedErrors(*inside, *outside), why


def test_the_notes_give_counts_changed_picks_and_rates():
    rows = [{"at ely": -1.0, "at all": -9.0}] * 20 + [{"at elly": -1.0, "at ely": -4.0}]
    nbest, phrases = lists(*rows, reference="at ely"), Phrases(["ely", "kathmandu"], WER)
    found = weigh_phrases(nbest, phrases, PLAIN)
    notes = list(map(str, phrase_notes(found, select(nbest, PLAIN))))
    assert notes == [
        "1 of 2 phrases stand in lists, 21 times, of which 33% are believed; with the weight 1.68 "
        "they change 1 of 21 picks",
        "B-WER 4.76 -> 0.00 % of 21 units inside of phrases",
        "U-WER 0.00 -> 0.00 % of 21 units outside of phrases",
    ]


def test_lists_without_a_reference_have_no_rate():
    nbest, phrases = lists(*ROWS[:2], reference="ely is far"), Phrases(["ely"], WER)
    alone = replace(nbest.nbest[0], reference=None)
    found = weigh_phrases(replace(nbest, nbest=[alone, nbest.nbest[1]]), phrases, PLAIN)
    *_, inside, outside = map(str, phrase_notes(found, np.zeros(2, int)))
    assert inside == "B-WER 0.00 -> 0.00 % of 1 units inside of phrases"
    assert outside == "U-WER 0.00 -> 0.00 % of 2 units outside of phrases"


SPELLED = [  # phrases, how many stand in the lists in another case or with signs, why
    (["Ely"], 1, "another case"),
    (["ely", "Far", "A Lie"], 2, "some are spelled as the lists are"),
    (["ely!", "kathmandu"], 1, "a sign"),
    (["ely", "Kathmandu", "---"], 0, "a phrase that is nowhere, and one of signs"),
]


@pytest.mark.parametrize(("lines", "count", "why"), SPELLED)
def test_another_spelling_of_phrases_is_pointed_out(lines, count, why):
    weighed = weigh_phrases(lists(*ROWS), Phrases(lines, WER), PLAIN)
    every = map(str, phrase_notes(weighed, np.zeros(3, int)))
    notes = [note for note in every if "another case" in note]
    assert [f"punctuation: {count}, such as" in note for note in notes] == [True] * bool(count), why


WORDS = [  # text, metric, the words in phrases, why
    ("To Ely, by car", BASIC, [False, True, False, False], "a sign beside it"),
    ("- ely -", BASIC, [False, True, False], "words that are not compared"),
    ("an ely", CER, [False, True], "blanks count for CER"),
    ("東京 ely", WER, [False, True], "characters before it"),
]


@pytest.mark.parametrize(("text", "metric", "inside", "why"), WORDS)
def test_words_in_phrases(text, metric, inside, why):
    assert Phrases(["ely"], metric).words_inside(text) == inside, why


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_phrases_weigh_nothing_for_metrics_of_translations(name):
    """Also where no phrase stands in a list; their errors are no words, so there is no rate."""
    for lines in ["ely"], ["Kathmandu"]:
        weighed = weigh_phrases(
            lists(*ROWS, reference="ely"), Phrases(lines, load_metric(name)), PLAIN
        )
        assert weighed.weight == 0
        assert len([*phrase_notes(weighed, np.zeros(3, int))]) == 1
