"""Which models the onnxruntime engine runs."""

from typing import Any

from tta.modeling.config.model_types import MODEL_TYPES

OUTPUT_LAYERS = ("tied_softmax", "softmax")


def lacks(config: Any) -> str | None:
    """What of a model with this `ModelConfig` the engine does not compute; None if it runs it."""
    # A model of parts, encoder and decoder, has the encoders of these.
    if not config.parts and MODEL_TYPES.load(config.model_type).encoder is None:
        return f"models of type {config.model_type}"
    if config.output_layer not in OUTPUT_LAYERS:
        return f"output_layer {config.output_layer}"
    return None
