"""train_passes: which pass and which learning rate it keeps."""

import numpy as np
import pytest

from tta.scoring.adaptation.passes import Training, train_passes


class Variable:
    """A weight, as Keras's."""

    def __init__(self, value):
        self.value = np.array(value)

    def numpy(self):
        return self.value.copy()

    def assign(self, value):
        self.value[...] = value


def run(losses, max_passes=9, learning_rate=0.9):
    """Trains with losses per rate, {rate: after each pass}, 5 before; the weight counts passes."""
    weight, tried = Variable(0), []

    def begin(rate):
        tried.append(round(rate, 3))
        weight.assign(0)

        def take_pass(number):
            weight.assign(weight.numpy() + 1)
            assert weight.numpy() == number
            return losses[len(tried) - 1][number - 1]

        return Training({"weight": weight}, 5.0, take_pass)

    outcome = train_passes(begin, lambda loss: loss, learning_rate, max_passes)
    return outcome, tried, int(weight.numpy())


@pytest.mark.parametrize(
    ("losses", "passes", "best"),
    [
        ([4, 3, 2, 1, 1, 1], 6, 4),  # an equal loss is no improvement
        ([4, 3, 3.5, 2, 2.5, 2.2, 1], 6, 4),  # one worse pass is no end
        ([4, np.nan, np.nan], 3, 1),
    ],
)
def test_training_stops_after_two_passes_without_improvement_and_keeps_the_best(
    losses, passes, best
):
    outcome, tried, weight = run([losses])
    assert (outcome.passes, outcome.best_pass, weight) == (passes, best, best)
    assert (outcome.before, outcome.after) == (5.0, losses[best - 1])
    assert tried == [0.9]
    assert outcome.learning_rate == 0.9


def test_there_are_at_most_max_passes():
    outcome, _, weight = run([[4, 3, 2]], max_passes=2)
    assert (outcome.passes, outcome.best_pass, weight) == (2, 2, 2)


def test_a_worse_first_pass_starts_again_with_a_third_of_the_rate():
    outcome, tried, weight = run([[6], [5], [4, 6, 3, 4, 4]])
    assert tried == [0.9, 0.3, 0.1]
    assert outcome.learning_rate == pytest.approx(0.1)
    assert (outcome.best_pass, weight) == (3, 3)


def test_without_any_improvement_the_weights_stay():
    outcome, tried, weight = run([[6]] * 4)
    assert tried == [0.9, 0.3, 0.1, 0.033]
    assert (outcome.best_pass, outcome.after, weight) == (0, 5.0, 0)


@pytest.mark.parametrize("losses", [[None], [4, None]])
def test_a_training_stopped_from_outside_has_no_outcome(losses):
    outcome, tried, _ = run([losses])
    assert outcome is None
    assert tried == [0.9]
