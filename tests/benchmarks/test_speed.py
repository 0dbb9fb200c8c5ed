"""The ratios and the README's table of benchmarks/speed.py, from made-up times."""

from benchmarks.speed import format_scorers, ratios
from benchmarks.timing import Times


def times(**milliseconds):
    """{case: `Times`}; "_" in a name stands for a blank."""
    return {
        name.replace("_", " ").replace("gpt2 small", "gpt2_small"): Times(1.0, [value / 1e3])
        for name, value in milliseconds.items()
    }


TIMES = times(
    ceiling_float32=1.0,
    ceiling_bfloat16=1.0,
    list_encode_tta_float32=20.0,
    list_encode_tta_bfloat16=10.0,
    list_rerank_tta_float32=100.0,
    list_rerank_tta_bfloat16=50.0,
    list_learned_tta_float32=40.0,
    list_learned_tta_bfloat16=25.0,
    list_rerank_gpt2_small_float32=3000.0,
    list_rerank_gpt2_small_bfloat16=1000.0,
    list_rerank_kenlm=0.5,
)


def test_a_peer_is_compared_in_each_precision():
    found = ratios(TIMES)
    assert found["gpt2_small_ratio_float32"] == 30.0
    assert found["gpt2_small_ratio_bfloat16"] == 20.0
    assert found["gpt2_small_ratio"] == 20.0  # each in its faster precision
    assert found["kenlm_ratio"] == 0.01
    assert found["bert_base_ratio_float32"] is None  # was not timed


def test_the_table_has_sizes_and_both_precisions():
    lines = format_scorers(TIMES).splitlines()
    assert lines[0].startswith("| scorer | layers x width | float32, ms |")
    assert "| T-TA, exact softmax | 3 x 512 | 100 | 1 | 50 | 1 |" in lines
    assert "| GPT-2 small | 12 x 768 | 3,000 | 30 | 1,000 | 20 |" in lines
    assert "| KenLM, bigrams |  | 0.5 | 0.005 | 0.5 | 0.01 |" in lines
    assert "| BERT base, masking each piece in turn | 12 x 768 | - | - | - | - |" in lines
