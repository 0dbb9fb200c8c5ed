"""The heads of ELMo and SemFit: their settings in `config.json`, and their weights."""

import itertools
from dataclasses import dataclass
from typing import Any

from tta.errors import InputError
from tta.modeling.config.base import ModelConfig, Vectors
from tta.modeling.config.checks import require
from tta.modeling.config.heads import HeadSettings, transform_weights
from tta.modeling.config.weights import Weight, dense
from tta.settings import setting


@dataclass(frozen=True, kw_only=True)
class AdaptiveSoftmaxSettings(HeadSettings):
    """The settings of `AdaptiveSoftmaxHead`; V vocabulary, D hidden size."""

    layer = "tta.papers.semfit.heads.adaptive_softmax:AdaptiveSoftmaxHead"

    adaptive_cutoffs: tuple[int, ...] = setting((), "The ids at which clusters begin.")
    adaptive_factor: int = setting(
        4, "By how much the vectors of a cluster are smaller than those before it.", 1
    )

    def check(self, config: ModelConfig):
        rule = "output_layer adaptive_softmax needs model_type elmo"
        require(not config.head_transform, rule, config.model_type)
        cutoffs = list(self.adaptive_cutoffs)
        ascending = cutoffs == sorted(set(cutoffs))
        in_range = all(0 < cutoff < config.vocab_size for cutoff in cutoffs)
        rule = f"adaptive_cutoffs must rise and lie between 0 and vocab_size, {config.vocab_size}"
        require(ascending and in_range, rule, cutoffs)

    def weights(self, config: ModelConfig):
        size, start, table = config.hidden_size, config.initializer_range, {}
        first, *clusters = self.clusters(config.vocab_size)
        for j, count in enumerate((first.stop + len(clusters), *map(len, clusters))):
            width = self.cluster_size(size, j)
            if j:
                table[f"projection_{j}"] = Weight((size, width), start)
            table[f"table_{j}"] = Weight((count, width), start)
            table[f"bias_{j}"] = Weight((count,))
        return table

    def clusters(self, vocab_size: int) -> list[range]:
        """The ids of the most frequent words, and those of each cluster."""
        bounds = [0, *self.adaptive_cutoffs, vocab_size]
        return [range(*pair) for pair in itertools.pairwise(bounds)]

    def cluster_size(self, hidden_size: int, number: int) -> int:
        """Dimensions of the vectors of cluster 1, 2, ...: D / factor^number, and at least 1.

        Those of frequent words, number 0, have D.
        """
        return max(1, hidden_size // self.adaptive_factor**number)


DISTANCES = ("cosine", "l2", "vmf")
LEAST_VMF_SIZE = 16  # From this size on, the expansion of the normalizer is precise.


@dataclass(frozen=True, kw_only=True)
class SemFitSettings(HeadSettings):
    """The settings of `SemFitHead`; m dimensions of a target vector."""

    layer = "tta.papers.semfit.heads.semfit:SemFitHead"
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
        least = LEAST_VMF_SIZE if self.semfit_distance == "vmf" else 1
        rule = f"target_size must be at least {least} with semfit_distance {self.semfit_distance}"
        require(self.target_size is None or self.target_size >= least, rule, self.target_size)

    def for_vectors(self, vectors: Vectors) -> dict[str, Any]:
        if self.target_size not in (None, vectors.size):
            rule = f"its vectors have {vectors.size} numbers, but target_size is {self.target_size}"
            raise InputError(rule, vectors.path)
        return {"target_size": vectors.size}

    def weights(self, config):
        table = transform_weights(config)
        if self.target_size is None:  # until training takes it from the vectors
            return table
        fit = dense(config.hidden_size, self.target_size, config.initializer_range)
        return table | {"fit": fit}
