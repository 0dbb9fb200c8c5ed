"""The softmax over the vocabulary, on the table of the input or on one of its own."""

from tta.modeling.config.base import ModelConfig
from tta.modeling.config.checks import require
from tta.modeling.config.heads.base import HeadSettings, transform_weights
from tta.modeling.config.weights import Weight


class TiedSoftmaxSettings(HeadSettings):
    """`TiedSoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.tied_softmax:TiedSoftmaxHead"

    def check(self, config: ModelConfig):
        """Checks that there is a table to share."""
        rule = "output_layer tied_softmax shares the table of input_layer tokens"
        require(config.has_token_table, rule, "of another input layer")

    def weights(self, config: ModelConfig):
        return {"bias": Weight((config.vocab_size,))} | transform_weights(config)


class SoftmaxSettings(HeadSettings):
    """`SoftmaxHead` has no settings."""

    layer = "tta.modeling.heads.softmax:SoftmaxHead"
    table = "head/table"

    def weights(self, config: ModelConfig):
        shape = config.vocab_size, config.hidden_size
        table = {"bias": Weight(shape[:1]), "table": Weight(shape, config.initializer_range)}
        return table | transform_weights(config)
