"""Gives a model the weights of a trained model, also those of another vocabulary.

Weights are {name: array}, with the names of `named_weights()`. V vocabulary.
"""

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.weights import assign_weights
from tta.modeling.models.base import ConfiguredModel

Origins = Sequence[Sequence[int]]


def start_from(
    model: ConfiguredModel,
    trained: ConfiguredModel,
    source: Path | str,
    origins: Origins | None = None,
) -> None:
    """Assigns the weights of a trained model that computes the same by them.

    If the two have different output layers, the head keeps its random weights. What else may differ
    in the configs is in `ModelConfig`, `silent` and `noted`.

    Args:
        model: can differ in vocabulary if its config has the ability `can_exchange_pieces`.
        trained: the trained model.
        source: where the trained weights are stored, for errors.
        origins: as in `exchange_pieces`, if the vocabularies differ.

    Raises:
        InputError: the models do not have the same weights or do not compute the same by them.
    """
    config = model.config
    _check_family(config, trained.config, source)
    if origins is not None and not config.can_exchange_pieces:
        raise InputError(
            f"a model of type {config.model_type} with output_layer {config.output_layer} starts "
            "only from one of the same vocabulary",
            source,
        )
    weights = {name: np.asarray(weight) for name, weight in trained.named_weights().items()}
    if config.output_layer != trained.config.output_layer:
        weights = {name: weight for name, weight in weights.items() if not _is_of_head(name)}
        ours = model.named_weights().items()
        weights |= {name: np.asarray(weight) for name, weight in ours if _is_of_head(name)}
    if origins is not None:
        weights = exchange_pieces(weights, origins)
    assign_weights(model, weights, source)  # which checks all sizes
    _check_function(config, trained.config, source, origins)


def _check_function(config, trained, source, origins):
    """Refuses another value of any field of the config that changes what the weights compute."""
    free = {*config.silent, *config.dropouts, *config.unread, *trained.unread}
    for field in dataclasses.fields(config):
        name, new, old = field.name, getattr(config, field.name), getattr(trained, field.name)
        if name == "head" and type(new) is not type(old):
            continue  # of another output layer, whose weights are random
        same = new == old
        if origins is not None and name.endswith("_id") and None not in (new, old):
            same = tuple(origins[new]) == (old,)  # an id of another vocabulary
        if same or name in free:
            continue
        if name not in config.noted:
            raise InputError(f"the model has {name} {old!r}, not {new!r}", source)
        print(f"note: {source} has {name} {old!r}, the new model {new!r}", file=sys.stderr)


def _is_of_head(name):
    return name.startswith("head/")


def _check_family(config, trained, source):
    """Refuses a model of a family with other weights, and says which families fit."""
    families = {name: MODEL_TYPES.load(name).part("config") for name in MODEL_TYPES}
    fit = [name for name, family in families.items() if family is type(config)]
    if trained.model_type not in fit:
        rule = f"a model of type {config.model_type} starts from one of type {' or '.join(fit)}"
        raise InputError(f"{rule}, not {trained.model_type}", source)


def exchange_pieces(weights: dict[str, np.ndarray], origins: Origins) -> dict[str, np.ndarray]:
    """Weights for a new vocabulary: the token table and the head's bias get new rows.

    `origins` holds, for each of the V new pieces, ids of pieces in the model's vocabulary. The new
    row is the mean of their rows. All other weights are returned unchanged.
    """
    flat = np.concatenate([np.asarray(ids, np.int64) for ids in origins])
    lengths = np.array([len(ids) for ids in origins])
    starts = np.cumsum(lengths) - lengths
    means = {}
    for name in ("encoder/embeddings/token_table", "head/bias"):
        rows = np.asarray(weights[name], np.float32)[flat]
        share = lengths.reshape(-1, *[1] * (rows.ndim - 1))
        means[name] = np.add.reduceat(rows, starts, axis=0) / share
    return weights | means
