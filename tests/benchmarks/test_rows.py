"""Rows of benchmarks that train models: their configs, and how rows are chosen."""

import json
from types import SimpleNamespace

import pytest
from absl import app

from benchmarks.evaluation_data import sample
from benchmarks.nar import quality
from benchmarks.semfit import quality as semfit_quality
from benchmarks.semfit.rows import ROWS as SEMFIT
from benchmarks.trained_rows import ROOT, chosen
from tta.modeling.config.base import read_config

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize("row", quality.ROWS, ids=lambda row: row.name)
def test_a_row_of_autoencoders_has_a_config(row):
    config = read_config(ROOT / f"configs/{row.config}.json", vocab_size=100)
    assert config.replace(**row.changes).to_dict().items() >= row.changes.items()


@pytest.mark.parametrize("row", SEMFIT, ids=lambda row: row.name)
def test_a_row_of_output_layers_has_a_config(row):
    assert (ROOT / f"configs/{row.config}.json").exists()


@pytest.mark.parametrize(("vocab_size", "kept"), [(100_000, 2), (30_000, 1), (4_000, 0)])
def test_clusters_that_begin_beyond_a_vocabulary_are_left_out(
    tmp_path, monkeypatch, vocab_size, kept
):
    row = next(row for row in SEMFIT if row.name == "ELMo-A")
    (tmp_path / "dataset.json").write_text(json.dumps({"vocab_size": vocab_size}))
    folders = SimpleNamespace(work_dir=tmp_path, words_dir=tmp_path, pieces_dir=tmp_path)
    monkeypatch.setattr(semfit_quality, "FLAGS", folders)
    shipped = json.loads((ROOT / f"configs/{row.config}.json").read_text())
    config = json.loads(semfit_quality.config_of(row).read_text())
    cutoffs = shipped["adaptive_cutoffs"]
    assert config == shipped | {"adaptive_cutoffs": cutoffs[:kept]}
    assert all(cutoff < vocab_size for cutoff in cutoffs[:kept])


def test_a_sample_has_the_header_and_other_rows_of_the_file_each_once(tmp_path):
    rows = [f"row {i}\n" for i in range(20)]
    (tmp_path / "train.tsv").write_text("".join(["header\n", *rows]))
    drawn = [sample(tmp_path / "train.tsv", 7, tmp_path / name) for name in ("a", "b")]
    header, *found = drawn[0].read_text().splitlines(keepends=True)
    assert header == "header\n"
    assert len(set(found)) == len(found) == 7
    assert set(found) < set(rows)
    assert drawn[1].read_text() == drawn[0].read_text()


def test_rows_are_chosen_by_name():
    assert chosen(SEMFIT, None) == list(SEMFIT)
    names = "ELMo-A;T-TA SemFit cosine, skip_gram"
    assert [row.name for row in chosen(SEMFIT, names)] == names.split(";")
    with pytest.raises(app.UsageError, match="no row 'ELMo-B'; there are T-TA full softmax"):
        chosen(SEMFIT, "ELMo-B")
