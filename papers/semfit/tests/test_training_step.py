"""The ratios of benchmarks/training_step.py from made-up times, and the operations it counts."""

import pytest

from benchmarks import training_cases
from benchmarks.timing import Times, format_ratios
from benchmarks.training_cases import SAMPLED_PIECES, pipeline, shard, step_flops
from benchmarks.training_step import faster_precision, ratios
from tests.modeling.tiny import tiny_config

pytestmark = pytest.mark.tensorflow

# Case -> (operations, seconds of each round). The slowest rounds do not count.
TIMES = {
    "ceiling float32": (100.0, [9.0, 2.0]),
    "ceiling bfloat16": (100.0, [1.0, 9.0]),  # 100 operations per second
    "small sampled adamw bfloat16": (120.0, [2.0, 8.0]),  # 60 per second
    "small sampled muon bfloat16": (120.0, [2.5, 8.0]),
    "small exact adamw bfloat16": (300.0, [4.0, 9.0]),
    "small adamw alone": (0.0, [0.5, 9.0]),
    "small muon alone": (0.0, [1.0, 9.0]),
    "torch": (300.0, [6.0, 9.0]),
    "pipeline": (0.0, [0.1, 0.2]),
}


def times():
    return {name: Times(*values) for name, values in TIMES.items()}


def test_ratios_take_the_fastest_time_of_each_case():
    found = ratios(times(), "bfloat16")
    assert found["small_sampled_ceiling_fraction"] == pytest.approx(0.6)
    assert found["small_exact_ceiling_fraction"] == pytest.approx(0.75)
    assert found["optimizer_share"] == pytest.approx(0.4)  # 1.0 / 2.5
    assert found["adamw_share"] == pytest.approx(0.25)
    assert found["pipeline_share"] == pytest.approx(0.05)
    assert found["torch_exact_ratio"] == pytest.approx(1.5)


def test_what_was_not_timed_is_none_and_printed_as_a_dash():
    found = ratios(
        {k: v for k, v in times().items() if "alone" not in k and k != "torch"}, "bfloat16"
    )
    assert found["optimizer_share"] is None
    assert found["base_sampled_ceiling_fraction"] is None
    assert found["torch_exact_ratio"] is None
    lines = format_ratios(found).splitlines()
    assert [line.split()[1] for line in lines if "base" in line] == ["-", "-"]


def test_the_faster_precision_is_that_of_the_faster_product():
    assert faster_precision(times()) == "bfloat16"


def test_operations_equal_the_products_of_the_architecture():
    config = tiny_config(
        vocab_size=23, hidden_size=15, intermediate_size=17, num_hidden_layers=2,
        num_attention_heads=3,
    )  # fmt: skip
    tokens, length = 128 * 32, 32
    products = [(tokens, 15, 15)] * 4 + [(tokens, 15, 17), (tokens, 17, 15)]
    layer = sum(2 * m * k * n for m, k, n in products) + 2 * 2 * tokens * length * 15
    transform = 2 * tokens * 15 * 15
    for head, pieces in (("exact", 23), ("sampled", SAMPLED_PIECES)):
        expected = 3 * (2 * layer + transform + 2 * tokens * 15 * pieces)
        assert step_flops(config, head) == expected


def test_little_of_a_batch_is_padding(monkeypatch):
    monkeypatch.setattr(training_cases, "PIPELINE_SENTENCES", 20_000)
    monkeypatch.setattr(training_cases, "PADDING_BATCHES", 60)
    with shard() as path:
        case, padding_share = pipeline("pipeline", path)
        case.call()
    # The target in docs/experiments/performance.md, which buckets an eighth longer would miss.
    assert 0.005 < padding_share < 0.03
