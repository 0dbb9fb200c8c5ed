"""`tta.rerank` and `tta.tune`: lists in memory, as run_rerank.py does with files."""

import json
import math
import re

import numpy as np
import pytest

import tta
from tests.fake_model import FakeModel
from tta.errors import InputError
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.metrics.metric import METRICS, load_metric
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files

RIGHT = ["the cat sat on the mat", "a dog ran home", "the dog sat", "a cat ran home", "a mat sat"]


def make_lists(seed, count=17):
    """(lists, scores, references): the first pass prefers wrong words, more or less by chance."""
    rng = np.random.default_rng(seed)
    lists, scores, references = [], [], []
    for number in range(count):
        reference = RIGHT[number % len(RIGHT)]
        texts = [reference]
        for _ in range(rng.integers(2, 7)):
            words = reference.split()
            words[rng.integers(len(words))] = rng.choice(["kat", "zat", "maat", "the cat"])
            texts.append(" ".join(words))
        order = rng.permutation(len(texts))
        lists.append([texts[j] for j in order])
        scores.append((-5 - rng.random(len(texts)) * 3).tolist())
        references.append(reference)
    return lists, scores, references


def write(path, lists, scores, references):
    rows = [
        {
            "id": str(i),
            "hypotheses": [
                {"text": text} | ({} if scores is None else {"score": scores[i][j]})
                for j, text in enumerate(texts)
            ],
            "reference": reference,
        }
        for i, (texts, reference) in enumerate(zip(lists, references, strict=True))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize(
    ("models", "tuned", "metric", "scored"),  # every pair of two settings
    [
        (["known"], True, "wer", True),
        (["known"], False, "bleu", False),
        (["length", "known"], True, "bleu", False),
        (["length", "known"], False, "wer", True),
        ([], True, "wer", False),
        ([], False, "bleu", True),
    ],
)
def test_the_same_lists_get_the_same_weights_and_order_as_from_files(
    tmp_path, models, tuned, metric, scored
):
    test, dev = make_lists(0), make_lists(1, 37)
    if not scored:
        test, dev = ((lists, None, references) for lists, _, references in (test, dev))
    config = RerankConfig(
        nbest_file=write(tmp_path / "test.jsonl", *test),
        dev_nbest_file=write(tmp_path / "dev.jsonl", *dev) if tuned else None,
        scores_file=str(tmp_path / "scores.jsonl"),
        metric=metric,
    )
    report = rerank_files(config, models)
    rows = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]

    given = {"model": models or "none", "metric": metric, "rank_scores": not scored}
    weights = tta.tune(dev[0], dev[2], dev[1], **given) if tuned else None
    found = tta.rerank(test[0], test[1], **given, weights=weights)
    expected = report.test.row(["no model", "reranked", "together"][len(models)]).weights
    assert all(one.weights == expected for one in found)
    assert weights in (expected, None)
    assert expected.decision == "mbr" or tuned
    assert sum(expected.lm_weights) > 0 or not models
    for i, one in enumerate(found):
        mine = [row for row in rows if row["id"] == str(i)]
        assert one.texts == [row["text"] for row in mine]
        assert one.scores == pytest.approx([row["combined"] for row in mine])
        assert [test[0][i][j] for j in one.indices] == one.texts
        if expected.decision == "mbr":
            assert one.posteriors == pytest.approx([row["posterior"] for row in mine])
            assert one.expected_losses == pytest.approx([row["expected_loss"] for row in mine])
    if models and (tuned or scored):
        first = [0 if test[1] is None else int(np.argmax(scores)) for scores in test[1] or test[0]]
        assert [one.indices[0] for one in found] != first


def test_the_options_of_a_model_that_is_loaded_are_those_of_the_command(loaded):
    for model in None, "base":
        tta.rerank(["the cat"], model=model)
    assert [lm.name for lm in loaded] == ["fake", "base"]
    assert loaded[0].options["normalizer"] == "auto"


WEIGHTS = RerankWeights(lm_weight=0.5)


def test_combined_scores_and_the_order():
    found = tta.rerank(["the kat", "the cat"], [-1.0, -2.0], FakeModel(), weights=WEIGHTS)
    assert found.texts == ["the cat", "the kat"]
    assert found.indices == [1, 0]
    assert found.scores == [0.5 * -2.0 + 0.5 * -2.0, 0.5 * -1.0 + 0.5 * -6.0]
    assert found.weights is WEIGHTS
    assert repr(found) == (
        "RerankedList(texts=['the cat', 'the kat'], scores=[-2.0, -3.5], indices=[1, 0])"
    )


def test_one_list_is_a_list_of_lists_with_one_item():
    (expected,) = tta.rerank([["the kat", "the cat"]], [[-1, -2]], FakeModel())
    assert tta.rerank(["the kat", "the cat"], [-1, -2], FakeModel()) == expected


def test_without_scores_the_rank_is_the_score():
    weights = RerankWeights(lm_weight=0.25)
    given = {"model": FakeModel()}
    found = tta.rerank(["the kat", "the cat"], weights=weights, **given)
    assert found.texts == ["the cat", "the kat"]
    assert found.scores == pytest.approx([0.75 * -math.log(2) + 0.25 * -2, 0.25 * -6])
    lists = [["the kat", "the cat"], ["a dog", "a dock", "a dig"]]
    ranks = [[-math.log(place + 1) for place in range(len(texts))] for texts in lists]
    found = tta.rerank(lists, **given)
    assert found == tta.rerank(lists, ranks, FakeModel(), weights=found[0].weights)
    assert 0 < found[0].weights.lm_weight < 1


def test_arrays_and_generators():
    lists, scores = np.array([["the kat", "the cat"]] * 2), np.array([[-1.0, -2.0]] * 2)
    expected = tta.rerank(lists.tolist(), scores.tolist(), FakeModel(), weights=WEIGHTS)
    assert tta.rerank(lists, scores, FakeModel(), weights=WEIGHTS) == expected
    generators = (iter(texts) for texts in lists.tolist()), (iter(row) for row in scores)
    assert tta.rerank(*generators, FakeModel(), weights=WEIGHTS) == expected


def test_empty_lists_stay_empty():
    lists, scores = [[], ["the kat", "the cat"], []], [[], [-1, -2], []]
    empty, full, other = tta.rerank(lists, scores, FakeModel(), weights=WEIGHTS)
    assert empty.texts == other.texts == empty.scores == empty.indices == []
    assert full == tta.rerank(lists[1], scores[1], FakeModel(), weights=WEIGHTS)
    assert tta.rerank([], model=FakeModel()) == []
    assert [one.texts for one in tta.rerank([[], []], model=FakeModel())] == [[], []]
    lists, scores, references = make_lists(3)
    weights = tta.tune([*lists, []], [*references, "the cat"], [*scores, []], FakeModel())
    found = tta.rerank(lists, scores, FakeModel(), weights=weights)
    right = sum(one.texts[0] == text for one, text in zip(found, references, strict=True))
    assert right > sum(lists[i][np.argmax(scores[i])] == references[i] for i in range(len(lists)))


def test_tuning_takes_a_decision(monkeypatch):
    lists, scores, references = make_lists(7)
    for decision in ("max", "mbr"):
        weights = tta.tune(lists, references, scores, FakeModel(), decision=decision)
        assert weights.decision == decision
    monkeypatch.setattr("tta.scoring.metrics.risk.MAX_PAIRS", 1)
    assert tta.tune(lists, references, scores, FakeModel()).decision == "max"
    with pytest.raises(InputError, match="pairs do not fit into memory"):
        tta.tune(lists, references, scores, FakeModel(), decision="mbr")


@pytest.mark.parametrize("size", [-3.4e38, 1e60, -1e100])
@pytest.mark.parametrize("decision", [None, "max", "mbr"])
def test_scores_that_mean_impossible_are_tuned_without_warnings(size, decision):
    """The lowest float32 and beyond; warnings are errors in tests."""
    texts, scores = [["a b", "a c", "b"]] * 4, [[-1.0, -2.0, -3.0] for _ in range(4)]
    scores[2][1] = size
    weights = tta.tune(texts, ["a b"] * 3 + ["b"], scores, "none", decision=decision)
    assert tta.rerank(texts, scores, "none", weights=weights)[0].texts[0] == "a b"


def test_tuning_takes_a_metric():
    lists, scores, references = make_lists(5)
    upper = [reference.upper() for reference in references]
    lower = load_metric("wer", normalize="lower")
    expected = tta.tune(lists, references, scores, FakeModel())
    assert tta.tune(lists, upper, scores, FakeModel(), metric=lower) == expected
    assert isinstance(
        tta.tune(lists, references, scores, FakeModel(), metric="bleu"), RerankWeights
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda lm: tta.rerank([["a"], ["b"]], [[-1]], lm),
            "scores has length 1, but lists has length 2",
        ),
        (
            lambda lm: tta.rerank([["a"], ["b", "c"]], [[-1], [-1]], lm),
            "scores[1] has length 1, but lists[1] has length 2",
        ),
        (
            lambda lm: tta.rerank([["a"], ["b"]], [[-1], [float("nan")]], lm),
            "lists[1]: expected a finite number as score, got nan",
        ),
        (
            lambda lm: tta.rerank([["a", "b"]], [[-1, None]], lm),
            "lists[0]: expected a score for every hypothesis or for none, got 1 scores for 2 "
            "hypotheses",
        ),
        (
            lambda lm: tta.rerank([["a"], ["b"]], [[-1], None], lm),
            "lists[1]: has no scores, but the lists before it have some",
        ),
        (
            lambda lm: tta.rerank(["a"], weights=RerankWeights(0.5), model=[lm, lm]),
            "the weights have 1 shares, one per model, not 2",
        ),
        (
            lambda lm: tta.rerank(["a"], model=lm, metric="x"),
            f"metric must be {' or '.join(METRICS)}, not 'x'",
        ),
        (lambda lm: tta.rerank(["a"], model=[]), "model is an empty list; None is the built-in"),
        (lambda lm: tta.tune([["a"]], ["a", "b"], None, lm), "references has length 2, but lists"),
        (lambda lm: tta.tune([[]], ["a"], None, lm), "tuning needs a list with a text, and there"),
        (
            lambda lm: tta.tune([["a"]], ["a"], None, lm, decision="x"),
            "decision must be max, mbr or None, not 'x'",
        ),
    ],
)
def test_input_errors(call, message):
    lm = FakeModel()
    with pytest.raises(InputError, match=f"^{re.escape(message)}"):
        call(lm)
    assert lm.scored == []  # before the scoring


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tta.rerank("abc"), "lists must be an ordered iterable of lists of str, such as a"),
        (lambda: tta.rerank([["a"], "b"]), "lists[1] must be an ordered iterable of str, such"),
        (lambda: tta.rerank([["a", 3]]), "lists[0][1] must be a str, not int"),
        (lambda: tta.rerank([["a"]], [{1.0}]), "scores[0] must be an ordered iterable of numbers"),
        (lambda: tta.rerank([["a"]], [-1.0]), "scores[0] must be an ordered iterable of numbers"),
        (lambda: tta.tune([["a"]], "a"), "references must be an ordered iterable of str, such as"),
    ],
)
def test_type_errors(call, message):
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        call()


class Frame:
    """Like a data frame of pandas (or a table of pyarrow, with `column_names`)."""

    columns, ndim = ("a", "b"), 2

    def __iter__(self):
        return iter(self.columns)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda frame: tta.rerank(frame, None, "none"), "lists"),
        (lambda frame: tta.tune(frame, ["a"], None, "none"), "lists"),
        (lambda frame: tta.rerank([["a"]], frame, "none"), "scores"),
        (lambda frame: tta.rerank([frame], None, "none"), "lists[0]"),
        (lambda frame: tta.rerank([["a"]], [frame], "none"), "scores[0]"),
        (lambda frame: tta.rerank([["a"]], None, "none", features=frame), "features"),
        (lambda frame: tta.rerank([["a"]], None, "none", phrases=frame), "phrases"),
        (lambda frame: FakeModel().score(frame), "texts"),
        (lambda frame: tta.tune([["a"]], frame, None, "none"), "references"),
    ],
)
def test_tables_are_refused_in_one_line(call, name):
    with pytest.raises(
        TypeError, match=rf"^{re.escape(name)} must be .* not a Frame: pass its rows"
    ):
        call(Frame())


SPELLED = [["it &apos;s open", "it 's shut"]]


@pytest.mark.parametrize(
    ("lists", "scores", "warning"),
    [
        (SPELLED, [[-1, -2]], "escaped characters .* read as words"),
        ([["a", "b"]], [[1.5, 2.5]], "if they are costs, pass their negatives"),
        ([["a", "b"]], [[0.7, 0.3]], "like probabilities; if they are, pass their logarithms"),
        ([["a", "b"]] * 10, [[-2, -1]] * 10, "like costs; if they are, pass their negatives"),
        ([["a", "b"]] * 9, [[-2, -1]] * 9, None),
        ([["a", "b"]], [[-1, -2]], None),
    ],
)
@pytest.mark.filterwarnings("default")
def test_what_looks_wrong_in_memory_is_a_warning_at_the_call(recwarn, lists, scores, warning):
    tta.rerank(lists, scores, "none")
    found = list(recwarn)
    assert len(found) == (warning is not None)
    assert all(re.search(warning, str(w.message)) and w.filename == __file__ for w in found)


@pytest.mark.parametrize("lists", [[[""]], [["", "  "], ["\t"]], [[""], []], [["<pad>", ""]]])
@pytest.mark.parametrize("model", ["none", FakeModel("known")], ids=["none", "model"])
@pytest.mark.filterwarnings("ignore:lists of one", "ignore:begin, end")
def test_picks_without_words_have_no_confidences(lists, model):
    scores = [[-1.0 - i for i in range(len(one))] for one in lists]
    assert tta.confidence(lists, scores, model) == [[] for _ in lists]
    weights = tta.fit_confidence(lists, ["a"] * len(lists), scores, model)
    assert tta.confidence(lists, scores, model, confidence_weights=weights) == [[] for _ in lists]


def test_words_that_are_none_are_left_out_and_returned():
    texts, scores = ["a [noise] b", "a c"], [-1.0, -2.0]
    with pytest.warns(UserWarning, match=r"1 \[noise\].*keep_non_words"):
        found = tta.rerank(texts, scores, "none")
    assert found.texts == texts
    with pytest.warns(UserWarning, match="none"):
        words = tta.confidence(texts, scores, "none")
    assert [one.word for one in words] == ["a", "b"]
    kept = tta.confidence(texts, scores, "none", keep_non_words=True)
    assert [one.word for one in kept] == ["a", "[noise]", "b"]
    assert tta.rerank(texts, scores, "none", metric="bleu").texts == texts  # without a warning


@pytest.mark.parametrize(
    ("options", "wer"),
    [({}, 0.0), ({"keep_non_words": True}, 50.0), ({"metric": "bleu"}, None)],
)
def test_files_have_the_same_rule(options, wer, tmp_path):
    path, output = tmp_path / "lists.jsonl", tmp_path / "out.jsonl"
    write(path, [["a <eps> b", "a c"]], [[-1.0, -2.0]], ["a [noise] b" if wer is None else "a b"])
    config = RerankConfig(
        nbest_file=str(path), output_file=str(output), decision="max", length_bonus=0.0, **options
    )
    report = rerank_files(config, [])
    assert any("keep_non_words" in note for note in report.notes) == (wer == 0)
    if wer is not None:
        assert report.test.row("first pass").value == wer
    assert '"a <eps> b"' in output.read_text(encoding="utf-8")


class Labels(list):
    """Like an index of pandas."""

    def equals(self, other):
        return self == other


class Column(list):
    """Like a pandas Series."""

    def __init__(self, values, index):
        super().__init__(values)
        self.index = Labels(index)


ONE, TWO = ["the cat", "a dog"], [["the cat", "a cat"], ["a dog"]]
SCORES = [[-1, -2], [-3]]
SAME, OTHER = [0, 1], [1, 0]
LABELLED = [  # a call with columns of two indices, the arguments that the error names
    (lambda a, b: tta.rerank(Column(ONE, a), Column([-1, -2], b), "none"), "lists and scores"),
    (lambda a, b: tta.rerank([Column(ONE, a)], [Column([-1, -2], b)], "none"), "texts and scores"),
    (lambda a, b: tta.rerank(Column(ONE, a), [-1, -2], FakeModel(), weights=RerankWeights(
        0.3, features={"am": 1.0}), features={"am": Column([1, 2], b)}), "am and lists"),
    (lambda a, b: tta.tune(Column(TWO, a), Column(ONE, b), SCORES, "none"), "lists and references"),
    (lambda a, b: FakeModel().score(Column(ONE, a), prefixes=Column(ONE, b)), "texts and prefixes"),
    (lambda a, b: FakeModel().similarity(Column(ONE, a), Column(ONE, b)), "first and second"),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "names"), LABELLED)
def test_rows_with_other_labels_are_refused(call, names):
    rule = f"{names} have different indices, so their rows may not belong together"
    with pytest.raises(InputError, match=rule):
        call(SAME, OTHER)
    if names != "first and second":  # the fake model has no vectors
        call(SAME, SAME)
