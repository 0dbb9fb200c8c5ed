"""The models of a service: one for texts, and one for lists of hypotheses."""

from dataclasses import dataclass, replace
from typing import Any

from tta.choices import MIXED
from tta.scoring.combining.levels import Levels
from tta.scoring.scorers.inference.mixed import MixedModel, in_float32, in_int8
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.scorer import Scorer


@dataclass(frozen=True)
class ServedModels:
    """The models of a service.

    Attributes:
        texts: scores and encodes texts.
        lists: scores hypotheses: the same model, the model with another normalizer, or `Levels` of
            two models.
    """

    texts: Scorer
    lists: Scorer

    @classmethod
    def of(cls, lm: Scorer) -> "ServedModels":
        """One model for all. The first of `Levels` scores texts, in mixed precision in float32."""
        return cls(in_float32(lm.models[0] if isinstance(lm, Levels) else lm), lm)

    @property
    def hypotheses(self) -> Scorer:
        """The model that scores all hypotheses: that of lists, or the first one of `Levels`.

        Of one in mixed precision, it is the model in int8.
        """
        return in_int8(self.lists.models[0] if isinstance(self.lists, Levels) else self.lists)


def load_models(model: Any, list_normalizer: str, options: ScoreOptions) -> ServedModels:
    """Loads the models of a service.

    Args:
        model: the first argument of `tta.load`, or `Levels` of two of these.
        list_normalizer: the normalizer for lists, as `normalizer` of `tta.load`.
        options: the other arguments of `tta.load`. Of the precision mixed, texts have float32.
    """
    names = model.models if isinstance(model, Levels) else (model,)
    of_lists = replace(options, normalizer=list_normalizer)
    of_texts = replace(options, precision="float32") if options.precision == MIXED else options
    texts = of_texts.among(names[0], names).load(names[0])
    first, *second = (of_lists.among(name, names).load(name) for name in names)
    if first.signature == texts.signature:
        first = texts
    if isinstance(first, MixedModel) and first.exact.signature == texts.signature:
        first = MixedModel(first.rounded, texts)
    if not isinstance(model, Levels):
        return ServedModels(texts, first)
    levels = Levels(in_int8(first), *map(in_float32, second), share=model.share, best=model.best)
    return ServedModels(texts, levels)
