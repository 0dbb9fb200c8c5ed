"""Confidences of words: twins of the shares and of the fit, and input that is out of the way."""

import csv
import gzip
import json
import re
import warnings

import numpy as np
import pytest

import tta
from tests.commands import run_command
from tta.errors import InputError
from tta.scoring.combining.decision import decide
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import load_metric
from tta.scoring.reranking.comparing import compare, lay_out
from tta.scoring.reranking.reading import read_lists
from tta.scoring.scorers.scorer import Scorer, TokenScores
from tta.scoring.words.confidence import (
    Confidences,
    ConfidenceWeights,
    confidences_of,
    default_weights,
    fit_logistic,
)
from tta.scoring.words.evidence import MODEL_UNITS, UNITS, find_evidence

FIRST = RerankWeights(0.0, shares=(), scale=1.0)
COLUMN = {name: i for i, name in enumerate(UNITS)}


class Letters(Scorer):
    """A token per two letters; the i-th token of a text has the log-probability -i."""

    name = "letters"

    def score_tokens(self, texts, progress=False):
        tokens = [
            [w[i : i + 2] for w in text.split() for i in range(0, len(w), 2)] for text in texts
        ]
        return [TokenScores(one, -np.arange(len(one), dtype=float)) for one in tokens]


def evidence(texts, scores, metric="wer", lm=None, references=None, normalize="none"):
    metric = load_metric(metric, normalize=normalize)
    part = compare(lay_out(read_lists(texts, scores, references=references)), metric).test
    return find_evidence(decide(part.lists, FIRST), metric, lm)


def masses(found, name):
    """The inverse of the logit with a floor."""
    odds = np.exp(found.values[:, COLUMN[name]])
    return (odds * 1.001 - 0.001) / (1 + odds)


def table(first, second):
    """The NumPy twin of the alignment: which words of `first` stand in `second`, and what else.

    It walks back through the whole table of distances, so it does not share rapidfuzz's choices
    between alignments that are equally good; the texts here have one best alignment each.
    """
    cost = np.add.outer(np.arange(len(first) + 1), np.arange(len(second) + 1))
    for i, j in np.ndindex(len(first), len(second)):
        cost[i + 1, j + 1] = min(
            cost[i, j] + (first[i] != second[j]), cost[i, j + 1] + 1, cost[i + 1, j] + 1
        )
    i, j, there = len(first), len(second), [""] * len(first)
    while i and j:
        if cost[i, j] == cost[i - 1, j - 1] + (first[i - 1] != second[j - 1]):
            i, j = i - 1, j - 1
            there[i] = second[j]
        elif cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
    return there


def test_shares_of_the_list_are_those_of_the_numpy_twin():
    texts = ["we saw the old mill today", "we saw the old mill", "saw the cold mill today",
             "we saw the cold hill today", "we saw then the old mill today"]  # fmt: skip
    scores = [-1.0, -1.2, -2.5, -2.0, -3.0]
    found = evidence([texts], [scores])
    pick = found.words[0]
    posterior = np.exp(scores) / np.exp(scores).sum()
    there = [table(pick, text.split()) for text in texts]
    for k, word in enumerate(pick):
        same = np.array([one[k] == word for one in there])
        assert masses(found, "uniform")[k] == pytest.approx(same.mean(), abs=1e-9)
        assert masses(found, "posterior")[k] == pytest.approx(posterior[same].sum(), abs=1e-9)
        rivals = {one[k]: posterior[[two[k] == one[k] for two in there]].sum() for one in there}
        del rivals[word]
        best = max(rivals, key=lambda name: rivals[name], default=None)
        assert (found.rivals[k], found.rival_masses[k]) == (
            best, pytest.approx(rivals.get(best, 0.0), abs=1e-9))  # fmt: skip
    lengths = np.array([len(text.split()) for text in texts])
    assert found.lengths == pytest.approx([posterior @ lengths])
    extra = [[*text.split()].count("then") for text in texts]
    assert found.missing == pytest.approx([posterior @ extra])


def test_token_scores_of_words():
    found = evidence([["abcd ef ghi"]], [[-1.0]], lm=Letters())
    columns = found.values[:, [COLUMN[name] for name in MODEL_UNITS]]
    # tokens ab cd | ef | gh i, with 0 -1 | -2 | -3 -4
    assert columns.tolist() == [[-1, -1, -2, 2], [-2, -2, -4, 1], [-7, -4, -2, 2]]


def test_the_fit_is_that_of_the_numpy_twin():
    random = np.random.default_rng(1)
    names = ["posterior", "lm_sum", "letters"]
    values = random.normal(size=[199, len(UNITS)]) * 3
    noise = random.logistic(size=199)
    correct = values[:, COLUMN["posterior"]] - 0.5 * values[:, COLUMN["lm_sum"]] + noise > -1
    prior = {"bias": 0.5, "posterior": 0.2}
    fitted = fit_logistic(values, correct, names, prior)
    # Newton's method on the same loss.
    units = np.array([1.0, *(UNITS[name] for name in names)])
    rows = np.column_stack([np.ones(199), values[:, [COLUMN[name] for name in names]]]) / units
    start = np.array([0.5, 0.2, 0.0, 0.0]) * units
    cost, point = np.diag([1e-3, 1, 1, 1]), start.copy()
    for _ in range(50):
        p = 1 / (1 + np.exp(-rows @ point))
        slope = rows.T @ (p - correct) + cost @ (point - start)
        point -= np.linalg.solve(rows.T @ (rows * (p * (1 - p))[:, None]) + cost, slope)
    assert list(fitted.values()) == pytest.approx(point / units, rel=1e-3, abs=1e-4)
    assert fit_logistic(values[:0], correct[:0], names, prior) == pytest.approx(
        {"bias": 0.5, "posterior": 0.2, "lm_sum": 0.0, "letters": 0.0}
    )


def test_words_are_judged_by_the_same_alignment():
    found = evidence([["the kat sat on", "the kat"]], [[-1.0, -9.0]])
    judgement = found.judge(["a the cat sat"], load_metric("wer"))
    correct, deletions = judgement.correct, judgement.deletions
    assert correct.tolist() == [True, False, True, False]
    assert deletions.tolist() == [1]


def test_normalized_words_keep_their_spelling():
    texts = ["The well-known Cat - sat", "the well known kat sat"]
    found = evidence([texts], [[-1.0, -2.0]], normalize="basic")
    assert found.words[0] == ["The", "well-known", "Cat", "-", "sat"]
    assert found.rivals == [None, None, "kat", None, None]
    sure = confidences_of(found)
    assert sure.words[0][3].probability == 1.0  # a dash is not compared


@pytest.mark.parametrize(
    ("texts", "normalize", "rivals"),
    [
        (["the cat sat", "The KAT sat", "the kat sat"], "lower", [None, "KAT", None]),
        (
            ["the cat sat", "the the sat", "The KAT sat", "the kat sat"],
            "lower",
            [None, "KAT", None],
        ),
        (["a well-known cat", "a Bell-grown, Cat"], "basic", [None, "Bell-grown,", None]),
        (["a well-known cat", "a WELL, KAT"], "basic", [None, "WELL,", "KAT"]),
        (["it was twenty", "It was Thirty One"], "whisper", [None, None, "Thirty"]),
        (["a b", "A"], "lower", [None, ""]),
    ],
)
def test_a_rival_is_spelled_as_it_was_read(texts, normalize, rivals):
    scores = [0.0, -1.2, -1.3, -1.4][: len(texts)]
    assert evidence([texts], [scores], normalize=normalize).rivals == rivals


def test_out_of_the_way_lists_have_confidences():
    lists = [["one text only"], [], ["", "a"], ["☃☃ snow", "snow"], ["我喜欢你", "我喜歡你"]]
    scores = [[-1.0], [], [-1.0, -9.0], [-1.0, -2.0], [-1.0, -2.0]]
    with pytest.warns(UserWarning, match="lists of one hypothesis: 1, first '0'"):
        found = tta.confidence(lists, scores, Letters())
    assert [[one.word for one in words] for words in found][:3] == [["one", "text", "only"], [], []]
    assert [one.rival for one in found[0]] == [None] * 3
    assert len({one.probability for one in found[0]}) == 3  # the model tells them apart
    assert [one.word for one in found[4]] == list("我喜欢你")
    assert [one.rival for one in found[4]] == [None, None, "歡", None]
    assert all(0 <= one.probability <= 1 for words in found for one in words)


def test_segmented_text_keeps_its_words_unless_characters_count():
    texts, scores = [["我 喜欢 你", "我 喜歡 你"]], [[-1.0, -2.0]]
    assert evidence(texts, scores).words == [["我", "喜欢", "你"]]
    assert evidence(texts, scores, "cer").words == [list("我喜欢你")]


@pytest.mark.parametrize(
    ("metric", "texts", "name"),
    [
        ("wer", ["a b", "a c"], "WER"),
        ("wer", ["我喜欢你", "我喜歡你"], "CER"),
        ("cer", ["我喜欢你", "我喜歡你"], "CER"),
        ("cer", ["a b", "a c"], "share of wrong or missing words"),
        ("ter", ["a b", "a c"], "share of wrong or missing words"),
        ("bleu", ["a b", "a c"], "share of wrong or missing words"),
        ("chrf", ["我喜欢你", "我喜歡你"], "share of wrong or missing characters"),
    ],
)
def test_the_expected_rate_has_the_name_of_what_it_counts(metric, texts, name):
    sure = confidences_of(evidence([texts], [[-1.0, -2.0]], metric))
    assert sure.describe().startswith(f"expected {name} of the picks, without references: ")


def test_the_decision_max_has_rivals_too():
    weights = RerankWeights(0.0, shares=())
    (words,) = tta.confidence([["a b", "a c"]], [[-1.0, -1.5]], "none", weights=weights)
    assert words[1].rival == "c"
    assert 0 < words[1].rival_probability < 0.5


def test_fitted_weights_learn_and_can_be_printed_and_read():
    texts = [["a good day", "a bad day"], ["one two", "one three"]] * 30
    references = ["a bad day", "one two"] * 30
    weights = tta.fit_confidence(texts, references, None, "none")
    before, after = (
        np.mean([one.probability for words in tta.confidence(
            texts, None, "none", confidence_weights=one_set) for one in words])
        for one_set in (None, weights)
    )  # fmt: skip
    assert abs(after - 0.8) < abs(before - 0.8)
    assert ConfidenceWeights.of(dict(weights.items())) == weights
    assert all(value == float(f"{value:.6g}") for _, value in weights.items())


@pytest.mark.parametrize(
    ("items", "rule"),
    [
        ({"agreement": 1.0}, "confidence_weights has no 'agreement'"),
        ({"single_uniform": 1.0}, "confidence_weights has no 'uniform'"),
        ({"bias": float("nan")}, "must be finite"),
        ({"deletions": -1.0}, "is negative"),
    ],
)
def test_wrong_weights_are_refused(items, rule):
    with pytest.raises(InputError, match=rule):
        ConfidenceWeights.of(items)


def test_weights_that_are_not_given_are_0():
    weights = ConfidenceWeights.of({"bias": 1.5})
    assert dict(weights.items()) == {"bias": 1.5, "deletions": 0.0}


def test_weights_of_a_model_need_one():
    with pytest.raises(InputError, match="need a model with token scores"):
        tta.confidence([["a", "b"]], None, "none", confidence_weights=default_weights(True))


def write_lists(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_the_command_writes_json_lines_and_the_expected_wer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"u{i}", "hypotheses": [{"text": "a cat sat", "score": -1.0},
                                       {"text": "a mat sat", "score": -1.5}]}
        for i in range(3)
    ]  # fmt: skip
    write_lists(tmp_path / "test.jsonl", rows)
    arguments = ["--model=none", "--nbest_file=test.jsonl", "--confidence=sure.jsonl"]
    done = run_command("tta-rerank", *arguments)
    assert done.returncode == 0, done.stderr
    assert "expected WER of the picks, without references" in done.stdout
    assert "confidences by default weights" in done.stdout
    lines = (tmp_path / "sure.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["u0", "u1", "u2"]
    words = json.loads(lines[0])["words"]
    assert [word["word"] for word in words] == ["a", "cat", "sat"]
    assert words[1]["rival"] == "mat"
    # What is printed gives the same confidences again.
    flag = next(line for line in done.stdout.splitlines() if line.startswith("confidence_weights:"))
    given = f"--{flag.replace(':', '=', 1)}"
    again = run_command("tta-rerank", *arguments, given, "--overwrite")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "sure.jsonl").read_text(encoding="utf-8").splitlines() == lines
    write_lists(tmp_path / "test.jsonl", [row | {"reference": "a cat sat"} for row in rows])
    done = run_command("tta-rerank", *arguments, "--overwrite")
    assert "fitted on other lists" not in done.stdout
    dev = ("--dev_nbest_file=dev.jsonl", "--confidence_weights=bias=1")
    write_lists(tmp_path / "dev.jsonl", [row | {"reference": "a cat sat"} for row in rows])
    for given in ((), dev[1:]):
        done = run_command("tta-rerank", *arguments, dev[0], *given, "--overwrite")
        (line,) = [line for line in done.stdout.splitlines() if "expected WER" in line]
        assert line.startswith("expected WER of the picks, without references: ")
        assert line.endswith("fitted on other lists, dev.jsonl") == (not given)


def test_the_expected_error_rate_has_an_interval_over_lists():
    errors, lengths = np.arange(40) % 3 / 10, np.full(40, 2.0)
    line = Confidences([[]] * 40, errors, lengths, "WER").describe("dev")
    rate, low, high = map(float, re.findall(r"[0-9]+[.][0-9]+", line))
    assert low < rate == 4.88 < high < 7
    spread = 100 * errors.std() / 2 / 40**0.5
    assert high - low == pytest.approx(2 * 1.96 * spread, rel=0.1)
    assert "[" not in Confidences([[]], np.zeros(1), np.zeros(1), "WER").describe()


def test_a_table_has_a_row_per_word(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_lists(tmp_path / "test.jsonl", [{"id": "u1", "hypotheses": ["a, cat", "a, null"]}])
    arguments = ["--model=none", "--nbest_file=test.jsonl"]
    for name in ("sure.jsonl", "sure.csv", "sure.tsv.gz"):
        done = run_command("tta-rerank", *arguments, f"--confidence={name}")
        assert done.returncode == 0, done.stderr
    words = json.loads((tmp_path / "sure.jsonl").read_text())["words"]
    with open(tmp_path / "sure.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    packed = gzip.decompress((tmp_path / "sure.tsv.gz").read_bytes()).decode()
    assert packed.splitlines()[0].split("\t") == [*rows[0]]
    assert [row["word"] for row in rows] == ["a,", "cat"]
    assert [row["id"] + row["word_number"] for row in rows] == ["u11", "u12"]
    for row, word in zip(rows, words, strict=True):
        assert float(row["probability"]) == pytest.approx(word["probability"], rel=1e-6)
        assert row["rival"] == (word["rival"] or "")
        assert bool(row["rival_probability"]) == (word["rival"] is not None)


def test_a_ctm_has_the_times_of_the_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nbest = (
        "NBestList2.0\n(-100) the ( st: 0.10 et: 0.25 g: 0 a: 0 ) cat ( st: 0.25 et: 0.5 g: 0 a: 0"
        " )\n(-200) the ( st: 0.10 et: 0.25 g: 0 a: 0 ) mat ( st: 0.3 et: 0.5 g: 0 a: 0 )\n"
    )
    (tmp_path / "utt.nbest").write_text(nbest, encoding="utf-8")
    done = run_command(
        "tta-rerank", "--model=none", "--nbest_file=utt.nbest", "--confidence=sure.ctm"
    )
    assert done.returncode == 0, done.stderr
    first, second = (tmp_path / "sure.ctm").read_text(encoding="utf-8").splitlines()
    assert first.split()[:5] == ["utt", "1", "0.100", "0.150", "the"]
    assert second.split()[:5] == ["utt", "1", "0.250", "0.250", "cat"]
    (tmp_path / "plain.nbest").write_text("NBestList1.0\n(-100) the cat\n", encoding="utf-8")
    done = run_command("tta-rerank", "--model=none", "--nbest_file=plain.nbest",
                       "--confidence=plain.ctm")  # fmt: skip
    assert done.returncode == 1
    assert "a CTM needs the times of all words" in done.stderr
    assert not (tmp_path / "plain.ctm").exists()


@pytest.mark.parametrize(
    "row",
    [
        {"words": [{"word": "a", "startTime": "1.5s", "endTime": "2s"}]},
        {"words": [{"word": "a", "start_time": {"seconds": "1", "nanos": 500000000},
                    "end_time": {"seconds": 2}}]},
        {"words": [{"word": "a", "start": 1.5, "end": 2.0}]},
        {"Words": [{"Word": "a", "Offset": 15000000, "Duration": 5000000}]},
        {"timestamps": [["a", 1.5, 2.0]]},
        {"word-alignment": [{"word": "a", "start": 1.5, "length": 0.5}]},
        {"items": [{"content": "a", "type": "pronunciation", "start_time": "1.5", "end_time": "2"},
                   {"content": ".", "type": "punctuation"}]},
    ],
)  # fmt: skip
def test_times_of_words_in_responses(row):
    from tta.data.nbest.formats.documents.times import word_times

    ((word, *times),) = word_times(row) or ()
    assert (word, times) == ("a", pytest.approx([1.5, 2.0]))
    assert word_times({"words": [{"word": "a"}]}) is None


def test_notes_are_not_repeated_where_there_is_nothing_to_say():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tta.confidence([["a b", "a c"]], [[-1.0, -2.0]], "none")
