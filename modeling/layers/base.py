"""Layers that are built from the model's config."""

from typing import Any

import keras

from tta.modeling.config.base import ModelConfig, config_from


class ConfiguredLayer(keras.layers.Layer):
    """A layer that reads its sizes from the model's config, and is serialized with it.

    Args:
        config: the model's config.
    """

    def __init__(self, config: ModelConfig, **kwargs: Any):
        super().__init__(**kwargs)
        self.config: Any = config  # each layer reads the fields of its family

    def get_config(self):
        return super().get_config() | {"config": self.config.to_dict()}

    @classmethod
    def from_config(cls, config):
        return cls(**config | {"config": config_from(config["config"])})
