"""Hostile files, the short form: benchmarks/faults/fuzz.py reads 100,000 and more a reader."""

import hypothesis
import pytest
from hypothesis import strategies

from tests.fuzzing import READERS, outcome

INPUTS = 250


@pytest.mark.parametrize("name", READERS)
def test_a_reader_gives_a_result_or_a_refusal(tmp_path, name):
    @hypothesis.settings(
        max_examples=INPUTS,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategies.binary(max_size=64))
    def run(tape):
        outcomes.add(outcome(READERS[name], tmp_path / "file", tape))

    outcomes = set()
    run()
    # Both, or the files are too strange, or not strange enough, to say anything.
    expected = {"result"} if name == "marked_text" else {"result", "refused"}
    assert outcomes == expected
