"""Minimal pairs scored by every kind of model, and sentences that are scored once."""

import functools
import json
import re
import sys

import numpy as np
import pytest

import tta
from tests.modeling.formats import test_bert
from tests.scoring.scorers.test_ngram_model import ARPA
from tests.tiny import of_family, write_model_directory
from tta.errors import InputError
from tta.scoring.minimal_pairs.files import score_pairs
from tta.scoring.scorers.config import ScoreConfig
from tta.scoring.scorers.options import ScoreOptions

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
PAIRS = [
    ("the cat sat on the mat", "the cat sat on on mat"),
    ("the cat", "cat the"),
    ("cat ran the", "the cat"),
    ("a cat sat on the mat", "the cat sat on on mat"),
    ("the cat sat", "cat the sat"),
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{good}\t{bad}\n" for good, bad in PAIRS))
    return path


@pytest.fixture(scope="module")
def make(tmp_path_factory):
    """The argument of `tta.load` for a small model of a kind, which is made once."""
    return functools.cache(lambda kind: written(kind, tmp_path_factory.mktemp(kind)))


def written(kind, folder):
    if kind == "kenlm":
        (folder / "lm.arpa").write_text(ARPA)
        return f"kenlm:{folder / 'lm.arpa'}"
    folder = folder / "model"
    folder.mkdir()
    if kind not in ("google", "huggingface"):
        return str(write_model_directory(folder, of_family(kind)))
    variables = test_bert.google_variables()
    if kind == "google":
        test_bert.write_google(folder, variables)
    else:
        test_bert.write_huggingface(folder, test_bert.huggingface_tensors(variables))
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token in test_bert.TOKENS))
    return str(folder)


@pytest.mark.parametrize(
    "kind", ["tta", "bilm", "unilm", "cloze", "google", "huggingface", "kenlm"]
)
def test_every_kind_of_model_is_measured(kind, pairs, make, tmp_path):
    model = make(kind)
    output = tmp_path / "out.jsonl"
    report = score_pairs(ScoreConfig(pairs=[str(pairs)], output_file=str(output)), model)
    lm = tta.load(model)
    expected = np.array([[lm.score([sentence])[0] for sentence in pair] for pair in PAIRS])
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    found = [(row["score_good"], row["score_bad"]) for row in rows]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert report.overall.value == 100 * np.mean(expected[:, 0] > expected[:, 1])
    assert str(report).startswith("1 file, 5 pairs, 8 distinct sentences\n")
    assert str(report).splitlines()[-1].startswith(lm.signature)


@pytest.mark.parametrize("kind", ["tta", "bilm", "kenlm"])
def test_a_terminal_shows_a_progress_bar(kind, pairs, make, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    score_pairs(ScoreConfig(pairs=[str(pairs)]), make(kind))
    assert re.search(r"scoring: 100%.* 8(\.00)?/8", capsys.readouterr().err)


def test_options_reach_the_model(pairs, make):
    model = make("tta")
    config = ScoreConfig(pairs=[str(pairs)])
    report = score_pairs(
        config, model, ScoreOptions(pll_variant="within_word_l2r", score_boundary_tokens=True)
    )
    assert "|pll:within_word_l2r|normalizer:exact|boundary_tokens:yes|" in report.signature


def test_sentences_that_the_model_reads_as_the_same_tokens_are_a_tie(make, tmp_path):
    model = make("tta")
    path, output = tmp_path / "pairs.tsv", tmp_path / "out.jsonl"
    others = "".join(
        f"the cat sat on {'a ' * n}\tthe dog sat on {'a ' * n}\n" for n in range(1, 40)
    )
    path.write_text(f"The CAT sat on a\tthe cat sat  on a\n{others}")
    report = score_pairs(ScoreConfig(pairs=[str(path)], output_file=str(output)), model)
    assert report.overall.ties == 1
    assert report.num_sentences == 2 * 39  # the tie is also the first sentence of `others`
    row = json.loads(output.read_text().splitlines()[0])
    assert (row["difference"], row["correct"]) == (0.0, False)


def test_a_sentence_that_is_too_long_is_refused_with_its_line(pairs, make):
    model = make("tta")
    with open(pairs, "a") as stream:
        stream.write(f"the cat\t{'the cat ' * 9}\n")
    with pytest.raises(InputError, match=r"pairs\.tsv:6: sentence_bad has 18 pieces, the model"):
        score_pairs(ScoreConfig(pairs=[str(pairs)]), model, ScoreOptions(long_sentences="refuse"))


def test_a_sentence_without_tokens_is_noted(make, tmp_path):
    model = make("tta")
    path = tmp_path / "pairs.jsonl"
    path.write_text(json.dumps({"sentence_good": "the cat", "sentence_bad": "\u0301 \x00"}))
    report = score_pairs(ScoreConfig(pairs=[str(path)]), model)
    assert "note: without a token to score, so score 0: 1 sentence\n" in str(report)
    assert report.overall.value == 0


def test_a_pair_with_an_empty_sentence_is_a_tie_and_noted(make, tmp_path):
    """The score of nothing is 0, which is higher than that of any sentence."""
    model, output = make("tta"), tmp_path / "scores.jsonl"
    path = tmp_path / "pairs.tsv"
    path.write_text("the cat\tcat the cat\n\tthe cat\nthe cat\t\n")
    report = score_pairs(ScoreConfig(pairs=[str(path)], output_file=str(output)), model)
    assert report.overall.ties == 2
    assert f"note: with such a sentence, and so a tie: 2 pairs (first: {path}:2)\n" in str(report)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["difference"] == 0 for row in rows] == [False, True, True]
    assert not any(row["correct"] for row in rows[1:])


def test_a_model_without_scores_is_refused(pairs, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("the 1 2\ncat 3 4\n")
    with pytest.raises(InputError, match="no sentence scores"):
        score_pairs(ScoreConfig(pairs=[str(pairs)]), f"glove:{vectors}")
