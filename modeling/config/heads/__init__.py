"""The heads: what each `output_layer` in `config.json` stands for."""

from tta.registry import Registry

# output_layer -> its settings, which name the head. A new head is one file in modeling/heads/, one
# file here and one entry.
HEADS = Registry(
    "output_layer",
    {
        "tied_softmax": "tta.modeling.config.heads.softmax:TiedSoftmaxSettings",
        "softmax": "tta.modeling.config.heads.softmax:SoftmaxSettings",
        "adaptive_softmax": "tta.modeling.config.heads.adaptive_softmax:AdaptiveSoftmaxSettings",
        "semfit": "tta.modeling.config.heads.semfit:SemFitSettings",
    },
)
