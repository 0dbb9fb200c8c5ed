"""What a SemFit head predicts, and the distance that it minimizes."""

from dataclasses import dataclass
from typing import Any

from tta.errors import InputError
from tta.modeling.config.base import Vectors
from tta.modeling.config.checks import require
from tta.modeling.config.heads.base import HeadSettings, transform_weights
from tta.modeling.config.weights import dense
from tta.settings import setting

DISTANCES = ("cosine", "l2", "vmf")
LEAST_VMF_SIZE = 16  # From this size on, the expansion of the normalizer is precise.


@dataclass(frozen=True, kw_only=True)
class SemFitSettings(HeadSettings):
    """The settings of `SemFitHead`; m dimensions of a target vector."""

    layer = "tta.modeling.heads.semfit:SemFitHead"
    flags = ("semfit_distance",)
    needs_vectors = True

    semfit_distance: str = setting(
        "cosine",
        "For semfit: the distance between prediction and target that training minimizes. cosine: "
        "minus the cosine. l2: the squared Euclidean distance. vmf: von Mises-Fisher, the "
        "negative log-likelihood of the direction. Default: the config file's, else cosine.",
        choices=DISTANCES,
    )
    target_size: int | None = setting(None, "m. Training takes it from the vectors.")
    vmf_lambda_1: float = setting(0.02, "Weight of the length in vmf, see `distances.vmf`.", 0)
    vmf_lambda_2: float = setting(0.1, "Weight of the product in vmf, see `distances.vmf`.", 0)

    def check(self, config):
        """Checks that the vectors are long enough for the distance."""
        least = LEAST_VMF_SIZE if self.semfit_distance == "vmf" else 1
        rule = f"target_size must be at least {least} with semfit_distance {self.semfit_distance}"
        require(self.target_size is None or self.target_size >= least, rule, self.target_size)

    def for_vectors(self, vectors: Vectors) -> dict[str, Any]:
        """The size of the vectors that are predicted."""
        if self.target_size not in (None, vectors.size):
            rule = f"its vectors have {vectors.size} numbers, but target_size is {self.target_size}"
            raise InputError(rule, vectors.path)
        return {"target_size": vectors.size}

    def weights(self, config):
        table = transform_weights(config)
        if self.target_size is None:  # until training takes it from the vectors
            return table
        sizes = config.hidden_size, self.target_size
        return table | {"fit": dense(*sizes, config.initializer_range)}
