"""What the scores of a file are: notes, and conversions in both directions."""

import dataclasses
import math

import pytest

from tests.data.nbest.test_files import nbest
from tta.data.nbest.files import NBestFile, read_nbest, write_nbest
from tta.data.nbest.notes import (
    blank_notes,
    bleu_notes,
    feature_notes,
    score_notes,
    text_notes,
)
from tta.errors import InputError

ROWS = "u\ta\t{}\nu\tb\t{}\n"


@pytest.mark.parametrize(
    ("kind", "scores", "expected"),
    [
        (None, (-1.5, -2), (-1.5, -2.0)),
        ("log_probability", (-1.5, -2), (-1.5, -2.0)),
        ("cost", (1.5, 0), (-1.5, 0.0)),
        ("probability", (0.5, 1), (math.log(0.5), 0.0)),
    ],
)
def test_scores_become_natural_logs(write, kind, scores, expected):
    (one,) = read_nbest(write(ROWS.format(*scores)), scores=kind).lists
    assert one == nbest("u", *zip("ab", expected, strict=True))
    assert not any(str(h.score) == "-0.0" for h in one.hypotheses)


def test_costs_of_kaldi_may_be_log_likelihoods(write, tmp_path):
    texts, costs = write("u-1 a\nu-2 b\n"), write("u-1 -5\nu-2 -6\n")
    file = read_nbest(texts, score_file=costs, scores="log_probability")
    assert file.lists == [nbest("u", ("a", -5.0), ("b", -6.0))]
    write_nbest(tmp_path / "out", file.lists, "kaldi", scores="log_probability")
    assert (tmp_path / "out.scores").read_text() == "u-1 -5.0\nu-2 -6.0\n"


def test_costs_are_written_as_costs(write, tmp_path):
    path = write(ROWS.format(1.5, 2.0))
    file = read_nbest(path, scores="cost")
    write_nbest(tmp_path / "out", file.lists, "tsv", scores="cost")
    assert (tmp_path / "out").read_text() == path.read_text()


@pytest.mark.parametrize("score", ["1.5", "-0.1"])
def test_a_probability_is_between_0_and_1(write, score):
    with pytest.raises(InputError, match="input0: list 'u': expected a probability between 0 and"):
        read_nbest(write(ROWS.format(0.5, score)), scores="probability")


@pytest.mark.parametrize("number", ["1.5e155", "-1.7e308"])
@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("u\ta\t-1\nu\tb\tX\n", ":2: "),
        ("0 ||| a ||| lm= X ||| -1\n0 ||| b ||| lm= -1 ||| -2\n", ":1: "),
        ('{"v":{"hyp_1":{"text":"a","score":X},"hyp_2":{"text":"b","score":-2}}}', ": list 'v': "),
        ('[{"input":["a","b"],"output":"a","am_score":[1,X],"lm_score":[1,2]}]', ": item 0: "),
        ("id,text,score,am\nu,a,-1,-1\nu,b,-1,X\n", ":3: "),
    ],
)
def test_numbers_whose_squares_are_infinite_are_refused(write, text, place, number):
    rule = f"{place}.*expected a number of at most 1e.100 in size as .*, got {number[:3]}"
    with pytest.raises(InputError, match=rule):
        read_nbest(write(text.replace("X", number)))


COSTS = "like costs; if they are, use scores='cost'"
SHARES = "between 0 and 1, like probabilities"
POSITIVE = "all positive"


def lists(*scores):
    return [
        nbest(str(i), *((str(j), score) for j, score in enumerate(one)))
        for i, one in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("found", "format", "note", "why"),
    [
        (lists([-1.0, -2.0], [-3.0, -3.5]), "jsonl", None, "log-probabilities"),
        (lists(*[[1.0, 2.0, 2.5]] * 4), "jsonl", COSTS, "costs"),
        (lists([1.0, 2.0], [3.0, 3.5]), "jsonl", POSITIVE, "so few may rise by chance"),
        (lists(*[[-2.0, -1.0, -0.5]] * 4, [-3.0, -2.0]), "jsonl", COSTS, "rising, though negative"),
        (lists(*[[-1.0, -2.0]] * 2, [-2.0, -1.0]), "jsonl", None, "one list of three rises"),
        (lists(*[[1.0, 2.0]] * 19, [2.0, 1.0]), "jsonl", COSTS, "nearly all lists"),
        (lists([0.9, 0.1], [0.5, 0.4]), "jsonl", SHARES, "probabilities"),
        (lists([0.0, 0.0]), "jsonl", None, "no probabilities, but all equal"),
        (lists([2.0, 1.0], [3.0, 2.0]), "jsonl", POSITIVE, "falling, though positive"),
        (lists([95.0, 5.0], [100.0, 0.0]), "jsonl", POSITIVE, "percent"),
        (lists([5.0, 0.0]), "kaldi", "like log-likelihoods", "a cost of 0 among negative ones"),
        (lists([1.0, 2.0]), "sockeye", "like log-likelihoods", "log-probabilities of Sockeye"),
        (lists([-1.0, -2.0]), "sockeye", None, "its costs"),
        (lists([-1.0], [-2.0]), "jsonl", None, "one hypothesis each"),
        (lists([5.0, 6.0], [9.0, 3.0]), "kaldi", "like log-likelihoods", "negative costs"),
        (lists([-5.0, -6.0]), "kaldi", None, "costs"),
        (lists([297.0, 296.0]), "responses", None, "log-likelihoods of Vosk"),
        (lists([None, None]), "jsonl", None, "no scores"),
    ],
)
def test_a_note_says_that_scores_look_wrong(found, format, note, why):
    notes = list(score_notes(NBestFile(found, format)))
    assert len(notes) == (note is not None), why
    assert note is None or note in notes[0], why


def test_a_feature_of_some_hypotheses_is_left_out_with_a_note():
    one = nbest("u", ("a", None, {"confidence": 0.9, "lm": 1.0}), ("b", None, {"lm": 2.0}))
    (note,) = feature_notes(NBestFile([one], "responses"))
    assert note == "the feature confidence is left out: only 1 of 2 hypotheses have it"
    full = dataclasses.replace(one, hypotheses=one.hypotheses[1:])
    assert not list(feature_notes(NBestFile([full], "responses")))


@pytest.mark.parametrize(
    ("texts", "reference", "note"),
    [
        (
            ["甚至出现交易几乎停滞的情况", "一二线城市虽然也处于调整中"],
            None,
            "the hypotheses have no",
        ),
        (["สวัสดีครับผมชื่อ"], None, "the "),
        (["打 开 窗 户"], "打开窗户", "the references have no blanks"),
        (["yes", "no"], None, None),
        (["甚至 出现", "交易 几乎"], None, None),
        ([""], None, None),
    ],
)
def test_a_note_says_that_texts_have_no_blanks(texts, reference, note):
    one = nbest("u", *((text, None) for text in texts), reference=reference)
    notes = list(blank_notes(NBestFile([one], "jsonl")))
    assert len(notes) == (note is not None)
    assert all(x.startswith(note) for x in notes)


@pytest.mark.parametrize(
    ("texts", "has_note"),
    [
        (["1024 33 7", "1024 34 7"], True),
        (["1 2 3", "7 7"], False),
        (["in 2024", "in 2025"], False),
        (["", "12345"], True),
    ],
)
def test_a_note_says_that_words_are_numbers(texts, has_note):
    one = nbest("u", *((text, None) for text in texts))
    notes = list(text_notes(NBestFile([one], "kaldi")))
    assert len(notes) == has_note
    assert all("int2sym.pl" in note for note in notes)


def test_a_feature_of_one_file_is_left_out_with_a_note():
    dev, test = (
        NBestFile([nbest("u", ("a", -1.0, {"lm": -1.0, name: -2.0}))], "jsonl") for name in "xy"
    )
    for file, name in ((dev, "x"), (test, "y")):
        (note,) = feature_notes(file, [dev, test])
        assert note == f"the feature {name} is left out: the other file does not have it"
    assert not list(feature_notes(dev, [dev, dev]))


@pytest.mark.parametrize(
    ("shares", "name", "score", "has_note"),
    [
        ([0.5, 0.9], "confidence", None, True),
        ([0.9, 0.5], "confidence", None, False),
        ([0.5, 0.9], "confidence", -1.0, False),
        ([0.5, 0.9], "nll", None, False),
        ([-9.0, -2.0], "avg_logprob", None, True),
    ],
)
def test_a_note_says_that_confidences_contradict_the_order(shares, name, score, has_note):
    one = nbest("u", *(("a", score, {name: share}) for share in shares))
    notes = list(feature_notes(NBestFile([one], "responses")))
    assert len(notes) == has_note
    assert all(
        f"in 1 of 1 lists the first one does not have the highest {name}" in n for n in notes
    )


TOKENISED = "look tokenised, first"
BLANKS = "have no blanks, so each counts as one word; bleu_tokenize='zh'"


@pytest.mark.parametrize(
    ("texts", "reference", "tokenize", "note"),
    [
        (["a cat .", "a hat ."], None, "13a", f"the hypotheses {TOKENISED} 'a cat .'"),
        (["a cat , a hat"], None, "intl", f"the hypotheses {TOKENISED}"),
        (["do n't go"], None, "13a", f"the hypotheses {TOKENISED}"),  # Penn Treebank
        (["don 't go"], None, "13a", f"the hypotheses {TOKENISED}"),  # Moses
        (["a cat."], "a cat .", "13a", f"the references {TOKENISED} 'a cat .'"),
        (["a cat ."], None, "none", None),  # as it should be
        (["a cat.", "a hat, .", "a bat."], None, "13a", None),  # mostly plain
        (["don't go", "it's here", "in 1990 ."], None, "13a", None),
        (["où vas-tu ?"], None, "13a", None),  # French has this blank
        (["a cat"], "a cat", "13a", None),
        (["打开窗户", "打开窗"], None, "13a", f"the hypotheses {BLANKS}"),
        (["打 开"], "打开窗户", "none", f"the references {BLANKS}"),
        (["打开窗户"], None, "char", None),
        (["打开窗户"], None, "zh", None),
    ],
)
def test_a_note_for_bleu_names_the_tokenizer_that_fits(texts, reference, tokenize, note):
    one = nbest("u", *((text, None) for text in texts), reference=reference)
    found = list(bleu_notes(NBestFile([one], "moses"), tokenize))
    assert len(found) == (note is not None)
    assert all(one.startswith(note) and "bleu_tokenize=" in one for one in found)
