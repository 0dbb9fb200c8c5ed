"""The latent vectors that join the halves of an autoencoder, as functions over a kit.

B sentences, T tokens, K latent vectors of a sentence, P numbers in each, D hidden size, L layers.
"""

from tta.modeling.functions.layers import masked_softmax


def pool(k, w, config, states, is_real):
    """The states of a text [B, T, D] as K vectors [B, K, D]: attention with K learned queries q.

    softmax(q_k h / sqrt(D)) weighs the states h, in float32 in any precision.
    """
    states = k.float32(states)
    scaled = w["queries"] * config.hidden_size**-0.5
    logits = scaled @ k.transpose(states, (0, 2, 1))  # [B, K, T]
    return masked_softmax(k, logits[:, None], is_real[:, None])[:, 0] @ states


def latent_inputs(k, w, config, latent):
    """What a decoder reads of the latent vectors [B, K P]: "added" [B, 1, D], maybe "memory".

    W_D z is added to embeddings. The memory is W_M z, one vector per layer of an autoregressive
    decoder [B, L, D]; or, of several latent vectors, W_M z_k [B, K, D].
    """
    found = {"added": (latent @ w["added_kernel"])[:, None]}
    if config.num_memories:
        rows = latent @ w["memory_kernel"]
        found["memory"] = k.flat(rows, config.num_memories, config.hidden_size)
    elif config.num_latents > 1:
        each = k.flat(latent, config.num_latents, config.latent_size)
        found["memory"] = each @ w["memory_kernel"]
    return found
