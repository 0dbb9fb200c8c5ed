"""The encoders of the baselines: plain Transformers, bidirectional and causal."""

import keras

from tta.modeling.encoders.base import FunctionEncoder
from tta.modeling.functions.encoders.transformer import encode, encode_causally


@keras.saving.register_keras_serializable("tta")
class BidirectionalEncoder(FunctionEncoder):
    """biLM's encoder, see `tta.modeling.functions.encoders.transformer.encode`."""

    encode = staticmethod(encode)


@keras.saving.register_keras_serializable("tta")
class CausalEncoder(FunctionEncoder):
    """uniLM's encoder, see `tta.modeling.functions.encoders.transformer.encode_causally`."""

    encode = staticmethod(encode_causally)
