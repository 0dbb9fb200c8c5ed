"""An untrained model: the control that shows what training gives."""

from pathlib import Path

from tta.scoring.scorers.load import find_directory
from tta.scoring.scorers.options import ScoreOptions
from tta.scoring.scorers.text_model import TextModel

SEED = 0


class RandomModel(TextModel):
    """A model with the config and the vocabulary of another one, and random weights.

    `tta.load("random:small")` makes one. The weights are those with which a training run begins.
    They are the same every time: making the model sets the global seeds of Python, NumPy and
    TensorFlow.

    Args:
        path: the other model, a directory or a name as in `tta.load`.
        long_sentences, batch_tokens, precision, pll_variant, score_boundary_tokens: as in
            `tta.load`.

    Raises:
        InputError: the other model cannot be loaded, or does not have an option.
    """

    def __init__(
        self,
        path: Path | str,
        long_sentences: str = "window",
        batch_tokens: int | None = None,
        precision: str = "float32",
        pll_variant: str = "original",
        score_boundary_tokens: bool = False,
    ):
        import keras

        from tta.modeling.models.language_model import build_model

        options = ScoreOptions(
            long_sentences=long_sentences,
            batch_tokens=batch_tokens,
            precision=precision,
            pll_variant=pll_variant,
            score_boundary_tokens=score_boundary_tokens,
        )
        trained = TextModel.from_directory(find_directory(str(path)), options)
        keras.utils.set_random_seed(SEED)
        model = build_model(trained.model.config, trained.model.dtype_policy.name)
        if precision == "bfloat16" and hasattr(model, "compute_output_in_float32"):
            model.compute_output_in_float32()
        name = f"random:{trained.name}"
        super().__init__(model, trained.tokenizer, name, options, is_shared=False)
        self.__dict__["_inputs_directory"] = trained.directory  # has the vectors that it reads
