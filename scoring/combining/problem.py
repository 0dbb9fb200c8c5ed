"""What is decided: lists to rerank, and the lists on which the weights are chosen."""

from collections.abc import Callable
from dataclasses import dataclass

from tta.scoring.combining.part import Part
from tta.scoring.combining.scored_lists import ListStatistics


@dataclass(frozen=True)
class Problem:
    """Dev and test lists that are reranked together.

    Attributes:
        parts: the lists on which the weights are chosen come first, the lists to rerank last. It
            may be one part for both.
        is_tuned: whether the weights are tuned on the first part, by its references. If not, they
            are guessed from it.
    """

    parts: tuple[Part, ...]
    is_tuned: bool = False

    @property
    def test(self) -> Part:
        """The lists to rerank."""
        return self.parts[-1]

    @property
    def dev(self) -> Part | None:
        """The lists that the weights are tuned on; None if they are guessed."""
        return self.parts[0] if self.is_tuned else None

    @property
    def chosen_on(self) -> Part:
        """The lists on which the weights are chosen."""
        return self.parts[0]

    @property
    def evidence(self) -> ListStatistics | None:
        """What the weights are tuned by; None if they are guessed."""
        return self.chosen_on.statistics if self.is_tuned else None

    @property
    def texts(self) -> list[str]:
        """The distinct texts of all parts."""
        return list(dict.fromkeys(text for part in self.parts for text in part.texts))

    @property
    def features(self) -> set[str]:
        """The names of the features that all hypotheses of all parts have."""
        return set.intersection(*(set(part.lists.features) for part in self.parts))

    def map(self, function: Callable[[Part], Part]) -> "Problem":
        """The same problem, with each part replaced by what the function makes of it."""
        return Problem(tuple(map(function, self.parts)), self.is_tuned)
