"""benchmarks/semfit/tables.py: the paper's numbers and the measured ones, each in its place."""

import json
import math
import re

import pytest

from benchmarks.semfit import quality, tables
from benchmarks.semfit.quality import table
from tests.benchmarks.markdown import cells

pytestmark = pytest.mark.tensorflow


def test_the_pages_have_the_tables_of_the_files():
    folder = tables.ROOT / "benchmarks/semfit"
    quality, speed, memory = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("quality", "speed", "memory")
    )
    measured = tables.read_values(quality)
    page = (tables.ROOT / "docs/experiments/semfit.md").read_text(encoding="utf-8")
    for lines in (
        tables.table_2(speed),
        tables.table_3(measured),
        tables.table_4(measured),
        tables.table_5(speed),
        table(measured).split("\n\n")[0].splitlines(),
    ):
        assert "\n".join(lines) in page
    claims = (tables.ROOT / "docs/semfit.md").read_text(encoding="utf-8")
    assert "\n".join(tables.difference_table(quality)) in claims
    words = " ".join(claims.split())
    semfit = tables.fastest(speed["seconds"], "semfit", "800k")
    for text, row in (
        ("the output layer only: 2.3 times, ours {:.1f}", "adaptive"),
        ("whose AdamW is not sparse: ours {:.1f}", "sampled"),
        ("*Faster than ELMo*: 4.2 times, ours {:.1f}", "elmo"),
    ):
        assert text.format(tables.fastest(speed["seconds"], row, "800k") / semfit) in words
    seconds = (tables.fastest(speed["seconds"], "semfit", size) for size in ("40k", "800k", "2m"))
    times = map(tables.per_million, seconds)
    assert "{}, {} and {} s a million words at 40,000, 800,000 and".format(*times) in words
    times = (
        tables.fastest(speed["seconds"], "adaptive", size)
        / tables.fastest(speed["seconds"], "semfit", size)
        for size in ("40k", "2m")
    )
    assert "({:.1f} and {:.1f} at 40,000 and 2,000,000 words)".format(*times) in words
    large, small = (int(cells(tables.table_2(speed), name)[6]) for name in ("ELMo", "ELMo-S"))
    fewer = 100 * (1 - small / large)
    assert f"{fewer:.0f} %, at the paper's size ({large} M to {small} M)" in words
    nlls = (
        re.match(r"nll ([\d.]+) ", quality["trainings"][name]["held_out"])
        for name in ("ELMo-A", "ELMo")
    )
    found = ", ".join(f"{math.exp(float(one[1])):.0f}" for one in nlls)
    assert f"(35.8, 39.7): yes, {found}" in words
    ner = [
        measured[name, of]["WNUT"][0]
        for name, of in ((tables.BASE, "layers"), (tables.FASTTEXT, "embed"))
    ]
    assert "NER {:.1f}, {:.1f}.".format(*ner) in words
    assert f"NER {measured[tables.ELMO_A, 'layers']['WNUT'][0] - ner[0]:.2f}." in words
    less = (memory["MiB"][name] / memory["MiB"][tables.BASE] for name in ("ELMo-A", "ELMo"))
    assert "on a GPU; ours {:.1f} and {:.1f} on a CPU".format(*less) in words


def test_a_row_is_compared_where_it_was_trained_and_measured_side_by_side(tmp_path, monkeypatch):
    def differences_of(column, models, work):
        return [[column, *(model.removeprefix(f"{work}/") for model in (models[0], other))]
                for other in models[1:]]  # fmt: skip

    monkeypatch.setattr(quality, "differences_of", differences_of)
    for name in ("elmo-0", "elmo-s-oneb-0", "t-ta-0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.weights.h5").touch()
    found = {
        ("ELMo-S_ONEB", "layers"): {"TREC": [83.0], "SNLI": [54.0]},
        ("ELMo", "layers"): {"TREC": [74.0]},
        ("mean of fasttext", "embed"): {"TREC": [79.0]},
        ("T-TA", "context"): {"TREC": [70.0]},
        ("ELMo-Sub", "layers"): {"TREC": [80.0]},  # its model is gone
    }
    assert quality.compared(found, tmp_path) == {
        "TREC": {"ELMo": ["TREC", "elmo-s-oneb-0", "elmo-0"]},
        "SNLI": {},
    }
    del found["ELMo-S_ONEB", "layers"]
    assert quality.compared(found, tmp_path) == {"TREC": {}, "SNLI": {}}
