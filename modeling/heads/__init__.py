"""Output layers. `tta.modeling.config.model_types.HEADS` names them."""
