"""What layers share: arguments or a config, from which they are made again."""

import inspect
from typing import Any

from tta.modeling.config.base import ModelConfig, config_from
from tta.modeling.layers.weights import TableLayer


class PlainLayer(TableLayer):
    """A layer that keeps its arguments as attributes, and is serialized with them."""

    def get_config(self):
        ours = [one for one in type(self).__mro__ if issubclass(one, PlainLayer)][:-1]
        names = {name for one in ours for name in inspect.signature(one.__init__).parameters}
        arguments = {name: getattr(self, name) for name in sorted(names - {"self", "kwargs"})}
        return super().get_config() | arguments


class ConfiguredLayer(TableLayer):
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
