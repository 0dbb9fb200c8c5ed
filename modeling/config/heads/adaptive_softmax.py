"""The clusters of an adaptive softmax."""

import itertools
from dataclasses import dataclass

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.checks import require
from tta.modeling.config.heads.base import HeadSettings
from tta.modeling.config.weights import Weight
from tta.settings import setting


@dataclass(frozen=True, kw_only=True)
class AdaptiveSoftmaxSettings(HeadSettings):
    """The settings of `AdaptiveSoftmaxHead`; V vocabulary, D hidden size."""

    layer = "tta.modeling.heads.adaptive_softmax:AdaptiveSoftmaxHead"

    adaptive_cutoffs: tuple[int, ...] = setting((), "The ids at which clusters begin.")
    adaptive_factor: int = setting(
        4, "By how much the vectors of a cluster are smaller than those before it.", 1
    )

    def check(self, config: ModelConfig):
        """Checks that the clusters divide the vocabulary."""
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
