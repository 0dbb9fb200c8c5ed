"""Training objectives by name; a new one is one file here and one line below."""

from tta.registry import Registry

# --objective -> its class. `ModelType` lists the objectives that can train a model.
OBJECTIVES = Registry(
    "objective",
    {
        "lae": "tta.modeling.objectives.lae:LanguageAutoencoding",
        "mlm": "tta.modeling.objectives.mlm:MaskedLanguageModeling",
        "clm": "tta.modeling.objectives.clm:CausalLanguageModeling",
        "ae": "tta.modeling.objectives.autoencoding:Autoencoding",
        "vae": "tta.modeling.objectives.autoencoding:VariationalAutoencoding",
        "full_vae": "tta.modeling.objectives.autoencoding:FullVariationalAutoencoding",
        "bidirectional_clm": "tta.modeling.objectives.bidirectional_clm:BidirectionalCausal",
    },
)
