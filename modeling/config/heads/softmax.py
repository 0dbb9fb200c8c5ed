"""The softmax over the vocabulary, on the table of the input or on one of its own."""

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.checks import require
from tta.modeling.config.heads.base import HeadSettings, transform_parameters


class TiedSoftmaxSettings(HeadSettings):
    """`TiedSoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.tied_softmax:TiedSoftmaxHead"

    def check(self, config: ModelConfig):
        """Checks that there is a table to share."""
        rule = "output_layer tied_softmax shares the table of input_layer tokens"
        require(config.has_token_table, rule, "of another input layer")

    def num_parameters(self, config: ModelConfig):
        return transform_parameters(config) + config.vocab_size


class SoftmaxSettings(HeadSettings):
    """`SoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.softmax:SoftmaxHead"

    def num_parameters(self, config: ModelConfig):
        return transform_parameters(config) + config.vocab_size * (config.hidden_size + 1)
