"""The bodies of requests, and of answers; FastAPI reads and describes them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tta.scoring.combining.weights import RerankWeights

Number = Annotated[float, Field(allow_inf_nan=False)]
Texts = Annotated[list[str], Field(min_length=1)]


class _Body(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class TextsRequest(_Body):
    """Texts to score."""

    texts: Texts


class Scores(_Body):
    """One number per text. Scores are natural logs, higher is better."""

    scores: list[float]
    num_tokens: list[int]
    num_unknown: list[int] = Field(description="words that the vocabulary cannot spell")
    signature: str = Field(description="what the scores depend on")


class TokenScoresOfText(_Body):
    """The tokens of a text and their log-probabilities, natural logs."""

    tokens: list[str]
    log_probabilities: list[float]


class TokenScoresAnswer(_Body):
    """The tokens of each text."""

    results: list[TokenScoresOfText]
    signature: str


class Weights(_Body):
    """The weights of the combined score (docs/reranking.md); scale null: the highest score wins."""

    lm_weight: Number
    length_bonus: Number = 0.0
    scale: Number | None = None
    features: dict[str, Number] = {}
    bonus_is_guessed: bool = Field(
        False, description="the bonus then promotes nothing that both scores find worse"
    )

    first_level: "Weights | None" = Field(None, description="those of the first of two models")

    def to_weights(self) -> RerankWeights:
        """The weights. Raises InputError if one is out of its range."""
        scale, first = self.scale, self.first_level and self.first_level.to_weights()
        given = self.model_dump(exclude={"scale", "first_level"})
        return RerankWeights(
            **given, first_level=first, scale=float("inf") if scale is None else scale
        )


class ListRequest(_Body):
    """An N-best list."""

    hypotheses: Texts = Field(description="best first, if there are no scores")
    scores: list[Number] | None = Field(
        None, description="first-pass scores: natural logs, higher is better"
    )
    weights: Weights | None = Field(None, description="null: guessed from the scores")
    keep_non_words: bool = Field(False, description="whether <eps>, [noise] and others are words")


class RankedHypothesis(_Body):
    """A hypothesis and what its place comes from."""

    text: str
    index: int = Field(description="its position in the request, from 0")
    score: float = Field(description="the combined score, natural log")
    lm_score: float = Field(description="the model's score, natural log")
    posterior: float | None = Field(description="probability, 0 to 1; null with scale null")
    rescored: bool | None = Field(description="by the second model; null: there is one model")


class SureWord(_Body):
    """A word of the first hypothesis, and how sure it is (docs/confidence.md)."""

    word: str
    probability: float = Field(description="of being correct, 0 to 1")
    rival: str | None = Field(description='the best other word, "" for none; null: all agree')
    rival_probability: float


class ListAnswer(_Body):
    """The hypotheses in their new order, best first."""

    hypotheses: list[RankedHypothesis]
    words: list[SureWord]
    weights: Weights
    notes: list[str] = Field(description="such as scores that look like costs")
    signature: str


class EmbeddingsRequest(BaseModel):
    """OpenAI's request for embeddings. Other fields of theirs are ignored."""

    model_config = ConfigDict(strict=True)

    input: str | Texts
    model: str | None = Field(None, description="the name of this service's model")
    encoding_format: Literal["float", "base64"] = Field(
        "float", description="base64: float32, little-endian"
    )


class Embedding(_Body):
    """The vector of a text."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class Usage(_Body):
    """The number of tokens."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(_Body):
    """OpenAI's answer."""

    object: Literal["list"] = "list"
    data: list[Embedding]
    model: str
    usage: Usage


class Problem(_Body):
    """What is wrong with a request, in OpenAI's form."""

    message: str
    type: str


class ProblemAnswer(_Body):
    """The answer of a request that failed."""

    error: Problem


class Health(_Body):
    """The state of the service."""

    status: Literal["ok"] = "ok"
    model: str
    signature: str


def problem(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    """The content of a `ProblemAnswer`."""
    return {"error": {"message": message, "type": kind}}
