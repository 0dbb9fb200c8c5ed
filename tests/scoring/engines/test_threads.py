"""`tta.load(threads=1)`: one core for each of several workers, and the same scores."""

import pickle

import numpy as np
import pytest

import tta
from tta.errors import InputError


def test_it_bounds_the_cores_and_travels_with_a_copy():
    lm = tta.load(engine="onnxruntime", threads=1)
    texts = ["the cat sat on the mat", "a dog"]
    expected = tta.load(engine="onnxruntime").score(texts)
    np.testing.assert_allclose(lm.score(texts), expected, atol=1e-4)
    for one in (lm, pickle.loads(pickle.dumps(lm))):
        assert one.engine.batches_in_flight == 1
        one.score(["a cat"])
        sessions = [session._sessions for session in one.engine._sessions.values()]
        assert [set(by_threads) for by_threads in sessions] == [{1}]
    with pytest.raises(InputError, match="threads must be at least 1"):
        tta.load(threads=0)
