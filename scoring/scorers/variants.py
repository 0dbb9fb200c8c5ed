"""Variants of a model: random weights, outputs not standardized, or a half."""

from dataclasses import replace
from pathlib import Path

from tta.choices import DTYPE_POLICIES
from tta.errors import InputError
from tta.modeling.formats.hub import model_name
from tta.modeling.formats.trained_models import find_directory
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.load import check_installed, load_engine, tensorflow_engine
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
        trained = load_scorer(str(path), options)
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
            options,
            directory=trained.directory,
            is_shared=False,
        )
        super().__init__(engine, None, f"random:{trained.name}", options)


class RawModel(TextModel):
    """A trained model with its last outputs as they were before they were standardized.

    `tta.load("raw:MODEL")` makes one. A finished training gives the outputs mean 0 and deviation 1
    in each dimension (`LanguageModel.standardize_outputs`). This changes no score, but all cosines.
    The paper does not do it. `sif` and `whitened` pooling are of the standardized outputs, and are
    not here.

    Args:
        path: the model, a directory or a name as in `tta.load`.
        options: as in `tta.load`.

    Raises:
        InputError: the model cannot be loaded, does not have an option, or its directory does not
            say how its outputs were standardized (models of earlier versions).
    """

    def __init__(self, path: Path | str, options: ScoreOptions = DEFAULTS):
        if options.engine == "onnxruntime" or options.precision not in DTYPE_POLICIES:
            raise InputError("a raw model runs in engine tensorflow only", path)
        check_installed("tensorflow")
        from tta.modeling.formats.standardization import load_unstandardized

        directory = Path(find_directory(str(path)))
        model = load_unstandardized(directory, DTYPE_POLICIES[options.precision])
        if options.precision == "bfloat16":
            model.compute_output_in_float32()
        tokenizer = tokenizer_in(directory, model.config)
        engine = tensorflow_engine()(
            model, tokenizer, options, directory=directory, is_shared=False
        )
        super().__init__(engine, None, f"raw:{model_name(directory)}", options)


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
        engine = load_engine(directory, options, part=self.part)
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
        super().__init__(path, replace(options, pll_variant="maskless"))
