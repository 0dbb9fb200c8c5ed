"""`rerank_files` with every decision, feature and format: what is decided, written and reported."""

import dataclasses
import html
import json
import math
import re

import numpy as np
import pytest

from tests.fake_model import FakeModel
from tests.reranking import rows_of
from tta.data.nbest.files import read_nbest
from tta.errors import InputError
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files

pytestmark = pytest.mark.usefixtures("loaded")

# The first text is the most probable one, but the others are nearly the same and outvote it.
VOTES = {"a b c": 0.4, "a x y": 0.3, "a x z": 0.3}
LOSSES = {"a b c": 2 * 0.3 + 2 * 0.3, "a x y": 2 * 0.4 + 0.3, "a x z": 2 * 0.4 + 0.3}


# With these weights, combined scores are first-pass scores, and their softmax are the VOTES.
PLAIN = {"length_bonus": 0.0, "scale": 1.0}


@pytest.fixture
def votes(tmp_path):
    """A file with VOTES as its only list."""
    return write(tmp_path / "votes.jsonl", [hypotheses({t: {} for t in VOTES})])


def hypotheses(features, scores=None, reference="a x y"):
    """A list with texts and their features; the default scores are those of VOTES."""
    scores = scores or {text: math.log(p) for text, p in VOTES.items()}
    found = [{"text": text, "score": scores[text], **more} for text, more in features.items()]
    return {"hypotheses": found, "reference": reference}


def write(path, lists):
    lines = [json.dumps({"id": f"u{i}"} | one) for i, one in enumerate(lists)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def text_of(page):
    """The text of a page below its head."""
    body = page[page.index("<body>") :]
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", body)).split())


COPIES = [  # the feature of a hypothesis by its score, its words and its rank; what it copies
    (lambda score, words, rank: 3.0 * score + 7.0, "the first pass"),
    (lambda score, words, rank: -2.0 * words, "the number of words"),
    (lambda score, words, rank: np.log(rank + 1.0), "the rank"),
    (lambda score, words, rank: score + (0.5 if rank == 2 else 0.0), None),
]


@pytest.mark.parametrize(("feature", "copied"), COPIES)
def test_a_feature_that_copies_another_column_is_not_tuned(tmp_path, feature, copied):
    rng, lists = np.random.default_rng(3), []
    for _ in range(9):
        num_words = rng.permutation(np.arange(1, 9))[:5].tolist()
        texts, scores = [" ".join("a" * n) for n in num_words], -np.sort(rng.random(5) * 9)
        values = map(feature, scores.tolist(), num_words, range(5))
        features = {text: {"am": float(v)} for text, v in zip(texts, values, strict=True)}
        lists.append(hypotheses(features, dict(zip(texts, scores, strict=True)), texts[1]))
    path = write(tmp_path / "dev.jsonl", lists)
    config = RerankConfig(nbest_file=path, dev_nbest_file=path)
    report = rerank_files(config, [])
    note = f"the feature am is left out: it is a copy of {copied}, up to scale"
    assert (note in report.notes) == (copied is not None)
    assert ("am=" in report.signatures[-1]) == (copied is None)


def test_mbr_writes_minus_the_expected_loss_best_first(votes, tmp_path):
    out, scores = tmp_path / "out.jsonl", tmp_path / "scores.jsonl"
    config = RerankConfig(nbest_file=votes, **PLAIN, output_file=str(out), scores_file=str(scores))
    report = rerank_files(config, [])
    [one] = read_nbest(out).lists
    assert [h.text for h in one.hypotheses] == ["a x y", "a x z", "a b c"]
    expected = [LOSSES[h.text] for h in one.hypotheses]
    assert [-h.score for h in one.hypotheses] == pytest.approx(expected, abs=1e-6)
    assert report.test.row("no model").value == 0
    assert report.test.row("no model").weights.decision == "mbr"

    rows = rows_of(scores)
    names = ["id", "text", "first_pass_score", "num_words", "terms", "combined"]
    names += ["posterior", "expected_loss"]
    assert [list(row) for row in rows] == [names] * 3
    assert [row["posterior"] for row in rows] == pytest.approx([0.3, 0.3, 0.4])
    assert [row["combined"] for row in rows] == pytest.approx(np.log([0.3, 0.3, 0.4]))
    assert [row["expected_loss"] for row in rows] == pytest.approx(expected, abs=1e-6)


def test_max_writes_the_combined_score_and_no_posterior(votes, tmp_path):
    out, scores = tmp_path / "out.jsonl", tmp_path / "scores.jsonl"
    config = RerankConfig(
        nbest_file=votes, decision="max", length_bonus=0.0,
        output_file=str(out), scores_file=str(scores),
    )  # fmt: skip
    rerank_files(config, [])
    [one] = read_nbest(out).lists
    assert [(h.text, h.score) for h in one.hypotheses] == [
        (text, pytest.approx(math.log(p))) for text, p in VOTES.items()
    ]
    names = ["id", "text", "first_pass_score", "num_words", "terms", "combined"]
    assert [list(row) for row in rows_of(scores)] == [names] * 3


@pytest.mark.parametrize("dev", [True, False], ids=["tuned", "guessed"])
def test_without_a_model_nothing_is_loaded_and_the_page_has_no_colours(
    votes, tmp_path, loaded, dev
):
    page = tmp_path / "page.html"
    config = RerankConfig(
        nbest_file=votes,
        dev_nbest_file=write(tmp_path / "dev.jsonl", [consensus()] * 10) if dev else None,
        report=str(page),
        features=[],
        **PLAIN,
    )
    report = rerank_files(config, [])
    assert loaded == report.names == []
    assert [row.name for row in report.test.evaluation.rows] == ["first pass", "no model", "oracle"]
    assert [line.partition("|")[0] for line in report.signatures] == [
        "bootstrap", "WER", "decision:mbr",
    ]  # fmt: skip
    text = text_of(page.read_text())
    assert "combined -0.92, probability 0.40, expected loss 1.20" in text
    for word in ("language model", "Log-probability", "Weight of"):
        assert word not in text
    assert 'class="t l' not in page.read_text()
    assert "Utterances whose pick changed 1 of 1: 1 better" in text


def consensus():
    return hypotheses({text: {} for text in VOTES})


# A feature that tells the reference, in both signs: 1 for "a x y", 0 for the others.
GOOD = {"a b c": {"good_score": 0.0}, "a x y": {"good_score": 1.0}, "a x z": {"good_score": 0.0}}
BAD = {text: {"bad_score": -more["good_score"]} for text, more in GOOD.items()}


def test_each_model_feature_and_bonus_is_a_term_of_a_score(tmp_path):
    path, scores = write(tmp_path / "lists", [hypotheses(GOOD)]), tmp_path / "scores"
    config = RerankConfig(
        nbest_file=path, scale=1.0, length_bonus=0.5, reduction="sum", lm_weight=[0.25, 0.5],
        features=["good_score=2", "rank=1"], scores_file=str(scores),
    )  # fmt: skip
    rerank_files(config, ["known", "length"])
    for row in rows_of(scores):
        models = {
            f"models.{name}.lm_score": weight * row["models"][name]["lm_score"]
            for name, weight in (("known", 0.25), ("length", 0.5))
        }
        expected = models | {
            "first_pass_score": 0.25 * row["first_pass_score"],
            "num_words": 0.5 * row["num_words"],
            "features.good_score": 0.25 * 2 * row["features"]["good_score"],
            "features.rank": 0.25 * row["features"]["rank"],
        }
        assert row["terms"] == pytest.approx(expected)
        assert sum(row["terms"].values()) == pytest.approx(row["combined"])


@pytest.mark.parametrize(
    ("features", "used"),
    [
        (None, {"good_score", "rank", *LIST_FEATURES}),
        (["good_score"], {"good_score"}),
        (["good_score=3", "rank"], {"good_score", "rank"}),
        (["rank"], {"rank"}),
        ([], set()),
    ],
)
def test_features_are_tuned_on_dev_lists(tmp_path, features, used):
    lists = write(tmp_path / "lists", [hypotheses(GOOD)] * 40)
    config = RerankConfig(nbest_file=lists, dev_nbest_file=lists, features=features, decision="max")
    report = rerank_files(config, [])
    weights = report.test.row("no model").weights.features
    assert weights.keys() <= used
    if "good_score" in used:
        assert weights["good_score"] > 0.2  # enough to change the pick: ln(.4 / .3)
        assert report.test.row("no model").value == 0 < report.test.row("first pass").value
        assert re.search(r"\|features:.*good_score=", report.signatures[-1])
    if features and "good_score=3" in features:
        assert weights["good_score"] == 3
    assert "features not used" not in str(report)


def partly(features, name, keep):
    """The features without `name` in all texts but the first `keep`."""
    return {
        text: {k: v for k, v in more.items() if k != name or i < keep}
        for i, (text, more) in enumerate(features.items())
    }


@pytest.mark.parametrize(
    ("dev", "test"),
    [(GOOD, partly(GOOD, "good_score", 0)), (partly(GOOD, "good_score", 2), GOOD), (GOOD, BAD)],
    ids=["not in test", "not in every hypothesis", "another in test"],
)
def test_a_feature_must_be_in_every_hypothesis_of_dev_and_test(tmp_path, dev, test):
    files = {
        "nbest_file": write(tmp_path / "test", [hypotheses(test)] * 5),
        "dev_nbest_file": write(tmp_path / "dev", [hypotheses(GOOD), hypotheses(dev)] * 5),
    }
    report = rerank_files(RerankConfig(**files, decision="max"), [])
    assert report.test.row("no model").weights.features.keys() <= {"rank", *LIST_FEATURES}
    for features in (["good_score"], ["good_score=1"]):
        rule = (
            "^not every hypothesis has a feature 'good_score'; these all have: .*rank, characters"
        )
        with pytest.raises(InputError, match=rule):
            rerank_files(RerankConfig(**files, features=features), [])


def test_features_that_are_not_used_are_reported(tmp_path):
    path = write(tmp_path / "lists", [hypotheses(GOOD)])
    note = "note: features not used, because nothing is tuned: good_score\n"
    assert note in str(rerank_files(RerankConfig(nbest_file=path)))
    useless = hypotheses({text: {"good_score": 0.0} for text in VOTES})
    dev = write(tmp_path / "dev", [useless] * 5)
    assert "not used" not in str(rerank_files(RerankConfig(nbest_file=path, dev_nbest_file=dev)))
    for features in ([], ["good_score=1"]):
        report = str(rerank_files(RerankConfig(nbest_file=path, features=features)))
        assert "features not used" not in report


@pytest.mark.parametrize("dev", [True, False], ids=["tuned", "guessed"])
@pytest.mark.parametrize("decision", [None, "max", "mbr"])
def test_neither_scores_nor_model(tmp_path, dev, decision):
    test = write(tmp_path / "test", [{"hypotheses": [*VOTES], "reference": "a x y"}] * 3)
    config = RerankConfig(
        nbest_file=test, dev_nbest_file=test if dev else None, rank_scores=False, decision=decision
    )
    report = rerank_files(config, [])
    assert "note: no first-pass scores and no model: only the texts of a list decide\n" in str(
        report
    )
    if decision == "max" and not dev:
        assert report.test.row("no model").value == report.test.row("first pass").value
    else:  # two of the three texts are similar
        assert report.test.row("no model").value == 0


def test_the_output_of_fairseq_is_reranked_by_bleu(tmp_path):
    lines = []
    for i in (3, 0):
        lines += [f"S-{i}\tx", f"T-{i}\tthe cat sat on the mat"]
        for text, score in (("the kat sat on the mat", -0.5), ("the cat sat on the mat", -0.6)):
            lines += [f"H-{i}\t{score}\t{text}", f"P-{i}\t" + " ".join([str(score)] * 7)]
    path, out = tmp_path / "generate-test.txt", tmp_path / "out.txt"
    path.write_text("\n".join(lines) + "\n")
    files = {"nbest_file": str(path), "output_file": str(out), "bleu_tokenize": "none"}
    values = {"lm_weight": [0.5], "length_bonus": 0.0, "reduction": "sum"}
    report = rerank_files(RerankConfig(**files, **values, scale=1.0))
    assert report.metric.name == "BLEU"
    assert report.test.row("reranked").value == pytest.approx(100)
    assert report.signatures[-1].endswith("|scale:1|loss:1 - chrF")
    file = read_nbest(out)
    assert file.format == "fairseq"
    assert [one.utterance_id for one in file.lists] == ["3", "0"]
    for one in file.lists:
        best, other = one.hypotheses
        assert best.text == one.reference == "the cat sat on the mat"
        assert 0 > best.score > other.score > -1  # minus 1 - chrF
    rerank_files(RerankConfig(**files, **values, decision="max", overwrite=True))
    best = read_nbest(out).lists[0].hypotheses[0]
    assert best.score == pytest.approx(0.5 * -0.6 * 7 * math.log(2) + 0.5 * -6)


def test_lists_whose_pairs_do_not_fit_into_memory_are_decided_by_max(votes, monkeypatch):
    monkeypatch.setattr("tta.scoring.metrics.risk.MAX_PAIRS", 8)
    report = rerank_files(RerankConfig(nbest_file=votes, length_bonus=0.0), [])
    assert report.test.row("no model").weights.decision == "max"
    assert any("mbr was not tried" in note for note in report.notes)
    with pytest.raises(InputError, match=r"9 pairs do not fit .*decision=.max."):
        rerank_files(RerankConfig(nbest_file=votes, **PLAIN), [])


def test_the_difference_to_no_model_and_the_picks_are_printed(tmp_path):
    dev = write(tmp_path / "dev.jsonl", [consensus()] * 10)
    test = write(tmp_path / "test.jsonl", [consensus()] * 3)
    report = rerank_files(RerankConfig(nbest_file=test, dev_nbest_file=dev))
    differences = report.test.evaluation.differences
    pairs = [(pair.first, pair.second) for pair in differences if pair.first == "reranked"]
    first, second, *variants = pairs
    assert (first, second) == (("reranked", "no model"), ("reranked", "LM alone"))
    weights = report.test.row("reranked").weights
    assert variants == [("reranked", f"without {name}") for name in weights.features]
    assert "\nreranked - no model: " in str(report)
    (note,) = [note for note in report.notes if " of 3 picks differ " in note]
    assert note.endswith("from those without a model")
    assert "\nthe largest change of " in str(report)
    (note,) = [
        note for note in rerank_files(RerankConfig(nbest_file=test), []).notes if "picks" in note
    ]
    assert re.fullmatch("[0-3] of 3 picks differ from those of the first pass", note)


@pytest.mark.parametrize(("count", "noted"), [(1, True), (29, True), (30, False)])
def test_few_dev_lists_are_noted(tmp_path, count, noted):
    dev = write(tmp_path / "dev.jsonl", [consensus()] * count)
    report = rerank_files(RerankConfig(nbest_file=dev, dev_nbest_file=dev))
    notes = [note for note in report.notes if note.startswith("few dev lists: ")]
    assert len(notes) == noted
    for note in notes:
        assert f"few dev lists: {count}, with {3 * count} words, for " in note


def test_a_model_without_weight_is_noted(tmp_path, monkeypatch):
    monkeypatch.setattr(FakeModel, "score_with_counts", opposite)
    dev = write(tmp_path / "dev.jsonl", [hypotheses(GOOD)] * 300)
    report = rerank_files(RerankConfig(nbest_file=dev, dev_nbest_file=dev))
    assert "reranked: on the dev lists the model does not help: its weight is 0" in report.notes


def opposite(self, texts, progress=False):
    """Scores that prefer what is wrong: "a x y" is right."""
    return np.array([-50.0 if text == "a x y" else -5.0 for text in texts]), np.ones(
        len(texts), int
    )


def test_notes_of_the_files_are_printed(tmp_path):
    test, dev = tmp_path / "test", tmp_path / "dev"
    texts = ["▁op en ▁it", "▁op en ▁that"]
    for path, name in ((test, "x_score"), (dev, "y_score")):
        rows = [{"text": text, "score": -1.0, name: 1.0} for text in texts]
        path.write_text(json.dumps({"id": "u", "hyps": rows, "ref": "open it"}) + "\n")
    config = RerankConfig(
        nbest_file=str(test), dev_nbest_file=str(dev), scores_file=str(tmp_path / "scores")
    )
    report = str(rerank_files(config, []))
    for path, name in ((test, "x_score"), (dev, "y_score")):
        assert f"note: {path}: word pieces (\u2581) in 2 of 2 texts" in report
        assert f"note: {path}: the feature {name} is left out: the other file" in report
    texts = {row["text"] for row in rows_of(tmp_path / "scores")}
    assert texts == {"open it", "open that"}


def test_picks_without_words_have_confidences_and_a_report(tmp_path):
    file = write(tmp_path / "silent.jsonl", [hypotheses({"": {}, " ": {}}, {"": -1, " ": -2})])
    out, page = tmp_path / "sure.jsonl", tmp_path / "page.html"
    config = RerankConfig(nbest_file=file, confidence=str(out), report=str(page))
    for models in ([], ["one"]):
        rerank_files(dataclasses.replace(config, overwrite=bool(models)), models)
        assert rows_of(out) == [{"id": "u0", "words": []}]
        assert page.is_file()


def lists_of(numbers):
    """Lists whose texts and scores follow from their numbers."""
    return [
        {**hypotheses({f"a {i}": {}, "a x y": {}}, {f"a {i}": -i / 7, "a x y": -1}), "id": f"n{i}"}
        for i in numbers
    ]


DEV_LISTS = [
    (lists_of(range(9, 3, -1)), "the dev lists equal the test lists: "),  # another order
    ([one | {"id": one["id"] + "v"} for one in lists_of(range(4, 10))], "the dev lists equal"),
    (lists_of(range(30)), "test lists that are also dev lists: 6 of 6: "),
    (lists_of(range(4, 6)), "test lists that are also dev lists: 2 of 6: "),
    (lists_of(range(9, 20)), "test lists that are also dev lists: 1 of 6: "),
    (lists_of(range(10, 20)), None),
    # the same texts with other scores, as of a command that is said twice
    ([{**one, "hypotheses": [{**h, "score": -3.5} for h in one["hypotheses"]]}
      for one in lists_of(range(4, 10))], None),
]  # fmt: skip


@pytest.mark.parametrize(("dev", "note"), DEV_LISTS)
def test_test_lists_among_the_dev_lists_are_pointed_out(tmp_path, dev, note):
    test = write(tmp_path / "test.jsonl", lists_of(range(4, 10)))
    config = RerankConfig(nbest_file=test, dev_nbest_file=write(tmp_path / "dev.jsonl", dev))
    notes = [one for one in rerank_files(config, []).notes if "overestimated" in one]
    assert len(notes) == (note is not None)
    assert all(one.startswith(note) for one in notes)


def test_test_lists_among_the_dev_lists_can_be_left_out_of_the_measurement(tmp_path):
    tests, dev = lists_of(range(4, 10)), write(tmp_path / "dev.jsonl", lists_of(range(6)))
    files = [write(tmp_path / f"{name}.jsonl", lists) for name, lists in
             (("test", tests), ("fresh", tests[2:]))]  # fmt: skip
    output = tmp_path / "out.jsonl"
    whole, fresh = (
        RerankConfig(nbest_file=file, dev_nbest_file=dev, leave_out_dev=True) for file in files
    )
    report = rerank_files(dataclasses.replace(whole, output_file=str(output)), [])
    expected = rerank_files(fresh, [])
    values = [[(row.name, row.value) for row in each.test.evaluation.rows] for each in
              (report, expected)]  # fmt: skip
    assert values[0] == values[1]
    assert report.example == expected.example
    assert len(rows_of(output)) == report.test.num_lists == len(tests)
    why = "test lists that are also dev lists: 2 of 6: they are reranked, but not measured"
    assert why in report.notes
    assert not any("also dev lists" in note for note in expected.notes)

    with pytest.raises(InputError, match="leave_out_dev leaves no list to measure"):
        rerank_files(dataclasses.replace(whole, nbest_file=dev), ["no such model"])
    with pytest.raises(InputError, match="leave_out_dev needs dev_nbest_file"):
        RerankConfig(nbest_file=dev, leave_out_dev=True)


@pytest.mark.parametrize("metric", ["wer", "cer"])
@pytest.mark.parametrize(("text", "has_note"), [("A X, Y.", True), ("a x z", False)])
def test_case_and_punctuation_are_pointed_out(tmp_path, metric, text, has_note):
    file = write(tmp_path / "n.jsonl", [hypotheses({text: {}, "b": {}}, {text: -1, "b": -9})])
    report = rerank_files(RerankConfig(nbest_file=file, metric=metric), [])
    (*_, note) = [None, *(one for one in report.notes if one.startswith("case and punctuation"))]
    assert (note is not None) == has_note
    assert (
        note is None
        or f"with normalize='basic' of the metric, the {metric.upper()} of the first" in note
    )


def test_several_references_are_for_bleu(tmp_path):
    several = ["the cat sat on a mat", "a cat sat on the mat"]
    one = hypotheses({several[1]: {}, "a dog": {}}, {several[1]: -1, "a dog": -9}, None)
    del one["reference"]
    file = write(tmp_path / "n.jsonl", [one | {"references": several}])
    report = rerank_files(RerankConfig(nbest_file=file, metric="bleu"), [])
    assert report.test.row("first pass").value == pytest.approx(100)
    assert any(note.startswith("several references of 1 lists: BLEU") for note in report.notes)
    assert any("nrefs:var" in line for line in report.signatures)
    for metric in ("wer", "cer", "auto"):
        with pytest.raises(InputError, match=r"list 'u0': several references, .* takes one"):
            rerank_files(RerankConfig(nbest_file=file, metric=metric), [])
    rerank_files(RerankConfig(nbest_file=file, metric="none"), [])  # nothing is compared


@pytest.mark.parametrize(("size", "decision"), [(1e9, None), (1e99, "max")])
def test_huge_first_pass_scores_are_pointed_out(tmp_path, size, decision):
    random = np.random.default_rng(0)
    made = [
        hypotheses({t: {} for t in VOTES}, {t: size * random.normal() for t in VOTES})
        for _ in range(12)
    ]
    file = write(tmp_path / "n.jsonl", made)
    for dev in (None, file):
        config = RerankConfig(nbest_file=file, dev_nbest_file=dev, decision=decision)
        notes = rerank_files(config, ["one"]).notes
        assert any("lm_weight rounds to 1: divide them" in note for note in notes)
        rerank_files(config, ["one", "two"])
        rerank_files(config, [])
