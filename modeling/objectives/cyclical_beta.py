"""The weight of a variational autoencoder's KL term, which rises anew in each cycle."""

from dataclasses import dataclass

from keras import ops

from tta.modeling.kits.types import Tensor


@dataclass(frozen=True)
class CyclicalBeta:
    """Cyclical annealing (Fu et al. 2019; Li et al. 2020, section 4).

    With t the position in a cycle, 0 to 1: beta is 0 for t < zero_share, rises linearly to 1 over
    ramp_share, and stays there. `lowest` replaces 0: beta = lowest + (1 - lowest) * the same.

    beta is a function of the step alone, so a resumed run goes on with the same values, unless its
    `num_train_steps` was changed, which moves the cycles.

    Args:
        num_train_steps: N steps in all cycles.
        num_cycles: M.
        zero_share, ramp_share: parts of a cycle.
        lowest: the smallest beta.
    """

    num_train_steps: int
    num_cycles: int = 10
    zero_share: float = 0.5
    ramp_share: float = 0.25
    lowest: float = 0.0

    def __call__(self, step: Tensor | int) -> Tensor:
        """beta after `step` steps ([] int64): [] float32."""
        # (step mod N/M) / (N/M), in integers as long as possible: N/M may not be one.
        position = ops.cast(step, "int64") * self.num_cycles % self.num_train_steps
        position = ops.cast(position, "float32") / self.num_train_steps
        ramp = ops.clip((position - self.zero_share) / self.ramp_share, 0.0, 1.0)
        return self.lowest + (1.0 - self.lowest) * ramp
