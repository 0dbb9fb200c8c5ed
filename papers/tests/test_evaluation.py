"""Held-out figures of the objectives of papers/: in batches of any size, on both backends.

    KERAS_BACKEND=jax python test_evaluation.py

prints the figures as JSON.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pytest

from tests.modeling.tiny import VOCAB_SIZE, Vocabulary
from tests.modeling.training.test_evaluation import CASES as OF_CORE
from tests.modeling.training.test_evaluation import (
    SIZES,
    TABLE,
    M,
    check_figures,
    print_figures,
    run_on_jax,
)
from tta.modeling.config.base import config_from
from tta.modeling.models.language_model import build_model
from tta.modeling.objectives import OBJECTIVES
from tta.papers.glue.config import ClassifierConfig
from tta.papers.glue.objective import TARGET, Classification

pytestmark = pytest.mark.tensorflow

ELMO = {"model_type": "elmo", "hidden_size": 6, "lstm_size": 5, "num_hidden_layers": 1}
ELMO |= {"input_layer": "tokens", "vocab_size": VOCAB_SIZE}
LATENT = SIZES | {"model_type": "autoencoder", "latent_size": 5}
VECTORS = {"output_layer": "semfit", "target_size": M}

CASES = {
    "its vectors": ("lae", SIZES | {"model_type": "tta"} | VECTORS),
    "two directions": ("bidirectional_clm", ELMO),
    "their vectors": ("bidirectional_clm", ELMO | VECTORS),
    "an autoencoder, its length": ("ae", LATENT | {"predicts_length": True}),
    "several latent vectors": ("ae", LATENT | {"num_latents": 3}),
    "its KL": ("vae", LATENT | {"variational": True}),
    "its KL and length": ("full_vae", LATENT | {"variational": True, "predicts_length": True}),
    "labels": ("classification", SIZES | {"model_type": "bilm"}),
    "numbers": ("classification", SIZES | {"model_type": "bilm"}),
}


def parts_of(case):
    """The model, the objective and what it reads besides ids, of a case."""
    name, values = CASES[case]
    config = config_from(values)
    if name == "classification":
        labels = ("a", "b", "c") if case == "labels" else ()
        config = ClassifierConfig.of(config, labels=labels, max_seq_length=13, pooling="mean")
        objective, added = Classification(), {TARGET: lambda ids: ids.sum(1).astype("float32") % 3}
    else:
        objective = OBJECTIVES.load(name)(Vocabulary(), None)
        added = {"target_vectors": lambda ids: TABLE[ids]} if "output_layer" in values else {}
    return build_model(config, "float32"), objective, added


@pytest.fixture(scope="module")
def on_jax():
    """{case: its figures on JAX, in batches of 40 sentences}."""
    return run_on_jax(__file__)


@pytest.mark.parametrize("case", CASES)
def test_figures_depend_on_no_batch_and_no_backend(case, on_jax):
    check_figures(parts_of(case), on_jax[case])


def test_every_objective_has_a_row():
    cases = [*OF_CORE.values(), *CASES.values()]
    assert {name for name, _ in cases} == {*OBJECTIVES, "classification"}


if __name__ == "__main__":
    print_figures(CASES, parts_of)
