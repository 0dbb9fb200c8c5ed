"""What papers/ brings to the core, in the table that any package may bring: see `tta.registry`."""

_AUTOENCODING = "tta.papers.nar.objectives"
_INPUTS = "tta.papers.semfit.vectors.word_inputs"
_STATIC = "tta.papers.semfit.static_vectors"

TABLE = {
    "model_type": {
        "elmo": "tta.papers.semfit.config:FAMILY",
        "autoencoder": "tta.papers.nar.config:FAMILY",
        "classifier": "tta.papers.glue.config:FAMILY",
    },
    "output_layer": {
        "adaptive_softmax": "tta.papers.semfit.head_settings:AdaptiveSoftmaxSettings",
        "semfit": "tta.papers.semfit.head_settings:SemFitSettings",
    },
    "objective": {
        "ae": f"{_AUTOENCODING}:Autoencoding",
        "vae": f"{_AUTOENCODING}:VariationalAutoencoding",
        "full_vae": f"{_AUTOENCODING}:FullVariationalAutoencoding",
        "bidirectional_clm": "tta.papers.semfit.directions:BidirectionalCausal",
    },
    "held-out measure": {"target_vectors": "tta.papers.semfit.measures"},
    "sampling": {
        "log_uniform": "tta.papers.semfit.heads.sampling:LogUniformSampler",
        "candidates": "tta.papers.semfit.heads.sampling:CandidateSampler",
    },
    "token feature": {
        "target_vectors": f"{_INPUTS}:VectorFeature",
        "input_vectors": f"{_INPUTS}:VectorFeature",
        "characters": f"{_INPUTS}:CharacterFeature",
    },
    "kind of model": {
        "cosine": "tta.papers.semfit.cosine_model:CosineModel",
        "glove": f"{_STATIC}:StaticVectors",
        "word2vec": f"{_STATIC}:StaticVectors",
        "fasttext": f"{_STATIC}:FastTextVectors",
        "vectors": f"{_STATIC}:VectorsFolder",
    },
    "command": {
        "tta-classify": "tta.papers.glue.command",
        "tta-create-vectors": "tta.papers.semfit.command",
        "tta-probe": "tta.papers.probing.command",
        "tta-reconstruct": "tta.papers.nar.command",
    },
}
