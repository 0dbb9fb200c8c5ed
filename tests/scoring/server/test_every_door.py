"""The same lists get the same order, scores and notes from the command, Python and HTTP."""

import json
import warnings

import pytest

import tta
from tests.fake_model import FakeModel
from tests.scoring.reranking.test_in_memory import make_lists, write
from tta.doors import Door, through
from tta.errors import InputError
from tta.scoring.reranking.config import RerankConfig
from tta.scoring.reranking.rerank import rerank_files
from tta.scoring.scorers.inference.mixed import MixedModel
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.server.forms import OneList, Weights
from tta.scoring.server.models import ServedModels, load_models
from tta.scoring.server.service import ListsToRerank, Service

MIXED, SCORES, _ = make_lists(5, 20)
LONG = [a + b for a, b in zip(MIXED[::2], MIXED[1::2], strict=True)]
LONG_SCORES = [a + b for a, b in zip(SCORES[::2], SCORES[1::2], strict=True)]
ODD = [
    ["[noise] the cat sat", "[noise] a cat zat", ""],
    ["the mat"],
    ["a dog ran home", "a dog ran home", "the dock ran"],
]
ODD_SCORES = [[-1.0, -2.0, -1e9], [-3.0], [-1.0, -1.0, -2.5]]
LEVELS = tta.Levels(FakeModel("known"), FakeModel("length"), share=0.3, best=4)
IN_MIXED_PRECISION = MixedModel(FakeModel("length"), FakeModel("known"))
WEIGHTS = tta.RerankWeights(0.4, 0.5, scale=2.0, features={"distance": 0.2})

CASES = {  # what differs: lists, scores, model, arguments of all doors
    "guessed": (MIXED, SCORES, FakeModel("known"), {}),
    "weights": (MIXED, SCORES, FakeModel("known"), {"weights": WEIGHTS}),
    "the decision max": (MIXED, SCORES, FakeModel("known"), {"weights": tta.RerankWeights(0.4)}),
    "a bonus that a list leaves out": (
        [*MIXED, ["no", "no a"]], [*SCORES, [-6.0, -6.01]], FakeModel("length"), {}
    ),
    "no scores": (MIXED, None, FakeModel("known"), {}),
    "scores like costs": (MIXED, [sorted(s) for s in SCORES], FakeModel("known"), {}),
    "odd lists": (ODD, ODD_SCORES, FakeModel("known"), {}),
    "tags are words": (ODD, ODD_SCORES, FakeModel("known"), {"keep_non_words": True}),
    "phrases": (MIXED, SCORES, FakeModel("known"), {"phrases": ["kat", "The Dog", "maat"]}),
    "a weight of phrases": (
        MIXED, SCORES, FakeModel("known"), {"phrases": ["kat"], "phrases_weight": 1.5}
    ),
    "the model alone": (MIXED, None, FakeModel("known"), {"rank_scores": False}),
    "errors in characters": (MIXED, SCORES, FakeModel("known"), {"metric": "cer"}),
    "the mean of token scores": (
        MIXED, SCORES, FakeModel("known"),
        {"weights": tta.RerankWeights(0.3, reduction="mean", scale=2.0)},
    ),
    "levels": (MIXED, SCORES, LEVELS, {}),
    "mixed precision": (LONG, LONG_SCORES, IN_MIXED_PRECISION, {}),
    "phrases in mixed precision": (LONG, LONG_SCORES, IN_MIXED_PRECISION, {"phrases": ["kat"]}),
    "short lists in mixed precision": (ODD, ODD_SCORES, IN_MIXED_PRECISION, {}),
}  # fmt: skip


def by_command(tmp_path, lists, scores, model, weights=None, phrases=None, **values):
    """The rows of the scores file list by list, the confidences and the notes."""
    nbest = write(tmp_path / "lists.jsonl", lists, scores, [None] * len(lists))
    if phrases is not None:
        values["phrases_file"] = str(tmp_path / "phrases.txt")
        (tmp_path / "phrases.txt").write_text("\n".join(phrases))
    if weights is not None:
        values |= {"length_bonus": weights.length_bonus, "lm_weight": [weights.lm_weight]}
        values["reduction"] = weights.reduction
        values["features"] = [f"{name}={value}" for name, value in weights.features.items()]
        values |= {"decision": "max"} if weights.decision == "max" else {"scale": weights.scale}
    config = RerankConfig(
        nbest_file=nbest,
        scores_file=str(tmp_path / "scores.jsonl"),
        confidence=str(tmp_path / "words.jsonl"),
        **values,
    )
    with through(Door.COMMAND):
        report = rerank_files(config, [model])
    scored = [json.loads(line) for line in (tmp_path / "scores.jsonl").read_text().splitlines()]
    words = [json.loads(line) for line in (tmp_path / "words.jsonl").read_text().splitlines()]
    prefix = f"{tmp_path / 'lists.jsonl'}: "
    return {
        "orders": [
            [(row["text"], row["combined"]) for row in scored if row["id"] == str(i)]
            for i in range(len(lists))
        ],
        "terms": [
            [row["terms"] for row in scored if row["id"] == str(i)] for i in range(len(lists))
        ],
        "words": [row["words"] for row in words],
        "notes": [
            note.removeprefix(prefix).replace(prefix[:-2], "the lists")
            for note in report.notes
            if not note.startswith("no references")
        ],
    }


def plain(text):
    return text.removeprefix("[noise] ")


def rounded(word):
    """The confidence of a word, where numbers may differ in their last digits."""
    return {k: pytest.approx(v, rel=1e-6) if isinstance(v, float) else v for k, v in word.items()}


def by_python(lists, scores, model, **arguments):
    reranked = tta.Reranker(model, **arguments).rerank(lists, scores)
    words = reranked.confidence()
    return {
        "orders": [list(zip(one.texts, one.scores, strict=True)) for one in reranked.lists],
        "terms": [
            [{name: values[j] for name, values in one.terms.items()} for j in range(len(one.texts))]
            for one in reranked.lists
        ],
        "words": [[word.to_dict() for word in of_list] for of_list in words.words],
        "notes": list(map(str, words.notes)),
    }


def by_http(lists, scores, model, **arguments):
    asked = [
        OneList(hypotheses=texts, scores=None if scores is None else scores[i])
        for i, texts in enumerate(lists)
    ]
    with through(Door.HTTP):
        (answer,) = Service(ServedModels.of(model)).rerank([ListsToRerank(asked, {}, **arguments)])
    return {
        "orders": [
            [(row["text"], row["score"]) for row in one["hypotheses"]] for one in answer["lists"]
        ],
        "terms": [[row["terms"] for row in one["hypotheses"]] for one in answer["lists"]],
        "words": [one["words"] for one in answer["lists"]],
        "notes": answer["notes"],
    }


def test_in_mixed_precision_texts_are_scored_in_float32(monkeypatch):
    def load(model, precision, **options):
        lms = {name: FakeModel(name) for name in ("int8", "float32")}
        return MixedModel(lms["int8"], lms["float32"]) if precision == "mixed" else lms[precision]

    monkeypatch.setattr(tta, "load", load)
    served = load_models(None, "auto", ScoreOptions(precision="mixed"))
    assert (served.texts.name, served.hypotheses.name) == ("float32", "int8")
    assert served.lists.exact is served.texts  # loaded once
    levels = load_models(tta.Levels("a", "b"), "auto", ScoreOptions(precision="mixed"))
    assert [lm.name for lm in levels.lists.models] == ["int8", "float32"]


NAMES = [  # what the command, Python and HTTP call the same
    ("use --scores=cost", "pass their negatives", "pass their negatives"),
    (
        "as there is no --dev_nbest_file",
        "because weights is missing",
        'because "weights" is missing',
    ),
    ("--norank_scores", "rank_scores=False", '"rank_scores": false'),
    ("--normalize=basic", "normalize='basic' of the metric", "the spelling of the lists"),
]


def check_terms(orders, terms, expected):
    """The terms of each hypothesis sum to its combined score, and are those of the command."""
    for order, terms_of_list, expected_of_list in zip(orders, terms, expected, strict=True):
        for (_, combined), of_text, expected_of_text in zip(
            order, terms_of_list, expected_of_list, strict=True
        ):
            assert sum(of_text.values()) == pytest.approx(combined, rel=1e-9)
            assert of_text == pytest.approx(expected_of_text, rel=1e-6)


def test_a_guessed_bonus_that_a_list_leaves_out_adds_0_to_its_scores():
    lists, scores, model, _ = CASES["a bonus that a list leaves out"]
    *others, left_out = tta.rerank(lists, scores, model)
    assert left_out.weights.length_bonus > 0
    assert left_out.terms["num_words"] == [0.0, 0.0]
    assert all(min(reranked.terms["num_words"]) > 0 for reranked in others)


@pytest.mark.parametrize("name", CASES)
def test_every_door_gives_the_same_answer(tmp_path, monkeypatch, name):
    lists, scores, model, arguments = CASES[name]
    monkeypatch.setattr(tta, "load", lambda lm=None, **options: lm)
    command = by_command(tmp_path, lists, scores, model, **arguments)
    python = by_python(lists, scores, model, **arguments)
    http = by_http(lists, scores, model, **arguments)
    assert len(command["notes"]) > 1
    expected = {"Python": command["notes"], "HTTP": command["notes"]}
    for flag, *names in NAMES:
        for at_door, other in zip(expected, names, strict=True):
            expected[at_door] = [note.replace(flag, other) for note in expected[at_door]]
    assert expected == {"Python": python["notes"], "HTTP": http["notes"]}
    assert "--" not in "".join(python["notes"] + http["notes"])
    for door in python, http:
        for order, expected in zip(door["orders"], command["orders"], strict=True):
            # The scores file has the words that were scored; the others the texts as they came.
            texts = [text if arguments.get("keep_non_words") else plain(text) for text, _ in order]
            assert texts == [text for text, _ in expected]
            assert [s for _, s in order] == pytest.approx([s for _, s in expected], rel=1e-6)
        assert door["words"] == [list(map(rounded, words)) for words in command["words"]]
    for door in command, python, http:
        check_terms(door["orders"], door["terms"], command["terms"])

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tta.rerank(lists, scores, model, **arguments)
    warned = [str(warning.message) for warning in caught]
    assert warned == [
        str(n) for n in tta.Reranker(model, **arguments).rerank(lists, scores).notes if n.is_warning
    ]


@pytest.mark.parametrize(("factor", "is_error"), [(-1.0, True), (4.0, False)])
def test_every_door_compares_lists_with_those_that_weights_were_tuned_on(
    tmp_path, factor, is_error
):
    lists, scores, references = make_lists(5, 20)
    changed = [[factor * score for score in of_list] for of_list in scores]
    model = FakeModel("known")
    weights = tta.tune(lists, references, scores, model)
    values = weights.to_dict()
    body = {name: values[name] for name in Weights.model_fields}
    sent = Weights(**json.loads(json.dumps(body))).to_weights()
    dev = write(tmp_path / "dev.jsonl", lists, scores, references)
    calls = {
        "command": lambda: by_command(tmp_path, lists, changed, model, dev_nbest_file=dev),
        "Python": lambda: by_python(lists, changed, model, weights=weights),
        "HTTP": lambda: by_http(lists, changed, model, weights=sent),
    }
    messages = {door: message_of_fit(call) for door, call in calls.items()}
    assert set(messages.values()) == {messages["command"]}
    assert messages["command"][0] is is_error
    assert "the first pass is" in messages["command"][1]
    assert not message_of_fit(lambda: by_python(lists, scores, model, weights=sent))[1]


def message_of_fit(call):
    """Whether a call is refused, and why, or the notes on what the weights were tuned on."""
    try:
        notes = call()["notes"]
    except InputError as error:
        return True, error.rule
    return False, " ".join(note for note in notes if "weights are tuned on" in note)
