"""Skip-gram vectors by gensim: neighbours are alike, and a seed has one result."""

from importlib.util import find_spec

import numpy as np
import pytest

from tests.commands import python
from tta.errors import InputError, install
from tta.papers.semfit.vectors.token_vectors import train_skip_gram

needs_gensim = pytest.mark.skipif(not find_spec("gensim"), reason="pip install '.[vectors]'")


def two_topics(count=400, seed=0):
    """Sentences of the ids 2 to 9, or of the ids 11 to 18."""
    rng = np.random.default_rng(seed)
    return [(rng.integers(2, 10, 12) + 9 * rng.integers(0, 2)).tolist() for _ in range(count)]


@needs_gensim
def test_a_seed_has_one_result():
    def train(seed):
        return train_skip_gram(two_topics(50), 20, 8, seed=seed, num_epochs=2)

    np.testing.assert_array_equal(train(3), train(3))
    assert not np.array_equal(train(3), train(4))
    assert np.isfinite(train(2**63 - 1)).all()


def test_no_sentence():
    pytest.importorskip("gensim", reason="pip install '.[vectors]'")
    with pytest.raises(InputError, match=r"^the training set holds no sentence$"):
        train_skip_gram([], 20, 8)


def test_a_missing_gensim_says_what_to_install():
    code = """
import sys
sys.modules["gensim"] = None
from tta.errors import InputError
from tta.papers.semfit.vectors.fasttext import SubwordVectors
from tta.papers.semfit.vectors.token_vectors import train_skip_gram
for call in (lambda: SubwordVectors.read("x.bin"), lambda: train_skip_gram([[1]], 3, 2)):
    try:
        call()
    except InputError as error:
        print(error)
"""
    assert python(code).stdout == 2 * f"gensim is missing: {install('vectors')}\n"
