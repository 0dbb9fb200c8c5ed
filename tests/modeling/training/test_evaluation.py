"""Held-out figures of every objective are the same in batches of any size, on both backends.

    KERAS_BACKEND=jax python test_evaluation.py

prints the figures as JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import keras
import numpy as np
import pytest

from tests.commands import environment
from tests.modeling.tiny import VOCAB_SIZE, Vocabulary, of_core
from tta.data.records.arrays import ArrayBatches
from tta.data.records.features import ModelInputs
from tta.modeling.config.base import config_from
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.modeling.training.evaluation import Evaluator

pytestmark = pytest.mark.tensorflow

LENGTHS = (3, 3, 4, 5, 5, 6, 7, 4, 3, 9)
M = 17
TABLE = np.random.default_rng(0).normal(size=(VOCAB_SIZE, M)).astype(np.float32)
TABLE[7] = 0.0  # a piece without a vector
SIZES = {"hidden_size": 15, "num_attention_heads": 3, "intermediate_size": 17}
SIZES |= {"num_hidden_layers": 1, "max_position_embeddings": 13, "vocab_size": VOCAB_SIZE}

# A name -> the objective and the config of a model. An objective needs a row per kind of figures.
CASES = {
    "a T-TA's nll": ("lae", SIZES | {"model_type": "tta"}),
    "one token masked at a time": ("mlm", SIZES | {"model_type": "bilm"}),
    "each token from those before it": ("clm", SIZES | {"model_type": "unilm"}),
}


def parts_of(case):
    """The model, the objective and what it reads besides ids, of a case."""
    name, values = CASES[case]
    return (
        build_model(config_from(values), "float32"),
        OBJECTIVES.load(name)(Vocabulary(), None),
        {},
    )


def figures(model, objective, added, sizes):
    """The `Evaluation`s of the parts of a case in batches of these numbers of sentences."""
    rng = np.random.default_rng(1)
    for variable in model.named_weights().values():
        variable.assign(rng.normal(0, 0.4, variable.shape).astype(np.float32))
    inputs = ModelInputs(added)
    rng = np.random.default_rng(5)
    rows = [np.array([3, *rng.integers(5, VOCAB_SIZE, n), 1]) for n in LENGTHS]
    given = np.concatenate(rows), np.array([len(row) for row in rows])
    batches = {size: ArrayBatches(*given, 4096, size, 13, 0, inputs) for size in sizes}
    evaluate = Evaluator(model, objective, spec_of(next(iter(batches[sizes[0]]))))
    return {size: evaluate(batches[size]) for size in sizes}


def spec_of(batch):
    """The `element_spec` of batches like one of arrays; None on JAX."""
    if keras.config.backend() != "tensorflow":
        return None
    import tensorflow as tf

    axes = {1: [None], 2: [None, None], 3: [None, None, M]}
    return {n: tf.TensorSpec(axes[a.ndim], a.dtype) for n, a in batch.items()}


@pytest.fixture(scope="module")
def on_jax():
    """{case: its figures on JAX, in batches of 40 sentences}."""
    return run_on_jax(__file__)


def run_on_jax(path):
    env = environment(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu")
    ended = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=env, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("case", CASES)
def test_figures_depend_on_no_batch_and_no_backend(case, on_jax):
    check_figures(parts_of(case), on_jax[case])


def check_figures(parts, on_jax):
    found = figures(*parts, (1, 4, 40))
    one = found[1]
    assert one.num_sentences == len(LENGTHS)
    others = {f"batches of {size}": other.values for size, other in found.items()}
    for name, values in (others | {"JAX": on_jax}).items():
        assert values == pytest.approx(one.values, rel=1e-4, abs=1e-5), name
    assert {(n.num_sentences, n.num_tokens) for n in found.values()} == {(10, one.num_tokens)}


def test_every_objective_has_a_row():
    assert {name for name, _ in CASES.values()} == of_core(OBJECTIVES)


def print_figures(cases, parts_of):
    print(json.dumps({case: figures(*parts_of(case), (40,))[40].values for case in cases}))


if __name__ == "__main__":
    print_figures(CASES, parts_of)
