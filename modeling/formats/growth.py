"""Weights for a larger model, or another vocabulary, out of a trained model's.

A wider model starts as copies of the smaller one side by side, and computes the same (Net2Net; Chen
et al., 2016, arXiv:1511.05641). D hidden size, V vocabulary.
"""

import numpy as np

from tta.errors import InputError
from tta.modeling.formats.weights import assign_weights

# What multiplies with itself once more in the tied softmax, so that copies would add up.
_BEFORE_TIED_PRODUCT = ("head/transform_norm/gamma", "head/transform_norm/beta")


def grow(model, trained, source, origins=None, seed=0):
    """Gives a model the weights of a trained one that is as large or smaller.

    Args:
        model: `LanguageModel`, changed.
        trained: `LanguageModel`.
        source: where the trained one's weights lie, for errors.
        origins: as `exchange_pieces`, where the vocabularies differ.
        seed: as `widen`.

    Raises:
        InputError: a size is no multiple, or the models are of other parts.
    """
    sizes = [c.hidden_size // c.num_attention_heads for c in (trained.config, model.config)]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"heads of size {sizes[0]} cannot become heads of size {sizes[1]}: a model grows by "
            "their number",
            source,
        )
    weights = {name: np.asarray(weight) for name, weight in trained.named_weights().items()}
    if origins is not None:
        weights = exchange_pieces(weights, origins)
    shapes = {name: tuple(weight.shape) for name, weight in model.named_weights().items()}
    try:
        weights = widen(weights, shapes, seed)
    except InputError as error:
        raise InputError(error.rule, source) from None
    assign_weights(model, weights, source)


def widen(weights, shapes, seed=0):
    """Weights of a wider model whose outputs are the smaller one's side by side, scores the same.

    All sizes grow by whole factors, heads by number and not by size. A kernel is repeated and
    divided among the copies of its input, not evenly but by chance, without which the copies would
    learn the same for ever.

    Args:
        weights: {name: float array} of the smaller model.
        shapes: {name: tuple} of the larger one; a weight without one stays as it is.
        seed: of the division.

    Returns:
        {name: float32 array}.

    Raises:
        InputError: a size is no multiple.
    """
    rng = np.random.default_rng(seed)
    return {
        name: _widen(name, np.asarray(weight, np.float32), shapes.get(name, weight.shape), rng)
        for name, weight in weights.items()
    }


def _widen(name, weight, shape, rng):
    if weight.shape == shape:
        return weight
    copies = tuple(new // old for new, old in zip(shape, weight.shape, strict=True))
    is_table = name.endswith("_table")
    if tuple(np.multiply(copies, weight.shape)) != shape or (is_table and copies[0] != 1):
        what = "hidden size alone grows" if is_table else "sizes grow by whole factors"
        raise InputError(
            f"weight {name} has shape {list(weight.shape)}, which cannot grow to {list(shape)}: "
            f"{what}"
        )
    if not name.endswith("kernel"):
        wide = np.tile(weight, copies)
        return wide / copies[0] if name in _BEFORE_TIED_PRODUCT else wide
    inputs = copies[0]
    wide = np.tile(weight / inputs, copies).reshape(inputs, *weight.shape[:1], -1)
    chance = rng.normal(0.0, weight.std() / inputs, wide.shape)
    # Over the copies of an input, which are alike, it adds up to nothing.
    wide += chance - chance.mean(axis=0)
    return wide.reshape(shape).astype(np.float32)


def exchange_pieces(weights, origins):
    """Weights for another vocabulary: rows of the token table and the head's bias taken over.

    Args:
        weights: {name: array} of a model.
        origins: V tuples of ids, which pieces of the model's vocabulary each new one is made of:
            it gets the mean of their rows.

    Returns:
        {name: array}; the two that depend on the vocabulary are new.
    """
    flat = np.concatenate([np.asarray(ids, np.int64) for ids in origins])
    lengths = np.array([len(ids) for ids in origins])
    starts = np.cumsum(lengths) - lengths
    made = {}
    for name in ("encoder/embeddings/token_table", "head/bias"):
        rows = np.asarray(weights[name], np.float32)[flat]
        share = lengths.reshape(-1, *[1] * (rows.ndim - 1))
        made[name] = np.add.reduceat(rows, starts, axis=0) / share
    return weights | made
