"""Settings that the commands with a model share: which model, and how it reads text."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import tta
from tta.choices import LongSentences, Normalizer, Unknown
from tta.errors import InputError
from tta.scoring.engines.options import NORMALIZER, EngineOptions
from tta.settings import MODEL, SCORE_BOUNDARY_TOKENS, Config, setting

if TYPE_CHECKING:
    from tta.scoring.scorers.scorer import Scorer

_MODEL = (
    "A model directory: ours (config.json, vocab.txt, model.weights.h5), one of the original "
    "TensorFlow 1 code, or a BERT in Google's format (bert_model.ckpt.*) or Hugging Face's "
    "(model.safetensors). Or a name that tta models lists: small, the built-in model, or a folder "
    "of pretrained/ or $TTA_MODELS. Or hf:OWNER/NAME[@REVISION], a model of the Hugging Face Hub. "
    "Or kind:path, such as kenlm:lm.arpa, glove:vectors.txt, word2vec:vectors.bin, "
    "fasttext:vectors.bin, vectors:DIRECTORY (of words, by tta create-vectors), "
    "transformers:NAME_OR_DIRECTORY, a masked or causal model of Hugging Face transformers, "
    "random:MODEL, an untrained model like MODEL, raw:MODEL, a model whose outputs are not "
    "standardized, encoder:MODEL or decoder:MODEL, a half of an "
    "autoencoder (docs/autoencoder.md), or cosine:DIRECTORY, a SemFit model that reranks by "
    "cosines (docs/semfit.md). Default: the built-in model, for English, lower-cased."
)

# The name that stands for no model in reranking.
NO_MODEL = "none"


@dataclass(frozen=True, kw_only=True)
class OneModel(Config):
    """The model of a command."""

    model: str | None = setting(None, _MODEL, group=MODEL)

    @property
    def name(self) -> str | None:
        """The argument of `tta.load`; None is the built-in model."""
        return self.model or None


@dataclass(frozen=True, kw_only=True)
class SeveralModels(Config):
    """The models of a command that takes one or more. Reranking also takes none."""

    model: list[str] | None = setting(
        None,
        f"{_MODEL} Repeat the flag for several models. none: no model; only for reranking, by the "
        "first pass alone.",
        repeated=True,
        group=MODEL,
    )

    @property
    def names(self) -> list[str | None]:
        """The argument of `tta.load` for each model; None is the built-in model."""
        return [model or None for model in self.model or [None]]

    @property
    def names_or_none(self) -> list[str | None]:
        """As `names`; [] for `none`, which goes with no other model (InputError)."""
        names = self.names
        if NO_MODEL in names and len(names) > 1:
            raise InputError(f"--model={NO_MODEL} does not go with another --model")
        return [] if NO_MODEL in names else names


@dataclass(frozen=True, kw_only=True)
class EncodeOptions(EngineOptions):
    """How a model reads text."""

    long_sentences: LongSentences = setting(
        "window",
        "window: score a sentence that is longer than the model's input in overlapping windows. "
        "refuse: stop with an error. Sentences are never cut silently.",
        group=MODEL,
    )
    batch_tokens: int | None = setting(
        None,
        "Tokens in one batch, padding included. Lower it if memory runs out. Scores do not depend "
        "on it. Default: the model's own choice.",
        1,
    )

    def load(self, model: Any = None) -> "Scorer":
        """The model of a name, by `tta.load`, with these options."""
        return tta.load(model, **self.by_name)

    @property
    def by_name(self) -> dict[str, Any]:
        """Keyword arguments of `tta.load`. Options that are None keep the model's default."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(EncodeOptions):
    """How a model scores text."""

    score_boundary_tokens: bool = setting(False, SCORE_BOUNDARY_TOKENS)
    unknown: Unknown = setting(
        "price",
        "What a word costs that the vocabulary cannot spell, such as one in another script. price: "
        "the log-probability of the unknown token, and a price for each character "
        "(docs/scoring.md). model: the log-probability of the unknown token alone, as in other "
        "tools; then text that the model cannot read scores better than text that it can.",
    )
    begin_token: str | None = setting(
        None,
        "The token that a causal model of Hugging Face transformers reads before a text. Default: "
        "the one that its tokenizer writes, or names; but <|endoftext|>, if it has that, in place "
        "of one of its chat template. The signature says which was used.",
    )
    cache: str | None = setting(
        None,
        "File that keeps the scores of texts, by model, options and text: what is in it is not "
        "scored again. It is SQLite, and is made if it is not there; one process at a time writes. "
        "Texts are scored in other batches than without it, which moves a score by rounding, by "
        "2e-5 or so.",
    )

    def among(self, model: Any, models: Sequence[Any]) -> "ScoreOptions":
        """These options for one of several models. Only those of transformers get a begin token."""
        if _is_causal(model) or not any(map(_is_causal, models)):
            return self
        return replace(self, begin_token=None)


def _is_causal(model: Any) -> bool:
    return str(model).startswith("transformers:")


DEFAULTS = ScoreOptions()


@dataclass(frozen=True, kw_only=True)
class RerankOptions(ScoreOptions):
    """How a model scores hypotheses for reranking.

    Only differences between scores matter there, so the default is the learned normalizer if the
    model has one.
    """

    normalizer: Normalizer = setting("auto", NORMALIZER)


ENCODE_DEFAULTS, RERANK_DEFAULTS = EncodeOptions(), RerankOptions()
