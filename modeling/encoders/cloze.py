"""The cloze encoder: every position encoded from all the others, by way of two causal towers."""

import keras

from tta.modeling.encoders.base import FunctionEncoder
from tta.modeling.functions.encoders.cloze import encode


@keras.saving.register_keras_serializable("tta")
class ClozeEncoder(FunctionEncoder):
    """Two towers and a query, see `tta.modeling.functions.encoders.cloze.encode`."""

    encode = staticmethod(encode)
