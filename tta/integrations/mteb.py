"""mteb 2: a model that its tasks take."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tta.errors import InputError


def encoder(lm: Any, encode: Callable[[list[str]], np.ndarray] | None = None) -> Any:
    """An `mteb.models.EncoderProtocol` of a model from `tta.load`; similarity is the cosine.

        mteb.evaluate(encoder(tta.load("similarity-small")), mteb.get_task("STSBenchmark"))

    Args:
        lm: the model.
        encode: texts -> [N, D] float32; None is `lm.encode`. For another representation or pooling,
            pass `lambda texts: lm.encode(texts, "embed", "sif")`, for example.

    Raises:
        InputError: mteb is missing, or older than version 2.
    """
    try:
        from mteb.models.abs_encoder import AbsEncoder  # pyright: ignore
        from mteb.models.model_meta import ModelMeta, ScoringFunction  # pyright: ignore
    except ImportError:
        raise InputError("this needs mteb 2 or later: pip install 'mteb>=2'") from None
    texts_of = lm.encode if encode is None else encode

    class Encoder(AbsEncoder):
        """Encodes batches of texts."""

        def __init__(self):
            revision = lm.signature.partition("weights:")[2].partition("|")[0] or "unknown"
            about = {"name": f"tta/{lm.name}", "revision": revision}
            about["similarity_fn_name"] = ScoringFunction.COSINE
            self.mteb_model_meta = ModelMeta.create_empty(about)

        def encode(self, inputs: Any, **_: Any) -> np.ndarray:
            return texts_of([text for batch in inputs for text in batch["text"]])

    return Encoder()
