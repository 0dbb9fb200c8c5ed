"""benchmarks/nar/tables.py: the paper's numbers and the measured ones, each in its place."""

import pytest
from scipy import stats

from benchmarks.glue import ALL_CONSTANT, NOTE, read_results
from benchmarks.nar import tables

pytestmark = pytest.mark.tensorflow


def test_the_interval_of_a_difference_is_welch_s():
    runs = {"a": [50.0, 52.0, 51.0], "b": [0.0, 54.0, 3.0]}
    models = {name: {"values": values, "errors": {"b": 0.0}} for name, values in runs.items()}
    low, high = stats.ttest_ind(*runs.values(), equal_var=False).confidence_interval()
    assert tables.difference(models, "a", "b") == f"32.0 \u00b1 {(high - low) / 2:.1f}"
    models["a"]["errors"]["b"] = 1e6  # the examples alone
    assert tables.difference(models, "a", "b") == "32.0 \u00b1 1959964.0"


def test_the_pages_have_the_tables_of_the_files():
    names = ("long", "gentle", "glue")
    files = [read_results(tables.ROOT / f"benchmarks/nar/{name}.json") for name in names]
    results = tables.merged(files)
    page = (tables.ROOT / "docs/experiments/autoencoder.md").read_text(encoding="utf-8")
    tasks = [task for task in tables.TASKS if task in files[0]]
    for rows, columns in ((tables.TABLE_1, tasks), (tables.TABLE_2, tasks)):
        assert "\n".join(tables.task_table(rows, columns, results)) in page
    assert NOTE in " ".join(page.split())
    claims = (tables.ROOT / "docs/autoencoder.md").read_text(encoding="utf-8")
    assert "\n".join(tables.difference_table(results)) in claims
    words = " ".join(claims.split())
    for table, text, names in (
        (tables.TABLE_1, "(mean of eight tasks {}, {})", ("AE, GTW, decoder", "AE, GTW, encoder")),
        (tables.TABLE_1, "*Both are better than BERT* ({})", ("BERT",)),
        (tables.TABLE_1, "*Better than Optimus* ({})", ("Optimus (VAE)",)),
        (tables.TABLE_1, "PAD for AE* ({}, {})", ("AE, GTW, decoder", "AE, PAD, decoder")),
        (tables.TABLE_1, "better for VAE* ({}, {};", ("VAE, PAD, decoder", "VAE, GTW, decoder")),
        (tables.TABLE_2, "worse than AE* ({}, {})", ("full-VAE, GTW", "AE, GTW")),
    ):
        means = (tables.paper_of(table[name][0])["mean"] for name in names)
        assert text.format(*means) in words
    # Table 3 in a sentence: no row has other values than a constant prediction.
    wnli = tables.task_table(tables.TABLE_3, ("wnli",), results)
    ours = [line for line in wnli[:-1] if "| ours, 500 steps |" in line]
    assert len(ours) > 5
    assert all(ALL_CONSTANT in line for line in ours)


@pytest.mark.parametrize("table", [tables.TABLE_1, tables.TABLE_2])
def test_the_papers_means_are_those_of_its_numbers(table):
    """Each row was typed in; the paper's own mean finds a number that is wrong by a point."""
    for paper, *_ in table.values():
        if paper is not None:
            *values, mean = map(float, paper.split())
            assert len(values) == len(tables.TASKS)
            assert sum(values) / len(values) == pytest.approx(mean, abs=0.09)
