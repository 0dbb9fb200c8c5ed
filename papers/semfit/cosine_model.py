"""Cosines of predicted and target vectors as scores, for comparing texts."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from tta.errors import InputError
from tta.modeling.formats.trained_models import find_directory
from tta.papers.semfit.vectors.word_inputs import word_vectors_in
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.text_model import TextModel

_ONLY_COMPARE = (
    "cosines are not log-probabilities: they compare texts (tta rerank, tta score --pairs), and "
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
    no_log_probabilities = _ONLY_COMPARE

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        options = replace(options, normalizer="exact")
        lm = TextModel.from_directory(find_directory(str(path)), options)
        super().__init__(lm.engine, None, lm.name, options, lm.directory)
        if not self.predicts_vectors or lm.tokenizer is None or lm.directory is None:
            raise InputError(
                "it predicts no vectors: cosine: needs the directory of a SemFit model", self.name
            )
        self._targets = word_vectors_in(lm.directory, lm.tokenizer)

    def __reduce__(self):
        return type(self), super().__reduce__()[1]

    @property
    def settings(self):
        settings = {"score": "cosine of prediction and target minus 1"}
        names = {"normalizer": "score"}
        inherited = {names.get(name, name): value for name, value in super().settings.items()}
        return {name: value for name, value in (inherited | settings).items() if name != "log"}

    def token_function(self):
        return self._cosines

    def _cosines(self):
        """The cosine of each token's predicted and target vector, minus 1: [B, T] float32."""
        predict = self.engine.token_vectors("fit")

        def cosines(ids, mask, wanted):
            first, second = predict(ids, mask, wanted), self._targets.rows(ids).astype(np.float32)
            lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
            return np.sum(first * second, axis=-1) / np.where(lengths > 0, lengths, 1.0) - 1.0

        return cosines
