"""What papers/ brings to the core, in the table that any package may bring: see `tta.registry`."""

_CONFIG, _AUTOENCODING = "tta.modeling.config", "tta.modeling.objectives.autoencoding"
_INPUTS = "tta.data.vectors.word_inputs"
_STATIC = "tta.scoring.scorers.static_vectors"

TABLE = {
    "model_type": {
        "elmo": f"{_CONFIG}.elmo:FAMILY",
        "autoencoder": f"{_CONFIG}.autoencoder:FAMILY",
        "classifier": f"{_CONFIG}.classifier:FAMILY",
    },
    "output_layer": {
        "adaptive_softmax": f"{_CONFIG}.vector_heads:AdaptiveSoftmaxSettings",
        "semfit": f"{_CONFIG}.vector_heads:SemFitSettings",
    },
    "objective": {
        "ae": f"{_AUTOENCODING}:Autoencoding",
        "vae": f"{_AUTOENCODING}:VariationalAutoencoding",
        "full_vae": f"{_AUTOENCODING}:FullVariationalAutoencoding",
        "bidirectional_clm": "tta.modeling.objectives.language_model:BidirectionalCausal",
    },
    "held-out measure": {"target_vectors": "tta.modeling.objectives.vectors"},
    "token feature": {
        "target_vectors": f"{_INPUTS}:VectorFeature",
        "input_vectors": f"{_INPUTS}:VectorFeature",
        "characters": f"{_INPUTS}:CharacterFeature",
    },
    "kind of model": {
        "cosine": "tta.scoring.vectors.cosine_model:CosineModel",
        "glove": f"{_STATIC}:StaticVectors",
        "word2vec": f"{_STATIC}:StaticVectors",
        "fasttext": f"{_STATIC}:FastTextVectors",
        "vectors": f"{_STATIC}:VectorsFolder",
    },
    "command": {
        "tta-classify": "tta.flags.classify",
        "tta-create-vectors": "tta.flags.create_vectors",
        "tta-probe": "tta.flags.probe",
        "tta-reconstruct": "tta.flags.reconstruct",
    },
}
