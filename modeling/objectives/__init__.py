"""Training objectives by name; a new one is one file here and one line below."""

from tta.registry import Registry
from tta.settings import Setting

# --objective -> its class. `ModelType` lists the objectives that can train a model.
OBJECTIVES = Registry(
    "objective",
    {
        "lae": "tta.modeling.objectives.language_model:LanguageAutoencoding",
        "mlm": "tta.modeling.objectives.language_model:MaskedLanguageModeling",
        "clm": "tta.modeling.objectives.language_model:CausalLanguageModeling",
    },
)

OBJECTIVE = Setting(
    "lae: language autoencoding (T-TA), predicts every token from all others. mlm: masked "
    "language modeling (biLM). clm: causal language modeling (uniLM), predicts every token "
    "from those before it. bidirectional_clm: each token from those before it, and from those "
    "after it. ae, vae, full_vae: the text from one latent vector, which a VAE samples; the "
    "weight of its KL term is cyclical (docs/autoencoder.md). The config's model_type must "
    "match: tta, cloze, bilm, unilm, elmo or autoencoder.",
    choices=OBJECTIVES,
    group="Objective",
)
