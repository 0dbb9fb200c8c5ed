"""The encoders of `tta.modeling.encoders` as parts of an ONNX graph.

B batch, T tokens, Q queries, D hidden size. Masks are bool, True = may attend.
"""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tta.scoring.engines.onnxruntime.graphs.graph import Tensor, arange, concatenate, spread, where
from tta.scoring.engines.onnxruntime.graphs.layers import (
    add_norm,
    block,
    centred_layer_norm,
    dense,
    layer_norm,
)
from tta.scoring.engines.onnxruntime.graphs.weights import Weights


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """What an encoder reads.

    Attributes:
        ids: [B, T] int32.
        mask: [B, T] bool, True at real tokens.
        wanted: [B, T] bool, the tokens whose hidden states are needed; None is all. The others'
            may be zeros.
        word_ids: [B, T], equal at all pieces of a word, whose later pieces are then hidden too.
        positions: [B] int64, the only token of each sentence whose state is needed; None is all.
        added: [B, 1, D], added to the embeddings and to the input of every later layer (in a T-TA,
            to its query): the latent vector of an autoencoder.
        memory: [B, K, D], what every token of a biLM attends to besides the tokens: the latent
            vectors of an autoencoder that has several.
        num_latents: K.
    """

    ids: Tensor
    mask: Tensor
    wanted: Tensor | None = None
    word_ids: Tensor | None = None
    positions: Tensor | None = None
    added: Tensor | None = None
    memory: Tensor | None = None
    num_latents: int = 1

    @property
    def tokens(self) -> Tensor:
        """0, 1, ... to T - 1: int64."""
        return arange(self.ids.size(1))


def encode(inputs: Inputs, weights: Weights, config: Any) -> Tensor:
    """The hidden states [B, T, D] of the family that the config names.

    With `positions`, those of one token of each sentence: [B, 1, D].
    """
    return _ENCODERS[config.model_type](inputs, weights, config)


def embed(inputs: Inputs, weights: Weights, config: Any) -> Tensor:
    """LayerNorm(token + position): [B, T, D]."""
    tokens = weights["token_table"].take(inputs.ids)
    total = tokens + _positions(inputs, weights)
    if config.num_segments:  # a single text is segment 0
        total = total + weights["segment_table"].slice(0, 0, 1)
    if inputs.added is not None:
        total = total + inputs.added
    return layer_norm(total, weights.of("norm"), config.layer_norm_eps)


def first_query(inputs: Inputs, weights: Weights, config: Any) -> Tensor:
    """LayerNorm(position), or of position + a token: [1, T, D], the same for all sentences.

    With `added`, which is part of the sum, it is [B, T, D].
    """
    query = _positions(inputs, weights)
    token = config.first_query_token_id
    if token is not None:
        query = query + weights["token_table"].slice(0, token, token + 1)
    query = query.expand(0) if inputs.added is None else query.expand(0) + inputs.added
    return layer_norm(query, weights.of("norm"), config.layer_norm_eps)


def _positions(inputs, weights):
    return weights["position_table"].take(inputs.tokens)  # [T, D]


def _tta(inputs, weights, config):
    """Every token from all the others. Only the query changes from layer to layer."""
    embeddings = weights.of("embeddings")
    stream = embed(inputs, embeddings, config)
    asked = _Asked(inputs)
    query = first_query(inputs, embeddings, config).take(asked.positions, axis=1)
    mask = ~asked.positions.expand(1).equals(inputs.tokens.expand(0)).expand(0)  # [1, Q, T]
    mask = mask & inputs.mask.expand(1)
    if inputs.word_ids is not None:
        mask = mask & ~asked.later_in_word
    for layer in range(config.num_hidden_layers):
        if layer and inputs.added is not None:
            query = query + inputs.added
        here, is_last = weights.of(f"layer_{layer}"), layer == config.num_hidden_layers - 1
        query = block(query, stream, mask, here, config, is_last=is_last)
    return asked.spread(query)


def _bidirectional(inputs, weights, config):
    return _transformer(inputs, inputs.mask.expand(1), weights, config)


def _causal(inputs, weights, config):
    return _transformer(inputs, causal_mask(inputs), weights, config)


def _transformer(inputs, mask, weights, config):
    hidden, memory = embed(inputs, weights.of("embeddings"), config), inputs.memory
    if memory is not None:
        mask = with_memory(mask, inputs.num_latents)
    for layer in range(config.num_hidden_layers):
        if layer and inputs.added is not None:
            hidden = hidden + inputs.added
        here, is_last = weights.of(f"layer_{layer}"), layer == config.num_hidden_layers - 1
        query, stream = hidden, hidden
        if is_last and inputs.positions is not None:
            query = _rows(hidden, inputs.positions.expand(1))
        if memory is not None:
            stream = concatenate([memory, hidden], 1)
        hidden = block(query, stream, mask, here, config, is_last=is_last)
    return hidden


def with_memory(mask: Tensor, count: int) -> Tensor:
    """A mask [B, Q or 1, S] with `count` more keys, which come first: [B, Q or 1, count + S]."""
    return ~(~mask).pad([(0, 0), (0, 0), (count, 0)])


def causal_mask(inputs: Inputs) -> Tensor:
    """Real tokens up to and including the query token: [B, T, T]."""
    tokens = inputs.tokens
    return (tokens.expand(1) >= tokens.expand(0)).expand(0) & inputs.mask.expand(1)


def anticausal_mask(inputs: Inputs) -> Tensor:
    """Real tokens from the query token on: [B, T, T]."""
    tokens = inputs.tokens
    return (tokens.expand(1) <= tokens.expand(0)).expand(0) & inputs.mask.expand(1)


def _cloze(inputs, weights, config):
    """Every token from two causal towers, of the tokens before it and of those after it."""
    embedded = embed(inputs, weights.of("embeddings"), config)
    tokens, towers = inputs.tokens, []
    near = tokens.expand(0) - tokens.expand(1)
    for side, mask in ("forward", causal_mask(inputs)), ("backward", anticausal_mask(inputs)):
        hidden = embedded
        for layer in range(config.num_tower_layers):
            hidden = block(hidden, None, mask, weights.of(f"{side}_{layer}"), config, near)
        if config.norm_first:
            norm = weights.of(f"{side}_norm").of("norm")
            hidden = layer_norm(hidden, norm, config.layer_norm_eps)
        towers.append(hidden)
    asked = _Asked(inputs)
    last = asked.last_hidden
    forward, backward = towers
    query = _cloze_query(inputs, asked, last, forward, backward, weights, config)
    is_real = inputs.mask.expand(1)
    is_before = (tokens.expand(0) < asked.positions.expand(1)).expand(0) & is_real
    is_after = (tokens > last.expand(2)) & is_real
    stream, mask = concatenate(towers, 1), concatenate([is_before, is_after], 2)
    near = concatenate([tokens, tokens], 0).expand(0) - asked.positions.expand(1)
    for layer in range(config.num_hidden_layers):
        here, is_last = weights.of(f"layer_{layer}"), layer == config.num_hidden_layers - 1
        query = block(query, stream, mask, here, config, near, is_last=is_last)
    if config.norm_first:
        norm = weights.of("final_norm").of("norm")
        query = centred_layer_norm(query, norm, config.layer_norm_eps)
    return asked.spread(query)


def _cloze_query(inputs, asked, last, forward, backward, weights, config):
    """[B, Q, D]: from the position and the nearest state of each tower."""
    before = forward.pad([(0, 0), (1, 0), (0, 0)]).take(asked.positions, axis=1)
    after = where(inputs.mask.expand(2), backward, 0.0).pad([(0, 0), (0, 1), (0, 0)])
    after = _rows(after, last + 1)
    near = dense(before, weights.of("forward_query")) + dense(after, weights.of("backward_query"))
    first = first_query(inputs, weights.of("embeddings"), config).take(asked.positions, axis=1)
    return add_norm(near, first, weights.of("query_norm"), config)


_ENCODERS = {
    "tta": _tta,
    "bilm": _bidirectional,
    "unilm": _causal,
    "cloze": _cloze,
}


class _Asked:
    """The positions of queries: those that a sentence of the batch needs, or all."""

    def __init__(self, inputs: Inputs):
        self._inputs, self._is_asked = inputs, None
        self.positions = inputs.tokens  # [Q] int64
        if inputs.wanted is not None:
            self._is_asked = inputs.wanted.any(0)  # [T]
            self.positions = self._is_asked.positions()

    def spread(self, x: Tensor) -> Tensor:
        """[B, Q, D] -> [B, T, D]: zeros at the positions that were not asked for."""
        if self._is_asked is None:
            return x
        return spread(x, self._is_asked, axis=1, rank=3)

    @property
    def _in_same_word(self):
        """[B, Q, T]: whether a token belongs to the word of the query's."""
        word_ids = cast(Tensor, self._inputs.word_ids)
        words = word_ids.take(self.positions, axis=1)
        return words.expand(2).equals(word_ids.expand(1))

    @property
    def later_in_word(self) -> Tensor:
        """[B, Q, T]: whether a token is a later piece of the query's word."""
        is_later = self.positions.expand(1) < self._inputs.tokens.expand(0)
        return is_later.expand(0) & self._in_same_word

    @property
    def last_hidden(self) -> Tensor:
        """[B, Q] int64: the token itself, or with `word_ids` the last piece of its word."""
        inputs, positions = self._inputs, self.positions
        nothing = inputs.ids.slice(1, 0, 1).cast(np.int64) * np.int64(0)  # [B, 1]
        last = nothing + positions
        if inputs.word_ids is None:
            return last
        same = self._in_same_word & inputs.mask.expand(1)
        in_word = where(same, inputs.tokens, np.int64(0)).max(2)
        return last.graph.operator("Max", last, in_word)


def _rows(x, positions):
    """Rows of x [B, T, D] at positions [B, Q] int64: [B, Q, D]."""
    return x.graph.operator("GatherND", x, positions.expand(2), batch_dims=1)
