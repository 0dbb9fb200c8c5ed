"""Scores on Apache Beam are the rows of run_rerank.py --scores_file, complete or not written."""

import json

import pytest

from tests import tiny
from tests.beam_runners import IN_PROCESS, JOB_SERVER, TWO_PROCESSES, workers_find_tta
from tta.errors import InputError
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
WEIGHTS = {"lm_weight": 0.3, "length_bonus": 0.7, "reduction": "mean"}


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
            hypotheses = [{"text": text, "score": -i - j / 3} for j, text in enumerate(texts)]
            file.write(json.dumps({"id": f"u{i}", "hypotheses": hypotheses}) + "\n")
        file.write('{"id": "empty", "hypotheses": []}\n')
    with open(tmp_path / "b.moses", "w") as file:
        for i in range(10):
            for j, text in enumerate(TEXTS[i % 4 :]):
                file.write(f"u{i} ||| {text} ||| ||| {-j - 0.5}\n")
    return [str(tmp_path / name) for name in ("a.jsonl", "b.moses")]


def on_beam(paths, output, model, arguments=IN_PROCESS, **options):
    config = BeamScoreConfig(nbest_file=paths, output_dir=str(output), **WEIGHTS, **options)
    return beam.score_files(config, model, arguments)


def rows(paths):
    return [json.loads(line) for path in sorted(paths) for line in path.read_text().splitlines()]


def test_several_processes_give_the_scores_of_the_one_machine_command(
    nbest, model, tmp_path, workers_find_tta
):
    info = on_beam(nbest, tmp_path / "out", model, TWO_PROCESSES, num_shards=3)
    ours = {path: {} for path in nbest}
    for row in rows((tmp_path / "out").glob("scores-0000?-of-00003.jsonl")):
        ours[row.pop("file")].setdefault(row["id"], []).append(row)
    tokens = 0
    for path in nbest:
        scores_file = tmp_path / "one.jsonl"
        config = RerankConfig(
            nbest_file=path,
            lm_weight=[WEIGHTS["lm_weight"]],
            length_bonus=WEIGHTS["length_bonus"],
            reduction=WEIGHTS["reduction"],
            scores_file=str(scores_file),
            metric="none",
            overwrite=True,
        )
        report = str(rerank_files(config, [model]))
        assert info["signature"] in report
        theirs = {}
        for row in rows([scores_file]):
            theirs.setdefault(row["id"], []).append(row)
            tokens += row["num_tokens"]
        assert ours[path].keys() == theirs.keys()
        for one, rows_of_one in theirs.items():
            for row, expected in zip(ours[path][one], rows_of_one, strict=True):
                assert row.keys() == expected.keys()
                for key, value in expected.items():
                    close = isinstance(value, float)
                    assert row[key] == (pytest.approx(value, abs=1e-5) if close else value)
    assert info["counts"] == {"lists": 31, "hypotheses": 60 + 20 + 47, "tokens": tokens}
    assert info["sources"] == nbest
    assert (info["lm_weight"], info["length_bonus"], info["reduction"]) == (0.3, 0.7, "mean")
    assert json.loads((tmp_path / "out" / "scores.json").read_text()) == info
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"scores.json", *(f"scores-0000{i}-of-00003.jsonl" for i in range(3))}


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
        def score_with_counts(self, texts):
            assert len(set(texts)) == len(texts)
            self.texts = len(texts)
            return self.scorer.score_with_counts(texts)

    handler = beam.ScorerHandler(model)
    batch = list(beam._read(nbest[1], None, None))
    loaded, counting = handler.load_model(), Counting()
    counting.scorer = loaded.scorer
    results = handler.run_inference(batch, beam.SignedScorer(counting, "signature"))
    assert counting.texts == len(TEXTS)
    assert [result.example for result in results] == batch
    assert {result.model_id for result in results} == {"signature"}
