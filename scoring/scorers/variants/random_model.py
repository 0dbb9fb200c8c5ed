"""An untrained model: the control that shows what training gives."""

from dataclasses import asdict, replace
from pathlib import Path

from tta.errors import InputError
from tta.scoring.scorers.load import load_scorer
from tta.scoring.scorers.options import DEFAULTS, ScoreOptions
from tta.scoring.scorers.text_model import TextModel

SEED = 0


class RandomModel(TextModel):
    """A model with the config and the vocabulary of another one, and random weights.

    `tta.load("random:small")` makes one. The weights are those with which a training run begins.
    They are the same every time: making the model sets the global seeds of Python, NumPy and
    TensorFlow.

    Args:
        path: the other model, as in `tta.load`: also encoder:MODEL or decoder:MODEL.
        options: as in `tta.load`; the normalizer is ignored.

    Raises:
        InputError: the other model cannot be loaded, or does not have an option.
    """

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        import keras

        from tta.modeling.models.language_model import build_model
        from tta.scoring.engines.tensorflow.engine import TensorFlowEngine

        # It was trained for no other normalizer, and Keras makes its weights.
        options = replace(options, normalizer="exact", engine="tensorflow")
        trained = load_scorer(str(path), **asdict(options))
        if not isinstance(trained, TextModel):
            kind = type(trained).__name__
            raise InputError(f"only a model with a config has a random one, not a {kind}", path)
        keras.utils.set_random_seed(SEED)
        model = build_model(trained.config, trained.model.dtype_policy.name)
        if options.precision == "bfloat16":
            model.compute_output_in_float32()
        engine = TensorFlowEngine(
            model,
            trained.tokenizer,
            options.pll_variant,
            directory=trained.directory,
            is_shared=False,
        )
        super().__init__(engine, None, f"random:{trained.name}", options)
