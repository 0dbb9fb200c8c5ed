"""Trains pass by pass until a held-out part stops to improve, with lower and lower rates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

PATIENCE = 2  # passes without improvement, after which training stops
RATES = 4  # learning rates that are tried, each a third of the one before

Evaluation = TypeVar("Evaluation")


@dataclass(frozen=True)
class Training(Generic[Evaluation]):
    """A model, ready for its first pass.

    Attributes:
        variables: all weights of the model, by name.
        before: how good the model is on the held-out part.
        take_pass: trains for one more pass and evaluates the model again. It takes the number of
            the pass, from 1 on, and returns None if the training was stopped from outside.
    """

    variables: Mapping[str, Any]
    before: Evaluation
    take_pass: Callable[[int], Evaluation | None]


@dataclass(frozen=True)
class Outcome(Generic[Evaluation]):
    """The end of a training.

    Attributes:
        learning_rate: the highest one of the training.
        passes: number of passes; the weights after the best one were kept.
        best_pass: its number, from 1 on. 0: no pass was an improvement.
        before, after: on the held-out part.
    """

    learning_rate: float
    passes: int
    best_pass: int
    before: Evaluation
    after: Evaluation


def train_passes(
    begin: Callable[[float], Training[Evaluation]],
    loss: Callable[[Evaluation], float],
    learning_rate: float,
    max_passes: int,
) -> Outcome[Evaluation] | None:
    """Trains with lower and lower learning rates, until the first pass is an improvement.

    Training stops after `max_passes`, or after `PATIENCE` passes without improvement. The model
    gets the weights of the best pass. `begin` prepares the training with a learning rate, each time
    from the same weights; the first rate is `learning_rate`. A lower `loss` is better.

    Returns the outcome of the last learning rate; None if the training was stopped from outside.
    """
    for _ in range(RATES):
        outcome = _train(begin(learning_rate), loss, learning_rate, max_passes)
        if outcome is None or outcome.best_pass:
            return outcome
        learning_rate /= 3
    return outcome


def _train(training, loss, learning_rate, max_passes):
    best, best_pass = training.before, 0
    best_weights = _values(training.variables)
    for number in range(1, max_passes + 1):
        now = training.take_pass(number)
        if now is None:
            return None
        if loss(now) < loss(best):
            best, best_pass, best_weights = now, number, _values(training.variables)
        elif not best_pass or number - best_pass == PATIENCE:
            break
    for name, value in best_weights.items():
        training.variables[name].assign(value)
    return Outcome(learning_rate, number, best_pass, training.before, best)


def _values(variables):
    return {name: variable.numpy() for name, variable in variables.items()}
