"""The output of fairseq-generate: what is read from each kind of line, and what is written."""

import dataclasses
import io
import math

import pytest

from tta.data.nbest.files import read_nbest, write_nbest
from tta.errors import InputError

BIT = math.log(2)

LOG = (
    "2026-01-02 03:04:05 | INFO | fairseq_cli.generate | {'task': 'translation'}\n"
    "WARNING: a library\n"
)
# Two hypotheses per sentence, sorted by length as fairseq does; two of them interleave.
OUTPUT = (
    "S-10\tdas ist gut\nT-10\tthat is good\n"
    "H-10\t-0.5\tthat 's good\nD-10\t-0.5\tthat's good\nP-10\t-0.25 -0.5000 -0.7500\n"
    "A-10\t0-0 1-1\n"
    "H-10\t-0.75\tgood\nD-10\t-0.75\tgood\nP-10\t-0.5000 -1.0000\n"
    "S-2\tja\nT-2\tyes\n"
    "H-2\t-1.5\tyes\nD-2\t-1.5\tyes\n"
    "S-0\tx\nT-0\ty\nH-0\t-2.0\ty\nD-0\t-2.0\ty\nP-0\t-4.0\n"
    "P-2\t-1.0000 -2.0000\n"
)
END = "2026-01-02 | INFO | fairseq_cli.generate | NOTE: hypothesis and token scores are in base 2\n"
FILE = LOG + OUTPUT + END + "Generate test with beam=2: BLEU4 = 30.00, 60.0/40.0\n"


def written(lists):
    stream = io.StringIO()
    write_nbest(stream, lists, "fairseq")
    return stream.getvalue()


def test_token_scores_make_the_score_of_the_whole_hypothesis(write):
    file = read_nbest(write(FILE))
    assert file.format == "fairseq"
    assert [one.utterance_id for one in file.lists] == ["10", "2", "0"]
    assert [one.reference for one in file.lists] == ["that is good", "yes", "y"]
    first = file.lists[0].hypotheses
    assert [h.text for h in first] == ["that's good", "good"], "detokenized"
    assert [h.score for h in first] == pytest.approx([-1.5 * BIT, -1.5 * BIT])
    assert [h.features for h in first] == [{"normalized_score": -0.5}, {"normalized_score": -0.75}]
    assert file.lists[1].hypotheses[0].score == pytest.approx(-3 * BIT)


def test_without_token_scores_the_score_is_per_token(write):
    text = "".join(line for line in FILE.splitlines(True) if line[:2] not in ("P-", "D-"))
    first, *_ = read_nbest(write(text)).lists
    assert [(h.text, h.score, h.features) for h in first.hypotheses] == [
        ("that 's good", pytest.approx(-0.5 * BIT), {}),
        ("good", pytest.approx(-0.75 * BIT), {}),
    ]


@pytest.mark.parametrize("kinds", ["D", "DP", "H", "HP", "HD", "HDP", "SH", "STHDP"])
def test_any_kinds_of_lines_come_back(write, kinds):
    """Unchanged lists are the same lines; new scores and orders are read back."""
    lines = [line for line in OUTPUT.splitlines(True) if line[0] in kinds]
    lists = read_nbest(write("".join(lines))).lists
    assert sorted(written(lists).splitlines(True)) == sorted(lines)

    best_last = [dataclasses.replace(one, hypotheses=one.hypotheses[::-1]) for one in lists]
    assert read_nbest(write(written(best_last))).lists == best_last, "P- lines moved along"

    reranked = [
        dataclasses.replace(
            one,
            hypotheses=tuple(
                dataclasses.replace(h, score=-(2.0 ** (i - 1)))
                for i, h in enumerate(one.hypotheses)
            ),
        )
        for one in best_last
    ]
    back = read_nbest(write(written(reranked))).lists
    assert back == reranked, "new scores; features as before"
    assert written(back) == written(reranked)


def test_only_some_scores_are_new(write):
    lists = read_nbest(write("H-0\t-1\ta\nP-0\t-1 -2\nH-0\t-2\tb\nP-0\t-2 -2\n")).lists
    a, b = lists[0].hypotheses
    lists = [dataclasses.replace(lists[0], hypotheses=(a, dataclasses.replace(b, score=-1.0)))]
    back = read_nbest(write(written(lists))).lists
    assert back == lists


def test_a_long_log_does_not_hide_the_format(write):
    assert read_nbest(write(LOG * 30 + FILE)).format == "fairseq"


def test_the_line_of_an_error_counts_the_log(write):
    with pytest.raises(InputError, match=r"input0:3: expected a finite number as score, got ''"):
        read_nbest(write(LOG + "H-0\n" + OUTPUT))
