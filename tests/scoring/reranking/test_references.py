"""References of some lists, and several of each."""

import json

import pytest
from sacrebleu.metrics.bleu import BLEU

from tests.reranking import rerank

TEXT = "the cat sat on the mat and a dog ran home to eat some old bread with us all"
WORDS = TEXT.split()
PLAIN = {"decision": "max", "length_bonus": 0.0, "features": []}


def write(path, count=12):
    """Lists whose second text lacks the first word, which is wrong."""
    texts = {f"u{i}": WORDS[i : i + 5] for i in range(count)}
    rows = [
        {
            "id": name,
            "hypotheses": [" ".join(["x", *words[1:]]), " ".join(words)],
            "scores": [-1, -2],
        }
        for name, words in texts.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return {name: " ".join(words) for name, words in texts.items()}


def test_only_lists_with_a_reference_are_measured_and_tuned_on(tmp_path):
    texts = write(tmp_path / "in.jsonl")
    lines = [f"{name} {text}\n" for name, text in texts.items()]
    (tmp_path / "refs").write_text("".join(lines[2:7]))
    measured = {"reference_file": tmp_path / "refs", "partial_references": True}
    report = rerank(tmp_path / "in.jsonl", (), output_file=tmp_path / "out", **measured, **PLAIN)
    first, *_, oracle = report.test.evaluation.rows
    assert (first.value, oracle.value) == (20.0, 0.0), "five lists with one wrong word of five each"
    assert first.picked.shape[0] == 5
    assert "measured on 5 of 12 lists: the others have no reference" in report.notes
    assert len((tmp_path / "out").read_text().splitlines()) == 12, "all are reranked"
    dev = {f"dev_{name}": measured[name] for name in ("reference_file",)}
    dev["dev_nbest_file"] = tmp_path / "in.jsonl"
    report = rerank(tmp_path / "in.jsonl", (), **measured, **dev)
    assert (report.dev.num_lists, report.test.num_lists) == (5, 12)


def test_several_references_are_sacrebleus(tmp_path):
    texts = [*write(tmp_path / "in.jsonl").values()]
    files = {"r0": [f"{one} now" for one in texts], "r1": [f"well {one}" for one in texts]}
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    measured = {"reference_file": [str(tmp_path / name) for name in files], "metric": "bleu"}
    report = rerank(tmp_path / "in.jsonl", (), **measured, **PLAIN)
    rows = (tmp_path / "in.jsonl").read_text().splitlines()
    picks = [json.loads(row)["hypotheses"][0] for row in rows]
    expected = BLEU().corpus_score(picks, [*files.values()])
    assert report.test.evaluation.rows[0].value == pytest.approx(expected.score, abs=1e-9)
