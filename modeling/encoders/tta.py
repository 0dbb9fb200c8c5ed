"""T-TA's encoder: every position encoded from all the others in one pass."""

import keras

from tta.modeling.encoders.base import FunctionEncoder
from tta.modeling.functions.encoders.tta import encode


@keras.saving.register_keras_serializable("tta")
class TTAEncoder(FunctionEncoder):
    """The encoder of T-TA, see `tta.modeling.functions.encoders.tta.encode`."""

    encode = staticmethod(encode)
