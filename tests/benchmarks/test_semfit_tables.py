"""benchmarks/semfit/tables.py: the paper's numbers and the measured ones, each in its place."""

import json
import math
import re

import pytest

from benchmarks.semfit import quality, tables
from benchmarks.semfit.quality import PROBES, results, table
from benchmarks.semfit.speed import ELMO_SHAPE
from tests.benchmarks.markdown import cells

pytestmark = pytest.mark.tensorflow

WORDS_PER_STEP = ELMO_SHAPE[0] * ELMO_SHAPE[1]


def test_speed_is_that_of_a_million_words_and_of_the_fastest_clusters():
    per_step = WORDS_PER_STEP / 1e6  # 1 s per million words
    speed = {
        "seconds": {
            "elmo 800k": 100 * per_step,
            "semfit 800k": 2 * per_step,
            "semfit 800k alone": per_step,
            "adaptive 800k 4000": 9 * per_step,
            "adaptive 800k 4000,40000": 8 * per_step,
        },
        "parameters": {
            "elmo 800k": 3_000_000,
            "semfit 800k": 2_000_000,
            "adaptive 800k 4000": 5_000_000,
            "adaptive 800k 4000,40000": 4_000_000,
        },
    }
    assert cells(tables.table_2(speed), "ELMo")[4:6] == ["100", "1.0"]
    assert cells(tables.table_2(speed), "ELMo-A")[4:6] == ["8", "12.5"]
    assert cells(tables.table_2(speed), "ELMo-S") == [
        "2.5 x 4",
        "4.2",
        "768",
        "76",
        "2",
        "50.0",
        "76",
    ]
    assert cells(tables.table_2(speed), "ELMo-Sub")[4:6] == ["-", "-"]
    assert cells(tables.table_5(speed), "semfit", "800k")[2:] == ["2", "1", "2.00"]
    assert cells(tables.table_5(speed), "adaptive", "800k")[2:] == ["8", "-", "4.00"]
    assert cells(tables.table_5(speed), "full", "40k")[2:] == ["-", "-", "-"]


def test_quality_is_the_mean_over_the_seeds_and_a_dash_without_a_row(tmp_path):
    for seed, value in enumerate((40.0, 41.0)):
        values = {"layers": dict.fromkeys(PROBES, value)}
        one = {"name": "ELMo-S_ONEB", "values": values}
        (tmp_path / f"elmo-{seed}.json").write_text(json.dumps(one))
    more = {"name": "ELMo-S_ONEB", "values": {"layers": {"SNLI": 55.0, "SST-2": 77.0}}}
    (tmp_path / "elmo-0.more.json").write_text(json.dumps(more))
    mix = {"name": "ELMo-S_ONEB", "values": {"mix": {"SNLI": 66.0}}}
    (tmp_path / "elmo-0.mix.json").write_text(json.dumps(mix))
    measured = results(tmp_path)
    lines = tables.table_4(measured)
    assert lines[0] == "| | | SNLI | SST-5 | SST-2 | TREC | MR | SUBJ |"
    paper = ["88.4", "44.99", "83.21", "91.60", "78.85", "93.84"]
    assert cells(lines, "ELMo-S_ONEB", "paper") == paper
    # A network of the paper is compared with the mix, SentEval with the linear classifier.
    assert cells(lines, "", "ours") == ["66.00", "40.50", "77.00", "40.50", "40.50", "40.50"]
    assert len(lines) == 4, "rows of which nothing was measured are left out"
    lines = tables.table_3(measured)
    assert lines[0] == "| | | S_ONEB |"
    assert cells(lines, "", "ours, mix") == ["66.00"]
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| SNLI", "|", "|", "| SST-5", "|"]
    assert "| ELMo-S_ONEB, mix | 1 | - |" in table(measured)


def test_a_difference_has_its_interval_and_in_how_many_columns_the_row_is_ahead(monkeypatch):
    monkeypatch.setattr(tables, "DIFFERENCES", {"other": ("1.0", "-"), "without": ("-", "-2.0")})
    columns = {"TREC": [50.0], "SNLI": [60.0, 62.0], "MR": [70.0]}
    lower = {"TREC": [48.0], "SNLI": [63.0], "MR": [69.0]}
    quality = {
        "values": {
            tables.BASE: {"layers": columns, "mix": {"SNLI": [80.0], "WNUT": [1.0]}},
            "other": {"layers": lower, "mix": {"SNLI": [79.0]}},
            "without": {"embed": {"TREC": [51.0], "SNLI": [61.5]}},
        },
        "differences": {
            "TREC": {"other": [2.0, -1.04, 5.06]},
            "SNLI": {"other": [-2.0, -3.0, -1.0]},
        },
    }
    lines = tables.difference_table(quality)
    assert lines[0].split(" | ")[1:5] == ["paper: TREC", "paper: SNLI", "ours: TREC", "ours: SNLI"]
    found = cells(lines, "other")
    # Ahead on TREC, MR and SNLI by the mix; WNUT by the mix was measured of one of them alone.
    assert found[:5] == ["1.0", "-", "+2.0 [-1.0, 5.1]", "-2.0 [-3.0, -1.0]", "3 of 4"]
    assert found[5] == f"{10 / 16:.3f}"
    assert cells(lines, "without") == ["-", "-2.0", "-1.0", "-0.5", "0 of 2", "0.500"]


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
