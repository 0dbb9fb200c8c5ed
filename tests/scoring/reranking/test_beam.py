"""Scores on Apache Beam are the rows of run_rerank.py --scores_file, complete or not written."""

import json
import math

import pytest

from tests import tiny
from tests.beam_runners import IN_PROCESS, JOB_SERVER, TWO_PROCESSES, workers_find_tta
from tta.errors import InputError
from tta.scoring.combining.list_features import LIST_FEATURES
from tta.scoring.combining.weights import RerankWeights
from tta.scoring.reranking import beam
from tta.scoring.reranking.config import BeamScoreConfig, RerankConfig
from tta.scoring.reranking.rerank import rerank_files

__all__ = ["workers_find_tta"]

# Among them texts that are empty, unknown, and longer than the input of the tiny model.
TEXTS = [
    "the cat sat",
    "",
    "the dog ran home .",
    "q!",
    "the cats sat on the mat , the dog ran",
    "a",
]
pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("models_are_loaded_once")]
WEIGHTS = {"lm_weight": 0.3, "length_bonus": 0.7, "reduction": "mean"}
FEATURES = ["am_score=1.5", "rank=-2.5"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny.write_model_directory(tmp_path_factory.mktemp("model"))


@pytest.fixture
def nbest(tmp_path):
    """20 lists and an empty one in JSON lines, and 10 in Moses's format."""
    with open(tmp_path / "a.jsonl", "w") as file:
        for i in range(20):
            texts = [f"{TEXTS[(i + j) % 6]} {'abc'[i % 3]}".strip() for j in range(1 + i % 5)] + [
                ""
            ]
            hypotheses = [
                {"text": text, "score": -i - j / 3, "am_score": j % 3 - i / 7}
                for j, text in enumerate(texts)
            ]
            file.write(json.dumps({"id": f"u{i}", "hypotheses": hypotheses}) + "\n")
        file.write('{"id": "empty", "hypotheses": []}\n')
    with open(tmp_path / "b.moses", "w") as file:
        for i in range(10):
            for j, text in enumerate(TEXTS[i % 4 :]):
                file.write(f"u{i} ||| {text} ||| am_score= {1 - j % 2} ||| {-j - 0.5}\n")
    return [str(tmp_path / name) for name in ("a.jsonl", "b.moses")]


def on_beam(paths, output, model, arguments=IN_PROCESS, **options):
    config = BeamScoreConfig(nbest_file=paths, output_dir=str(output), **WEIGHTS, **options)
    return beam.score_files(config, model, arguments)


def rows(paths):
    return [json.loads(line) for path in sorted(paths) for line in path.read_text().splitlines()]


def rows_by_list(paths):
    lists = {}
    for row in rows(paths):
        lists.setdefault((row.pop("file", None), row["id"]), []).append(row)
    return lists


def on_one_machine(path, model, tmp_path, **options):
    """The rows of `run_rerank.py --scores_file`, by list, and the report."""
    scores_file = tmp_path / "one.jsonl"
    config = RerankConfig(
        nbest_file=path,
        lm_weight=[WEIGHTS["lm_weight"]],
        length_bonus=WEIGHTS["length_bonus"],
        reduction=WEIGHTS["reduction"],
        scores_file=str(scores_file),
        overwrite=True,
        **options,
    )
    report = str(rerank_files(config, [model]))
    return {(path, key): value for (_, key), value in rows_by_list([scores_file]).items()}, report


def assert_equal_rows(ours, theirs):
    """The same lists, each with the same rows in the same order."""
    assert ours.keys() == theirs.keys()
    for one, expected_rows in theirs.items():
        for row, expected in zip(ours[one], expected_rows, strict=True):
            assert row.keys() == expected.keys()
            for key, value in expected.items():
                close = isinstance(value, float)
                assert row[key] == (pytest.approx(value, abs=1e-5) if close else value)


@pytest.mark.parametrize(
    "arguments",
    [IN_PROCESS, pytest.param(TWO_PROCESSES, marks=pytest.mark.slow)],
    ids=["in process", "two processes"],
)
def test_the_scores_are_those_of_the_one_machine_command(
    nbest, model, tmp_path, workers_find_tta, arguments
):
    info = on_beam(nbest, tmp_path / "out", model, arguments, num_shards=3)
    theirs = {}
    for path in nbest:
        found, report = on_one_machine(path, model, tmp_path, decision="max", metric="none")
        assert info["signature"] in report
        theirs |= found
    paths = (tmp_path / "out").glob("scores-0000?-of-00003.jsonl")
    assert_equal_rows(rows_by_list(paths), theirs)
    tokens = sum(row["num_tokens"] for found in theirs.values() for row in found)
    assert info == {
        "signature": info["signature"],
        "lm_weight": 0.3,
        "length_bonus": 0.7,
        "reduction": "mean",
        "decision": "max",
        "scale": None,
        "features": {},
        "counts": {"lists": 31, "hypotheses": 60 + 20 + 47, "tokens": tokens},
        "sources": nbest,
    }
    assert json.loads((tmp_path / "out" / "scores.json").read_text()) == info
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"scores.json", *(f"scores-0000{i}-of-00003.jsonl" for i in range(3))}


@pytest.mark.parametrize(
    ("metric", "scale", "features"),
    [("wer", None, FEATURES), ("wer", 0.75, None), ("bleu", 0.25, FEATURES)],
    ids=["max with features", "mbr", "mbr with chrF and features"],
)
def test_decisions_and_features_are_those_of_the_one_machine_command(
    nbest, model, tmp_path, metric, scale, features
):
    # Moses lists without references have the loss of bleu there, and others that of wer.
    path = nbest[metric == "bleu"]
    info = on_beam([path], tmp_path / "out", model, metric=metric, scale=scale, features=features)
    decision = "max" if scale is None else "mbr"
    theirs, _ = on_one_machine(
        path, model, tmp_path, decision=decision, scale=scale, features=features
    )
    ours = rows_by_list((tmp_path / "out").glob("scores-*"))
    assert_equal_rows(ours, theirs)
    found = [row for one in ours.values() for row in one]
    assert all(("expected_loss" in row) == (decision == "mbr") for row in found)
    assert (info["decision"], info["scale"]) == (decision, scale)
    assert info["features"] == ({"am_score": 1.5, "rank": -2.5} if features else {})
    # The decision and the features count: without them, some lists have another order.
    on_beam([path], tmp_path / "plain", model)
    plain = rows_by_list((tmp_path / "plain").glob("scores-*"))
    assert [row["text"] for one in ours for row in plain[one]] != [row["text"] for row in found]


@pytest.mark.parametrize("scale", [None, 0.5])
def test_lists_without_scores_are_scored_by_rank(nbest, model, tmp_path, scale):
    """File by file, as run_rerank.py does: a file has scores for all lists or for none."""
    path = tmp_path / "unscored.jsonl"
    lists = [{"id": f"u{i}", "hypotheses": TEXTS[i:]} for i in range(len(TEXTS))]
    path.write_text(
        "".join(json.dumps(one) + "\n" for one in [{"id": "0", "hypotheses": []}, *lists])
    )
    on_beam([nbest[0], str(path)], tmp_path / "out", model, scale=scale)
    ours = rows_by_list((tmp_path / "out").glob("scores-*"))
    options = {"decision": "max" if scale is None else "mbr", "scale": scale}
    theirs = {}
    for one in (nbest[0], str(path)):
        theirs |= on_one_machine(one, model, tmp_path, **options)[0]
    assert_equal_rows(ours, theirs)
    scores = {row["text"]: row["first_pass_score"] for row in ours[str(path), "u1"]}
    assert scores == {text: -math.log(i) for i, text in enumerate(TEXTS[1:], start=1)}


def test_a_list_without_a_feature_is_one_error_and_nothing_is_written(model, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"id": "u", "hypotheses": [{"text": "a", "score": -1}]}\n')
    with pytest.raises(InputError) as raised:
        on_beam([str(bad)], tmp_path / "out", model, features=["am_score=0.5"])
    rule = "list 'u': not every hypothesis has a feature 'am_score'; these all have: rank, "
    rule += ", ".join(LIST_FEATURES)
    assert str(raised.value) == f"{bad}: {rule}"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("arguments", [IN_PROCESS, JOB_SERVER], ids=["in process", "job server"])
def test_a_bad_line_is_one_error_and_nothing_is_written(nbest, tmp_path, model, arguments):
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"hypotheses": ["a"]}\n\n{"hypotheses": ["b", 5]}\n')
    with pytest.raises(InputError) as raised:
        on_beam([*nbest, str(bad)], tmp_path / "out", model, arguments)
    rule = "list 1: expected a hypothesis as an object, got 5 (read as jsonl)"
    assert str(raised.value) == f"{bad}:3: {rule}"
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_missing(nbest, tmp_path):
    with pytest.raises(InputError, match="none: no such model directory"):
        on_beam(nbest, tmp_path / "out", "none")
    assert not (tmp_path / "out").exists()


def test_existing_scores_are_kept_without_overwrite(nbest, tmp_path, model):
    output = tmp_path / "out"
    on_beam(nbest[:1], output, model, num_shards=4)
    (output / "mine.txt").write_text("keep")
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    with pytest.raises(InputError, match="exists; pass --overwrite to replace the scores"):
        on_beam(nbest[1:], output, model)
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before
    on_beam(nbest[1:], output, model, num_shards=1, overwrite=True)
    assert {row["file"] for row in rows(output.glob("scores-*"))} == {nbest[1]}
    assert len(list(output.glob("scores-*"))) == 1
    assert (output / "mine.txt").read_text() == "keep"


def test_workers_with_different_models_are_refused(tmp_path):
    counts = {"lists": 2, "hypotheses": 2, "tokens": 3, "model:a|v:1": 1, "model:a|v:2": 1}
    weights = RerankWeights(**WEIGHTS)
    settings = str(tmp_path), str(tmp_path / "work"), weights, ["a"]
    with pytest.raises(InputError, match=r"used different models: model:a\|v:1 and model:a\|v:2"):
        beam._publish(None, [], counts, settings)
    assert list(tmp_path.iterdir()) == []


def test_a_text_is_scored_once_per_batch(nbest, model):
    class Counting:
        def score_with_counts(self, texts, progress=False):
            assert len(set(texts)) == len(texts)
            self.texts = len(texts)
            return self.scorer.score_with_counts(texts, progress)

    handler = beam.ScorerHandler(model)
    config = BeamScoreConfig(nbest_file=nbest, output_dir="none")
    batch = list(beam._read(nbest[1], config))
    loaded, counting = handler.load_model(), Counting()
    counting.scorer = loaded.scorer
    results = handler.run_inference(batch, beam.SignedScorer(counting, "signature"))
    assert counting.texts == len(TEXTS)
    assert [result.example for result in results] == batch
    assert {result.model_id for result in results} == {"signature"}


def test_without_weights_they_are_guessed_as_by_run_rerank(nbest, tmp_path, model):
    """Even for lists without scores: one default, the order of the list."""
    (tmp_path / "c.jsonl").write_text(
        "".join(
            json.dumps({"id": f"u{i}", "hypotheses": [{"text": text} for text in TEXTS[i:]]}) + "\n"
            for i in range(4)
        )
    )
    for path in (nbest[0], str(tmp_path / "c.jsonl")):
        scores, output = tmp_path / "scores.jsonl", tmp_path / "out"
        report = rerank_files(
            RerankConfig(nbest_file=path, scores_file=str(scores), overwrite=True), [model]
        )
        config = BeamScoreConfig(nbest_file=[path], output_dir=str(output), overwrite=True)
        info = beam.score_files(config, model, IN_PROCESS)
        expected = [json.loads(line) for line in scores.read_text().splitlines()]
        assert any(f"lm_weight:{info['lm_weight']:.6g}" in one for one in report.signatures)
        found = rows(output.glob("scores-*"))
        combined, mine = (
            {(row["id"], row["text"]): row["combined"] for row in one} for one in (expected, found)
        )
        assert mine == pytest.approx(combined, rel=1e-4)
        assert 0 < info["lm_weight"] < 1


def test_phrases_have_the_weight_of_the_one_machine_command(
    nbest, model, tmp_path, workers_find_tta
):
    path = tmp_path / "phrases.txt"
    path.write_text("the dog ran\nq!\n")
    (tmp_path / "lists").mkdir()
    given = {"phrases_file": str(path), "metric": "wer", "scale": 0.5}
    info = on_beam(nbest[:1], tmp_path / "out", model, **given)
    assert info["features"]["phrases"] > 0
    ours = rows_by_list((tmp_path / "out").glob("scores-*"))
    theirs, report = on_one_machine(nbest[0], model, tmp_path, **given)
    assert_equal_rows(ours, theirs)
    assert "phrases_weight:" in report
    assert any(row["features"]["phrases"] for rows in ours.values() for row in rows)
