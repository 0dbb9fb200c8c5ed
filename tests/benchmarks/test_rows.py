"""Rows of benchmarks that train models: their configs, and how rows are chosen."""

import pytest
from absl import app

from benchmarks.evaluation_data import sample
from benchmarks.nar import quality, speed
from benchmarks.semfit.rows import ROWS as SEMFIT
from benchmarks.trained_rows import ROOT, chosen
from tta.modeling.config.base import read_config


@pytest.mark.parametrize("row", quality.ROWS, ids=lambda row: row.name)
def test_a_row_of_autoencoders_has_a_config(row):
    config = read_config(ROOT / f"configs/{row.config}.json", vocab_size=100)
    assert config.replace(**row.changes).to_dict().items() >= row.changes.items()


def test_speed_compares_decoders_of_one_size():
    kinds = {kind: speed.config_of(kind) for kind in ("bilm", "unilm")}
    assert {kind: config.decoder_type for kind, config in kinds.items()} == {k: k for k in kinds}
    assert len({config.hidden_size for config in kinds.values()}) == 1


@pytest.mark.parametrize("row", SEMFIT, ids=lambda row: row.name)
def test_a_row_of_output_layers_has_a_config(row):
    assert (ROOT / f"configs/{row.config}.json").exists()


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
    with pytest.raises(app.UsageError, match="--rows: no row 'ELMo'; there are T-TA full softmax"):
        chosen(SEMFIT, "ELMo")
