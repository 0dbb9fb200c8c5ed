"""Choices of a training run by name, readable without TensorFlow."""

from tta.registry import Registry

# --optimizer -> its class, with the arguments of `BertAdamW`. A new one is one class and one line.
OPTIMIZERS = Registry(
    "optimizer",
    {
        "adamw": "tta.modeling.training.optimizers:BertAdamW",
        "muon": "tta.modeling.training.optimizers:Muon",
    },
)

# --distribution_strategy, see `tta.modeling.training.distribution.make_strategy`.
STRATEGIES = ("one_device", "mirrored", "multi_worker_mirrored")
