"""Lists of several utterances, references of other lists, and costs in no order: notes."""

import json

import pytest

from tests.data.nbest.test_rows import LISTS
from tta.data.nbest.files import read_nbest
from tta.data.nbest.notes import feature_notes, mixture_notes
from tta.errors import InputError

MIXED = "lists have little in common, like those of different utterances"
STRANGE = "lists have little in common with their hypotheses"


def rows(lists):
    return "".join(
        json.dumps({"id": str(i), "hypotheses": [{"text": t, "score": -1.0} for t in one]}) + "\n"
        for i, one in enumerate(lists)
    )


FIRSTS = [one[0] for one in LISTS]
FILES = [
    (rows(LISTS), "", "lists"),
    (rows([LISTS[0][:2] + LISTS[2][:2] + LISTS[4][:2]]), MIXED, "one id for all"),
    (rows([FIRSTS[:3], FIRSTS[3:]]), MIXED, "turns"),
    ("".join(f"0 ||| {t} ||| -1\n" for one in LISTS for t in one), MIXED, "ids of Moses, all 0"),
    ("".join(f"u\t{t}\t-1\n" for t in FIRSTS), MIXED, "a table"),
    (rows([["no", "the rush vegetation", "the rush"], ["yes"], []]), "", "short ones and parts"),
    (rows([["a", *FIRSTS]]), MIXED, "the first text of one character says nothing of the others"),
]


@pytest.mark.parametrize(("text", "note", "why"), FILES, ids=[row[2] for row in FILES])
def test_lists_that_mix_utterances_are_noted(write, text, note, why):
    found = list(mixture_notes(read_nbest(write(text))))
    assert len(found) == bool(note), why
    assert all((note in one and "; first '0'" in one) or "'u'" in one for one in found)


@pytest.mark.parametrize(
    ("references", "note"),
    [
        (FIRSTS, False),
        ([text.upper() for text in FIRSTS], False),
        (FIRSTS[::-1], True),
        (["the senate met for the second time this year"] * 6, True),
        (["a", "b", "c", "", "no", "yes"], False),
    ],
)
def test_references_of_other_lists_are_noted(write, references, note):
    file = read_nbest(write(rows(LISTS)), reference_file=write("\n".join(references) + "\n"))
    found = list(mixture_notes(file))
    assert [STRANGE in one and "first '0'" in one for one in found] == [True] * note


@pytest.mark.parametrize(
    "name", ["nll", "loss", "cost", "neg_log_likelihood", "negative_log_prob", "ppl", "perplexity"]
)
def test_costs_alone_are_noted_if_they_contradict_the_order(write, name):
    text = '{"hypotheses": [{"text": "a", "NAME": 9}, {"text": "b", "NAME": 3}]}\n'.replace(
        "NAME", name
    )
    (note,) = feature_notes(read_nbest(write(text)))
    assert (
        f"does not have the lowest {name}; pass score_field='{name}' and use scores='cost'" in note
    )
    (note,) = feature_notes(read_nbest(write(text)), in_memory=True)
    assert note.endswith(f"does not have the lowest {name}; pass its negatives as scores to use it")
    assert not list(feature_notes(read_nbest(write(text.replace("9", "1")))))


def test_two_speakers_of_espnet1_are_refused(write):
    outputs = [
        {"name": f"target{t}[{n}]", "rec_text": f"{t} {n}<eos>", "score": -n, "text": f"r{t}"}
        for t in (1, 2)
        for n in (1, 2)
    ]

    def file(outputs):
        return write(json.dumps({"utts": {"u": {"output": outputs}}}))

    with pytest.raises(InputError, match="one target with one reference"):
        read_nbest(file(outputs))
    with pytest.raises(InputError, match=r"got \[\], \['r1', 'r1', 'r2', 'r2'\]"):
        read_nbest(file([{k: v for k, v in one.items() if k != "name"} for one in outputs]))
    assert read_nbest(file(outputs[:2])).lists[0].reference == "r1"
