"""Output layers by name; a new head is one file here and one line below."""

from tta.registry import Registry

# output_layer in config.json -> the head.
HEADS = Registry(
    "output_layer",
    {
        "tied_softmax": "tta.modeling.heads.tied_softmax:TiedSoftmaxHead",
        "softmax": "tta.modeling.heads.softmax:SoftmaxHead",
        "adaptive_softmax": "tta.modeling.heads.adaptive_softmax:AdaptiveSoftmaxHead",
        "semfit": "tta.modeling.heads.semfit:SemFitHead",
    },
)
