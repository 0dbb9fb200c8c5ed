"""Output layers. `tta.modeling.config.heads.HEADS` names them."""
