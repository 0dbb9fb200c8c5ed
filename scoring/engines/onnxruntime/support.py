"""Which models the onnxruntime engine runs."""

from typing import Any

# Families -> the variants of scores that they have.
PLL_VARIANTS = {
    "tta": ("original", "within_word_l2r"),
    "cloze": ("original", "within_word_l2r"),
    "bilm": ("original", "within_word_l2r", "maskless"),
    "unilm": ("original", "within_word_l2r"),
}
OUTPUT_LAYERS = ("tied_softmax", "softmax")


def lacks(config: Any) -> str | None:
    """What of a model with this `ModelConfig` the engine does not compute; None if it runs it."""
    if config.model_type == "autoencoder":
        return None
    if config.model_type not in PLL_VARIANTS:
        return f"models of type {config.model_type}"
    if config.output_layer not in OUTPUT_LAYERS:
        return f"output_layer {config.output_layer}"
    return None
