"""Makes the weights of a wider model, or of a new vocabulary, from those of a trained model.

The wider model starts as copies of the smaller one side by side and computes the same function
(Net2Net; Chen et al., 2016, arXiv:1511.05641). Weights are {name: array}, with the names of
`named_weights()`. D hidden size, V vocabulary.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tta.errors import InputError, located
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.weights import assign_weights
from tta.modeling.models.base import ConfiguredModel

Arrays = dict[str, np.ndarray]
Origins = Sequence[Sequence[int]]

# The tied softmax multiplies these by the copied token table, so copies would add up.
_BEFORE_TIED_PRODUCT = ("head/transform_norm/gamma", "head/transform_norm/beta")


def grow(
    model: ConfiguredModel,
    trained: ConfiguredModel,
    source: Path | str,
    origins: Origins | None = None,
    seed: int = 0,
) -> None:
    """Assigns weights made from a trained model of the same size or smaller.

    If the two have different output layers, the head keeps its random weights.

    Args:
        model: can differ in size or vocabulary if its config has the ability `can_grow`.
        trained: the trained model.
        source: where the trained weights are stored, for errors.
        origins: as in `exchange_pieces`, if the vocabularies differ.
        seed: as in `widen`.

    Raises:
        InputError: a size is not a multiple, or the models do not have the same weights.
    """
    _check_family(model.config, trained.config, source)
    ours, theirs = model.named_weights(), trained.named_weights()
    if model.config.output_layer != trained.config.output_layer:
        theirs = {name: weight for name, weight in theirs.items() if not name.startswith("head/")}
        theirs |= {name: weight for name, weight in ours.items() if name.startswith("head/")}
    weights = {name: np.asarray(weight) for name, weight in theirs.items()}
    shapes = {name: tuple(weight.shape) for name, weight in ours.items()}
    is_alike = origins is None and shapes == {name: w.shape for name, w in weights.items()}
    _check_can_grow(model.config, trained.config, is_alike, source)
    if origins is not None:
        weights = exchange_pieces(weights, origins)
    with located(path=source):
        weights = widen(weights, shapes, seed)
    assign_weights(model, weights, source)


def _check_family(config, trained, source):
    """Refuses a model of a family with other weights, and says which families fit."""
    families = {name: MODEL_TYPES.load(name).part("config") for name in MODEL_TYPES}
    fit = [name for name, family in families.items() if family is type(config)]
    if trained.model_type not in fit:
        rule = f"a model of type {config.model_type} starts from one of type {' or '.join(fit)}"
        raise InputError(f"{rule}, not {trained.model_type}", source)


def _check_can_grow(config, trained, is_alike, source):
    if not all(one.can_grow for one in (config, trained)):
        if is_alike:
            return
        raise InputError(
            f"a model of type {config.model_type} with output_layer {config.output_layer} starts "
            "only from one of the same type, size and vocabulary",
            source,
        )
    sizes = [one.hidden_size // one.num_attention_heads for one in (trained, config)]
    if sizes[0] != sizes[1]:
        raise InputError(
            f"heads of size {sizes[0]} cannot become heads of size {sizes[1]}: only the number "
            "of heads can grow",
            source,
        )


def widen(weights: Arrays, shapes: dict[str, tuple[int, ...]], seed: int = 0) -> Arrays:
    """Float32 weights of a wider model: its outputs are repeated copies, its scores are the same.

    Every size grows by a whole factor. The number of heads grows, their size does not. A kernel is
    repeated, and each weight is divided at random, by `seed`, among the copies of its input: with
    equal shares, the copies would stay the same throughout training. A weight of the smaller model
    without an entry in `shapes` keeps its shape.

    Raises:
        InputError: a size is not a multiple of the smaller size.
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
        what = "only the hidden size" if is_table else "a size only by a whole factor"
        raise InputError(
            f"weight {name} of shape {list(weight.shape)} cannot grow to {list(shape)}: {what} "
            "can grow"
        )
    if not name.endswith("kernel"):
        wide = np.tile(weight, copies)
        return wide / copies[0] if name in _BEFORE_TIED_PRODUCT else wide
    inputs = copies[0]
    wide = np.tile(weight / inputs, copies).reshape(inputs, *weight.shape[:1], -1)
    chance = rng.normal(0.0, weight.std() / inputs, wide.shape)
    # The copies of an input are equal, and these terms sum to 0 over them.
    wide += chance - chance.mean(axis=0)
    return wide.reshape(shape).astype(np.float32)


def exchange_pieces(weights: Arrays, origins: Origins) -> Arrays:
    """Weights for a new vocabulary: the token table and the head's bias get new rows.

    `origins` holds, for each of the V new pieces, ids of pieces in the model's vocabulary. The new
    row is the mean of their rows. All other weights are returned unchanged.
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
