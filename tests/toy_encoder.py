"""A toy encoder in one file: the sum of the other tokens, a dense layer and a LayerNorm."""

from tta.modeling.functions.layers import dense


def encode(k, w, config, ids, is_real):
    """[B, T] -> {"hidden_states", "embedding_output"}, [B, T, D]; see `functions.encoders`."""
    tokens = k.take(w.of("embeddings")["token_table"], ids)
    tokens = tokens * k.float32(is_real)[:, :, None]
    others = config.sharpness * (k.sum(tokens, 1)[:, None] - tokens)
    hidden = k.activation(dense(k, w.of("mix"), others), config.hidden_act)
    return {"hidden_states": k.layer_norm(w.of("norm"), hidden), "embedding_output": tokens}
