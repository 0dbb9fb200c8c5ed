"""biLM's encoder: a plain Transformer."""

import keras

from tta.modeling.encoders.base import FunctionEncoder
from tta.modeling.functions.encoders.transformer import encode


@keras.saving.register_keras_serializable("tta")
class BidirectionalEncoder(FunctionEncoder):
    """biLM's encoder, see `tta.modeling.functions.encoders.transformer.encode`."""

    encode = staticmethod(encode)
