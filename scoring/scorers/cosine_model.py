"""Ranks texts with a SemFit model, by the cosines of its predicted vectors and the targets."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tta.data.vectors.word_inputs import WordVectorInputs, word_vectors_in
from tta.errors import InputError
from tta.modeling.formats.trained_models import find_directory
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.text_model import TextModel

_ONLY_COMPARE = (
    "cosines are not log-probabilities: they compare texts (tta-rerank, tta-score --pairs), and "
    "give no token scores and no perplexity"
)


class CosineModel(TextModel):
    """A SemFit model whose scores compare texts; `tta.load("cosine:DIRECTORY")` makes one.

    The score of a piece is the cosine of the vector that the model predicts for it and its target
    vector, minus 1: from -2 to 0, higher is better. It is no log-probability: it does not say how
    probable the piece is, and exponentials of scores have no meaning. The 1 is subtracted so that
    more pieces do not make a text better by their number alone. A piece without a target vector
    has the score -1.

    Args:
        path: the directory of a SemFit model, or its name, as in `tta.load`.
        options: as in `tta.load`; the normalizer is ignored.

    Raises:
        InputError: as `TextModel.from_directory`; or the model does not predict vectors, or its
            vectors are missing or damaged.
    """

    gives_log_probabilities = False
    _targets: WordVectorInputs

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        options = replace(options, normalizer="exact")
        directory = Path(find_directory(str(path)))
        lm = TextModel.from_directory(directory, options)
        super().__init__(lm._model, lm.tokenizer, lm.name, options, directory, is_shared=False)
        if not self.predicts_vectors or lm.tokenizer is None:
            raise InputError(
                "it predicts no vectors: cosine: needs the directory of a SemFit model", self.name
            )
        self.__dict__["_targets"] = word_vectors_in(directory, lm.tokenizer)

    def __reduce__(self):
        return type(self), super().__reduce__()[1]

    @property
    def signature(self):
        """What a score depends on, in one line."""
        line = super().signature.replace("|log:natural", "")
        return line.replace(
            f"|normalizer:{self.normalizer}", "|score:cosine of prediction and target minus 1"
        )

    def _scoring(self):
        return self.graph.cosines, self._targets

    def score(
        self, texts: Iterable[str], reduction: str = "sum", progress: bool = False
    ) -> np.ndarray:
        """As `Scorer.score`, of cosines minus 1: [N] float64, 0 or less, higher is better."""
        return super().score(texts, reduction, progress)

    def score_tokens(self, texts, progress=False):
        """Raises InputError: there are no log-probabilities of tokens."""
        raise InputError(_ONLY_COMPARE, self.name)

    def score_blocks(self, blocks, tokens=False, advance=None):
        """Raises InputError: there are no log-probabilities of tokens."""
        raise InputError(_ONLY_COMPARE, self.name)

    def perplexity(self, texts, progress=False):
        """Raises InputError: there is no perplexity."""
        raise InputError(_ONLY_COMPARE, self.name)
