"""The engine that runs a Keras model in TensorFlow, with its weights as constants."""

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from keras import ops

from tta.choices import DTYPE_POLICIES
from tta.data.records.features import ModelInputs, inputs_in
from tta.data.vocabulary.load import AnyTokenizer
from tta.errors import InputError
from tta.modeling.config.model_types import MODEL_TYPES
from tta.modeling.formats.parts import load_part
from tta.modeling.functions.masks import words_of
from tta.modeling.kits.keras import KerasKit
from tta.modeling.likelihood import likelihood_of
from tta.names import INPUT_FILES
from tta.scoring.engines.base import Engine, normalizer_of
from tta.scoring.engines.directory import tokenizer_in
from tta.scoring.engines.options import DEFAULTS, EngineOptions
from tta.scoring.engines.tensorflow.frozen import FrozenFunctions

# The output of a model that each representation is.
OUTPUTS = {
    "context": "hidden_states",
    "fit": "fit",
    "embed": "embedding_output",
    "layers": "layers",
    "token": "token_embeddings",
    "cls": "hidden_states",
    "eos": "hidden_states",
}

# With two batches in flight, one runs the parts that use a single core while the other keeps the
# remaining cores busy. Multi-pass scoring already fills them; a second batch would slow it down.
_BATCHES_IN_FLIGHT = 2


class TensorFlowEngine(Engine):
    """Runs a Keras model.

    Args:
        model: `tta.modeling.models.language_model.LanguageModel`, or the model of another family.
        tokenizer: whose ids it takes; None if it has no vocabulary.
        options: `pll_variant` and `normalizer` as in `tta.load`; others belong to `model`.
        directory: the folder with what the model reads besides ids, such as vectors of words.
        is_shared: whether the caller keeps `model`, and may change its weights.

    Attributes:
        likelihood: the `tta.modeling.likelihood.Likelihood`; None if the family has none.

    Raises:
        InputError: the model does not have the normalizer or the pseudo-log-likelihood variant.
    """

    name = "tensorflow"

    def __init__(
        self,
        model: Any,
        tokenizer: AnyTokenizer | None = None,
        options: EngineOptions = DEFAULTS,
        *,
        directory: Path | str | None = None,
        is_shared: bool = True,
    ):
        config = model.config
        self._model, self._frozen, self._directory = model, FrozenFunctions(model), directory
        self.config, self.tokenizer = config, tokenizer
        self.normalizer = normalizer_of(config, options.normalizer)
        self.precision = "bfloat16" if model.compute_dtype == "bfloat16" else "float32"
        self._vocabulary: Any = tokenizer and tokenizer.vocabulary
        likelihood = None
        if MODEL_TYPES.load(config.model_type).likelihood is not None:
            likelihood = likelihood_of(
                config.model_type,
                self._vocabulary,
                pll_variant=options.pll_variant,
                normalizer=self.normalizer,
            )
        self.likelihood: Any = likelihood
        self.gives_scores = likelihood is not None and model.head.gives_probabilities
        self.predicts_vectors = likelihood is not None and model.head.output_name == "fit"
        self.scores_first_token = likelihood is None or likelihood.scores_first_token
        one_pass = likelihood is None or likelihood.takes_one_pass
        self.batches_in_flight = _BATCHES_IN_FLIGHT if one_pass else 1
        self.vector_sizes = self._sizes()
        if is_shared:
            self.model  # noqa: B018 (its weights may change)

    @classmethod
    def from_directory(
        cls, directory: Path | str, options: EngineOptions = DEFAULTS, *, part: str | None = None
    ) -> "TensorFlowEngine":
        """Loads a model directory, or a part of the model; arguments as in `load_engine`.

        Raises InputError if a file is missing or damaged, files do not fit each other, an option
        does not suit the model, or it has no such part.
        """
        if options.precision not in DTYPE_POLICIES:
            raise InputError(f"precision {options.precision} needs engine onnxruntime")
        model = load_part(directory, part, DTYPE_POLICIES[options.precision])
        if options.precision == "bfloat16" and hasattr(model, "compute_output_in_float32"):
            model.compute_output_in_float32()
        tokenizer = tokenizer_in(directory, model.config)
        return cls.of(model, tokenizer, options, directory=directory, is_shared=False)

    @classmethod
    def of(
        cls,
        model: Any,
        tokenizer: AnyTokenizer | None = None,
        options: EngineOptions = DEFAULTS,
        *,
        directory: Path | str | None = None,
        is_shared: bool = True,
    ) -> "TensorFlowEngine":
        """The engine of the model's family; arguments as in the class."""
        engine = MODEL_TYPES.load(model.config.model_type).engine(cls.name) or cls
        return engine(model, tokenizer, options, directory=directory, is_shared=is_shared)

    @property
    def model(self) -> Any:
        """The Keras model. From now on its weights may change: they are no constants any more."""
        self.is_shared = True
        self._frozen.thaw()
        return self._model

    @cached_property
    def _inputs(self) -> ModelInputs:
        """What the model reads besides ids. Raises InputError if it is missing or damaged."""
        if self.tokenizer is None:
            return ModelInputs({})
        return inputs_in(self._directory or "", self.config, self.tokenizer)

    def input_files(self):
        reads_vectors = self._directory and (self.config.input_features or self.predicts_vectors)
        paths = (Path(self._directory or "", name) for name in INPUT_FILES)
        return [path for path in paths if reads_vectors and path.exists()]

    def weights(self):
        weights = self._model.named_weights().items()
        return {name: np.asarray(value, np.float32) for name, value in weights}

    def token_scores(self):
        return self._frozen.get(self.scores)

    def token_vectors(self, representation):
        return self._frozen.get(self.vectors, representation)

    def attention(self, ids, mask):
        kind = self.config.model_type
        if not getattr(getattr(self._model, "encoder", None), "gives_attention", False):
            raise InputError(f"a model of type {kind} gives no attention maps")
        batch = self.completed({"input_ids": ids, "padding_mask": mask})
        if self.likelihood is not None:
            batch = self.likelihood.visible(self._model, batch)
        outputs = self._model.encode(batch, training=False, return_attention_scores=True)
        if not outputs["attention_scores"]:
            raise InputError(f"a model of type {kind} gives no attention maps")
        return [np.asarray(weights) for weights in outputs["attention_scores"]]

    def _sizes(self):
        """`vector_sizes` of the model."""
        encoder = getattr(self._model, "encoder", None)
        has = {
            "fit": self.predicts_vectors,
            "layers": "layers" in getattr(encoder, "extra_outputs", ()),
            "token": getattr(self._model, "token_table", None) is not None,
            "cls": self.scores_first_token,  # otherwise the begin token sees no other token
        }
        config = self.config
        return {
            name: config.head.target_size
            if name == "fit"
            else encoder.output_size(output)
            if encoder
            else config.hidden_size
            for name, output in OUTPUTS.items()
            if has.get(name, True)
        }

    # Functions of a batch {"input_ids": [B, T] int32, "padding_mask": [B, T] bool}, in a graph or
    # outside of one. `wanted` [B, T] bool are the tokens whose results are used; others may be
    # skipped. None is all.

    def scores(self, batch: dict[str, Any], wanted: Any = None, output_table: Any = None) -> Any:
        """Natural log-probability of every token, see `Likelihood.token_scores`: [B, T] float32."""
        batch = self.completed(batch)
        return self.likelihood.token_scores(self._model, batch, wanted, output_table)

    def states(self, batch: dict[str, Any], wanted: Any = None) -> Any:
        """See `Likelihood.token_states`; without a likelihood, the hidden states: [B, T, D]."""
        batch = self.completed(batch)
        if self.likelihood is None:
            return self._model.encode(batch, training=False)["hidden_states"]
        return self.likelihood.token_states(self._model, batch, wanted)

    def vectors(
        self, batch: dict[str, Any], wanted: Any, output_table: Any, representation: str
    ) -> Any:
        """The vectors of a representation at every token: [B, T, D] float32."""
        if representation == "context":
            vectors = self.states(batch, wanted)
        elif representation == "fit":
            vectors = self.likelihood.predictions(self._model, self.completed(batch), wanted)
        elif representation == "token":
            ids = self.completed(batch)["input_ids"]
            vectors = ops.take(self._model.token_table, ids, axis=0)
        else:
            batch, likelihood = self.completed(batch), self.likelihood
            seen = batch if likelihood is None else likelihood.visible(self._model, batch)
            outputs = self._model.encode(seen, training=False)
            vectors = outputs.get(OUTPUTS[representation])
        if vectors is None:
            kind = self.config.model_type
            raise InputError(f"a model of type {kind} has no representation {representation}")
        return ops.cast(vectors, "float32")

    def completed(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Adds what the model reads besides ids, and "word_ids" if the variant needs them."""
        batch = self._inputs(batch)
        if self.likelihood is None or self.likelihood.pll_variant != "within_word_l2r":
            return batch
        words = words_of(KerasKit(), batch["input_ids"], self._vocabulary.continues_word)
        return batch | {"word_ids": words}
