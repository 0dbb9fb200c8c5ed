"""A half of an autoencoder as a model: `encoder:MODEL` and `decoder:MODEL`."""

import dataclasses
from pathlib import Path

from tta.modeling.formats.hub import model_name
from tta.modeling.formats.trained_models import find_directory
from tta.scoring.engines.load import load_engine
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.text_model import TextModel


class DecoderModel(TextModel):
    """The decoder of an autoencoder, as the biLM, T-TA or uniLM that it is without a vector.

    `tta.load("decoder:MODEL")` makes one. `tta.modeling.formats.parts.save_part` writes it to a
    folder of its own.

    Args:
        path: the autoencoder, a directory or a name as in `tta.load`.
        options: as in `tta.load`.

    Raises:
        InputError: the model cannot be loaded, or is no autoencoder.
    """

    part = "decoder"

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        directory = find_directory(str(path))
        engine = load_engine(directory, **options.for_engine(), part=self.part)
        super().__init__(engine, None, f"{self.part}:{model_name(directory)}", options)


class EncoderModel(DecoderModel):
    """The encoder of an autoencoder, a biLM without scores: the head belongs to the decoder.

    `tta.load("encoder:MODEL")` makes one. Arguments and errors are those of `DecoderModel`.
    """

    part = "encoder"
    no_scores = (  # pyright: ignore[reportAssignmentType]
        "the encoder of an autoencoder has no head, so it gives no sentence scores"
    )

    @property
    def gives_scores(self) -> bool:
        """False."""
        return False

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        # As in training, which masks nothing: "context" is what the whole model gives.
        super().__init__(path, dataclasses.replace(options, pll_variant="maskless"))
