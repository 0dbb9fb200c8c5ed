"""n-gram models: log10 to natural log, boundaries, unknown words, bad files."""

import bz2
import gzip
import json
import lzma
import math
import pickle
import re
import sys

import numpy as np
import pytest

import tta
from tta.errors import InputError, install
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.files import score_file
from tta.scoring.scorers.inference.reading import unread_notes

# Back-off weights and log-probabilities are log10, fractions that are exact in binary.
ARPA = r"""
\data\
ngram 1=5
ngram 2=3

\1-grams:
-1.0	<unk>
-99	<s>	-0.5
-0.75	</s>
-0.5	the	-0.25
-0.625	cat	-0.125

\2-grams:
-0.25	<s> the
-0.375	the cat
-0.125	cat </s>

\end\
"""


@pytest.fixture
def arpa(tmp_path):
    path = tmp_path / "tiny.arpa"
    path.write_text(ARPA)
    return path


# text -> log10 of each word, then of </s>
SCORES = {
    "the cat": [-0.25, -0.375, -0.125],  # every bigram is in the model
    "cat the": [-0.5 - 0.625, -0.125 - 0.5, -0.25 - 0.75],  # no bigram is: back-off + unigram
    "the dog cat": [-0.25, -0.25 - 1.0, -0.625, -0.125],  # dog is <unk>, which has no back-off
    "The": [-0.5 - 1.0, -0.75],  # text is not changed: The is unknown, the is known
    " the\u00a0\tcat ": [-0.25, -0.375, -0.125],  # any white space
    "": [-0.5 - 0.75],
}


def test_scores_are_natural_logs_of_the_words(arpa):
    lm = tta.load(f"kenlm:{arpa}")
    expected = [math.log(10) * sum(values[:-1]) for values in SCORES.values()]
    sums, counts = lm.score_with_counts(list(SCORES))
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    assert counts.tolist() == [2, 2, 3, 1, 2, 0]
    assert (sums.dtype, counts.dtype) == (np.float64, np.int64)


def test_the_end_token_counts_when_boundary_tokens_do(arpa):
    lm = tta.load(f"kenlm:{arpa}", score_boundary_tokens=True)
    expected = [math.log(10) * sum(values) for values in SCORES.values()]
    sums, counts = lm.score_with_counts(list(SCORES))
    np.testing.assert_allclose(sums, expected, rtol=1e-12)
    assert counts.tolist() == [3, 3, 4, 2, 3, 1]
    assert "boundary_tokens:yes" in lm.signature


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed(arpa, tmp_path, pack):
    path = tmp_path / "tiny.arpa.packed"
    path.write_bytes(pack(ARPA.encode()))
    one, other = tta.load(f"kenlm:{arpa}"), tta.load(f"kenlm:{path}")
    assert other.score(list(SCORES)).tolist() == one.score(list(SCORES)).tolist()


def test_the_signature_shows_what_the_scores_depend_on(arpa):
    lm = tta.load(f"kenlm:{arpa}")
    assert re.fullmatch(
        r"model:tiny.arpa\|type:ngram\|order:2\|file:[0-9a-f]{8}\|boundary_tokens:no"
        rf"\|log:natural\|version:{re.escape(tta.__version__)}",
        lm.signature,
    )


def test_it_can_be_pickled_quietly(arpa, monkeypatch, capfd):
    monkeypatch.chdir(arpa.parent)
    pickled = pickle.dumps(tta.load(f"kenlm:{arpa.name}", score_boundary_tokens=True))
    monkeypatch.chdir("/")
    lm = pickle.loads(pickled)
    np.testing.assert_allclose(lm.score(["the cat"]), math.log(10) * sum(SCORES["the cat"]))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"hello\n", r'KenLM cannot read it: first non-empty line was "hello" not \data\. Byte: 6'),
        (b"", "KenLM cannot read it: End of file Byte: 0"),
        (ARPA[:89].encode(), "KenLM cannot read it: End of file in the 1-gram at byte"),
        (
            ARPA.replace("-0.625", "x").encode(),
            'KenLM cannot read it: Could not parse "x" into a float in the 1-gram at byte',
        ),
        (b"\x94\x83\xb4\n" * 40, "KenLM cannot read it: neither an ARPA file nor a binary"),
    ],
)
def test_a_bad_file_is_a_one_line_error(arpa, content, rule):
    arpa.write_bytes(content)
    with pytest.raises(InputError, match=f"^{re.escape(f'{arpa}: {rule}')}") as raised:
        tta.load(f"kenlm:{arpa}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("count", "rule"),
    [("-4", "must be an integer, not b'-4'"), ("x", "not b'x'"), ("5000000000", "5,000,000,003")],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_counts_that_kenlm_would_trust_are_refused(arpa, count, rule, pack):
    arpa.write_bytes(pack(ARPA.replace("ngram 1=5", f"ngram 1={count}").encode()))
    with pytest.raises(InputError, match=rf"tiny\.arpa: .*{rule}"):
        tta.load(f"kenlm:{arpa}")


def test_a_probability_of_zero_is_not_a_score(arpa):
    arpa.write_text(ARPA.replace("-0.625\tcat", "-inf\tcat").replace("-0.375", "-inf"))
    lm = tta.load(f"kenlm:{arpa}")
    assert np.isfinite(lm.score(["the"])).all()
    with pytest.raises(InputError, match=r"^sentence 2 gets a result from the model that is not a"):
        lm.score(["the", "the cat"])


def test_a_missing_file_and_standard_input(arpa):
    with pytest.raises(InputError, match=r"missing\.arpa: no such file$"):
        tta.load("kenlm:missing.arpa")
    with pytest.raises(InputError, match=r"^<stdin>: it is read more than once"):
        tta.load("kenlm:-")


def test_without_the_package_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "kenlm", None)
    message = f"tiny.arpa: an n-gram model needs the package kenlm: {install('kenlm')}"
    with pytest.raises(InputError, match=f"^{re.escape(message)}$"):
        tta.load("kenlm:tiny.arpa")


def test_unknown_words_are_those_that_kenlm_does_not_find(arpa):
    lm = tta.load(f"kenlm:{arpa}", score_boundary_tokens=True)
    texts = ["the cat", "THE CAT", "the cat, dog", "", " the\u00a0cat "]
    assert lm.count_unknown(texts).tolist() == [0, 2, 2, 0, 0]
    assert lm._num_tokens(texts).tolist() == [len(one.tokens) for one in lm.score_tokens(texts)]


UNREAD = [
    # lists, the number that the model cannot read, why
    ([["THE CAT", "THE"], ["the cat", "THE"]], 1, "one list has a known word"),
    ([["THE", ""], ["A", "B"], []], 2, "empty texts say nothing"),
    ([["the dog"], ["", ""]], 0, "some words are known"),
]


@pytest.mark.parametrize(("lists", "count", "why"), UNREAD, ids=[row[2] for row in UNREAD])
def test_lists_of_unknown_words_are_named(arpa, lists, count, why):
    lm, texts = tta.load(f"kenlm:{arpa}"), list({text for one in lists for text in one})
    notes = list(unread_notes(lm, lists, texts, lm.count_unknown(texts)))
    assert [f"cannot read {count} of {len(lists)} lists" in note for note in notes] == [True] * (
        count > 0
    ), why


def test_reranking_and_scoring_say_that_the_model_cannot_read(arpa, tmp_path):
    with pytest.warns(UserWarning, match="tiny.arpa cannot read 1 of 1 lists"):
        tta.rerank(["THE CAT", "A CAT"], [-1.0, -2.0], f"kenlm:{arpa}")
    rows = [{"text": "THE CAT", "score": -1}, {"text": "A CAT", "score": -2}]
    row = {"id": "u", "hypotheses": rows, "reference": "THE CAT"}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n")
    report = rerank_files(RerankConfig(nbest_file=str(tmp_path / "a.jsonl")), [f"kenlm:{arpa}"])
    assert any("tiny.arpa cannot read 1 of 1 lists" in note for note in report.notes)
    config = ScoreConfig(texts=["THE CAT"], output_file=str(tmp_path / "a.scores"))
    assert "the model cannot read the text" in str(score_file(config, f"kenlm:{arpa}"))


def test_common_words_have_a_probability_of_one_in_ten_thousand(arpa):
    words = "the", "cat", "dog"
    assert [tta.load(f"kenlm:{arpa}").is_common(word) for word in words] == [True, True, False]
    arpa.write_text(ARPA.replace("-0.625\tcat", "-4.125\tcat"))
    assert [tta.load(f"kenlm:{arpa}").is_common(word) for word in words] == [True, False, False]
