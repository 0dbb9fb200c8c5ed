"""How many weights each output layer has, from the config alone.

D hidden size, V vocabulary, m numbers in a target vector.
"""

import itertools
from typing import Any


def head_parameters(config: Any) -> int:
    """Number of weights of the head that `config.output_layer` names."""
    d, v, name = config.hidden_size, config.vocab_size, config.output_layer
    transform = (d * d + d + 2 * d) if config.head_transform else 0
    if name == "semfit":
        return transform + (d + 1) * (config.target_size or 0)
    if name == "adaptive_softmax":
        first, *clusters = adaptive_clusters(config)
        num_first = (first.stop + len(clusters)) * (d + 1)
        sizes = (cluster_size(config, j) for j in range(1, len(clusters) + 1))
        return num_first + sum(
            d * size + (part.stop - part.start) * (size + 1)
            for part, size in zip(clusters, sizes, strict=True)
        )
    return transform + v + (v * d if name == "softmax" else 0)


def adaptive_clusters(config: Any) -> list[range]:
    """The ids of the most frequent words and those of each cluster of an adaptive softmax."""
    bounds = [0, *config.adaptive_cutoffs, config.vocab_size]
    return [range(*pair) for pair in itertools.pairwise(bounds)]


def cluster_size(config: Any, number: int) -> int:
    """Numbers in the vectors of cluster 1, 2, ...: D / factor^number, and at least 1."""
    return max(1, config.hidden_size // config.adaptive_factor**number)
